"""An instance and its attributions as they are stored, and as pages and files show them."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from heval_core.records import Behaviour, Candidate, Span, TokenisedPrompt, head_name
from heval_core.records.groups import document_of

# What a document or a candidate answer has ▶ the column of `instance` that lists it for all of them.
DOCUMENT_COLUMNS = {
    "start": "document_starts",
    "end": "document_ends",
    **{name: f"document_{name}s" for name in ("answer", "kind", "origin", "source")},
    "answer_tokens": "answer_tokens",
}
CANDIDATE_COLUMNS = {
    "group": "candidate_groups",
    "text": "candidate_texts",
    "token_id": "candidate_ids",
    "leading_id": "candidate_leading",
    "logit": "candidate_logits",
    "probability": "candidate_probabilities",
}


@dataclass(frozen=True, slots=True)
class PlainPrompt:
    """A prompt and its answer as text, which is what controls read. All of it is stored.

    tokens: (n,) their texts. ranked: those that are ranked. documents, question: token spans. answer: the whole answer that is
    explained; empty where it is no candidate. first_token: the text of the first token that the model gave.
    """

    tokens: tuple[str, ...]
    ranked: range
    documents: tuple[Span, ...]
    question: Span
    answer: str
    first_token: str
    instance_id: str

    @classmethod
    def of(cls, prompt: TokenisedPrompt, behaviour: Behaviour, instance_id: str) -> PlainPrompt:
        """Build it of an answered prompt, as `of_row` does of what is stored of that."""
        texts = {candidate.group: candidate.text for candidate in behaviour.candidates}
        answer, first_token = texts.get(behaviour.explained_group, ""), behaviour.text
        return cls(prompt.tokens, prompt.ranked, prompt.documents, prompt.question, answer, first_token, instance_id)

    @classmethod
    def of_row(cls, row: Any, answer: str, first_token: str) -> PlainPrompt:
        """Build it of a row of the table `instance`, with tokens, ranked_end and the columns of spans."""
        spans = zip(row.document_starts, row.document_ends, strict=True)
        known = np.isfinite(row.question_start)  # not of rows of an early version
        question = Span(int(row.question_start), int(row.question_end)) if known else Span(0, 0)
        ranked = range(int(row.first_ranked), int(row.ranked_end))
        documents = tuple(Span(*map(int, span)) for span in spans)
        return cls(tuple(row.tokens), ranked, documents, question, answer, first_token, row.instance_id)


@dataclass(frozen=True, slots=True)
class PromptDocument(Span):
    """A document where it stands in a prompt: its tokens, and those of its answer.

    kind, origin, source: as in `records.Document`; of a reader's own prompt the first two are `own`.
    """

    answer: str
    answer_tokens: tuple[int, ...]
    kind: str = "own"
    origin: str = "own"
    source: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredInstance:
    """What is shown of a row of the table `instance`; `schema.sql` says what each field is. Defaults: not known.

    An instance that could not be built has neither tokens, documents, candidates nor an answer.
    """

    instance_id: str
    model: str
    revision: str
    dataset: str
    regime: str
    technique: str
    subject: str
    tokens: tuple[str, ...]
    first_ranked: int
    ranked_end: int | None = None
    documents: tuple[PromptDocument, ...]
    question_span: Span
    memory_answer: str
    candidates: tuple[Candidate, ...]
    predicted_text: str
    predicted_probability: float
    group: str
    prompt: str = ""
    question: str = ""
    predicted_id: int = -1
    answer_text: str | None = None
    expected_group: str | None = None

    @property
    def ranked(self) -> range:
        """The tokens that are ranked: neither a BOS nor a chat template."""
        return range(self.first_ranked, len(self.tokens) if self.ranked_end is None else self.ranked_end)

    @property
    def in_chat(self) -> bool:
        """Whether the text holds its special tokens, as a chat template's does: none is to be added to it."""
        return self.prompt.startswith(self.tokens[0])

    @property
    def template(self) -> list[list[int]]:
        """From where to where a chat template's own text stands in the prompt; empty without one."""
        before, until = ("".join(self.tokens[:end]) for end in (self.first_ranked, self.ranked.stop))
        return [[0, len(before)], [len(until), len(self.prompt)]] if self.in_chat else []

    @property
    def used_document(self) -> int | None:
        """Index of the document that the answer came from; None where it came from none, or none was shown to the model."""
        return None if not self.documents else document_of(self.group)

    @property
    def answer_tokens(self) -> set[int]:
        """The tokens of every document's answer."""
        return {token for document in self.documents for token in document.answer_tokens}


@dataclass(frozen=True, slots=True, eq=False)
class StoredAttribution:
    """What is shown of a row of the table `attribution`: one explainer's scores, one per token.

    head_scores: (layers x heads) row by row, for methods that choose a head.
    """

    explainer: str
    scores: tuple[float, ...]
    tied: float
    signed: bool
    layer: int | None = None
    head: int | None = None
    head_scores: tuple[float, ...] | None = None
    details: dict[str, float | str] = field(default_factory=dict)

    @property
    def head_name(self) -> str:
        """The chosen head, as in `L3H5`; empty where none is chosen."""
        return head_name(self.layer, self.head)

    def strengths(self, layers: int) -> np.ndarray:
        """Return how much each head speaks for the answer: (layers, heads)."""
        return np.asarray(self.head_scores, dtype=np.float64).reshape(layers, -1)
