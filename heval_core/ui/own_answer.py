"""The answer of *Your prompt* on its page: as it grows, when it is finished, and written again without a document.

What the reader chooses is drawn by the script alone; the page hears of it and keeps it in the address.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, replace
from typing import Any

import streamlit as st

from heval_core.figures.answer import SENTENCE, DrawnAnswer, answer_drawing
from heval_core.figures.answer_changes import QUESTION, Change, Comparison, compared, side_by_side
from heval_core.plugins import catalogue
from heval_core.present.html import plain
from heval_core.present.names import model_title
from heval_core.present.numbers import so_many
from heval_core.prompt_service.client import Ticket, begin
from heval_core.records.stored_instances import StoredInstance
from heval_core.records.whole_answers import FEW_TEXTS, MOST_TEXTS, WholeAnswer, read
from heval_core.store.reader import Reader
from heval_core.ui import address, own_requests, own_word, sidebar
from heval_core.ui.component import component
from heval_core.ui.own_prompts import OwnPrompt
from heval_core.ui.own_requests import OwnRequest

# Written again after a change: the request, and (the answer's id, the change).
_AGAIN, _CHANGED, _SEEN = "own_again", "own_changed", "own_again_seen"
_SPAN = re.compile(r"(\d{1,4})-(\d{1,4})")
_CHANGED_PART = re.compile(rf"{QUESTION}|([1-9]\d?)(?:\.([1-9]\d{{0,2}}))?")
# What is done beside explainers, as it is said while it is done.
_STEPS = {
    "document": "leaving out each document",
    "level": "the random level, of texts about something else",
    "sentence": "leaving out sentences of the documents that count",
    "before": "leaving out the answer's own beginning",
}
_OLD = "You changed the prompt. This is still the old answer."


def watch(pending: OwnRequest) -> None:
    """Draw an answer while it is computed. When that is over, the page draws what is kept."""

    @st.fragment(run_every=0.4)
    def growing() -> None:
        if not pending.running or address.value("result") != pending.prompt.id:
            st.rerun(scope="app")
        pending.look()
        draw(pending.prompt.id, pending.prompt, pending.known, status_of(pending.ticket), pending=pending)
        if waiting := own_requests.ahead_of(pending):
            _busy(waiting[0])

    growing()


def _busy(first: OwnRequest | None) -> None:
    """Name what the model is at, and offer to end it. None: a request about a stored prompt, which takes seconds."""
    with st.container(horizontal=True, key="own_busy", vertical_alignment="center"):
        if first is None:
            st.markdown("The model is at another page's request.", width="content")
            return
        st.markdown(f"The model is at *{plain(first.prompt.question)}*", width="content")
        opens = address.setter(result=first.prompt.id, words=None, by=None, without=None, instead=None, beside=None)
        st.button("Open it", key="own_busy_open", on_click=opens)
        st.button("Stop it", key="own_busy_stop", on_click=first.stop)


def status_of(ticket: Ticket) -> dict[str, Any]:
    """Say how far a request is, and what it is at.

    Its steps are documents, the answer's own words, sentences, the random level, explainers. now, planned: keys of explainers.
    """
    if ahead := len(ticket.ahead):
        return {"text": f"Waits for {so_many(ahead, 'request')} before it.", "done": 0}
    steps = [text.removesuffix(" done") for text in ticket.progress if text.endswith(" done")]
    known = dict.fromkeys(step for step in steps if step != "token")
    request: Any = ticket.request
    if request.get("op") == "word":
        return _of_word(ticket.progress, request["explainers"])
    planned = request["more"] if "more" in request else [*_STEPS, *request["explainers"]]
    now = next((text.removeprefix("now ") for text in ticket.progress[::-1] if text.startswith("now ")), "")
    about = {"now": {"sentence": SENTENCE}.get(now, now), "planned": [SENTENCE, *planned]}
    if not steps and not now:
        return {"text": f"{(ticket.progress or ['starting'])[-1].capitalize()} …", "done": 0} | about
    if not known and not now:
        return {"text": f"Word by word: {len(steps)} tokens so far.", "done": 0.02} | about
    total = max(1, len(known), len(planned))
    doing = f"Now: {_doing(now, steps.count(now))}. " if now else ""
    text = f"{doing}{len(known)} of {total} steps. Words with a bar can be clicked; their sources may still change."
    return {"text": text, "done": len(known) / total} | about


def _doing(step: str, times: int) -> str:
    """Say what is done now. times: how often that step has been done: it has parts."""
    if step == "level":
        texts = f"{times * FEW_TEXTS + 1} to {(times + 1) * FEW_TEXTS}"
        return f"{_STEPS[step]}: {texts} of at most {MOST_TEXTS}"
    return _STEPS.get(step) or catalogue.method(step).title


def _of_word(progress: Sequence[str], explainers: Sequence[str]) -> dict[str, Any]:
    """Say how far a single word is."""
    begun = [text.removeprefix("now ") for text in progress if text.startswith("now ")]
    if not begun:
        return {"text": f"{(progress or ['starting'])[-1].capitalize()} …", "done": 0}
    text = f"Now: {catalogue.method(begun[-1]).title}. {len(begun) - 1} of {len(explainers)} explainers."
    return {"text": text, "done": (len(begun) - 1) / len(explainers)}


def draw(
    name: str,
    prompt: OwnPrompt,
    result: WholeAnswer | None,
    status: Mapping[str, Any] | None = None,
    *,
    pending: OwnRequest | None = None,
    small: bool = False,
) -> None:
    """Draw the answer with all that is known of it. name: its id. status: of one that is being computed. pending: the request
    for it, or for more of it. small: without the choice of explainers, the matrix and what can be tried."""
    shown = answer_drawing(result, prompt.explainers) if result else DrawnAnswer(prompt.model)
    if status is not None:
        now, planned = status.get("now"), status.get("planned", ())
        methods = (replace(one, running=one.key == now, planned=one.key in planned) for one in shown.methods)
        shown = replace(shown, methods=tuple(methods))
    form: OwnPrompt | None = st.session_state.get(sidebar.FORM)
    here = prompt.model in sidebar.models_here()
    chosen, about = view(), dict[str, Any]()
    if status is None and result:
        linked = None if small else _linked(result)
        if linked and st.session_state.get(_CHANGED) != (prompt.id, linked) and here:
            _write_again(prompt, linked, result)
        # Whatever explains it.
        old = form is not None and not small and here and replace(form, explainers=()) != replace(prompt, explainers=())
        without = _without(prompt, result)
        about = {"without": without and asdict(without), "old": _OLD if old else None}
        if not here and not small:
            st.caption(
                f"Written by {plain(model_title(prompt.model))}, which is not installed here: it can be read, not asked again."
            )
    if small and not chosen["chosen"] and len(shown.sentences) > 1:  # something to see at first sight
        chosen["chosen"] = [shown.sentences[1].start, shown.sentences[1].end]
    about |= {"id": name, "status": status, "view": chosen, "static": not here, "small": small}
    _component(shown, on_request=lambda message: _answer(json.loads(message), prompt, result, pending), **about)


def draw_beside(one: tuple[OwnPrompt, WholeAnswer], other: tuple[OwnPrompt, WholeAnswer]) -> None:
    """Draw two kept answers side by side, what differs marked."""
    left, right, summary = side_by_side(one[1], other[1])
    with st.container(horizontal=True, key="own_beside", vertical_alignment="center"):
        st.markdown(summary, width="content")
        st.button("Close", key="own_beside_close", on_click=address.setter(beside=None))
    looks: dict[str, Any] = {"status": None, "without": None, "old": None, "small": True, "static": True, "view": {}}
    for side, (prompt, _), shown, column in zip(("left", "right"), (one, other), (left, right), st.columns(2), strict=True):
        with column:
            st.markdown(f"**{plain(prompt.question)}** · {plain(model_title(prompt.model))}")
            component("answer", f"answer_{side}", asdict(shown) | looks | {"id": prompt.id})


def draw_stored(results: Reader, instance: StoredInstance) -> None:
    """Draw the whole answer to an instance's prompt, if a run has stored one; it cannot be asked again here."""
    generated, unavailable = results.whole_answer(instance.instance_id)
    if generated is None and not unavailable:
        return
    st.subheader("The whole answer, word by word")
    if generated is None:
        st.info(plain(unavailable))
        return
    documents = [{"start": document.start, "end": document.end} for document in instance.documents]
    prompt = {"tokens": instance.tokens, "documents": documents, "question": asdict(instance.question_span)}
    answer = read({"model": instance.model, **prompt, "generated": generated})
    _component(answer_drawing(answer), id=instance.instance_id, static=True, view=view())


