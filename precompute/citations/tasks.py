"""The tasks of the study: explanations of some claims are made, and an annotator is asked about some explanations.

Both ask for everything together, and part by part where that fails. What a server did not answer is a failure, and is asked
again by a later run; a model in memory would say the same again.
"""

import json
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from heval_core.citations.questions import questions, sampled
from heval_core.citations.records import Choice, Claim, Explained, Question, StoredExplanation
from heval_core.citations.writing import SHIPPED, ClaimWriter, shipped, write
from heval_core.plugins import catalogue
from heval_core.store.shards import Shard
from precompute.citations.study import SAMPLE
from precompute.task import Failure, Result, ShardRow, Task, hashed, named


class TaskPart(NamedTuple):
    """What is asked about: a claim, or a question. owner: what it is asked together with. claim, place: where it stands."""

    owner: str
    claim: str
    place: str
    about: Any


@dataclass(frozen=True)
class AskTask(Task):
    """A task that asks a model or an annotator about parts.

    stored: rows that an earlier run has made in the same way; they are not made again.
    """

    stored: tuple[ShardRow, ...] = field(default=(), repr=False, kw_only=True)

    @property
    def name(self) -> str:
        return " · ".join((self.shards[0].model, self.shards[0].dataset, self.shards[0].technique, self.what))

    def rows_of(self, parts: Sequence[TaskPart], reader: Any) -> Sequence[list[ShardRow]]:
        """Make the rows of each part."""
        raise NotImplementedError

    def each(self, parts: Sequence[TaskPart], reader: Any, failures: list[Failure]) -> Iterator[list[ShardRow]]:
        """Yield the rows of each part that has some, with the seconds that they took."""
        if not parts:
            return
        started, annotator = time.perf_counter(), self.shards[0].explainer
        try:
            rows_of_parts = self.rows_of(parts, reader)
        except Exception as error:
            owners = dict.fromkeys(part.owner for part in parts)
            if len(owners) == 1:
                failures.append(Failure(annotator, parts[0].claim, named(error)))
                return
            for owner in owners:
                yield from self.each([part for part in parts if part.owner == owner], reader, failures)
            return
        seconds = (time.perf_counter() - started) / len(parts)
        for part, rows in zip(parts, rows_of_parts, strict=True):
            problem = " ".join(filter(None, (row.get("unavailable") or row.get("problem") for row in rows)))
            if any(known in problem for known in getattr(reader, "problems", ())):
                failures.append(Failure(annotator, part.place, problem))
            else:
                yield [row | {"seconds": seconds} for row in rows]


@dataclass(frozen=True)
class ExplainTask(AskTask):
    """Select passages and write explanations; one shard."""

    writer: ClaimWriter
    claims: tuple[Claim, ...]
    seed: int

    def do(self, ready: Any, questions: None) -> Result:
        stored = {row["claim_id"] for row in self.stored}
        rows, failures = list(self.stored), list[Failure]()
        left = [TaskPart(claim.id, claim.id, claim.id, claim) for claim in self.claims if claim.id not in stored]
        for results in self.each(left, ready, failures):
            rows += results
        order = [claim.id for claim in self.claims]
        rows.sort(key=lambda row: order.index(row["claim_id"]))
        return Result({self.keys[0]: rows}, failures)

    def rows_of(self, parts: Sequence[TaskPart], reader: Any) -> Sequence[list[ShardRow]]:
        claims = [part.about for part in parts]
        return [[self._row(explained) for explained in explanations] for explanations in self._explained(claims, reader)]

    def _explained(self, claims: Sequence[Claim], reader: Any) -> list[list[Explained]]:
        if self.writer.model == SHIPPED:
            nothing = ("No explanation came with the claim.",)
            return [shipped(claim) or [Explained(claim, SHIPPED, SHIPPED, (), (), problems=nothing)] for claim in claims]
        selector = catalogue.find("selector", self.shards[0].technique)
        selections = selector.select(claims, reader if selector.asks else None)
        written = write(claims, selections, reader, self.writer, selector.key)
        return [[explained] for explained in written]

    def _row(self, item: Explained) -> ShardRow:
        """Make a row. An explanation without a sentence is unavailable, for its problems."""
        dataset, claim = self.shards[0].dataset, item.claim
        passages = [[passage.number, passage.title, passage.text] for passage in claim.passages]
        texts = [sentence.text for sentence in item.sentences]
        depends = [dataset, claim.id, claim.claim, claim.verdict, passages, item.writer, item.selector, item.selected, texts]
        # Of a model that writes, the writer's key names the prompt.
        depends += [item.prompt] if item.selector == SHIPPED and item.prompt else []
        return {
            "explanation_id": hashed(depends, 16),
            "claim_id": claim.id,
            "writer": item.writer,
            "selector": item.selector,
            "prompt_id": item.prompt,
            "selected": list(item.selected),
            "sentences": texts,
            "bare": [sentence.bare for sentence in item.sentences],
            "cited": json.dumps([sentence.cited for sentence in item.sentences]),
            "sources": None if item.sources is None else json.dumps(item.sources),
            "sampled": sampled(item, self.seed),
            "problems": list(item.problems) if item.sentences else [],
            "unavailable": item.unavailable or None,
        }


