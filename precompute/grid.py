"""A grid of models, datasets, regimes and explainers as an ordered list of jobs that can be done in any order.

Everything a shard depends on is in its key: model revision, dataset fingerprint, seed, prompt style and template,
dtype, and the explainer's repr. So nothing stale is reused, and nothing valid is computed again.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from heval_core import catalogue, regimes
from heval_core.lm.fits import Fit
from heval_core.lm.loading import DTYPES, Identity, choose_device, choose_dtype, in_template
from heval_core.prompts import layout_of, spelled
from heval_core.records import CONTEXT_KINDS, MATCHES, REGIMES, TARGETS, TECHNIQUE, HEvalError
from heval_core.regime_keys import read_key
from heval_core.store.kinds import ATTRIBUTION, BEHAVIOUR, CONTEXT_ATTRIBUTION, HEAD_ATTENTION, INSTANCE
from heval_core.store.shards import FORMAT
from precompute.measured_kinds import asked_for, keyed
from precompute.memories import RULES
from precompute.own_file import OwnFile
from precompute.questions import Questions, open_dataset
from precompute.shard_keys import identity, key_of
from precompute.techniques import PLAIN, Arrangement, Chosen


@dataclass(frozen=True)
class Grid:
    """The options of a run.

    models: hub ids or folders. datasets: as `open_dataset` reads them. regimes: keys, with options. limit: questions asked
    per dataset. cap: instances explained per model, dataset and regime: a number, `auto` for the paper's caps, or None.
    memory: `own`, the model's own answer without context, if it looks like one; `true`, where that must be the dataset's true
    answer; `any`, whatever the model says.
    match: what decides the group of an answer, its `first` token or its `text`. template: in place of the model's own.
    shard_size: questions per shard; None for as many as take a minute or two. keep_heads: see `Job`. faithfulness: measured
    too, of controls as well; a number: of the first questions only. faithfulness_protected: the same, of the documents' tokens
    only. timing: time each explainer by itself. target: `context` also explains the first document's answer, whatever was
    answered. techniques: compared with one another and with Regular; none for Regular alone. own: explainers from files
    outside the package. fits: of explainers that have parameters.
    """

    models: tuple[str, ...]
    datasets: tuple[str, ...]
    regimes: tuple[str, ...] = REGIMES
    explainers: tuple[str, ...] = catalogue.default_methods()
    limit: int | None = None
    cap: int | str | None = "auto"
    memory: str = "own"
    match: str = "first"
    template: str | None = None
    seed: int = 0
    device: str = "auto"
    dtype: str = "auto"
    batch_tokens: int | None = None
    shard_size: int | None = None
    keep_heads: int = 0
    faithfulness: bool | int = False
    faithfulness_protected: bool | int = False
    timing: bool = False
    target: str = "answer"
    techniques: tuple[str, ...] = ()
    own: tuple[OwnFile, ...] = ()
    fits: tuple[Fit, ...] = ()


@dataclass(frozen=True)
class Shard:
    """One file to make. explainer: empty for instances, behaviours and kept heads."""

    kind: str
    explainer: str
    key: str
    technique: str = TECHNIQUE


@dataclass(frozen=True)
class Job:
    """Some questions of one model, dataset and regime, and the shards made from them.

    places: the questions' numbers in the fixed order, ascending. fingerprint: of the dataset. settings: see `Entry`.
    keep_heads: every head's attention is kept for the questions before this number. match: see `Grid`. measured: the kinds
    of faithfulness, each with the number of the question before which it is measured. arrangement: how it is answered.
    """

    model: str
    revision: str
    dataset: str
    fingerprint: str
    settings: str
    regime: str
    seed: int
    places: tuple[int, ...]
    keep_heads: int
    shards: tuple[Shard, ...]
    match: str = "first"
    measured: tuple[tuple[str, int | None], ...] = ()
    arrangement: Arrangement = PLAIN

    @property
    def start(self) -> int:
        return self.places[0]

    @property
    def stop(self) -> int:
        return self.places[-1] + 1

    @property
    def name(self) -> str:
        technique = self.arrangement.main.key
        how = f"{self.regime} · {technique}" if technique != TECHNIQUE else self.regime
        return f"{self.model} · {self.dataset} · {how} · {self.start}-{self.stop}"

    def entry(self, shard: Shard, failed: int = 0) -> dict[str, Any]:
        """What the manifest says of a shard of the job, without path, rows and hashes."""
        chosen = next(one for one in self.arrangement.all if one.key == shard.technique)
        return {
            **{name: getattr(self, name) for name in ("model", "revision", "dataset", "fingerprint", "regime")},
            "settings": chosen.within(self.settings),
            "technique": shard.technique,
            "explainer": shard.explainer,
            "kind": shard.kind,
            "key": shard.key,
            "start": self.start,
            "stop": self.stop,
            "failed": failed,
        }


def check_numbers(chosen: tuple[str, ...], limit: int | None) -> None:
    """Raises HEvalError for an unknown regime, or a limit below 1."""
    for regime in chosen:
        read_key(regime)
    if limit is not None and limit < 1:
        raise HEvalError(f"--limit is {limit}; it must be at least 1.")


def check(grid: Grid) -> None:
    """Raises HEvalError for an unknown regime, explainer, dataset or number before anything is loaded."""
    check_numbers(grid.regimes, grid.limit)
    for key in grid.explainers:
        catalogue.method(key)
    for key in grid.techniques:
        catalogue.find("technique", key)
    for name in grid.datasets:
        next(iter(open_dataset(name).facts()), None)  # raises now if the file is missing or has another format
    if isinstance(grid.cap, int) and grid.cap < 1:
        raise HEvalError(f"--cap is {grid.cap}; it must be at least 1, or auto, or none.")
    for option, allowed in (("memory", RULES), ("match", MATCHES), ("target", TARGETS)):
        if (given := getattr(grid, option)) not in allowed:
            raise HEvalError(f"--{option} is {given!r}; it must be one of {', '.join(allowed)}.")
    if grid.match == "within" and grid.techniques:
        raise HEvalError("--match within cannot be combined with --techniques: these compare first tokens. Use --match first.")
    if grid.template is not None:
        layout_of(grid.template, "x")
    if grid.shard_size is not None and grid.shard_size < 1:
        raise HEvalError(f"--shard-size is {grid.shard_size}; it must be at least 1.")


INSTANCES = INSTANCE.name


def jobs_of(
    grid: Grid,
    model: Identity,
    questions: Questions,
    dtype: str,
    regime: str,
    places: Sequence[int],
    kinds: Collection[str],
    arrangement: Arrangement = PLAIN,
) -> Iterator[Job]:
    """The jobs of one regime over some of the questions, in order. The grid's shard size must be a number.

    dtype: the one `auto` stands for. kinds: `instance`, and keys of explainers; head attention comes with the latter.
    """
    assert grid.shard_size is not None
    for first in range(0, len(places), grid.shard_size):
        some = tuple(places[first : first + grid.shard_size])
        common = _common(grid, model, questions, dtype, regime, some)
        yield Job(
            model.key,
            model.revision,
            questions.dataset,
            questions.fingerprint,
            settings_of(grid, model, dtype),
            regime,
            grid.seed,
            some,
            grid.keep_heads,
            tuple(_shards(grid, common, kinds, arrangement)),
            grid.match,
            tuple(asked_for(grid.faithfulness, grid.faithfulness_protected).items()),
            arrangement,
        )


def _common(
    grid: Grid, model: Identity, questions: Questions, dtype: str, regime: str, places: tuple[int, ...]
) -> dict[str, Any]:
    """What the keys of a job's shards have in common; under d3 also other names, which a fingerprint does not cover."""
    renamed = {"aliases": questions.pool.names_digest} if read_key(regime).decoy == "d3" else {}
    return renamed | {
        "format": FORMAT,
        "model": model.key,
        "revision": model.revision,
        "dtype": dtype,
        "style": model.style,
        "template": spelled(model.template),
        "dataset": questions.dataset,
        "fingerprint": questions.fingerprint,
        "regime": regime,
        "technique": TECHNIQUE,
        "memory": grid.memory,
        "match": grid.match,
        "seed": grid.seed,
        "facts": [questions.facts[place].id for place in places],
        "places": places,
    }


