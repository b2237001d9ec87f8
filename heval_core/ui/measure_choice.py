"""Which question and which measure a page shows."""

from __future__ import annotations

import streamlit as st

from heval_core.metrics import measures_of
from heval_core.metrics.shared.measure import QUESTIONS, Measure
from heval_core.ui.filters import refuse_value


def choose_question() -> str:
    """The question that is asked for, a key of QUESTIONS, kept in the link."""
    titles = {question.title: question.key for question in QUESTIONS.values()}
    refuse_value("question", list(titles), "question")
    title = st.segmented_control(
        "Question", list(titles), default=QUESTIONS["RQ3"].title, key="question", required=True, bind="query-params",
        label_visibility="collapsed",
    )  # fmt: skip
    return titles[str(title)]


def choose_measure(question: str) -> Measure:
    """The measure of a question that is asked for, kept in the link."""
    there = measures_of(question)
    names = [name for name, measure in there.items() if not measure.variant_of]
    link = QUESTIONS[question].link
    refuse_value(link, names, "measure")
    if len(names) == 1:
        return there[names[0]]
    name = st.segmented_control(
        "Measure", names, default=names[0], key=link, required=True, bind="query-params", label_visibility="collapsed"
    )
    measure = there[str(name or names[0])]
    variant = next((own for own in there.values() if own.variant_of == measure.title), None)
    if variant and st.toggle(
        "Target held fixed", key="fixed", bind="query-params",
        help="Every explainer explains the first document's answer, whatever was answered: only its scores can tell the "
        "groups apart, not the token that is explained.",
    ):  # fmt: skip
        return variant
    return measure
