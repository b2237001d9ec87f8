"""`plan`: the shards a grid needs, the forward passes they cost, and what is done already."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from statistics import mean

from heval_core import regimes
from heval_core.explainers import ig
from heval_core.faithfulness import LEVELS
from heval_core.lm.loading import Identity, identify, tokenizer_of
from heval_core.lm.spans import tokenise
from heval_core.prompts import prompt_of
from heval_core.records import Dropped
from heval_core.store.shards import ShardStore
from precompute.grid import Grid, Questions, cap_of, check, load_questions
from precompute.run import asked_as, dtype_of, known_jobs, pending

SAMPLE = 20


def lines(grid: Grid, folder: Path) -> Iterator[str]:
    """The plan as lines of a table. Raises HEvalError for a wrong grid or an unknown model."""
    check(grid)
    store = ShardStore(folder)
    yield f"{'model':20} {'dataset':18} {'regime':24} {'questions':>9} {'to do':>6} {'tokens':>7} {'passes':>9}"
    total_work = total_done = total_passes = 0
    later = 0
    for name in grid.models:
        model = asked_as(grid, identify(name))
        tokenizer = tokenizer_of(model)
        for dataset in grid.datasets:
            questions = load_questions(dataset, grid.limit, grid.seed, model.style)
            jobs = list(known_jobs(grid, model, questions, dtype_of(grid), store))
            work = list(pending(jobs, store))
            to_do = sum(len(wanted) for _, wanted in work)
            total_work, total_done = total_work + to_do, total_done + sum(len(j.shards) for j in jobs) - to_do
            for regime in grid.regimes:
                tokens = _mean_tokens(questions, regime, grid.seed, model, tokenizer)
                shards: Counter[str] = Counter()
                for job, wanted in work:
                    if job.regime == regime:
                        for shard in wanted:
                            own = shard.explainer if shard.kind == "attribution" else shard.kind
                            shards[own] += len(job.places)
                if not any(shard.explainer for job in jobs if job.regime == regime for shard in job.shards):
                    # Which instances are explained is known once all have answered; as many as the cap at most.
                    later += 1
                    shards.update(
                        {key: min(cap_of(grid, questions) or 0, len(questions.facts)) for key in grid.explainers}
                    )
                passes = sum(round(count * _passes(key, tokens)) for key, count in shards.items())
                total_passes += passes
                yield (
                    f"{model.key:20} {questions.dataset:18} {regime:24} {len(questions.facts):9} "
                    f"{sum(len(w) for j, w in work if j.regime == regime):6} {tokens:7.0f} {passes:9}"
                )
    yield (
        f"{total_work} shards to do, {total_done} done already; about {total_passes:,} forward passes "
        "(one of fa is half a pass on average, one of ig is a pass forward and one backward)"
    )
    if later:
        yield f"{later} regimes have more questions than their cap; what is explained is planned once all have answered"


def _passes(what: str, tokens: float) -> float:
    return {"fa": tokens, "ig": 2 * ig.PLUGIN.steps, "instance": 2, "faithfulness": 2 * LEVELS}.get(
        what.partition("(")[0], 1
    )


def _mean_tokens(questions: Questions, regime: str, seed: int, model: Identity, tokenizer: object) -> float:
    counts = []
    for place, fact in enumerate(questions.facts[:SAMPLE]):
        try:
            instance = regimes.build(fact, regime, questions.pool, seed, model.style, place)
        except Dropped:
            continue
        counts.append(len(tokenise(prompt_of(instance, model.template), tokenizer).ids))
    return mean(counts) if counts else 0.0
