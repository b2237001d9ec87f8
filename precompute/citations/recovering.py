"""The task that asks one annotator about some explanations, and its rows."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from heval_core import catalogue
from heval_core.citations.questions import questions
from heval_core.citations.records import Choice, Explained, Question
from precompute.citations.readers import Served, Watched
from precompute.citations.study import SAMPLE
from precompute.task import Failure, Result, Row, Shard, Task, named

Asked = tuple[str, int]


@dataclass(frozen=True)
class Stored:
    """An explanation with its id and the passage that *sample* masks; None if there is none."""

    id: str
    explained: Explained
    sampled: int | None

    def passages(self, part: str) -> tuple[int, ...]:
        """Whose citations a part of the questions masks: the sampled one, or all the others."""
        return tuple(number for number in self.explained.selected if (number == self.sampled) == (part == SAMPLE))


@dataclass(frozen=True)
class RecoverTask(Task):
    """Ask an annotator; a shard for each part of the questions.

    *sample* and *rest* are shards of their own: whoever asks for the sample first and for everything later asks nothing twice.
    Where both are missing one task makes both, so that an explainer shares its passes among all passages of an explanation.
    parts: of each shard. stored: rows that an earlier run has made in the same way.
    """

    explanations: tuple[Stored, ...]
    parts: tuple[str, ...]
    stored: tuple[Row, ...] = field(default=(), repr=False)

    @property
    def annotator(self) -> str:
        return self.shards[0].explainer

    @property
    def name(self) -> str:
        one = self.shards[0]
        parts = f"{' and '.join(self.parts)} of {one.start}-{one.stop}"
        return f"{one.model} · {one.dataset} · {one.technique} · {self.annotator} · {parts}"

    @property
    def size(self) -> int:  # type: ignore[override]  # of others it is a constant
        return self.shards[0].stop - self.shards[0].start

    @property
    def wanted(self) -> dict[Asked, str]:
        """The key of the shard of each question."""
        parts = list(zip(self.parts, self.keys, strict=True))
        return {(one.id, number): key for part, key in parts for one in self.explanations for number in one.passages(part)}

    def do(self, ready: Any, _: None, progress: Callable[[], None]) -> Result:
        known: dict[Asked, Row] = {(row["explanation_id"], row["passage"]): row for row in self.stored}
        wanted = self.wanted
        left = [
            (one.id, question)
            for one in self.explanations
            for question in questions(one.explained)
            if (one.id, question.passage) in wanted.keys() - known.keys()
        ]
        failures = list[Failure]()
        for row in self._answered(left, ready, failures):
            known[row["explanation_id"], row["passage"]] = row
        rows: dict[str, list[Row]] = {key: [] for key in self.keys}
        for asked, key in wanted.items():
            rows[key] += [known[asked]] if asked in known else []
        for _one in self.explanations:
            progress()
        return Result(rows, failures)

    def _answered(self, asked: Sequence[tuple[str, Question]], reader: Any, failures: list[Failure]) -> Iterator[Row]:
        """The rows of all questions together; explanation by explanation where that fails."""
        if not asked:
            return
        watched = Watched(reader) if isinstance(self.model, Served) else None
        started = time.perf_counter()
        try:
            annotator = catalogue.find("annotator", self.annotator)
            choices = annotator.annotate([question for _, question in asked], watched or reader)
            rows = [_row(own, self.annotator, *one) for own, one in zip(choices, asked, strict=True)]
        except Exception as error:
            owners = list(dict.fromkeys(owner for owner, _ in asked))
            if len(owners) == 1:
                failures.append(Failure(self.annotator, asked[0][1].explained.claim.id, named(error)))
                return
            for owner in owners:
                yield from self._answered([one for one in asked if one[0] == owner], reader, failures)
            return
        seconds = (time.perf_counter() - started) / len(asked)
        for row, (_owner, question) in zip(rows, asked, strict=True):
            if watched and watched.is_to_blame(row["problem"]):
                failures.append(Failure(self.annotator, f"{question.explained.claim.id} [{question.passage}]", row["problem"]))
            else:
                yield row | {"seconds": seconds}

    def failed(self, shard: Shard, result: Result) -> int:
        return list(self.wanted.values()).count(shard.key) - len(result.rows[shard.key])


def _row(choice: Choice, annotator: str, explanation_id: str, question: Question) -> Row:
    """Raises ValueError for a choice that does not fit the explanation."""
    count = len(question.sentences)
    if not all(0 <= place < count for place in choice.chosen):
        raise ValueError(f"{annotator} chose sentence {max(choice.chosen)} of {count}, counted from 0")
    if choice.scores is not None and len(choice.scores) != count:
        raise ValueError(f"{annotator} gave {len(choice.scores)} scores for {count} sentences")
    return {
        "explanation_id": explanation_id,
        "passage": question.passage,
        "annotator": annotator,
        "predicted": sorted(choice.chosen),
        "scores": None if choice.scores is None else list(choice.scores),
        "problem": choice.problem or None,
    }
