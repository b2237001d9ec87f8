"""Prompts and their character spans."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from heval_core.prompts import assemble, memory_prompt
from heval_core.records import HEvalError, Span


def test_a_prompt_is_documents_question_and_an_open_answer():
    prompt = assemble(("One.", "Two."), (None, None), "Why?")
    assert prompt.text == "One. Two. Q: Why? A:"
    assert [prompt.text[s.start : s.end] for s in prompt.documents] == ["One.", "Two."]
    assert prompt.text[prompt.question.start : prompt.question.end] == "Why?"


def test_the_memory_prompt_has_no_leading_space():
    assert memory_prompt("Why?").text == "Q: Why? A:"


@given(st.lists(st.text(min_size=1).filter(str.strip), min_size=1, max_size=2), st.text(min_size=1).filter(str.strip))
def test_document_spans_give_back_the_documents(texts, question):
    prompt = assemble(tuple(texts), (None,) * len(texts), question)
    assert [prompt.text[s.start : s.end] for s in prompt.documents] == texts
    assert prompt.text[prompt.question.start : prompt.question.end] == question


def test_a_template_may_put_the_question_first():
    prompt = assemble(("One.",), ("One",), "Why?", "{question}\n{documents}\nAnswer:")
    assert prompt.text == "Why?\nOne.\nAnswer:"
    assert prompt.answers == ((Span(5, 8),),)


@pytest.mark.parametrize("template", ["{documents} A:", "{documents}{documents}{question}", "no fields"])
def test_a_template_without_its_fields_is_refused(template):
    with pytest.raises(HEvalError, match="needs the fields"):
        assemble(("One.",), (None,), "Why?", template)


def test_empty_parts_are_refused_by_name():
    with pytest.raises(HEvalError, match="question is empty"):
        assemble(("One.",), (None,), " ")
    with pytest.raises(HEvalError, match="Document 2 is empty"):
        assemble(("One.", "\n"), (None, None), "Why?")
