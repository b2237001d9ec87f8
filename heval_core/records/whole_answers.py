"""A whole answer and what is known of it: what the worker sends, a page draws, `cache/answers` keeps and `to_json` gives.

The fields of these records are the keys of the JSON object; what is not known yet is None. `read` makes them of JSON again,
which may be anybody's file: whatever a script could not draw is refused.
"""

from __future__ import annotations

import functools
import re
from dataclasses import dataclass, field, fields, is_dataclass
from itertools import pairwise
from typing import Any

from heval_core.records import HEvalError, Span

# Texts of a random level: so many at a time, where few may do, and at most.
FEW_TEXTS, MOST_TEXTS = 5, 20
# What a word rests on, beside `document 1` …
MEMORY, UNCLEAR = "memory", "unclear"
_SOURCE = re.compile(rf"{MEMORY}|{UNCLEAR}|document [1-9]\d{{0,3}}")


class Finite:
    """A record whose numbers are finite, as pydantic checks where it reads one: no script can draw 1e999."""

    __pydantic_config__ = {"allow_inf_nan": False}  # noqa: RUF012


@dataclass(frozen=True)
class Bounds:
    """See `explaining.word_origins`; nats, a factor, nats, a probability."""

    document: float = 0.3
    lead: float = 2.0
    memory: float = 0.3
    known: float = 0.5


@dataclass(frozen=True)
class Citation(Finite):
    """document: from 1. level: the random level, in nats as well. spread: half of the 95 % interval of that, over the texts
    that it was made of; answers that were kept before have none."""

    document: int
    nats: float
    level: float
    spread: float | None = None


@dataclass(frozen=True)
class AnswerWord(Finite):
    """Tokens [start, end) of the answer. source: `document 1` …, `memory` or `unclear`. nats: of the strongest document.
    by_document, together: the nats that it loses without each, and without all. said_before: the share of what the answer had
    already said. rival: a word of the documents that the model might have said instead."""

    start: int
    end: int
    text: str
    source: str | None = None
    nats: float | None = None
    by_document: tuple[float, ...] | None = None
    together: float | None = None
    said_before: float | None = None
    rival: str | None = None

    def __post_init__(self) -> None:
        if self.source is not None and (self.nats is None or not _SOURCE.fullmatch(self.source)):
            raise ValueError(f"source {self.source}")


@dataclass(frozen=True)
class AnswerSentence(Finite):
    """Tokens [start, end) of the answer. citations: the documents that it cites, strongest first. by_document: the nats
    that it loses without each. shares: of its words, by what they rest on."""

    start: int
    end: int
    text: str
    citations: tuple[Citation, ...] | None = None
    by_document: tuple[float, ...] | None = None
    said_before: float | None = None
    shares: dict[str, float] = field(default_factory=dict)

    def holds(self, part: AnswerWord | Mention) -> bool:
        """Return whether a word, or a number or name, begins in the sentence."""
        return self.start <= part.start < self.end


@dataclass(frozen=True, order=True)
class Mention:
    """A number, date or name of an answer. documents: where it stands, from 1. asked: whether it stands in the question alone.
    near: a document, from 1, and what that says instead."""

    start: int
    end: int
    text: str
    documents: tuple[int, ...]
    asked: bool = False
    near: tuple[int, str] | None = None


@dataclass(frozen=True)
class ScoredUnit:
    """Tokens [start, end) of the prompt that are scored as one. document: from 1."""

    start: int
    end: int
    document: int | None
    text: str


@dataclass(frozen=True)
class PartScores(Finite):
    """What an explainer says of tokens [start, end) of the answer, about which it was asked alone: a value for each unit."""

    start: int
    end: int
    values: tuple[float, ...]


@dataclass(frozen=True, kw_only=True)
class ExplainerScores(Finite):
    """What an explainer says of an answer: values, a row for each unit, with a column for each token, or sentence (columns).
    unit: what units are. changed: for each unit and token, 1 where the model would write another token without the unit.
    seconds, passes: what it would take alone, and what was run for it beyond what others had run."""

    unit: str
    units: tuple[ScoredUnit, ...]
    columns: str
    values: tuple[tuple[float, ...], ...]
    changed: tuple[tuple[int, ...], ...] | None = None
    said_before: tuple[float, ...] | None = None
    parts: tuple[PartScores, ...] = ()
    title: str
    seconds: float
    passes: float


@dataclass(frozen=True)
class Contrast(Finite):
    """What speaks for the word at tokens [start, end), and not for another one (against): a value for each ranked token."""

    start: int
    end: int
    text: str
    explainer: str
    against: str
    seconds: float
    values: tuple[float, ...]


