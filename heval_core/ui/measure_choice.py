"""Which question and which measure a page shows."""

from __future__ import annotations

import streamlit as st

from heval_core.metrics import measures_of
from heval_core.metrics.shared.measure import QUESTIONS, Measure
from heval_core.ui import address
from heval_core.ui.text import plain


def choose_question() -> str:
    """The question that is asked for, a key of QUESTIONS, kept in the link."""
    titles = {question.link: question.title for question in QUESTIONS.values()}
    keys = {question.link: question.key for question in QUESTIONS.values()}
    return keys[address.one_of("Question", list(titles), "question", QUESTIONS["RQ3"].link, hidden=True, titles=titles)]


def choose_measure(question: str) -> Measure:
    """The measure of a question that is asked for, kept in the link."""
    by_title = measures_of(question)
    names = [name for name, measure in by_title.items() if not measure.variant_of]
    link = QUESTIONS[question].link
    if len(names) == 1:
        address.known(link, names, "measure")
        return by_title[names[0]]
    measure = by_title[address.one_of("Measure", names, link, what="measure", hidden=True)]
    variant = next((other for other in by_title.values() if other.variant_of == measure.title), None)
    if variant is None or variant.switch is None:
        return measure
    return variant if address.switch(variant.switch.title, variant.switch.link, help=variant.switch.about) else measure


def define(measure: Measure) -> None:
    """The measure's definition, in a sentence."""
    st.caption(f"**{plain(measure.title)}.** {plain(measure.meaning)}")
