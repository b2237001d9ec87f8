"""The task that makes explanations of some claims, and their rows."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from heval_core import catalogue
from heval_core.citations import questions
from heval_core.citations.records import Claim, Explained
from heval_core.citations.writing import SHIPPED, Writer, shipped, write
from heval_core.records import RegimeKey
from heval_core.store.kinds import EXPLANATION
from precompute.citations.hashing import hashed
from precompute.citations.readers import Reader, Served, Watched
from precompute.citations.study import REGIME
from precompute.outcome import Failure, Result, named


@dataclass(frozen=True)
class ExplainTask:
    """Select passages and write explanations; one shard.

    key: of the shard. settings: see `Entry`. start: the number of the first claim. stored: rows of these claims that an
    earlier run has made in the same way; they are not made again.
    """

    model: Reader
    writer: Writer
    selector: str
    dataset: str
    fingerprint: str
    claims: tuple[Claim, ...]
    start: int
    seed: int
    key: str
    settings: str
    revision: str = ""
    stored: tuple[dict[str, Any], ...] = field(default=(), repr=False)

    @property
    def whose(self) -> RegimeKey:
        return RegimeKey(self.writer.key, self.dataset, REGIME, self.selector)

    @property
    def name(self) -> str:
        return f"{self.writer.key} · {self.dataset} · {self.selector} · {self.start}-{self.start + len(self.claims)}"

    @property
    def technique(self) -> str:
        return self.selector

    @property
    def size(self) -> int:
        return len(self.claims)

    @property
    def keys(self) -> tuple[str, ...]:
        return (self.key,)

    def do(self, reader: Any, _: None, progress: Callable[[], None]) -> Result:
        there = {row["claim_id"] for row in self.stored}
        rows, failures = list(self.stored), list[Failure]()
        left = [claim for claim in self.claims if claim.id not in there]
        for claim, made in self._made(left, reader, failures):
            rows += [self._row(claim, own, seconds) for own, seconds in made]
            progress()
        place = {claim.id: number for number, claim in enumerate(self.claims)}
        rows.sort(key=lambda row: place[row["claim_id"]])
        return Result({self.key: rows}, failures)

    def _made(
        self, claims: list[Claim], reader: Any, failures: list[Failure]
    ) -> Iterator[tuple[Claim, list[tuple[Explained, float]]]]:
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
                yield claim, [(one, seconds) for one in own]

    def _explain(self, claims: Sequence[Claim], reader: Any) -> list[list[Explained]]:
        if self.writer.model == SHIPPED:
            return [shipped(claim) or [_nothing_shipped(claim)] for claim in claims]
        selector = catalogue.find("selector", self.selector)
        selections = selector.select(claims, reader if selector.asks else None)
        written = write(claims, selections, reader, self.writer.prompt, self.selector, self.writer.key)
        return [[one] for one in written]

    def _row(self, claim: Claim, made: Explained, seconds: float) -> dict[str, Any]:
        return explanation_row(self.dataset, made, questions.sampled(made, self.seed), seconds)

    def entries(self, result: Result) -> Iterator[dict[str, Any]]:
        yield {
            "key": self.key,
            "kind": EXPLANATION.name,
            "model": self.writer.key,
            "revision": self.revision,
            "dataset": self.dataset,
            "fingerprint": self.fingerprint,
            "settings": self.settings,
            "regime": REGIME,
            "technique": self.selector,
            "explainer": "",
            "start": self.start,
            "stop": self.start + len(self.claims),
            "failed": len(result.failures),
        }


def _nothing_shipped(claim: Claim) -> Explained:
    return Explained(claim, SHIPPED, SHIPPED, (), (), problems=("No explanation came with the claim.",))


def explanation_row(dataset: str, made: Explained, sampled: int | None, seconds: float) -> dict[str, Any]:
    """A row of an explanation shard. An explanation without a sentence is unavailable, for its problems."""
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
        "sampled": sampled,
        "problems": list(made.problems) if made.sentences else [],
        "unavailable": None if made.sentences else " ".join(made.problems) or "The explanation is empty.",
        "seconds": seconds,
    }