@dataclass(frozen=True)
class NamedSpan(Span):
    """Tokens [start, end) of the prompt. name: its source or id, if it has one."""

    name: str | None = None


@dataclass(frozen=True, kw_only=True)
class GeneratedAnswer(Finite):
    """An answer of m tokens, which together spell its text. stopped: why no more was written; empty while it is being written.
    given: whether somebody else wrote it. matrix: scores by explainer. verdicts: of `words` and `sentences`, see
    `explaining.word_origins.verdict`. refused: explainer ▶ why it has no scores."""

    text: str
    token_ids: tuple[int, ...] = ()
    tokens: tuple[str, ...]
    probabilities: tuple[float, ...]
    given: bool
    stopped: str
    notes: tuple[str, ...]
    words: tuple[AnswerWord, ...]
    sentences: tuple[AnswerSentence, ...]
    numbers_and_names: tuple[Mention, ...] = ()
    bounds: Bounds = Bounds()
    matrix: dict[str, ExplainerScores]
    verdicts: dict[str, tuple[dict[str, Any], ...]]
    contrasts: tuple[Contrast, ...] = ()
    refused: dict[str, str]


@dataclass(frozen=True, kw_only=True)
class WholeAnswer:
    """A prompt of n tokens, and its answer. Indices count from 0, ends are exclusive; tokens before first_ranked and from
    ranked_end on are a BOS's or a chat template's."""

    model: str
    prompt: str = ""
    tokens: tuple[str, ...]
    token_ids: tuple[int, ...] = ()
    first_ranked: int = 0
    ranked_end: int = 0
    documents: tuple[NamedSpan, ...]
    question: Span = Span(0, 0)
    generated: GeneratedAnswer

    def __post_init__(self) -> None:
        """Raise ValueError for a part beyond the tokens, which a script would draw to its end, and where documents overlap."""
        one, prompt, answer = self.generated, len(self.tokens), len(self.generated.probabilities)
        parts = [(part.start, part.end, prompt) for part in (self.question, *self.documents)]
        parts += [(unit.start, unit.end, prompt) for scores in one.matrix.values() for unit in scores.units]
        for of_answer in (one.words, one.sentences, one.contrasts):
            parts += [(part.start, part.end, answer) for part in of_answer]
        for start, end, tokens in parts:
            if not 0 <= start <= end <= tokens:
                raise ValueError(f"part from {start} to {end} of {tokens} tokens")
        if any(left.end > right.start for left, right in pairwise(self.documents)):
            raise ValueError("documents, which overlap")


@functools.cache
def _reader() -> Any:
    from pydantic import TypeAdapter

    return TypeAdapter(WholeAnswer)


def read(content: Any) -> WholeAnswer:
    """Return a whole answer from what JSON holds of it. Raises HEvalError, with what is wrong first, for a broken one."""
    try:
        answer: WholeAnswer = _reader().validate_python(content)
    except ValueError as error:
        wrong = error.errors()[0] if hasattr(error, "errors") else {"loc": (), "msg": str(error)}
        where = ".".join(map(str, wrong["loc"])) or "it"
        raise HEvalError(f"The saved answer is broken: {where}: {wrong['msg']}.") from error
    return answer


def changes(old: Any, new: Any) -> Any:
    """Return what makes the second value of the first, so that only what is new is sent.

    It is `[value]`, the value as a whole; or of records, mappings and tuples, by field, key or index, the changes of the parts
    that differ.
    """
    if type(old) is not type(new) or not (is_dataclass(new) or isinstance(new, dict | tuple)):
        return [new]
    before, now = _parts(old), _parts(new)
    if before.keys() - now.keys():  # a change has no word for what is gone
        return [new]
    return {key: changes(before.get(key), part) for key, part in now.items() if key not in before or before[key] != part}


def applied(old: Any, change: Any) -> Any:
    """Return the value after a change, both as JSON has them. old: None before the first one."""
    if isinstance(change, list):
        return change[0]
    if isinstance(old, dict):
        return old | {key: applied(old.get(key), part) for key, part in change.items()}
    parts = {str(index): part for index, part in enumerate(old)}
    return [*applied(parts, change).values()]


def _parts(value: Any) -> dict[str, Any]:
    """Return the fields of a record, the parts of a mapping, or those of a tuple by their index."""
    if is_dataclass(value):
        return {field.name: getattr(value, field.name) for field in fields(value)}
    return value if isinstance(value, dict) else {str(index): part for index, part in enumerate(value)}