def _shards(grid: Grid, common: dict[str, Any], kinds: Collection[str], arrangement: Arrangement) -> Iterator[Shard]:
    """The main technique's answers come first. common: as `_common` gives."""
    behaves = arrangement.compared and common["regime"] in CONTEXT_KINDS
    for chosen in arrangement.all if INSTANCES in kinds else ():
        own = _under(common, chosen)
        yield Shard(INSTANCE.name, "", key_of(own, INSTANCE.name), chosen.key)
        if behaves:
            yield Shard(BEHAVIOUR.name, "", key_of(own, BEHAVIOUR.name), chosen.key)
    yield from _explaining(grid, _under(common, arrangement.main), kinds, arrangement.main.key)


def _under(common: dict[str, Any], chosen: Chosen) -> dict[str, Any]:
    """What keys have in common under a technique; a technique's repr holds its options."""
    return common | {"technique": chosen.key} | chosen.keyed


def _explaining(grid: Grid, common: dict[str, Any], kinds: Collection[str], technique: str) -> Iterator[Shard]:
    """Explanations of one technique's answers."""
    explainers = [catalogue.find("explainer", key) for key in grid.explainers if key in kinds]
    if not explainers:
        return
    for explainer in explainers:
        yield Shard(ATTRIBUTION.name, explainer.key, key_of(common, identity(grid.fits, common, explainer)), technique)
    for explainer in explainers if grid.target == "context" else ():
        yield Shard(
            CONTEXT_ATTRIBUTION.name,
            explainer.key,
            key_of(common, f"context {identity(grid.fits, common, explainer)}"),
            technique,
        )
    first, every = common["places"][0], (*explainers, *catalogue.explainers(control=True).values())
    for kind, before in asked_for(grid.faithfulness, grid.faithfulness_protected).items():
        for explainer in every if before is None or first < before else ():
            what = f"{identity(grid.fits, common, explainer)} {keyed(kind, before)}"
            yield Shard(kind, explainer.key, key_of(common, what), technique)
    if first < grid.keep_heads:
        yield Shard(HEAD_ATTENTION.name, "", key_of(common, f"heads {grid.keep_heads}"), technique)


