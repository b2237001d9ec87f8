"""A regime's questions as an ordered list of jobs that can be done in any order, and the shards of each."""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass

from heval_core import catalogue
from heval_core.prompts import spelled
from heval_core.records import CONTEXT_KINDS, FOLLOWED, TECHNIQUE
from heval_core.store.kinds import ANSWER, ATTRIBUTION, BEHAVIOUR, CONTEXT_ATTRIBUTION, HEAD_ATTENTION, INSTANCE
from heval_core.store.shards import FORMAT
from precompute.measured_kinds import asked_for, keyed
from precompute.pair import Pair
from precompute.task import Shard, hashed
from precompute.techniques import PLAIN, Arrangement, Chosen

INSTANCES = INSTANCE.name


@dataclass(frozen=True)
class Job:
    """Some questions of one model, dataset and regime, and the shards made from them.

    places: the questions' numbers in the fixed order, ascending. keep_heads: every head's attention is kept for the questions
    before this number. match: see `Grid`. measured: the kinds of faithfulness, each with the number of the question before
    which it is measured. arrangement: how it is answered. answers: the explainers of whole answers, where these are asked for.
    """

    model: str
    revision: str
    dataset: str
    regime: str
    seed: int
    places: tuple[int, ...]
    keep_heads: int
    shards: tuple[Shard, ...]
    match: str = "first"
    measured: tuple[tuple[str, int | None], ...] = ()
    arrangement: Arrangement = PLAIN
    answers: tuple[str, ...] = ()


def jobs_of(
    pair: Pair, regime: str, places: Sequence[int], kinds: Collection[str], arrangement: Arrangement = PLAIN
) -> Iterator[Job]:
    """The jobs of one regime over some of the questions, in order. The grid's shard size must be a number.

    kinds: `instance`, and keys of explainers; head attention comes with the latter.
    """
    grid, model = pair.grid, pair.model.identity
    assert grid.shard_size is not None
    measured = tuple(asked_for(grid.faithfulness, grid.faithfulness_protected).items())
    for first in range(0, len(places), grid.shard_size):
        some = tuple(places[first : first + grid.shard_size])
        yield Job(
            model.key,
            model.revision,
            pair.questions.dataset,
            regime,
            grid.seed,
            some,
            grid.keep_heads,
            tuple(_shards(pair, regime, some, kinds, arrangement)),
            grid.match,
            measured,
            arrangement,
            grid.explainers if grid.answers else (),
        )


def _shards(
    pair: Pair, regime: str, places: tuple[int, ...], kinds: Collection[str], arrangement: Arrangement
) -> Iterator[Shard]:
    """The main technique's answers come first; its answers are explained."""
    grid, settings, main = pair.grid, pair.settings, arrangement.main
    identity, questions, names = pair.model.identity, pair.questions, pair.names_of(regime)
    common = {
        "format": FORMAT,
        "model": identity.key,
        "revision": identity.revision,
        "dtype": pair.dtype,
        "style": identity.style,
        "template": spelled(identity.template),
        "dataset": questions.dataset,
        "fingerprint": questions.fingerprint,
        "regime": regime,
        "memory": grid.memory,
        "match": grid.match,
        "seed": grid.seed,
        "facts": [questions.facts[place].id for place in places],
        "places": places,
    } | ({"aliases": names} if names else {})

    def shard(kind: str, what: str, chosen: Chosen = main, explainer: str = "") -> Shard:
        key = hashed(common | {"technique": chosen.key, "what": what} | chosen.keyed)
        where = {"start": places[0], "stop": places[-1] + 1, "settings": chosen.within(settings)}
        return pair.shard(kind, key, regime=regime, technique=chosen.key, explainer=explainer, **where)

    behaves = arrangement.compared and regime in CONTEXT_KINDS
    for chosen in arrangement.all if INSTANCES in kinds else ():
        for kind in (INSTANCES, BEHAVIOUR.name) if behaves else (INSTANCES,):
            yield shard(kind, kind, chosen)
    explained = {key: pair.identity_of(catalogue.find("explainer", key)) for key in grid.explainers if key in kinds}
    if not explained:
        return
    yield from (shard(ATTRIBUTION.name, what, explainer=key) for key, what in explained.items())
    for key, what in explained.items() if grid.target == "context" else ():
        yield shard(CONTEXT_ATTRIBUTION.name, f"context {what}", explainer=key)
    controls = {key: pair.identity_of(control) for key, control in catalogue.explainers(control=True).items()}
    for kind, before in asked_for(grid.faithfulness, grid.faithfulness_protected).items():
        for key, what in (explained | controls).items() if before is None or places[0] < before else ():
            yield shard(kind, f"{what} {keyed(kind, before)}", explainer=key)
    if places[0] < grid.keep_heads:
        yield shard(HEAD_ATTENTION.name, f"heads {grid.keep_heads}")
    yield from (shard(ANSWER.name, f"answer {own}") for own in _answered(pair, regime, main, [*explained.values()]))


def _answered(pair: Pair, regime: str, main: Chosen, explained: list[str]) -> list[list[str]]:
    """What explains whole answers there; nothing where none are asked for."""
    return [explained] if pair.grid.answers and regime in FOLLOWED and main.key == TECHNIQUE else []


def instance_id(job: Job, style: str, fact_id: str, technique: str = TECHNIQUE) -> str:
    parts = (job.model, job.revision, job.dataset, job.regime, technique, style, fact_id, str(job.seed))
    return hashlib.sha256("\x1f".join(parts).encode()).hexdigest()[:16]
