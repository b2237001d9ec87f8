"""The sidebar: the form of *Your prompt*, which asks an installed model about documents of one's own.

On its own page it is open and reads as the page's left column; on all others it is closed, and `/` opens it. Its form says
what it lacks, at the field, and how large the prompt is. The model's worker process does the rest: the page draws what is
known so far, can be left, and can cancel.
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from heval_core.figures.answer import SCREENED
from heval_core.figures.palette import in_order
from heval_core.folders import BUNDLED, program
from heval_core.lm.installed import has_bfloat16, installed_models
from heval_core.plugins import catalogue
from heval_core.present.html import plain
from heval_core.present.names import Names
from heval_core.present.numbers import so_many
from heval_core.prompt_service.client import AnswerRequest, WordRequest
from heval_core.prompting.prompts import CHAT
from heval_core.records import HEvalError
from heval_core.ui import address, links, own_draft, own_requests, own_word, prompt_options
from heval_core.ui.own_prompts import AT_ONCE, OwnPrompt, at_once, find, seconds_of, target_of, unpacked
from heval_core.ui.prompt_options import LAYOUT, TEMPLATE_TITLES, usual_dtype, usual_layout
from heval_core.ui.prompt_size import size, template_of
from heval_core.ui.published_results import results_folder

# What the form asks for now.
FORM = "own_form"
FILLED, _COUNT, _REMOVED = "own_filled_from", "own_count", "own_removed"
# What the form was filled with; and what somebody had typed when it was filled again.
_HELD, _TYPED, _FILLED_WITH = "own_held", "own_typed", "own_filled_with"
MOST_DOCUMENTS = 12
DEFAULT = ("fa", "origin", "attnlrp", "cgim", "contextcite", "cdla", "mechlight")
# Of a prompt of more tokens, feature ablation first looks only at those of the sentences that matter.
LONG = 150
SECOND_PRESS = 1.5  # seconds
FIRST = (
    (
        "The Blue Lagoon is a geothermal spa in southwestern Iceland. It was formed in 1976 from the waste water of the "
        "Svartsengi power plant. The water is rich in silica and sulphur.",
        "Entry tickets for the Blue Lagoon cost between 60 and 110 euros, depending on the time of day. Booking in advance is "
        "required. Children under 14 enter free with an adult.",
    ),
    "How was the Blue Lagoon formed, and how much does it cost to enter?",
)


def draw(on_own_page: bool = False) -> None:
    """Draw the form; Explain leads to the form's own page, where the answer appears."""
    with st.sidebar:
        models = models_here()
        if not models:
            st.info("No model is here yet.")
            how_to_add()
            return
        pending = own_requests.of(address.value("result")) if on_own_page else None
        if on_own_page:
            _fill_from_link(models)
        prompt, slots = draw_form(models)
        st.session_state[FORM] = prompt
        own_draft.keep(prompt, st.session_state.get(FILLED, ""), partial(_restore, models))
        with st.container(key="own_foot"):
            if pending is not None and pending.running:
                # It stands where Explain stood: a second press at once is no wish to stop.
                if (
                    st.button("Stop", key="own_stop", width="stretch")
                    and time.monotonic() - pending.ticket.began > SECOND_PRESS
                ):
                    pending.stop()
                return
            lack = missing(prompt, models)
            pressed = st.button("Explain", type="primary", width="stretch", key="own_send", disabled=bool(lack))
            st.caption(f"Not yet: {lack[1]}" if lack else _price(prompt, models))
        if lack:
            if prompt.documents or prompt.question:  # of an empty form nothing is wrong
                slots[lack[0]].error(lack[1])
        elif pressed:
            name = send(prompt, models)
            if on_own_page:
                address.put(**dict.fromkeys(("asked", "words", "by", "without", "instead", "beside")), result=name)
                st.rerun()
            # By the browser: a page with charts that take clicks would take a switch of the server back (Streamlit 1.67).
            links.go("your_prompt", {"result": name})


def how_to_add() -> None:
    """Say how a model comes here; its terms are for the person to accept."""
    st.code(f"{program()} models add smollm2", language="sh")
    st.caption(
        "It asks you to accept the model's terms. Or put folders, or GGUF files, into a folder that HEVAL_MODELS names, "
        "and start the explorer again."
    )


def models_here() -> dict[str, Path]:
    """Return the folders of the models that are here; beside results of real models those of packages first."""
    installed, real = installed_models(), results_folder() == BUNDLED["real"][0]
    ordered = sorted(installed, key=lambda key: real and not installed[key].source.startswith("package"))
    return {key: installed[key].path for key in ordered}


