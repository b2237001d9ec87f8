"""The sidebar of every page: explain a prompt of one's own with an installed model.

A request is carried by the model's worker process, not by the page: it can be left, watched from any page, and cancelled.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import streamlit as st

from heval_core import catalogue
from heval_core.prompt_service.client import Ticket, begin
from heval_core.prompt_service.installed import installed_models
from heval_core.prompt_service.messages import Explain
from heval_core.prompts import TEMPLATE, assemble
from heval_core.ui.text import plain

METHODS = catalogue.default_methods()
EXAMPLE = {
    "first": "According to a world atlas: The capital of Kenya is Lisbon.",
    "second": "",
    "question": "What is the capital of Kenya?",
    "first_answer": "Lisbon",
}
TICKET, RESULT, KEPT = "own_ticket", "own_result", "own_kept"
# Results that a tab keeps to compare.
MOST_KEPT = 8


def draw() -> None:
    """The form; a result is kept for this tab and shown on its own page."""
    with st.sidebar:
        st.subheader("Explain a prompt")
        models = installed_models()
        if not models:
            st.info("No model is installed. Put model folders into HEVAL_MODELS and start the explorer again.")
            return
        ticket: Ticket | None = st.session_state.get(TICKET)
        if ticket is not None and ticket.over.is_set():
            _finish(ticket)
            ticket = None
        model = st.selectbox("Model", list(models), key="own_model")
        first = st.text_area("Document 1", EXAMPLE["first"], key="own_first", height=90)
        first_answer = st.text_input("Its answer (if you know it)", EXAMPLE["first_answer"], key="own_first_answer")
        # Open while it is filled in: a document that is out of sight must not be asked about.
        with st.expander("A second document", expanded=bool(st.session_state.get("own_second"))):
            second = st.text_area("Document 2", EXAMPLE["second"], key="own_second", height=90)
            second_answer = st.text_input("Its answer", "", key="own_second_answer")
        question = st.text_input("Question", EXAMPLE["question"], key="own_question")
        memory = st.text_input(
            "Answer from memory (optional)",
            "",
            key="own_memory",
            help="Left empty, the model is asked without context.",
        )
        request = _request(str(models[model]), (first, second), (first_answer, second_answer), question, memory)
        st.caption(_cost(models[model], request))
        sent = st.button("Explain", type="primary", width="stretch", key="own_send", disabled=ticket is not None)
        if sent and not request["documents"]:
            st.error("Document 1 is empty; give the model something to read.")
        elif sent and not request["question"]:
            st.error("The question is empty; ask the model something.")
        elif sent:
            ticket = st.session_state[TICKET] = begin(request)
        if ticket is not None:
            st.fragment(_watch, run_every=0.4)()
        elif RESULT in st.session_state:
            st.page_link("pages/your_prompt.py", label="Open the result", icon=":material/edit_note:")


def _watch() -> None:
    """How far the request is, and a way to end it; the page goes on as soon as it is over."""
    ticket: Ticket | None = st.session_state.get(TICKET)
    if ticket is None:
        return
    if ticket.over.is_set():
        st.rerun(scope="app")
    own = ticket.worker
    if own.current is not ticket and own.ahead() > 1:
        st.info(f"Busy: {own.ahead() - 1} request(s) ahead.", icon=":material/hourglass_top:")
    else:
        said = [text for text in ticket.progress if text.endswith(" done")]
        st.progress(
            min(1.0, len(said) / len(METHODS)),
            f"Asking {plain(Path(ticket.model).name)}: {plain((ticket.progress or ['starting'])[-1])} …",
        )
    if st.button("Cancel", key="own_cancel", width="stretch"):
        own.cancel(ticket)


def _finish(ticket: Ticket) -> None:
    """The request is over: keep its result, or say why there is none.

    It is opened by a link: a page with charts that take clicks would take a switch back again (Streamlit 1.67).
    """
    del st.session_state[TICKET]
    if ticket.error:
        st.error(plain(ticket.error))
        return
    result = ticket.result
    st.session_state[RESULT] = result
    st.session_state[KEPT] = [*st.session_state.get(KEPT, []), result][-MOST_KEPT:]
    st.success(
        f"{plain(result['model'])} answers {plain(result['answer']['text'].strip())}.", icon=":material/check_circle:"
    )


def _request(model: str, documents: tuple[str, str], answers: tuple[str, str], question: str, memory: str) -> Explain:
    kept = [
        (text.strip(), answer.strip() or None) for text, answer in zip(documents, answers, strict=True) if text.strip()
    ]
    return {
        "op": "explain",
        "model": model,
        "documents": [text for text, _ in kept],
        "context_answers": [answer for _, answer in kept],
        "question": question.strip(),
        "memory_answer": memory.strip() or None,
        "explainers": list(METHODS),
    }


def _cost(folder: Path, request: Explain) -> str:
    """Tokens and forward passes, from the model's tokenizer file alone: nothing is loaded for it."""
    tokens = count_tokens(folder, tuple(request["documents"]), request["question"])
    if tokens is None:
        return "Tokens are counted when the model is asked."
    # Those that look into heads share what one of them computes.
    methods = [catalogue.method(key) for key in request["explainers"]]
    alone = sum(method.cost(tokens).tokens for method in methods if "heads" not in method.needs)
    shared = max((method.cost(tokens).tokens for method in methods if "heads" in method.needs), default=0)
    passes = (alone + shared) / max(tokens, 1)
    return f"{tokens:,} tokens; about {passes:,.0f} forward passes of the whole prompt."


@st.cache_resource(max_entries=8, show_spinner=False)
def _tokenizer(folder: str, modified: float) -> Any:
    from tokenizers import Tokenizer

    return Tokenizer.from_file(str(Path(folder) / "tokenizer.json"))


def count_tokens(folder: Path, documents: tuple[str, ...], question: str) -> int | None:
    """Of the prompt that would be asked; None where the form is not filled in yet, or the folder's files are not usable."""
    file, settings = folder / "tokenizer.json", folder / "heval.json"
    try:
        template = TEMPLATE
        if settings.is_file():
            template = json.loads(settings.read_text(encoding="utf-8")).get("template", TEMPLATE)
        text = assemble(documents, (None,) * len(documents), question, template).text
        return len(_tokenizer(str(folder), file.stat().st_mtime).encode(text).ids)
    except Exception:  # tokenizers raises nothing narrower for a damaged file; asking the model will say what is wrong
        return None
