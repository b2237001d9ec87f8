"""Fits explainers that have parameters to a model, on other questions than any board shows; and gives a run its fits.

Boards show the first questions of each dataset in the seed's order. `fit` leaves these out, and with them every fact that asks
one of their questions. A fit lists what it was made on, and a run that would show one of these does without the explainer.
"""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from heval_core import catalogue, pipeline, regimes
from heval_core.lm import fits
from heval_core.lm.fits import Fit
from heval_core.lm.loading import Identity, load
from heval_core.lm.model import LanguageModel
from heval_core.lm.needs import require
from heval_core.pipeline import Prepared
from heval_core.prompt_styles import style_of
from heval_core.protocols import Fitted
from heval_core.records import REGIMES, Dropped, Fact, HEvalError
from precompute.grid import Grid
from precompute.memories import Memories
from precompute.questions import Questions, load_questions

Say = Callable[[str], None]


@dataclass(frozen=True)
class Asked:
    """datasets, limit, seed: of the boards, whose first `limit` questions of each dataset are left out. questions: how many
    prompts to fit on, over all datasets together; their regimes take turns."""

    datasets: tuple[str, ...]
    limit: int
    questions: int = 1000
    seed: int = 0
    regimes: tuple[str, ...] = REGIMES


def fit_model(name: str, explainers: Sequence[Fitted], asked: Asked, folder: Path, say: Say, device: str, dtype: str) -> None:
    """Fit explainers to one model, and keep the fits in a folder. Raises HEvalError where a model or a dataset cannot be read,
    or nothing is left to fit on."""
    lm = load(name, device, dtype)
    for explainer in explainers:
        require(lm, explainer.needs)
    used, observed = _observed(lm, explainers, asked)
    if not used:
        raise HEvalError(
            f"{lm.key} answered none of the questions beside the first {asked.limit:,}; there is nothing to fit on."
        )
    about = {
        "datasets": asked.datasets,
        "left_out": asked.limit,
        "prompts": len(used),
        "seed": asked.seed,
        "regimes": asked.regimes,
    }
    questions = tuple(sorted({fits.question_hash(question) for question in used}))
    for explainer in explainers:
        array = explainer.fitted(observed[explainer.key])
        made = Fit(
            explainer.key,
            repr(explainer),
            lm.key,
            lm.revision,
            json.dumps(about),
            questions,
            tuple(array.shape),
            tuple(float(f"{value:.9g}") for value in array.ravel()),
        )
        say(f"{lm.key} · {explainer.key}: fitted on {len(used):,} prompts, {fits.write(folder, made)}")


def _observed(lm: LanguageModel, explainers: Sequence[Fitted], asked: Asked) -> tuple[list[str], dict[str, list[Any]]]:
    """The questions of the prompts that were answered, and what each explainer learns from them."""
    used: list[str] = []
    observed: dict[str, list[Any]] = {explainer.key: [] for explainer in explainers}

    def learn(batch: list[Prepared]) -> None:
        answered = pipeline.answer(lm, batch)
        found = {one.key: one.observed(answered.clean, answered.targets) for one in explainers}
        for key, own in found.items():  # only when the whole batch is done: a batch may be tried again in halves
            observed[key] += own
        used.extend(prepared.instance.question for prepared in batch)

    # One after the other in a fixed order, so that sums are the same every time.
    pipeline.in_batches(lm, list(_prepared(lm, asked)), learn)
    return used, observed


def _prepared(lm: LanguageModel, asked: Asked) -> Iterator[Prepared]:
    style, share = style_of(lm), -(-asked.questions // len(asked.datasets))
    every = [load_questions(dataset, None, asked.seed, style) for dataset in asked.datasets]
    for questions, facts in zip(every, held_out(every, asked.limit), strict=True):
        memories = Memories.asked(lm, facts[:share])
        for place, fact in enumerate(facts[:share]):
            try:
                regime = asked.regimes[place % len(asked.regimes)]
                instance = regimes.build(fact, regime, questions.pool, asked.seed, style, place)
                prepared = pipeline.prepare(lm, instance, memories.of(lm, fact, questions.pool))
            except Dropped:
                continue
            if prepared.dropped_because is None:
                yield prepared


def held_out(every: Sequence[Questions], limit: int) -> list[list[Fact]]:
    """Of each dataset the facts after its first `limit`, without those that ask what one of these in any dataset asks."""
    shown = {fact.question for questions in every for fact in questions.facts[:limit]}
    return [[fact for fact in questions.facts[limit:] if fact.question not in shown] for questions in every]


def needing(keys: Iterable[str]) -> list[Fitted]:
    """Those of some explainers that are fitted first."""
    found = (catalogue.find("explainer", key) for key in keys)
    return [explainer for explainer in found if catalogue.needs_fit(explainer)]


def with_fits(grid: Grid, store: Path) -> Grid:
    """The grid with the fits that there are for its explainers, beside its own. Raises HEvalError for a damaged one."""
    wanted = {repr(explainer) for explainer in needing(grid.explainers)}
    if not wanted:
        return grid
    found = {fit.whose: fit for fit in grid.fits}
    for fit in fits.stored(fits.folders(store)):
        if fit.settings in wanted:
            found.setdefault(fit.whose, fit)
    return dataclasses.replace(grid, fits=tuple(found.values()))


def check_fits(grid: Grid, model: Identity, questions: Questions) -> tuple[Grid, list[tuple[str, HEvalError]]]:
    """The grid without the explainers that cannot be used with a model on these questions, and these with the reasons."""
    refused: list[tuple[str, HEvalError]] = []
    for explainer in needing(grid.explainers):
        try:
            fit = fits.find(grid.fits, explainer, model.key, model.revision)
            _check_unseen(fit, questions)
        except HEvalError as error:
            refused.append((explainer.key, error))
    left = {key for key, _ in refused}
    return dataclasses.replace(grid, explainers=tuple(key for key in grid.explainers if key not in left)), refused


def _check_unseen(fit: Fit, questions: Questions) -> None:
    learned = set(fit.questions)
    first = next((n for n, fact in enumerate(questions.facts) if fits.question_hash(fact.question) in learned), None)
    if first is not None:
        raise HEvalError(
            f"{fit.explainer} was fitted to {fit.model} on questions of this run, the first of which is number {first + 1:,} "
            f"of {questions.dataset}; use --limit {first}, or fit it again with --limit {len(questions.facts)} or more"
        )
