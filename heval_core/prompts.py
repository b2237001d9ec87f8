"""Instance ▶ prompt text with character spans. The only place where prompt text is put together.

The prompt is one string `{c1} {c2} Q: {question} A:`. Another layout is another template with the two fields `{documents}` and
`{question}`. The template `chat` is what a user says, documents and question; the tokenizer's own chat template is put around
it where the prompt is tokenised (`heval_core.lm.chat`).
"""

from __future__ import annotations

import dataclasses
import re
import unicodedata

from heval_core.records import HEvalError, Instance, Prompt, Span
from heval_core.regime_keys import read_key

TEMPLATE = "{documents} Q: {question} A:"
# The name of the template that is the tokenizer's own, and the layout of the user's turn in it.
CHAT = "chat"
TURN = "{documents}\n\n{question}"


# Scripts written without spaces between words: their letters show no word boundary, so none is required.
_UNSPACED = re.compile("[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff]")
# Joiners, and the skin tones that follow an emoji: a character next to one is part of a longer sign.
_ATTACHED = re.compile("[\u200c\u200d\U0001f3fb-\U0001f3ff]")


def _in_word(char: str) -> bool:
    """Whether a neighbour makes a mention part of a longer word: letters, digits, and marks that combine with them."""
    return char.isalnum() or char == "_" or unicodedata.category(char)[0] == "M" or bool(_ATTACHED.match(char))


def is_punctuation(char: str) -> bool:
    category = unicodedata.category(char)
    return category[0] == "P" or category == "Sk"


def says_nothing(text: str) -> bool:
    """Whether a text is only punctuation and white space, or empty."""
    return all(char.isspace() or is_punctuation(char) for char in text)


def mentions(answer: str, text: str) -> tuple[Span, ...]:
    """Every literal, case-sensitive, word-bounded mention of `answer` in `text`, as characters.

    Literal means code point by code point: "é" is not "e" with a combining accent. An answer that begins or ends with a
    letter of a script without spaces (Chinese, Japanese, Thai, …) needs no boundary on that side.
    """
    found: list[Span] = []
    start = text.find(answer) if answer else -1
    while start >= 0:
        end = start + len(answer)
        free_before = start == 0 or not _in_word(text[start - 1]) or _UNSPACED.match(answer[0])
        free_after = end == len(text) or not _in_word(text[end]) or _UNSPACED.match(answer[-1])
        if free_before and free_after:
            found.append(Span(start, end))
        start = text.find(answer, end if free_before and free_after else start + 1)
    return tuple(found)


def assemble(
    texts: tuple[str, ...],
    answers: tuple[str | None, ...],
    question: str,
    template: str = TEMPLATE,
    padding: tuple[tuple[str, ...], tuple[str, ...]] = ((), ()),
) -> Prompt:
    """Put documents and question together.

    texts: the documents; empty for the memory check. answers: each document's answer, or None if unknown. template: CHAT, or a
    layout. padding: passages before and after the documents, which only make the prompt longer.
    Raises HEvalError for an empty question or document, or a template without its two fields.
    """
    if not question.strip():
        raise HEvalError("The question is empty; write one, such as: What is the capital of Kenya?")
    for number, text in enumerate(texts, start=1):
        if not text.strip():
            raise HEvalError(f"Document {number} is empty; give it some text, or leave the document out.")
    chat = template == CHAT
    fields = re.split(r"(\{documents\}|\{question\})", TURN if chat else template)
    if sorted(fields[1::2]) != ["{documents}", "{question}"]:
        raise HEvalError(
            f"The template {template!r} needs the fields {{documents}} and {{question}}, once each; or write chat."
        )
    text, passages, question_span = "", list[Span](), Span(0, 0)
    for field in fields:
        if field == "{documents}":
            for index, passage in enumerate((*padding[0], *texts, *padding[1])):
                text += " " if index else ""
                passages.append(Span(len(text), len(text) + len(passage)))
                text += passage
        elif field == "{question}":
            question_span = Span(len(text), len(text) + len(question))
            text += question
        else:
            # Without documents the space that would follow them must go: it would change the first token.
            text += field.lstrip() if not text else field
    before = len(padding[0])
    documents = passages[before : before + len(texts)]
    around = (*passages[:before], *passages[before + len(texts) :])
    spans = tuple(
        tuple(Span(span.start + m.start, span.start + m.end) for m in mentions(answer or "", document))
        for span, document, answer in zip(documents, texts, answers, strict=True)
    )
    return Prompt(text, tuple(documents), question_span, spans, chat, padding=around)


def prompt_of(instance: Instance, template: str = TEMPLATE) -> Prompt:
    """The prompt of an instance with its documents, and all of its padding."""
    documents = instance.documents
    texts, written = tuple(d.text for d in documents), tuple(d.alias or d.answer for d in documents)
    place = read_key(instance.regime).place if instance.padding else None
    before = {None: 0, "first": 0, "middle": len(instance.padding) // 2, "last": len(instance.padding)}[place]
    around = instance.padding[:before], instance.padding[before:]
    return assemble(texts, written, instance.question, template, around)


def memory_prompt(question: str, template: str = TEMPLATE) -> Prompt:
    """The prompt that asks the same question without any context."""
    return assemble((), (), question, template)


def instructed(prompt: Prompt, instruction: str) -> Prompt:
    """The prompt with an instruction in front of all its text."""
    lead = f"{instruction} "

    def moved(span: Span) -> Span:
        return Span(span.start + len(lead), span.end + len(lead))

    return dataclasses.replace(
        prompt,
        text=lead + prompt.text,
        documents=tuple(map(moved, prompt.documents)),
        padding=tuple(map(moved, prompt.padding)),
        question=moved(prompt.question),
        answers=tuple(tuple(map(moved, mentions)) for mentions in prompt.answers),
    )
