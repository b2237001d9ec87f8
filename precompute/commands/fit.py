"""`fit`: fits explainers that have parameters to a model, on other questions than any board shows.

Boards show the first questions of each dataset in the seed's order. `fit` leaves these out, and with them every fact that asks
one of their questions. A fit lists what it was made on, and a run that would show one of these does without the explainer.
"""

import argparse
import dataclasses
import json
from collections.abc import Iterator, Sequence
from itertools import chain
from pathlib import Path
from typing import Any

from heval_core.explaining import pipeline
from heval_core.explaining.api import methods_of
from heval_core.explaining.pipeline import Prepared
from heval_core.lm import fits
from heval_core.lm.fits import Fit
from heval_core.lm.loading import load
from heval_core.lm.model import LanguageModel
from heval_core.lm.needs import require
from heval_core.plugins import catalogue
from heval_core.plugins.protocols import Fitted
from heval_core.prompting.styles import style_of
from heval_core.records import REGIMES, Fact, HEvalError
from precompute.commands.options import STORE, Commands, add_command, add_fields
from precompute.grid import Grid
from precompute.memory import Memories, Prompting
from precompute.messages import say
from precompute.pair import needing
from precompute.questions import Questions, load_questions

# As many as the bundled results show.
LIMIT, QUESTIONS = 212, 1000


def add(commands: Commands) -> None:
    keys = [key for key, method in catalogue.explainers().items() if catalogue.needs_fit(method)]
    parser = add_command(commands, "fit", _fit, f"fit explainers that have parameters ({', '.join(keys)}) to models")
    add_fields(
        parser,
        Grid,
        ("models", "datasets", "explainers", "limit", "seed", "device", "dtype"),
        ("models", "datasets"),
        datasets="as for run; name all that the boards show",
        explainers="by default all that need it",
        limit=f"each dataset's first questions, which boards show, and all that ask the same are left out; {LIMIT} by default",
        seed="of the boards",
    )
    parser.add_argument(
        "--questions", type=int, default=QUESTIONS, help=f"how many prompts to fit on; {QUESTIONS:,} by default"
    )
    parser.add_argument("--store", type=Path, default=STORE, help="the fits are kept in its folder fits/")
    parser.set_defaults(explainers=tuple(keys), limit=LIMIT)


def _fit(options: argparse.Namespace) -> int:
    keys = [method.key for method in methods_of(options.explainers)]
    explainers = needing(keys)
    for key in keys:
        if key not in {explainer.key for explainer in explainers}:
            raise HEvalError(f"{key} has no parameters, so there is nothing to fit.")
    for name in ("questions", "limit"):
        if getattr(options, name) < 1:
            raise HEvalError(f"--{name} is {getattr(options, name)}; it must be at least 1.")
    failed = 0
    for name in options.models:
        try:
            print(_fit_model(load(name, options.device, options.dtype), explainers, options))
        except HEvalError as error:
            say(f"error: {error}")
            failed += 1
    return 1 if failed else 0


def _fit_model(lm: LanguageModel, explainers: Sequence[Fitted], options: argparse.Namespace) -> str:
    """Fit explainers to one model, and keep the fits; what was fitted. Raises HEvalError where a model or a dataset cannot be
    read, or nothing is left to fit on."""
    for explainer in explainers:
        require(lm, explainer.needs)
    used, observed = _observed(lm, explainers, options)
    if not used:
        raise HEvalError(
            f"{lm.key} answered none of the questions beside the first {options.limit:,}; there is nothing to fit on."
        )
    about = {
        "datasets": options.datasets,
        "left_out": options.limit,
        "prompts": len(used),
        "seed": options.seed,
        "regimes": REGIMES,
    }
    questions = tuple(sorted({fits.question_hash(question) for question in used}))
    lines = []
    for explainer in explainers:
        array = explainer.fitted(observed[explainer.key])
        fit = Fit(
            explainer.key,
            repr(explainer),
            lm.key,
            lm.revision,
            json.dumps(about),
            questions,
            tuple(array.shape),
            tuple(float(f"{value:.9g}") for value in array.ravel()),
        )
        written = fits.write(options.store / fits.FOLDER, fit)
        lines.append(f"{lm.key} · {explainer.key}: fitted on {len(used):,} prompts, {written}")
    return "\n".join(lines)


def _observed(
    lm: LanguageModel, explainers: Sequence[Fitted], options: argparse.Namespace
) -> tuple[list[str], dict[str, list[Any]]]:
    used: list[str] = []
    observed: dict[str, list[Any]] = {explainer.key: [] for explainer in explainers}

    def learn(batch: list[Prepared]) -> None:
        answered = pipeline.answer(lm, batch)
        parts = pipeline.of_equal_length(answered)
        of_batch = {each.key: [each.observed(part.clean, part.targets) for part in parts] for each in explainers}
        for key, values in of_batch.items():  # only when the whole batch is done: a batch may be tried again in halves
            observed[key] += chain.from_iterable(values)
        used.extend(prepared.instance.question for prepared in batch)

    # One after the other in a fixed order, so that sums are the same every time.
    pipeline.in_batches(lm, list(_prepared(lm, options)), learn)
    return used, observed


def _prepared(lm: LanguageModel, options: argparse.Namespace) -> Iterator[Prepared]:
    """Yield the prompts: as many of each dataset, whose regimes take turns."""
    datasets = [load_questions(dataset, None, options.seed, style_of(lm)) for dataset in options.datasets]
    share = -(-options.questions // len(datasets))
    for questions, facts in zip(datasets, held_out(datasets, options.limit), strict=True):
        memories, selected = Memories.collect(lm, facts[:share]), dataclasses.replace(questions, facts=tuple(facts[:share]))
        for index in range(len(selected.facts)):
            regime = REGIMES[index % len(REGIMES)]
            yield from Prompting(regime, options.seed, memories).usable(lm, selected, [index])


def held_out(every: Sequence[Questions], limit: int) -> list[list[Fact]]:
    """Return each dataset's facts after its first `limit`, without those that ask what one of any dataset's first asks."""
    on_boards = {fact.question for questions in every for fact in questions.facts[:limit]}
    return [[fact for fact in questions.facts[limit:] if fact.question not in on_boards] for questions in every]