def send(prompt: OwnPrompt, models: dict[str, Path]) -> str:
    """Ask, and return the id that the answer will have."""
    st.session_state.pop(_TYPED, None)
    st.session_state[FILLED] = prompt.id  # what is typed meanwhile stays
    own_requests.ask(prompt, word_request_of(prompt, models) if prompt.mode == "word" else request_of(prompt, models))
    return prompt.id


def word_request_of(prompt: OwnPrompt, models: dict[str, Path]) -> WordRequest:
    folder = models[prompt.model]
    return {
        "op": "word",
        "model": loaded_by(prompt.model, folder),
        "documents": list(prompt.documents),
        "question": prompt.question,
        "explainers": list(prompt.explainers),
        "template": template_of(prompt, folder),
        "dtype": prompt.dtype,
        "answers": list(prompt.answers),
        "memory": prompt.memory,
        "target": target_of(prompt),
        "begun": list(prompt.begun),
    }


def loaded_by(model: str, folder: Path) -> str:
    """Return a model's folder; a hub's model is loaded by its id."""
    return model if "/" in model else str(folder)


def request_of(prompt: OwnPrompt, models: dict[str, Path]) -> AnswerRequest:
    folder = models[prompt.model]
    tokens = size(prompt, folder)[0] or 100
    return {
        "op": "answer",
        "model": loaded_by(prompt.model, folder),
        "documents": list(prompt.documents),
        "question": prompt.question,
        "explainers": at_once(prompt.explainers, tokens),
        "template": template_of(prompt, folder),
        "generate": prompt.generate,
        "answer": prompt.answer,
        "dtype": prompt.dtype,
    }


def _price(prompt: OwnPrompt, models: dict[str, Path]) -> str:
    """Return what Explain costs: seconds, where this machine has explained an answer of the model before."""
    if prompt.mode == "word":
        return "Ctrl+Enter. Every explainer of the batch, of one token."
    seconds = seconds_of(prompt.model, size(prompt, models[prompt.model])[0] or 0)
    took = f"About {max(1, round(seconds))} s, by the last answer. " if seconds else ""
    return f"Ctrl+Enter. {took}What takes over {AT_ONCE} passes, as feature ablation of a long prompt, waits for a click."


def _fill_from_link(models: dict[str, Path]) -> None:
    """Show in the form what the link's answer was asked with, once; what is typed afterwards stays."""
    name = address.value("result") or address.value("asked")
    if not name or st.session_state.get(FILLED) == name:
        return
    st.session_state[FILLED] = name
    pending, saved = own_requests.of(name), None
    with suppress(HEvalError):  # the page says what is wrong with the file; the form stays
        saved = find(address.value("result"))
    prompt = pending.prompt if pending else saved.prompt if saved else unpacked(address.value("asked"))
    if prompt is not None:
        typed: OwnPrompt | None = st.session_state.get(FORM)
        if typed and (typed.documents, typed.question) not in (st.session_state.get(_HELD), ((), "")):
            st.session_state[_TYPED] = typed
        fill(prompt, models)


def _restore(models: dict[str, Path], draft: OwnPrompt | None, filled: str) -> None:
    """Fill the form as it was before a reload; beside another answer's link that is offered only.

    It is filled again in any case: a browser that hears of two runs at once takes a field's first value from neither.
    """
    if draft is not None and filled == (address.value("result") or address.value("asked")):
        st.session_state[FILLED] = filled
        fill(draft, models)
        return
    fill(st.session_state[FORM], models)
    if draft is not None and (draft.documents or draft.question):
        st.session_state[_TYPED] = draft