def _component(shown: DrawnAnswer, on_request: Callable[[str], None] = lambda message: None, **about: Any) -> None:
    """Draw the answer, and notes below it; what the reader chooses stands in the address.

    on_request: a stored one asks nothing. about: what else the script reads.
    """

    def viewed(view: Mapping[str, Any]) -> None:
        span = view["chosen"]
        address.put(words=span and f"{span[0]}-{span[1]}", by=view["method"])

    data = dict.fromkeys(("status", "without", "old")) | asdict(shown) | about
    component("answer", f"answer_{about['id']}", data, view=viewed, asked=on_request)
    for note in shown.notes:
        st.caption(plain(note))


def view() -> dict[str, Any]:
    """Return what the link says of the selection; anything else than a span is none."""
    span = _SPAN.fullmatch(address.value("words"))
    return {"chosen": [int(span[1]), int(span[2])] if span else None, "method": address.value("by") or None}


def _answer(message: Mapping[str, Any], prompt: OwnPrompt, result: WholeAnswer | None, pending: OwnRequest | None) -> None:
    """Do what the reader asks for: an explainer of all or some words, the answer after a change or before it, to stop."""
    models = sidebar.models_here()
    if message["what"] == "back":
        st.session_state.pop(_CHANGED, None)
        if (again := st.session_state.pop(_AGAIN, None)) is not None and not again.over.is_set():
            again.worker.cancel(again)
        address.put(without=None, instead=None)
    elif pending is not None and pending.running:  # of one answer one thing is asked at a time
        if message["what"] == "stop":
            pending.stop()
    elif result is None or prompt.model not in models or message["what"] == "stop":
        return
    elif message["what"] == "method":
        more, request = [key for key in (message["about"],) if key], sidebar.request_of(prompt, models)
        prompt = replace(prompt, explainers=tuple(dict.fromkeys((*prompt.explainers, *more))))
        request |= {"more": more, "before": result, "part": message.get("part"), "against": message.get("against")}
        own_requests.ask(prompt, request)
        asked_for = f"against({message['against']})" if message.get("against") is not None else more[0]
        address.put(result=prompt.id, asked=None, by=asked_for)
    elif message["what"] == "inside":
        inside = _inside(prompt, result, int(message["about"]))
        own_requests.ask(inside, sidebar.word_request_of(inside, models))
        address.put(**dict.fromkeys(("words", "by", "without", "instead", "beside")), result=inside.id)
    else:
        change = Change(**message["about"])
        address.put(without=change.location, instead=change.text or None)
        _write_again(prompt, change, result)


