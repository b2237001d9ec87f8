"""What the explorer and a child process say to each other: one JSON object a line.

A request is answered by {"progress": text} and {"partial": what is known so far} any number of times, then by {"result": …} or
{"error": text}.
"""

from __future__ import annotations

from typing import Literal, NotRequired, TypedDict

from heval_core.stored import StoredInstance


class Stored(TypedDict):
    """What is stored of a prompt's answer: its tokens, and the logits of its candidates' first tokens."""

    tokens: list[str]
    ids: list[int]
    logits: list[float]


class Answer(TypedDict):
    """Write an answer and explain all of it; the result is what `precompute explain --generate N --format json` prints.

    model: a folder, here and below. dtype: float32, unless it says bfloat16. answer: given word for word, else the model
    writes at most `generate` tokens. more: of the answer before, explain it by these explainers as well, and do nothing
    again. part: explain by `more` its tokens [start, end) alone. only_written: explain nothing.
    """

    op: Literal["answer"]
    model: str
    documents: list[str]
    question: str
    explainers: list[str]
    template: str
    generate: int
    answer: str | None
    dtype: NotRequired[str]
    more: NotRequired[list[str]]
    part: NotRequired[list[int]]
    only_written: NotRequired[bool]


class Heads(TypedDict):
    """Every head's attention from the last position. Refused where the model does not say of the prompt what is expected.

    in_chat: whether the prompt holds a chat template with its special tokens; here and below.
    """

    op: Literal["heads"]
    model: str
    prompt: str
    in_chat: bool
    expected: NotRequired[Stored]


class Ablate(TypedDict):
    """The answer's lead over its competitor, whole and without each head in turn. answer, foil: token ids."""

    op: Literal["ablate"]
    model: str
    prompt: str
    in_chat: bool
    answer: int
    foil: int
    expected: NotRequired[Stored]


Request = Answer | Heads | Ablate


def asked_as_stored(instance: StoredInstance) -> Stored:
    """What a request about a stored instance expects, so that the child refuses where its model answers otherwise."""
    return {
        "tokens": list(instance.tokens),
        "ids": [candidate.token_id for candidate in instance.candidates],
        "logits": [candidate.logit for candidate in instance.candidates],
    }
