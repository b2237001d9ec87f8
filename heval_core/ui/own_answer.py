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

from heval_core.figures.answer import Change, Comparison, DrawnAnswer, DrawnMethod, answer_drawing, compared
from heval_core.present.html import plain
from heval_core.prompt_service.client import Ticket, begin
from heval_core.records.stored_instances import StoredInstance
from heval_core.records.whole_answers import WholeAnswer, read
from heval_core.store.reader import Reader
from heval_core.ui import address, own_prompts, sidebar
from heval_core.ui.component import component
from heval_core.ui.own_prompts import OwnPrompt

# Written again after a change: the request, and (the answer's id, the change).
_AGAIN, _CHANGED = "own_again", "own_changed"
_SPAN = re.compile(r"(\d{1,4})-(\d{1,4})")
_CHANGED_PART = re.compile(r"([1-9]\d?)(?:\.([1-9]\d{0,2}))?")
_OLD = "You changed the prompt. This is still the old answer."


def under_way() -> bool:
    """Draw the answer that is being written, if there is one. When it is over it is kept, and opens by its own address."""
    ticket: Ticket | None = st.session_state.get(sidebar.TICKET)
    if ticket is not None:
        st.fragment(_watch, run_every=None if ticket.over.is_set() else 0.4)()
    return ticket is not None


def _watch() -> None:
    ticket: Ticket | None = st.session_state.get(sidebar.TICKET)
    if ticket is None:
        return
    prompt: OwnPrompt = st.session_state[sidebar.PROMPT]
    request: Any = ticket.request
    if not ticket.over.is_set():
        draw("growing", prompt, request.get("before") or ticket.partial, status_of(ticket) | {"more": request.get("more")})
        return
    st.session_state[sidebar.REFUSED] = sidebar.STOPPED if ticket.cancelled else ticket.error
    # Of one that was stopped, what is known stays; where more was asked of an answer, that answer.
    if (result := ticket.result or (None if "before" in request else ticket.partial)) is not None:
        asked_for = [f"against({request['against']})"] if request.get("against") is not None else request.get("more", [])
        by = {"by": asked_for[-1]} if asked_for else {}
        try:
            st.session_state[sidebar.FILLED] = own_prompts.keep(prompt, result)  # what is typed meanwhile stays
            address.put(result=st.session_state[sidebar.FILLED], asked=None, **by)
        except OSError as error:
            st.session_state[sidebar.REFUSED] = f"The answer cannot be kept in {own_prompts.gallery()}: {error.strerror}."
    elif "before" not in request:
        address.put(result=st.session_state.get(sidebar.BEFORE))
    del st.session_state[sidebar.TICKET]
    st.rerun(scope="app")


def status_of(ticket: Ticket) -> dict[str, Any]:
    """Say how far a request is: its steps are documents, the answer's own words, sentences, the random level, explainers."""
    if ticket.ahead:
        return {"text": f"Busy: {ticket.ahead} request(s) ahead.", "done": 0}
    steps = [text.removesuffix(" done") for text in ticket.progress if text.endswith(" done")]
    known = [step for step in steps if step != "token"]
    request: Any = ticket.request
    total = max(len(known), len(request["more"]) if "more" in request else 4 + len(request["explainers"]))
    if not steps:
        return {"text": f"{(ticket.progress or ['starting'])[-1].capitalize()} …", "done": 0}
    if not known:
        return {"text": f"Word by word: {len(steps)} tokens so far.", "done": 0.02}
    return {
        "text": f"{len(known)} of {total} steps. Words with a bar can be clicked; their sources may still change.",
        "done": len(known) / total,
    }