def draw_form(models: dict[str, Path]) -> tuple[OwnPrompt, dict[str, DeltaGenerator]]:
    """Draw the form. Return what it asks for, which may be incomplete, and slots below its fields for what is wrong there.

    These are `text 0` … of the documents that are asked for, `question` and `named`.
    """
    prompt_options.keep()
    if "own_question" not in st.session_state:  # Streamlit forgets the fields where a page leads on before it draws them
        first = next(iter(models))
        empty = OwnPrompt(first, (), "", DEFAULT, usual_layout(models[first]), dtype=usual_dtype(first))
        fill(st.session_state.get(FORM) or empty, models)
    slots: dict[str, DeltaGenerator] = {}
    taught = {key for key, one in installed_models().items() if one.source == "bundled"}
    titles = Names().titles("model", models)
    labels = {key: f"{titles[key]} · {'taught rule' if key in taught else 'real model'}" for key in models}
    model = st.selectbox("Model", list(models), key="own_model", format_func=labels.get, on_change=_suit, args=(models,))
    if _TYPED in st.session_state:
        put_back = "Put back what you had typed"
        st.button(put_back, key="own_put_back", on_click=lambda: fill(st.session_state.pop(_TYPED), models))
    modes = {"whole": "Whole answer", "word": "Answer in a word"}
    how: Any = {"format_func": modes.get, "label_visibility": "collapsed", "required": True, "key": "own_mode"}
    st.segmented_control("What is explained", list(modes), **how)
    counted = st.empty()
    texts = _document_fields(slots)
    question = st.text_area("Question", key="own_question", height=72, placeholder=FIRST[1])
    slots["question"] = st.empty()
    prompt = OwnPrompt(model, tuple(texts), question.strip(), (), "plain")
    prompt = _begun(prompt_options.draw(prompt, models[model], slots))
    tokens, limit = size(prompt, models[model])
    if tokens is not None and tokens > LONG and "fa" in prompt.explainers and prompt.mode == "whole":
        prompt = replace(prompt, explainers=(SCREENED, *prompt.explainers))
    over = tokens is not None and limit is not None and tokens >= limit
    text = f"{tokens:,}{f' of {limit:,}' if limit else ''} tokens" if tokens is not None else "counted when the model is asked"
    counted.markdown(f"**Documents** :{'red' if over else 'gray'}[{text}]")
    return prompt, slots


def _begun(prompt: OwnPrompt) -> OwnPrompt:
    """Return the prompt behind the words that it was filled with, while nothing else of it has changed."""
    filled: OwnPrompt | None = st.session_state.get(_FILLED_WITH)
    if filled is None or not filled.begun:
        return prompt
    begun = replace(prompt, begun=filled.begun)
    return (
        begun
        if begun.id == replace(filled, answers=prompt.answers, target=prompt.target, generate=prompt.generate).id
        else prompt
    )


def _suit(models: dict[str, Path]) -> None:
    """Set layout and precision of another model that was chosen."""
    model = st.session_state["own_model"]
    st.session_state[LAYOUT], st.session_state["own_dtype"] = usual_layout(models[model]), usual_dtype(model)


def _document_fields(slots: dict[str, DeltaGenerator]) -> list[str]:
    """Draw the documents as cards. Return those that hold something, and add their slots."""
    documents: list[str] = []
    count = int(st.session_state[_COUNT])
    for number in range(1, count + 1):
        with st.container(key=f"own_card_{min(number, 7)}_{number}", horizontal=True, gap="xxsmall", vertical_alignment="top"):
            example = FIRST[0][number - 1] if number <= len(FIRST[0]) else ""
            looks = {"height": 82, "label_visibility": "collapsed", "placeholder": example}
            text = st.text_area(f"Document {number}", key=f"own_text_{number}", **looks)
            with st.container(width="content", gap=None):
                _icon(f"own_up_{number}", "arrow_upward", "Before the one above", _swap, number, number > 1)
                _icon(f"own_remove_{number}", "close", f"Remove document {number}", _remove, number, count > 1)
        below = st.empty()
        slots.setdefault("text 0", below)
        if text.strip():
            slots[f"text {len(documents)}"] = below
            documents.append(text.strip())
    with st.container(horizontal=True, gap="xsmall"):
        full = count >= MOST_DOCUMENTS
        st.button("Add a document", key="own_add", icon=":material/add:", on_click=_put, args=([""],), disabled=full)
        with st.popover("Paste several"):
            pasted = st.text_area("Documents, with an empty line or --- between them", key="own_pasted", height=160)
            cuts = cuts_of(pasted)
            if len(cuts) > 1:
                about = {name: f"{name}: {so_many(len(parts), 'document')}" for name, parts in cuts.items()}
                chosen = st.radio("Cut at", list(cuts), format_func=about.get, key="own_cut")
            parts = cuts[chosen] if len(cuts) > 1 else next(iter(cuts.values()))
            label = f"Add {so_many(len(parts), 'document')}"
            st.button(label, key="own_paste", on_click=_put, args=(parts,), disabled=full or not parts)
            if full and parts:
                st.caption(f"At most {MOST_DOCUMENTS} documents: what stands here did not fit.")
        if not documents and not st.session_state.get("own_question"):
            st.button("Fill in the example", key="own_example", on_click=_example)
        if _REMOVED in st.session_state:
            st.button("Undo", key="own_undo", icon=":material/undo:", on_click=_put_back, disabled=full)
    return documents


