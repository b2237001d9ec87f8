"""The task that makes explanations of some claims, and their rows."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from heval_core import catalogue
from heval_core.citations.questions import sampled
from heval_core.citations.records import Claim, Explained
from heval_core.citations.writing import SHIPPED, Writer, shipped, write
from precompute.citations.readers import Served, Watched
from precompute.task import Failure, Result, Row, Task, hashed, named


@dataclass(frozen=True)
class ExplainTask(Task):
    """Select passages and write explanations; one shard.

    stored: rows of these claims that an earlier run has made in the same way; they are not made again.
    """

    writer: Writer
    claims: tuple[Claim, ...]
    seed: int
    stored: tuple[Row, ...] = field(default=(), repr=False)

    @property
    def name(self) -> str:
        shard = self.shards[0]
        return f"{shard.model} · {shard.dataset} · {shard.technique} · {shard.start}-{shard.stop}"

    @property
    def size(self) -> int:  # type: ignore[override]  # of others it is a constant
        return len(self.claims)

    def do(self, ready: Any, questions: None, progress: Callable[[], None]) -> Result:
        there = {row["claim_id"] for row in self.stored}
        rows, failures = list(self.stored), list[Failure]()
        left = [claim for claim in self.claims if claim.id not in there]
        for made in self._made(left, ready, failures):
            for own, seconds in made:
                rows.append(explanation_row(self.shards[0].dataset, own, sampled(own, self.seed), seconds))
            progress()
        order = [claim.id for claim in self.claims]
        rows.sort(key=lambda row: order.index(row["claim_id"]))
        return Result({self.keys[0]: rows}, failures)

    def _made(self, claims: list[Claim], reader: Any, failures: list[Failure]) -> Iterator[list[tuple[Explained, float]]]:
        """The explanations of each claim with the seconds that each took; of all together, and one by one where that fails."""
        if not claims:
            return
        watched = Watched(reader) if isinstance(self.model, Served) else None
        started = time.perf_counter()
        try:
            made = self._explain(claims, watched or reader)
        except Exception as error:
            if len(claims) == 1:
                failures.append(Failure("", claims[0].id, named(error)))
                return
            for claim in claims:
                yield from self._made([claim], reader, failures)
            return
        seconds = (time.perf_counter() - started) / len(claims)
        for claim, own in zip(claims, made, strict=True):
            # What a server did not answer it may answer another time; a model in memory would say the same again.
            problems = " ".join(problem for one in own if not one.sentences for problem in one.problems)
            if watched and watched.is_to_blame(problems):
                failures.append(Failure("", claim.id, problems))
            else:
                yield [(one, seconds) for one in own]

    def _explain(self, claims: Sequence[Claim], reader: Any) -> list[list[Explained]]:
        if self.writer.model == SHIPPED:
            return [shipped(claim) or [_nothing_shipped(claim)] for claim in claims]
        selector = catalogue.find("selector", self.shards[0].technique)
        selections = selector.select(claims, reader if selector.asks else None)
        written = write(claims, selections, reader, self.writer.prompt, selector.key, self.writer.key)
        return [[one] for one in written]


def _nothing_shipped(claim: Claim) -> Explained:
    return Explained(claim, SHIPPED, SHIPPED, (), (), problems=("No explanation came with the claim.",))


def explanation_row(dataset: str, made: Explained, masked: int | None, seconds: float) -> Row:
    """A row of an explanation shard. masked: the passage that *sample* masks.

    An explanation without a sentence is unavailable, for its problems.
    """
    claim = made.claim
    passages = [[passage.number, passage.title, passage.text] for passage in claim.passages]
    texts = [sentence.text for sentence in made.sentences]
    depends = [dataset, claim.id, claim.claim, claim.verdict, passages, made.writer, made.selector, made.selected, texts]
    # Of a model that writes, the writer's key names the prompt.
    depends += [made.prompt] if made.selector == SHIPPED and made.prompt else []
    return {
        "explanation_id": hashed(depends, 16),
        "dataset": dataset,
        "claim_id": claim.id,
        "writer": made.writer,
        "selector": made.selector,
        "prompt_id": made.prompt,
        "selected": list(made.selected),
        "sentences": texts,
        "bare": [sentence.bare for sentence in made.sentences],
        "cited": json.dumps([sentence.cited for sentence in made.sentences]),
        "sources": None if made.sources is None else json.dumps(made.sources),
        "sampled": masked,
        "problems": list(made.problems) if made.sentences else [],
        "unavailable": None if made.sentences else " ".join(made.problems) or "The explanation is empty.",
        "seconds": seconds,
    }
