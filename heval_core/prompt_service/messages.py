"""What the explorer and a child process say to each other: one JSON object a line.

A request is answered by {"progress": text} any number of times, then by {"result": …} or {"error": text}. `answer` also says
{"part": {"step": …, …}} for each step that is done: what is new of its result, for a page that draws it at once.
"""

from __future__ import annotations

from typing import Literal, NotRequired, TypedDict

from heval_core.stored import StoredInstance


class Stored(TypedDict):
    """What is stored of a prompt's answer: its tokens, and the logits of its candidates' first tokens."""

    tokens: list[str]
    ids: list[int]
    logits: list[float]


class Explain(TypedDict):
    """Explain a prompt; the result is `Explanation.to_json`. model: a folder, here and below.

    match, target, template: see `heval_core.explain`.
    """

    op: Literal["explain"]
    model: str
    documents: list[str]
    question: str
    context_answers: list[str | None]
    memory_answer: str | None
    explainers: list[str]
    match: str
    target: str
    template: str


class Answer(TypedDict):
    """Explain a whole answer; the result is `ExplainedAnswer.to_json`. generate, answer: see `heval_core.generated.Wanted`."""

    op: Literal["answer"]
    model: str
    documents: list[str]
    question: str
    explainers: list[str]
    template: str
    generate: int
    answer: str | None


class Words(TypedDict):
    """Some tokens of the last answer of this model by an explainer of sentences: a score for each unit of its matrix."""

    op: Literal["words"]
    model: str
    explainer: str
    start: int
    end: int


class Again(TypedDict):
    """The last answer of this model written again for other documents: `WrittenAgain`. changed: the changed one, from 1."""

    op: Literal["again"]
    model: str
    documents: list[str]
    question: str
    changed: int


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


Request = Explain | Answer | Words | Again | Heads | Ablate


def asked_as_stored(instance: StoredInstance) -> Stored:
    """What a request about a stored instance expects, so that the child refuses where its model answers otherwise."""
    return {
        "tokens": list(instance.tokens),
        "ids": [candidate.token_id for candidate in instance.candidates],
        "logits": [candidate.logit for candidate in instance.candidates],
    }
