"""The sidebar of every page: explain a prompt of one's own with an installed model."""

from __future__ import annotations

from typing import Any

import streamlit as st

from heval_core.records import HEvalError
from heval_core.ui.text import plain
from heval_core.ui.worker import installed_models, worker

METHODS = ("fa", "ig", "attn", "mechlight")
EXAMPLE = {
    "first": "According to a world atlas: The capital of Kenya is Lisbon.",
    "second": "",
    "question": "What is the capital of Kenya?",
    "first_answer": "Lisbon",
}


def draw() -> None:
    """The form; a result is kept for this tab and shown on its own page."""
    with st.sidebar:
        st.subheader("Explain a prompt")
        models = installed_models()
        if not models:
            st.info("No model is installed. Put model folders into HEVAL_MODELS and start the explorer again.")
            return
        with st.form("explain", border=False):
            model = st.selectbox("Model", list(models), key="own_model")
            first = st.text_area("Document 1", EXAMPLE["first"], key="own_first", height=90)
            first_answer = st.text_input("Its answer (if you know it)", EXAMPLE["first_answer"], key="own_first_answer")
            with st.expander("A second document"):
                second = st.text_area("Document 2", EXAMPLE["second"], key="own_second", height=90)
                second_answer = st.text_input("Its answer", "", key="own_second_answer")
            question = st.text_input("Question", EXAMPLE["question"], key="own_question")
            memory = st.text_input(
                "Answer from memory (optional)",
                "",
                key="own_memory",
                help="Left empty, the model is asked without context.",
            )
            sent = st.form_submit_button("Explain", type="primary", width="stretch")
        if sent:
            request = _request(str(models[model]), (first, second), (first_answer, second_answer), question, memory)
            _explain(request, model)
        elif "own_result" in st.session_state:
            st.page_link("pages/your_prompt.py", label="Open the last result", icon=":material/edit_note:")


def _request(
    model: str, documents: tuple[str, str], answers: tuple[str, str], question: str, memory: str
) -> dict[str, Any]:
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


def _explain(request: dict[str, Any], model: str) -> None:
    if not request["documents"]:
        st.error("Document 1 is empty; give the model something to read.")
        return
    with st.status(f"Asking {plain(model)} …") as status:
        try:
            result = worker().ask(request, lambda text: status.write(plain(text)))
        except HEvalError as error:
            status.update(label="Not explained", state="error")
            st.error(plain(str(error)))
            return
        status.update(label="Explained", state="complete")
    st.session_state["own_result"] = result
    st.switch_page("pages/your_prompt.py")