def draw(
    name: str, prompt: OwnPrompt, result: WholeAnswer | None, status: Mapping[str, Any] | None = None, *, small: bool = False
) -> None:
    """Draw the answer with all that is known of it. name: its id. status: of one that is being computed. small: without the
    choice of explainers, the matrix and what can be tried."""
    shown = answer_drawing(result, prompt.explainers) if result else DrawnAnswer(prompt.model)
    if status is not None:
        shown = replace(shown, methods=_with_the_next(shown.methods, status.get("more")))
    form: OwnPrompt | None = st.session_state.get(sidebar.FORM)
    here = prompt.model in sidebar.models_here()
    view, about = _view(), dict[str, Any]()
    if status is None and result:
        linked = None if small else _linked(result)
        if linked and st.session_state.get(_CHANGED) != (prompt.id, linked) and here:
            _write_again(prompt, linked, result)
        # Whatever explains it.
        old = form is not None and not small and here and replace(form, explainers=()) != replace(prompt, explainers=())
        without = _without(prompt, result)
        about = {"without": without and asdict(without), "old": _OLD if old else None}
        if not here and not small:
            st.caption(f"Written by {plain(prompt.model)}, which is not installed here: it can be read, not asked again.")
    if small and not view["chosen"] and len(shown.sentences) > 1:  # something to see at first sight
        view["chosen"] = [shown.sentences[1].start, shown.sentences[1].end]
    sidebar.say_refused()
    about |= {"id": name, "status": status, "view": view, "static": not here, "small": small}
    _component(shown, on_request=lambda message: _answer(json.loads(message), prompt, result), **about)


def _with_the_next(methods: Sequence[DrawnMethod], more: Sequence[str] | None) -> tuple[DrawnMethod, ...]:
    """Return the methods, the one that is computed now marked. more: those that were asked for since; None for all."""
    waits = (method for method in methods if method.values is None and not method.refused)
    first = next((method for method in waits if more is None or method.key in more), None)
    return tuple(replace(method, running=True) if method is first else method for method in methods)


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
    _component(answer_drawing(answer), id=instance.instance_id, static=True, view=_view())


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


def _view() -> dict[str, Any]:
    """Return what the link says of the selection; anything else than a span is none."""
    span = _SPAN.fullmatch(address.value("words"))
    return {"chosen": [int(span[1]), int(span[2])] if span else None, "method": address.value("by") or None}


def _answer(message: Mapping[str, Any], prompt: OwnPrompt, result: WholeAnswer | None) -> None:
    """Do what the reader asks for: an explainer of all or some words, the answer after a change or before it, to stop."""
    models, ticket = sidebar.models_here(), st.session_state.get(sidebar.TICKET)
    if message["what"] == "back":
        st.session_state.pop(_CHANGED, None)
        address.put(without=None, instead=None)
    elif ticket is not None:  # another request would take its place
        if message["what"] == "stop":
            ticket.worker.cancel(ticket)
    elif result is None or prompt.model not in models or message["what"] == "stop":
        return
    elif message["what"] == "method":
        more, request = [key for key in (message["about"],) if key], sidebar.request_of(prompt, models)
        st.session_state[sidebar.PROMPT] = replace(prompt, explainers=tuple(dict.fromkeys((*prompt.explainers, *more))))
        request |= {"more": more, "before": result, "part": message.get("part"), "against": message.get("against")}
        st.session_state[sidebar.TICKET] = begin(request)
    else:
        change = Change(**message["about"])
        address.put(without=change.location, instead=change.text or None)
        _write_again(prompt, change, result)


def _linked(result: WholeAnswer) -> Change | None:
    """Return the change that the link names (`Change.place`); None where it names none that is there."""
    match = _CHANGED_PART.fullmatch(address.value("without"))
    change = match and Change(int(match[1]) - 1, int(match[2]) - 1 if match[2] else None, address.value("instead"))
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
        st.fragment(_wait, run_every=0.3)()
    before = [(word.text, False) for word in result.generated.words]
    message = ticket.error or "The answer is written again …"
    return Comparison(change.document, change.sentence, change.title, message, before)


def _wait() -> None:
    ticket: Ticket | None = st.session_state.get(_AGAIN)
    if ticket is None or ticket.over.is_set():
        st.rerun(scope="app")
