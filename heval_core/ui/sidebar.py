"""The sidebar: the form of *Your prompt*, which asks an installed model about documents of one's own.

On its own page it is open and reads as the page's left column; on all others it is closed, and `/` opens it. Its form says
what it lacks, at the field, and how large the prompt is. The model's worker process does the rest: the page draws what is
known so far, can be left, and can cancel.
"""

from __future__ import annotations

import json
import re
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from heval_core.figures.answer import SCREENED
from heval_core.figures.palette import in_order
from heval_core.folders import BUNDLED
from heval_core.lm.installed import folder_of, has_bfloat16, has_chat_template, installed_models
from heval_core.plugins import catalogue
from heval_core.present.html import plain
from heval_core.present.numbers import so_many
from heval_core.prompt_service.client import AnswerRequest, Ticket, begin
from heval_core.prompting.prompts import AUTO, CHAT, TEMPLATE, assemble
from heval_core.records import HEvalError
from heval_core.ui import address, links
from heval_core.ui.own_prompts import AT_ONCE, OwnPrompt, at_once, find, seconds_of, unpacked
from heval_core.ui.published_results import results_folder

# The request under way, and what it asks; what the form asks for now.
TICKET, PROMPT, FORM = "own_ticket", "own_asked", "own_form"
# Why the last request has no answer. It stays until the next one.
REFUSED, STOPPED = "own_refused", "Stopped."
# The answer that was open when Explain was pressed.
BEFORE = "own_before"
FILLED, _COUNT, _TEMPLATE, _REMOVED = "own_filled_from", "own_count", "own_template", "own_removed"
# What the form was filled with; and what somebody had typed when it was filled again.
_HELD, _TYPED = "own_held", "own_typed"
# `auto` is the layout that the model's folder names, else four solved examples, after which answers are short.
TEMPLATE_TITLES = {CHAT: "chat", AUTO: "its own", "plain": "plain"}
MOST_DOCUMENTS = 12
DEFAULT = ("fa", "origin", "attnlrp", "cgim", "contextcite", "cdla", "mechlight")
COARSE = "bfloat16 is faster on this processor, and coarser; feature ablation needs float32. Results are float32."
# Of a prompt of more tokens, feature ablation first looks only at those of the sentences that matter.
LONG = 150
SECOND_PRESS = 1.5  # seconds
# What a model's configuration calls the number of positions it reads.
_LIMITS = ("max_position_embeddings", "n_positions", "n_ctx", "max_sequence_length")
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
            st.info("No model is installed. Put model folders into HEVAL_MODELS and start the explorer again.")
            return
        ticket: Ticket | None = st.session_state.get(TICKET)
        running = ticket is not None and not ticket.over.is_set()
        if on_own_page:
            _fill_from_link(models)
        prompt, slots = draw_form(models)
        st.session_state[FORM] = prompt
        with st.container(key="own_foot"):
            if running:
                assert ticket is not None
                # It stands where Explain stood: a second press at once is no wish to stop.
                if st.button("Stop", key="own_stop", width="stretch") and time.monotonic() - ticket.began > SECOND_PRESS:
                    ticket.worker.cancel(ticket)
                return
            lack = missing(prompt, models)
            pressed = st.button("Explain", type="primary", width="stretch", key="own_send", disabled=bool(lack))
            st.caption(f"Not yet: {lack[1]}" if lack else _price(prompt, models))
        if lack:
            slots[lack[0]].error(lack[1])
        elif pressed:
            send(prompt, models)
            if on_own_page:
                address.put(**dict.fromkeys(("result", "asked", "words", "by", "without", "instead")))
                st.rerun()
            # By the browser: a page with charts that take clicks would take a switch of the server back (Streamlit 1.67).
            links.go("your_prompt", {})


def say_refused() -> bool:
    """Say why there is no answer, or no more of it; return False where nothing is to be said."""
    if refused := st.session_state.get(REFUSED):
        (st.info if refused == STOPPED else st.error)(plain(refused))
    return bool(refused)


def models_here() -> dict[str, Path]:
    """Return the folders of the models that are here; beside results of real models those of packages first."""
    installed, real = installed_models(), results_folder() == BUNDLED["real"][0]
    ordered = sorted(installed, key=lambda key: real and not installed[key].source.startswith("package"))
    return {key: installed[key].path for key in ordered}


def send(prompt: OwnPrompt, models: dict[str, Path]) -> None:
    st.session_state[PROMPT], st.session_state[BEFORE] = prompt, address.value("result") or None
    st.session_state[REFUSED] = None
    st.session_state.pop(_TYPED, None)
    st.session_state[TICKET] = begin(request_of(prompt, models))


