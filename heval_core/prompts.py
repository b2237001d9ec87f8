"""Instance ▶ prompt text with character spans. The only place where prompt text is put together.

methods.md, section 1: one string `{c1} {c2} Q: {question} A:`, no chat template. Another layout is another template
with the two fields `{documents}` and `{question}`.
"""

from __future__ import annotations

import re

from heval_core.records import HEvalError, Instance, Prompt, Span

TEMPLATE = "{documents} Q: {question} A:"


def mentions(answer: str, text: str) -> tuple[Span, ...]:
    """Every literal, case-sensitive, word-bounded mention of `answer` in `text`, as characters."""
    if not answer:
        return ()
    pattern = rf"(?<!\w){re.escape(answer)}(?!\w)"
    return tuple(Span(*match.span()) for match in re.finditer(pattern, text))


def assemble(
    texts: tuple[str, ...], answers: tuple[str | None, ...], question: str, template: str = TEMPLATE
) -> Prompt:
    """Put documents and question together.

    texts: the documents, none of them for the memory check. answers: each document's answer, or None where unknown.
    Raises HEvalError for an empty question or document, or a template without its two fields.
    """
    if not question.strip():
        raise HEvalError("The question is empty; write one, such as: What is the capital of Kenya?")
    for number, text in enumerate(texts, start=1):
        if not text.strip():
            raise HEvalError(f"Document {number} is empty; give it some text, or leave the document out.")
    fields = re.split(r"(\{documents\}|\{question\})", template)
    if sorted(fields[1::2]) != ["{documents}", "{question}"]:
        raise HEvalError(f"The template {template!r} needs the fields {{documents}} and {{question}}, once each.")
    text, documents, question_span = "", [], Span(0, 0)
    for field in fields:
        if field == "{documents}":
            for index, document in enumerate(texts):
                text += " " if index else ""
                documents.append(Span(len(text), len(text) + len(document)))
                text += document
        elif field == "{question}":
            question_span = Span(len(text), len(text) + len(question))
            text += question
        else:
            # Without documents the space that would follow them must go: it would change the first token.
            text += field.lstrip() if not text else field
    spans = tuple(
        tuple(Span(span.start + m.start, span.start + m.end) for m in mentions(answer or "", document))
        for span, document, answer in zip(documents, texts, answers, strict=True)
    )
    return Prompt(text, tuple(documents), question_span, spans)


def prompt_of(instance: Instance, template: str = TEMPLATE) -> Prompt:
    """The prompt of an instance with its documents."""
    documents = instance.documents
    return assemble(tuple(d.text for d in documents), tuple(d.answer for d in documents), instance.question, template)


def memory_prompt(question: str, template: str = TEMPLATE) -> Prompt:
    """The prompt that asks the same question without any context."""
    return assemble((), (), question, template)
