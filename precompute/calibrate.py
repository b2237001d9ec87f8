"""Measures the cost of an instance of a model and a dataset on this machine: times a few, and keeps no results."""

from __future__ import annotations

import dataclasses
import time
from dataclasses import dataclass
from functools import lru_cache

from heval_core.lm.loading import load
from heval_core.lm.model import LanguageModel
from heval_core.store.kinds import ATTRIBUTION, BEHAVIOUR, INSTANCE
from heval_core.store.shards import weight
from precompute.compute import compute
from precompute.costs import mean_tokens, token_forwards
from precompute.grid import INSTANCES, Grid, Job, Shard, dtype_of, jobs_of
from precompute.measured_kinds import MEASURED
from precompute.memories import Memories
from precompute.models import Model
from precompute.questions import Questions
from precompute.techniques import Arrangement

INSTANCES_TIMED = 6


@dataclass(frozen=True)
class Costs:
    """The cost of one instance. known: kind or explainer ▶ (seconds, bytes) for `tokens` tokens."""

    tokens: float
    known: dict[str, tuple[float, float]]

    def seconds(self, what: str, tokens: float) -> float:
        """In proportion to the tokens that the model runs."""
        measured = self.known.get(what, (0.0, 0.0))[0]
        return measured * token_forwards(what, tokens) / max(token_forwards(what, self.tokens), 1.0)

    def megabytes(self, what: str, tokens: float) -> float:
        return self.known.get(what, (0.0, 0.0))[1] * tokens / max(self.tokens, 1.0) / 1e6


def calibrate(grid: Grid, model: Model, questions: Questions) -> Costs:
    """Time a few instances of the grid's first regime; each kind of faithfulness counts once for all explainers."""
    lm = _loaded(model.name, grid.device, grid.dtype, grid.batch_tokens)
    lm.template = model.identity.template
    lm.fits.give(grid.fits)
    regime, places = grid.regimes[0], range(min(INSTANCES_TIMED, len(questions.facts)))
    memories = Memories.asked(lm, (questions.facts[place] for place in places), grid.memory)
    small = dataclasses.replace(grid, shard_size=len(places) or 1, keep_heads=0)
    known: dict[str, tuple[float, float]] = {}
    everything = (INSTANCES, *grid.explainers)
    arrangement = Arrangement(compared=bool(grid.techniques))
    for job in jobs_of(small, model.identity, questions, dtype_of(grid), regime, places, everything, arrangement):
        compute(lm, job, job.shards, questions, memories)  # the first pass of a model is slower than any other
        answers = _timed(lm, job, (job.shards[0],), questions, memories)
        known[INSTANCE.name] = answers
        behaviours = [shard for shard in job.shards if shard.kind == BEHAVIOUR.name]
        if behaviours:
            known[BEHAVIOUR.name] = _above(_timed(lm, job, (behaviours[0],), questions, memories), answers)
        for shard in job.shards[1:]:
            if shard.kind == ATTRIBUTION.name:
                known[shard.explainer] = _above(_timed(lm, job, (shard,), questions, memories), answers)
        for kind in {shard.kind for shard in job.shards} & MEASURED.keys():
            measured = tuple(shard for shard in job.shards if shard.kind == kind)
            attributions = tuple(shard for shard in job.shards if shard.kind == ATTRIBUTION.name)
            scores = compute(lm, job, attributions, questions, memories).rows
            seconds, size = _above(_timed(lm, job, measured, questions, memories, scores), answers)
            known[kind] = (seconds / len(measured), size / len(measured))
    return Costs(mean_tokens(questions, regime, grid.seed, model.identity), known)


def _timed(
    lm: LanguageModel,
    job: Job,
    shards: tuple[Shard, ...],
    questions: Questions,
    memories: Memories,
    stored: dict[str, list[dict[str, object]]] | None = None,
) -> tuple[float, float]:
    """Seconds and bytes per instance; the seconds include answering it."""
    started = time.perf_counter()
    result = compute(lm, job, shards, questions, memories, stored=stored or {})
    seconds = (time.perf_counter() - started) / len(job.places)
    weights = [weight(shard.kind, result.rows[shard.key]) for shard in shards]
    return seconds, sum(weights) / len(job.places)


def _above(both: tuple[float, float], answers: tuple[float, float]) -> tuple[float, float]:
    return max(0.0, both[0] - answers[0]), both[1]


@lru_cache(maxsize=1)
def _loaded(name: str, device: str, dtype: str, batch_tokens: int | None) -> LanguageModel:
    """Only the last model is kept: a plan goes through its models in order."""
    return load(name, device, dtype, batch_tokens)