def request_of(prompt: OwnPrompt, models: dict[str, Path]) -> AnswerRequest:
    folder = models[prompt.model]
    name = prompt.model if "/" in prompt.model else str(folder)  # a hub's model is loaded by its id
    tokens = size(prompt, folder)[0] or 100
    return {
        "op": "answer",
        "model": name,
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
    seconds = seconds_of(prompt.model, size(prompt, models[prompt.model])[0] or 0)
    took = f"About {max(1, round(seconds))} s, by the last answer. " if seconds else ""
    last = "Feature ablation of the sentences that matter comes last. " if SCREENED in prompt.explainers else ""
    return f"Ctrl+Enter. {took}{last}What {'else ' if last else ''}takes over {AT_ONCE} passes waits for a click."


def _fill_from_link(models: dict[str, Path]) -> None:
    """Show in the form what the link's answer was asked with, once; what is typed afterwards stays."""
    name = address.value("result") or address.value("asked")
    if not name or st.session_state.get(FILLED) == name:
        return
    st.session_state[FILLED], st.session_state[REFUSED], saved = name, None, None
    with suppress(HEvalError):  # the page says what is wrong with the file; the form stays
        saved = find(address.value("result"))
    prompt = saved.prompt if saved else unpacked(address.value("asked"))
    if prompt is not None:
        typed: OwnPrompt | None = st.session_state.get(FORM)
        if typed and (typed.documents, typed.question) not in (st.session_state.get(_HELD), ((), "")):
            st.session_state[_TYPED] = typed
        fill(prompt, models)


def draw_form(models: dict[str, Path]) -> tuple[OwnPrompt, dict[str, DeltaGenerator]]:
    """Draw the form. Return what it asks for, which may be incomplete, and slots below its fields for what is wrong there.

    These are `text 0` … of the documents that are asked for, and `question`.
    """
    if "own_generate" not in st.session_state:  # Streamlit forgets the fields where a page leads on before it draws them
        first = next(iter(models))
        fill(st.session_state.get(FORM) or OwnPrompt(first, *FIRST, DEFAULT, _usual(models[first])), models)
    slots: dict[str, DeltaGenerator] = {}
    taught = {key for key, one in installed_models().items() if one.source == "bundled"}
    labels = {key: f"{key} · {'taught rule' if key in taught else 'real model'}" for key in models}
    model = st.selectbox("Model", list(models), key="own_model", format_func=labels.get, on_change=_suit, args=(models,))
    if _TYPED in st.session_state:
        put_back = "Put back what you had typed"
        st.button(put_back, key="own_put_back", on_click=lambda: fill(st.session_state.pop(_TYPED), models))
    counted = st.empty()
    texts = _document_fields(slots)
    question = st.text_area("Question", key="own_question", height=72)
    slots["question"] = st.empty()
    generate, answer, explainers, template, dtype = _options(models[model])
    prompt = OwnPrompt(model, tuple(texts), question.strip(), explainers, template, generate, answer, dtype)
    tokens, limit = size(prompt, models[model])
    if tokens is not None and tokens > LONG and "fa" in explainers:
        prompt = replace(prompt, explainers=(SCREENED, *explainers))
    over = tokens is not None and limit is not None and tokens >= limit
    text = f"{tokens:,}{f' of {limit:,}' if limit else ''} tokens" if tokens is not None else "counted when the model is asked"
    counted.markdown(f"**Documents** :{'red' if over else 'gray'}[{text}]")
    return prompt, slots


def _options(folder: Path) -> tuple[int, str | None, tuple[str, ...], str, Any]:
    """Offer options: tokens at most, a custom answer, explainers, the layout, and the precision."""
    state, methods = st.session_state, catalogue.explainers()
    with st.expander(f"Options: up to {state['own_generate']} tokens, {len(state['own_explainers'])} explainers"):
        generate = int(st.number_input("Tokens, at most", 1, 400, key="own_generate"))
        answer = st.text_area("Or explain an answer of your own", key="own_answer", height=72, placeholder="word for word")
        explainers = st.multiselect(
            "Explainers", list(methods), key="own_explainers", format_func=lambda key: methods[key].title
        )
        layouts = [name for name in TEMPLATE_TITLES if name != CHAT or has_chat_template(folder)]
        template = st.radio("Asked with", layouts, format_func=TEMPLATE_TITLES.get, key=_TEMPLATE, horizontal=True)
        dtypes = ["float32", "bfloat16"] if has_bfloat16() else ["float32"]
        dtype = st.radio("Computed in", dtypes, key="own_dtype", horizontal=True, help=COARSE) if dtypes[1:] else dtypes[0]
    return generate, answer.strip() or None, tuple(explainers), template, dtype


def _usual(folder: Path) -> str:
    """Return the layout that a model is asked in: its chat template where it has one."""
    return CHAT if has_chat_template(folder) else AUTO


def _suit(models: dict[str, Path]) -> None:
    """Set the layout of another model that was chosen."""
    st.session_state[_TEMPLATE] = _usual(models[st.session_state["own_model"]])


def _document_fields(slots: dict[str, DeltaGenerator]) -> list[str]:
    """Draw the documents as cards. Return those that hold something, and add their slots."""
    documents: list[str] = []
    count = int(st.session_state[_COUNT])
    for number in range(1, count + 1):
        with st.container(key=f"own_card_{min(number, 7)}_{number}", horizontal=True, gap="xxsmall", vertical_alignment="top"):
            text = st.text_area(f"Document {number}", key=f"own_text_{number}", height=82, label_visibility="collapsed")
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
            pasted = st.text_area("Documents, with an empty line between them", key="own_pasted", height=160)
            parts = [part.strip() for part in re.split(r"\n\s*\n", pasted) if part.strip()]
            label = f"Add {so_many(len(parts), 'document')}"
            st.button(label, key="own_paste", on_click=_put, args=(parts,), disabled=full or not parts)
            if full and parts:
                st.caption(f"At most {MOST_DOCUMENTS} documents: what stands here did not fit.")
        if _REMOVED in st.session_state:
            st.button("Undo", key="own_undo", icon=":material/undo:", on_click=_put_back, disabled=full)
    return documents


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
    """Put documents behind the others; pasted ones take the place of empty ones."""
    texts = _texts()
    texts = [*(texts if more == [""] else [text for text in texts if text.strip()]), *more]
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
    state[_HELD] = prompt.documents, prompt.question
    _hold(list(prompt.documents[:MOST_DOCUMENTS]))
    state["own_question"], state["own_answer"], state["own_generate"] = prompt.question, prompt.answer or "", prompt.generate
    state["own_dtype"] = prompt.dtype if has_bfloat16() else "float32"
    state["own_explainers"] = in_order([key for key in prompt.explainers if key in catalogue.explainers()])
    if prompt.model in models:
        state["own_model"] = prompt.model
    usual = _usual(models[state.get("own_model", next(iter(models)))])
    known = prompt.template in TEMPLATE_TITLES and (prompt.template != CHAT or usual == CHAT)
    state[_TEMPLATE] = prompt.template if known else usual


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
    tokens, limit = size(prompt, models[prompt.model])
    if tokens is not None and limit is not None and tokens >= limit:
        longest = max(range(len(prompt.documents)), key=lambda index: len(prompt.documents[index]))
        return f"text {longest}", f"The prompt has {tokens:,} tokens; {prompt.model} reads {limit:,}. Shorten a document."
    return None


def size(prompt: OwnPrompt, folder: Path) -> tuple[int | None, int | None]:
    """Return how many tokens the prompt has, without a chat template's, and how many the model reads; None where unknown."""
    template, folder = template_of(prompt, folder), folder_of(folder)
    config = _json_of(folder / "config.json")
    limit = next((config[name] for name in _LIMITS if isinstance(config.get(name), int)), None)
    return count_tokens(folder, prompt.documents, prompt.question, template), limit


def template_of(prompt: OwnPrompt, path: Path) -> str:
    """Return the template that the form asks for; for `auto`, what the model's folder says (`heval.json`)."""
    settings = _json_of(path / "heval.json") if prompt.template == AUTO else {}
    return str(settings.get("template", TEMPLATE if settings else prompt.template))


def _json_of(file: Path) -> dict[str, Any]:
    """Read a JSON object; empty where there is none, or none that can be read: asking the model will say what is wrong."""
    try:
        parsed = json.loads(file.read_text("utf-8"))
    except (OSError, ValueError):
        return {}
    return parsed if isinstance(parsed, dict) else {}


@st.cache_resource(max_entries=8, show_spinner=False)
def _tokenizer(folder: str, modified: float) -> Any:
    from tokenizers import Tokenizer

    tokenizer = Tokenizer.from_file(str(Path(folder) / "tokenizer.json"))
    tokenizer.encode_special_tokens = True
    return tokenizer


def count_tokens(folder: Path, documents: tuple[str, ...], question: str, template: str = TEMPLATE) -> int | None:
    """Count the tokens of the form's prompt; None if the form is incomplete, or the model's files cannot be read.

    Of CHAT those of the user's turn: what stands around it is written when the model is asked.
    """
    file = folder / "tokenizer.json"
    try:
        text = assemble(documents, (None,) * len(documents), question, template).text
        return len(_tokenizer(str(folder), file.stat().st_mtime).encode(text).ids)
    except Exception:  # tokenizers raises nothing narrower for a damaged file; asking the model will say what is wrong
        return None
