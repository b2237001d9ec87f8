"""Fits explainers that have parameters to a model, on other questions than any board shows; and gives a run its fits.

Boards show the first questions of each dataset in the seed's order. `fit` leaves these out, and with them every fact that asks
one of their questions. A fit lists what it was made on, and a run that would show one of these does without the explainer.
"""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from heval_core import pipeline
from heval_core.lm import fits
from heval_core.lm.fits import Fit
from heval_core.lm.loading import load
from heval_core.lm.model import LanguageModel
from heval_core.lm.needs import require
from heval_core.pipeline import Prepared
from heval_core.prompt_styles import style_of
from heval_core.protocols import Fitted
from heval_core.records import REGIMES, Fact, HEvalError
from precompute.memory import Memories, Prompting
from precompute.questions import Questions, load_questions

Say = Callable[[str], None]


@dataclass(frozen=True)
class FitPlan:
    """datasets, limit, seed: of the boards, whose first `limit` questions of each dataset are left out. questions: how many
    prompts to fit on, over all datasets together; their regimes take turns."""

    datasets: tuple[str, ...]
    limit: int
    questions: int = 1000
    seed: int = 0
    regimes: tuple[str, ...] = REGIMES


def fit_model(
    name: str, explainers: Sequence[Fitted], asked: FitPlan, folder: Path, say: Say, device: str, dtype: str
) -> None:
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


def _observed(lm: LanguageModel, explainers: Sequence[Fitted], asked: FitPlan) -> tuple[list[str], dict[str, list[Any]]]:
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


def _prepared(lm: LanguageModel, asked: FitPlan) -> Iterator[Prepared]:
    share = -(-asked.questions // len(asked.datasets))
    every = [load_questions(dataset, None, asked.seed, style_of(lm)) for dataset in asked.datasets]
    for questions, facts in zip(every, held_out(every, asked.limit), strict=True):
        memories, kept = Memories.asked(lm, facts[:share]), dataclasses.replace(questions, facts=tuple(facts[:share]))
        for place in range(len(kept.facts)):
            regime = asked.regimes[place % len(asked.regimes)]
            yield from Prompting(regime, asked.seed, memories).kept(lm, kept, [place])


def held_out(every: Sequence[Questions], limit: int) -> list[list[Fact]]:
    """Of each dataset the facts after its first `limit`, without those that ask what one of these in any dataset asks."""
    shown = {fact.question for questions in every for fact in questions.facts[:limit]}
    return [[fact for fact in questions.facts[limit:] if fact.question not in shown] for questions in every]