def _inside(prompt: OwnPrompt, result: WholeAnswer, token: int) -> OwnPrompt:
    """Return what asks for one word of an answer alone: after the answer's words before, with its rival, if it has one."""
    word = next(word for word in result.generated.words if word.start == token)
    answers: tuple[str, ...] = ()
    with suppress(ValueError):
        answers, _ = own_word.assigned([word.text.strip(), (word.rival or "").strip()], prompt.documents)
    begun, methods = result.generated.token_ids[:token], catalogue.default_methods()
    alone = replace(prompt, mode="word", answer=None, dtype="float32")
    return replace(alone, explainers=methods, answers=answers, begun=begun)


def _linked(result: WholeAnswer) -> Change | None:
    """Return the change that the link names (`Change.place`); None where it names none that is there."""
    match = _CHANGED_PART.fullmatch(address.value("without"))
    document, sentence = (int(part) - 1 if part else None for part in match.groups()) if match else (None, None)
    change = match and Change(document, sentence, address.value("instead"))
    if change and change.document is None and not change.text.strip():
        return None
    with suppress(IndexError):
        return change and change.span(result) and change
    return None


def _write_again(prompt: OwnPrompt, change: Change, result: WholeAnswer) -> None:
    st.session_state[_CHANGED] = prompt.id, change
    request = sidebar.request_of(prompt.changed(change.document, change.applied(result)), sidebar.models_here())
    request["only_written"] = True
    st.session_state[_AGAIN] = begin(request)


def _without(prompt: OwnPrompt, result: WholeAnswer) -> Comparison | None:
    """Return the answer before and after a document or a sentence was changed; None where none was."""
    changed, ticket = st.session_state.get(_CHANGED), st.session_state.get(_AGAIN)
    if changed is None or changed[0] != prompt.id or ticket is None:
        return None
    change: Change = changed[1]
    if ticket.over.is_set() and not ticket.error:
        return compared(result, ticket.result, change)
    if not ticket.over.is_set():
        st.session_state[_SEEN] = len(ticket.progress)
        st.fragment(_wait, run_every=0.3)()
    before = [(word.text, False) for word in result.generated.words]
    again = [(word.text, False) for word in ticket.partial.generated.words] if ticket.partial else []
    message = ticket.error or (f"Written again: {so_many(len(again), 'word')} so far." if again else "It is written again …")
    done = min(1.0, len(again) / len(before)) if not ticket.over.is_set() else None
    return Comparison(change.document, change.sentence, change.title, message, before, again, done)


def _wait() -> None:
    """Draw the page again while more is written, and when that is over."""
    ticket: Ticket | None = st.session_state.get(_AGAIN)
    if ticket is None or ticket.over.is_set() or st.session_state.get(_SEEN) != len(ticket.progress):
        st.rerun(scope="app")