def dtype_of(grid: Grid) -> str:
    """The dtype that `auto` stands for."""
    if grid.dtype in DTYPES:
        return grid.dtype
    return str(choose_dtype(grid.dtype, choose_device(grid.device))).removeprefix("torch.")


def asked_as(grid: Grid, model: Identity) -> Identity:
    """The model with the grid's template, if the grid has one. Raises HEvalError for a model that lacks a chat template."""
    return in_template(model, grid.template) if grid.template else model


def settings_of(grid: Grid, model: Identity, dtype: str) -> str:
    """A hash of how a model is asked, apart from its revision and the data."""
    asked = [dtype, model.style, spelled(model.template), grid.memory, grid.match, grid.seed]
    return hashlib.sha256(json.dumps(asked).encode()).hexdigest()[:12]


def cap_of(grid: Grid, questions: Questions) -> int | None:
    """How many instances of a regime are explained at most; None without a cap."""
    if grid.cap == "auto":
        return regimes.CAPS["long" if questions.long else "short"]
    return grid.cap if isinstance(grid.cap, int) else None


def missing(job: Job, done: dict[str, Any]) -> tuple[Shard, ...]:
    """The job's shards that do not exist yet, or that have failures to be tried again."""
    return tuple(s for s in job.shards if s.key not in done or done[s.key].failed)


def instance_id(job: Job, style: str, fact_id: str, technique: str = TECHNIQUE) -> str:
    parts = (job.model, job.revision, job.dataset, job.regime, technique, style, fact_id, str(job.seed))
    return hashlib.sha256("\x1f".join(parts).encode()).hexdigest()[:16]
