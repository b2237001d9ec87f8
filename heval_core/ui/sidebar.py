"""The sidebar of every page: explain your own prompt with an installed model.

The model's worker process does it, not the page: you can go to other pages, watch the progress from there, and cancel.
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
from heval_core.records import MATCHES, TARGETS
from heval_core.ui.text import plain

EXAMPLE = {
    "first": "According to a world atlas: The capital of Kenya is Lisbon.",
    "second": "",
    "question": "What is the capital of Kenya?",
    "first_answer": "Lisbon",
}
# What `--match` and `--target` of the command line are called here.
MATCH_TITLES = dict(zip(MATCHES, ("its first token", "its whole text"), strict=True))
TARGET_TITLES = dict(zip(TARGETS, ("the model's answer", "document 1's answer"), strict=True))
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
        request = _form(models)
        st.caption(_cost(request))
        if st.button("Explain", type="primary", width="stretch", key="own_send", disabled=ticket is not None):
            missing = _missing(request)
            if missing:
                st.error(missing)
            else:
                ticket = st.session_state[TICKET] = begin(request)
        if ticket is not None:
            st.fragment(_watch, run_every=0.4)()
        elif RESULT in st.session_state:
            st.page_link("pages/your_prompt.py", label="Open the result", icon=":material/edit_note:")


def _form(models: dict[str, Path]) -> Explain:
    """Draw the form. Returns what it asks for, which may be incomplete."""
    model = st.selectbox("Model", list(models), key="own_model")
    first = st.text_area("Document 1", EXAMPLE["first"], key="own_first", height=90)
    first_answer = st.text_input("Its answer (if you know it)", EXAMPLE["first_answer"], key="own_first_answer")
    # Open while it is filled in: a document that is out of sight must not be asked about.
    with st.expander("A second document", expanded=bool(st.session_state.get("own_second"))):
        second = st.text_area("Document 2", EXAMPLE["second"], key="own_second", height=90)
        second_answer = st.text_input("Its answer", "", key="own_second_answer")
    question = st.text_input("Question", EXAMPLE["question"], key="own_question")
    help_memory = "Left empty, the model is asked without context."
    memory = st.text_input("Answer from memory (optional)", "", key="own_memory", help=help_memory)
    methods = catalogue.explainers()
    explainers = st.multiselect(
        "Explainers",
        list(methods),
        default=list(catalogue.default_methods()),
        key="own_explainers",
        format_func=lambda key: methods[key].title,
    )
    match, target = _options()
    pairs = ((first.strip(), first_answer.strip() or None), (second.strip(), second_answer.strip() or None))
    documents = [pair for pair in pairs if pair[0]]
    return {
        "op": "explain",
        "model": str(models[model]),
        "documents": [text for text, _ in documents],
        "context_answers": [answer for _, answer in documents],
        "question": question.strip(),
        "memory_answer": memory.strip() or None,
        "explainers": explainers,
        "match": match,
        "target": target,
    }


def _watch() -> None:
    """The progress of the request, and a button to cancel it; the page is run again when it is over."""
    ticket: Ticket | None = st.session_state.get(TICKET)
    if ticket is None:
        return
    if ticket.over.is_set():
        st.rerun(scope="app")
    worker = ticket.worker
    if worker.current is not ticket and worker.ahead() > 1:
        st.info(f"Busy: {worker.ahead() - 1} request(s) ahead.", icon=":material/hourglass_top:")
    else:
        done = [text for text in ticket.progress if text.endswith(" done")]
        st.progress(
            min(1.0, len(done) / len(ticket.request["explainers"])),
            f"Asking {plain(Path(ticket.request['model']).name)}: {plain((ticket.progress or ['starting'])[-1])} …",
        )
    if st.button("Cancel", key="own_cancel", width="stretch"):
        worker.cancel(ticket)


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
    st.success(f"{plain(result['model'])} answers {plain(result['answer']['text'].strip())}.", icon=":material/check_circle:")


def _options() -> tuple[str, str]:
    """What decides the answer's group, and what is explained: one of MATCHES and one of TARGETS."""
    with st.expander("Options"):
        match = st.radio("What decides where the answer came from", MATCHES, format_func=MATCH_TITLES.get, key="own_match")
        st.caption("The whole text is up to ten tokens; choose it if answers begin with the same token.")
        target = st.radio("What is explained", TARGETS, format_func=TARGET_TITLES.get, key="own_target")
        st.caption("Document 1's answer is explained even if the model answers something else.")
    return match, target


def _missing(request: Explain) -> str:
    """What the form lacks, as a sentence; empty if it is complete."""
    if not request["documents"]:
        return "Document 1 is empty; give the model something to read."
    if not request["question"]:
        return "The question is empty; ask the model something."
    if not request["explainers"]:
        return "No explainer is chosen; choose at least one."
    if request["target"] == "context" and None in request["context_answers"]:
        return "To explain document 1's answer, fill in the answer of every document."
    return ""


def _cost(request: Explain) -> str:
    """Tokens and forward passes, from the model's tokenizer file alone: nothing is loaded for it."""
    tokens = count_tokens(Path(request["model"]), tuple(request["documents"]), request["question"])
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
    """The tokens of the form's prompt; None if the form is incomplete, or the model's files cannot be read."""
    file, settings = folder / "tokenizer.json", folder / "heval.json"
    try:
        template = TEMPLATE
        if settings.is_file():
            template = json.loads(settings.read_text(encoding="utf-8")).get("template", TEMPLATE)
        text = assemble(documents, (None,) * len(documents), question, template).text
        return len(_tokenizer(str(folder), file.stat().st_mtime).encode(text).ids)
    except Exception:  # tokenizers raises nothing narrower for a damaged file; asking the model will say what is wrong
        return None
