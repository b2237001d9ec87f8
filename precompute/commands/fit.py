"""`fit`: parameters of explainers that learn from a model before they explain it."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from heval_core import catalogue
from heval_core.explanation import methods_of
from heval_core.records import HEvalError
from precompute.commands.options import STORE, add_fields, all_words
from precompute.grid import Grid

# As many as the bundled results show.
LIMIT, QUESTIONS = 212, 1000


def add(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    every = [key for key, method in catalogue.explainers().items() if catalogue.needs_fit(method)]
    parser = commands.add_parser("fit", help=f"fit explainers that have parameters ({', '.join(every)}) to models")
    parser.set_defaults(command=_fit)
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
    parser.set_defaults(explainers=tuple(every), limit=LIMIT, seed=Grid.seed, device=Grid.device, dtype=Grid.dtype)


def _fit(options: argparse.Namespace) -> int:
    from heval_core.lm.fits import FOLDER
    from precompute.fitting import FitPlan, fit_model
    from precompute.pair import needing

    keys = [method.key for method in methods_of(options.explainers)]
    explainers = needing(keys)
    for key in keys:
        if key not in {explainer.key for explainer in explainers}:
            raise HEvalError(f"{key} has no parameters, so there is nothing to fit.")
    for name in ("questions", "limit"):
        if getattr(options, name) < 1:
            raise HEvalError(f"--{name} is {getattr(options, name)}; it must be at least 1.")
    asked = FitPlan(all_words(options.datasets), options.limit, options.questions, options.seed)
    failed = 0
    for name in all_words(options.models):
        try:
            fit_model(name, explainers, asked, options.store / FOLDER, print, options.device, options.dtype)
        except HEvalError as error:
            print(f"error: {error}", file=sys.stderr)
            failed += 1
    return 1 if failed else 0
