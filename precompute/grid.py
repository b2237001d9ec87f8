"""A grid of models, datasets, regimes and explainers as an ordered list of jobs that can be done in any order.

Everything a shard depends on is in its key: model revision, dataset fingerprint, seed, prompt style and template,
dtype, and the explainer's repr. So nothing stale is reused, and nothing valid is computed again.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from heval_core import catalogue, regimes
from heval_core.datasets._jsonl import JsonLines
from heval_core.datasets._records import BadRecord
from heval_core.lm.loading import Identity
from heval_core.records import REGIMES, TECHNIQUE, Fact, HEvalError
from heval_core.store.shards import FORMAT


@dataclass(frozen=True)
class Grid:
    """What is asked for. models: hub ids or folders; datasets: names or files; keep_heads: see `Job`."""

    models: tuple[str, ...]
    datasets: tuple[str, ...]
    regimes: tuple[str, ...] = REGIMES
    explainers: tuple[str, ...] = ("fa", "ig", "attn", "mechlight")
    limit: int | None = None
    seed: int = 0
    device: str = "auto"
    dtype: str = "auto"
    batch_tokens: int | None = None
    shard_size: int = 50
    keep_heads: int = 0


@dataclass(frozen=True)
class Shard:
    """One file to be made. explainer: empty for instances and for kept heads."""

    kind: str
    explainer: str
    key: str


@dataclass(frozen=True)
class Job:
    """The questions [start, stop) of one model, dataset and regime, and the shards they make.

    keep_heads: every head's attention is kept for the questions before this number.
    """

    model: str
    revision: str
    dataset: str
    regime: str
    seed: int
    start: int
    stop: int
    keep_heads: int
    shards: tuple[Shard, ...]

    @property
    def name(self) -> str:
        return f"{self.model} · {self.dataset} · {self.regime} · {self.start}-{self.stop}"


@dataclass(frozen=True)
class Questions:
    """One dataset as one prompt style may be asked it: the selected facts in order, the pool, and bad records."""

    dataset: str
    facts: tuple[Fact, ...]
    pool: regimes.Pool
    bad: tuple[BadRecord, ...]
    fingerprint: str


def open_dataset(name: str) -> Any:
    """A dataset by name, or one's own JSON-lines file by its path."""
    if name.endswith((".jsonl", ".json")) or Path(name).is_file():
        return JsonLines(Path(name))
    return catalogue.find("dataset", name)


def load_questions(name: str, limit: int | None, seed: int, style: regimes.PromptStyle) -> Questions:
    """Raises HEvalError for an unknown dataset or an unreadable file."""
    dataset = open_dataset(name)
    facts, bad, digest = [], [], hashlib.sha256()
    for record in dataset.facts():
        if isinstance(record, BadRecord):
            bad.append(record)
        else:
            facts.append(record)
    for fact in sorted(facts, key=lambda f: f.id):
        digest.update(repr(fact).encode("utf-8", "surrogatepass"))
    selected = regimes.select(facts, limit, seed, style)
    return Questions(dataset.key, selected, regimes.Pool.of(facts), tuple(bad), digest.hexdigest()[:16])


def check(grid: Grid) -> None:
    """Raises HEvalError for an unknown regime, explainer or number before anything is loaded."""
    for regime in grid.regimes:
        if regime not in REGIMES:
            raise HEvalError(f"There is no regime {regime!r}; there are: {', '.join(REGIMES)}.")
    for key in grid.explainers:
        if catalogue.find("explainer", key).control:
            raise HEvalError(f"{key} is a control; controls are computed when results are published.")
    for name in grid.datasets:
        open_dataset(name)
    if grid.limit is not None and grid.limit < 1:
        raise HEvalError(f"--limit is {grid.limit}; it must be at least 1.")
    if grid.shard_size < 1:
        raise HEvalError(f"--shard-size is {grid.shard_size}; it must be at least 1.")


def jobs_of(grid: Grid, model: Identity, questions: Questions, dtype: str) -> Iterator[Job]:
    """The jobs of one model and dataset, in order. dtype: the one `auto` stands for."""
    for regime in grid.regimes:
        for start in range(0, len(questions.facts), grid.shard_size):
            stop = min(start + grid.shard_size, len(questions.facts))
            common = {
                "format": FORMAT, "model": model.key, "revision": model.revision, "dtype": dtype,
                "style": model.style.key, "template": model.template, "dataset": questions.dataset,
                "fingerprint": questions.fingerprint, "regime": regime, "technique": TECHNIQUE, "seed": grid.seed,
                "facts": [fact.id for fact in questions.facts[start:stop]], "start": start,
            }  # fmt: skip
            shards = [Shard("instance", "", _key(common, "instance"))]
            shards += [
                Shard("attribution", key, _key(common, repr(catalogue.find("explainer", key))))
                for key in grid.explainers
            ]
            if start < grid.keep_heads:
                shards.append(Shard("head_attention", "", _key(common, f"heads {grid.keep_heads}")))
            yield Job(
                model.key, model.revision, questions.dataset, regime, grid.seed, start, stop, grid.keep_heads,
                tuple(shards),
            )  # fmt: skip


def missing(job: Job, done: dict[str, Any]) -> tuple[Shard, ...]:
    """The job's shards that are not there yet, or that hold failures to be tried again."""
    return tuple(s for s in job.shards if s.key not in done or done[s.key].failed)


def _key(common: dict[str, Any], what: str) -> str:
    return hashlib.sha256(json.dumps({**common, "what": what}, sort_keys=True).encode()).hexdigest()[:24]


def instance_id(job: Job, style: str, fact_id: str) -> str:
    parts = (job.model, job.revision, job.dataset, job.regime, TECHNIQUE, style, fact_id, str(job.seed))
    return hashlib.sha256("\x1f".join(parts).encode()).hexdigest()[:16]