def cuts_of(text: str) -> dict[str, list[str]]:
    """Return how a text can be cut into documents: at what ▶ the documents, the likeliest first, and once each."""
    ways = {"lines of ---": r"(?m)^\s*-{3,}\s*$", "empty lines": r"\n\s*\n", "nothing": r"\Z"}
    cuts = {name: [part.strip() for part in re.split(mark, text) if part.strip(" -\n")] for name, mark in ways.items()}
    return {name: parts for name, parts in cuts.items() if len(parts) > 1 or name == "nothing"}


def _example() -> None:
    """Fill in the example; what is chosen beside it stays."""
    _hold(list(FIRST[0]))
    st.session_state["own_question"] = FIRST[1]


def _icon(key: str, icon: str, about: str, change: Callable[[int], None], number: int, visible: bool) -> None:
    if visible:
        st.button("", key=key, icon=f":material/{icon}:", help=about, on_click=change, args=(number,), type="tertiary")


def _texts() -> list[str]:
    return [st.session_state.get(f"own_text_{number}", "") for number in range(1, int(st.session_state[_COUNT]) + 1)]


def _hold(texts: list[str]) -> None:
    st.session_state[_COUNT] = max(1, len(texts))
    for number, text in enumerate(texts or [""], start=1):
        st.session_state[f"own_text_{number}"] = text


def _put(more: list[str]) -> None:
    """Put documents behind the others; pasted ones take the place of empty ones, and of the example."""
    texts = _texts()
    if more != [""]:
        texts = [] if texts == list(FIRST[0]) else [text for text in texts if text.strip()]
    texts += more
    _hold(texts[:MOST_DOCUMENTS])
    st.session_state["own_pasted"] = "\n\n".join(texts[MOST_DOCUMENTS:])


def _remove(number: int) -> None:
    texts = _texts()
    st.session_state[_REMOVED] = number, texts.pop(number - 1)
    _hold(texts)


def _put_back() -> None:
    number, text = st.session_state.pop(_REMOVED)
    texts = _texts()
    texts.insert(number - 1, text)
    _hold(texts)


def _swap(number: int) -> None:
    texts = _texts()
    texts[number - 2 : number] = reversed(texts[number - 2 : number])
    _hold(texts)


def fill(prompt: OwnPrompt, models: dict[str, Path]) -> None:
    """Make the form hold what was asked; before it is drawn."""
    state = st.session_state
    state.pop(_REMOVED, None)
    state[_HELD], state[_FILLED_WITH] = (prompt.documents, prompt.question), prompt
    _hold(list(prompt.documents[:MOST_DOCUMENTS]) or ["", ""])
    state["own_question"], state["own_answer"], state["own_generate"] = prompt.question, prompt.answer or "", prompt.generate
    state["own_dtype"] = prompt.dtype if has_bfloat16() else "float32"
    known = in_order([key for key in prompt.explainers if key in catalogue.explainers()])
    word = prompt.mode == "word"
    state["own_explainers"] = list(in_order(list(DEFAULT))) if word else known
    state["own_word_explainers"] = known if word else list(catalogue.default_methods())
    state["own_mode"], state["own_target"] = prompt.mode, prompt.target
    state["own_named"] = own_word.as_text(prompt.answers, prompt.memory)
    if prompt.model in models:
        state["own_model"] = prompt.model
    usual = usual_layout(models[state.get("own_model", next(iter(models)))])
    offered = prompt.template in TEMPLATE_TITLES and (prompt.template != CHAT or usual == CHAT)
    state[LAYOUT] = prompt.template if offered else usual


def missing(prompt: OwnPrompt, models: dict[str, Path]) -> tuple[str, str] | None:
    """Return what the form lacks: the slot of `draw_form` where it lacks it, and a sentence. None if it is complete."""
    if not prompt.documents:
        return "text 0", "Document 1 is empty: write something, or paste a text."
    if len(set(prompt.documents)) < len(prompt.documents):
        repeated = next(index for index, text in enumerate(prompt.documents) if text in prompt.documents[:index])
        first = prompt.documents.index(prompt.documents[repeated]) + 1
        same = f"Document {repeated + 1} is the same as document {first}: neither would be missed without the other."
        return f"text {repeated}", same
    if not prompt.question:
        return "question", "The question is empty: ask the model something."
    try:
        own_word.named(st.session_state.get("own_named", "") if prompt.mode == "word" else "", prompt.documents)
    except ValueError as error:
        return "named", plain(str(error))
    tokens, limit = size(prompt, models[prompt.model])
    if tokens is not None and limit is not None and tokens >= limit:
        longest = max(range(len(prompt.documents)), key=lambda index: len(prompt.documents[index]))
        return f"text {longest}", f"The prompt has {tokens:,} tokens; {prompt.model} reads {limit:,}. Shorten a document."
    return None