@dataclass(frozen=True)
class RecoverTask(AskTask):
    """Ask an annotator; a shard for each part of the questions.

    *sample* and *rest* are shards of their own: whoever asks for the sample first and for everything later asks nothing twice.
    Where both are missing one task makes both, so that an explainer shares its passes among all passages of an explanation.
    parts: of each shard, those too that are there.
    """

    explanations: tuple[StoredExplanation, ...]
    parts: Mapping[Shard, str]

    @property
    def annotator(self) -> str:
        return self.shards[0].explainer

    @property
    def what(self) -> str:
        return f"{self.annotator} · {' and '.join(self.parts[shard] for shard in self.shards)} of {super().what}"

    @property
    def wanted(self) -> dict[tuple[str, int], str]:
        """The key of the shard of each question: explanation, passage."""
        return {
            (one.id, number): shard.key
            for shard in self.shards
            for one in self.explanations
            for number in one.explained.selected
            if (number == one.sampled) == (self.parts[shard] == SAMPLE)
        }

    def do(self, ready: Any, _: None) -> Result:
        known = {(row["explanation_id"], row["passage"]): row for row in self.stored}
        wanted, failures = self.wanted, list[Failure]()
        left = [
            TaskPart(stored.id, stored.explained.claim.id, f"{stored.explained.claim.id} [{question.passage}]", question)
            for stored in self.explanations
            for question in questions(stored.explained)
            if (stored.id, question.passage) in wanted.keys() - known.keys()
        ]
        for rows in self.each(left, ready, failures):
            known |= {(row["explanation_id"], row["passage"]): row for row in rows}
        by_key = {key: [known[pair] for pair, of in wanted.items() if of == key and pair in known] for key in self.keys}
        return Result(by_key, failures)

    def rows_of(self, parts: Sequence[TaskPart], reader: Any) -> Sequence[list[ShardRow]]:
        choices = catalogue.find("annotator", self.annotator).annotate([part.about for part in parts], reader)
        return [[self._row(choice, part.owner, part.about)] for choice, part in zip(choices, parts, strict=True)]

    def _row(self, choice: Choice, explanation_id: str, question: Question) -> ShardRow:
        """Make a row. Raises ValueError for a choice that does not fit the explanation."""
        count = len(question.sentences)
        if not all(0 <= index < count for index in choice.chosen):
            raise ValueError(f"{self.annotator} chose sentence {max(choice.chosen)} of {count}, counted from 0")
        if choice.scores is not None and len(choice.scores) != count:
            raise ValueError(f"{self.annotator} gave {len(choice.scores)} scores for {count} sentences")
        return {
            "explanation_id": explanation_id,
            "passage": question.passage,
            "annotator": self.annotator,
            "predicted": sorted(choice.chosen),
            "scores": None if choice.scores is None else list(choice.scores),
            "problem": choice.problem or None,
        }

    def failed(self, shard: Shard, result: Result) -> int:
        return list(self.wanted.values()).count(shard.key) - len(result.rows[shard.key])
