"""`plan` and `run`: say what a grid needs, and compute what is missing."""

from __future__ import annotations

import argparse
import signal
import sys
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

from heval_core import catalogue
from heval_core.evaluation.usable import notes
from heval_core.explanation import methods_of
from heval_core.records import CONTEXT_KINDS, MATCHES, TARGETS, HEvalError
from heval_core.store.shards import ShardStore
from precompute.commands.options import (
    EXPLAINERS_HELP,
    MATCH_HELP,
    STORE,
    TARGET_HELP,
    TECHNIQUES_HELP,
    TEMPLATE_HELP,
    add_regimes,
    all_words,
    regimes_of,
)

MEASURED_HELP = {
    "--faithfulness": "measure comprehensiveness and sufficiency too, 25 passes each; with N, for the first N questions only",
    "--faithfulness-protected": "the same with the question protected: only tokens of the documents are taken out",
}
MEMORIES = ("own", "true", "any")
MEMORY_HELP = (
    "own: what the model says without context, if it looks like an answer; true: only the dataset's; any: whatever it says"
)
PRESETS = ("demo", "paper", "smoke", "cub", "cub-smoke")
REGIMES_DEFAULT = "by default the six of one or two documents, with --techniques the four kinds of context"


def add(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    for name, function, text in (
        ("plan", _plan, "what a grid needs, and how much of it is done"),
        ("run", _run, "compute what is missing"),
    ):
        grid = commands.add_parser(name, help=text)
        grid.set_defaults(command=function)
        _add_grid(grid)
        (add_executor if name == "run" else _add_plan)(grid)


def _add_grid(parser: argparse.ArgumentParser) -> None:
    """Options that are not given keep the value of the preset, or of Grid."""
    parser.add_argument("--grid", choices=PRESETS, help="a preset; the options below change it")
    parser.add_argument("--store", type=Path, default=STORE)
    asked = parser.add_argument_group("what to compute", argument_default=argparse.SUPPRESS)
    asked.add_argument("--models", nargs="+", help="Hugging Face ids or local folders")
    asked.add_argument("--datasets", nargs="+", help="NAME, NAME=PATH, or your own FILE.jsonl")
    add_regimes(asked, REGIMES_DEFAULT)
    asked.add_argument("--explainers", type=catalogue.split, help=EXPLAINERS_HELP)
    asked.add_argument("--techniques", type=catalogue.split, help=TECHNIQUES_HELP)
    asked.add_argument("--limit", type=int, help="questions per dataset; all by default")
    asked.add_argument("--cap", type=_cap, help="instances explained per regime: 2,000 short, 1,000 long by default")
    asked.add_argument("--memory", choices=MEMORIES, help=MEMORY_HELP)
    asked.add_argument("--match", choices=MATCHES, help=MATCH_HELP)
    asked.add_argument("--template", help=TEMPLATE_HELP)
    asked.add_argument("--seed", type=int)
    asked.add_argument("--device")
    asked.add_argument("--dtype")
    asked.add_argument("--batch-tokens", type=_auto_or_number, help="tokens per forward pass, or auto")
    asked.add_argument("--shard-size", type=_size, help="questions per shard, or auto: a minute or two of work")
    for name, about in MEASURED_HELP.items():
        asked.add_argument(name, nargs="?", type=int, const=True, metavar="N", help=about)
    asked.add_argument(
        "--timing", action="store_true", help="time each explainer by itself too, on a few prompts of each regime"
    )
    asked.add_argument("--target", choices=TARGETS, help=TARGET_HELP)
    asked.add_argument("--keep-heads", type=int, help="keep every head's attention for this many questions")


def _cap(text: str) -> int | str | None:
    if text in ("auto", "none"):
        return None if text == "none" else text
    if not text.isdigit() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"{text!r} is neither auto, none nor a positive number")
    return int(text)


def _auto_or_number(text: str) -> int | None:
    if text == "auto":
        return None
    if not text.isdigit() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"{text!r} is neither auto nor a positive number")
    return int(text)


def _size(text: str) -> int | None:
    """Numbers below 1 are refused later, when the grid is checked."""
    return None if text == "auto" else int(text)


def _add_plan(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--jobs", action="store_true", help="name every job, not only their number")
    parser.add_argument(
        "--no-calibrate", dest="calibrate", action="store_false", help="load no model; the plan then estimates no time"
    )


def add_executor(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--executor", choices=["local", "ray"], default="local")
    ray = parser.add_argument_group("with --executor ray")
    ray.add_argument("--ray-address", help="a cluster to join, or auto; by default one is started here")
    ray.add_argument("--workers", type=int, help="by default one per GPU; without GPUs, one per --cpus-per-worker CPUs")
    ray.add_argument("--cpus-per-worker", type=int, default=2, help="CPUs, and threads, of a worker without a GPU")


def _plan(options: argparse.Namespace) -> int:
    from precompute.plan import as_lines, plan

    planned = plan(_grid_of(options), options.store, options.calibrate, lambda text: print(text, file=sys.stderr))
    for line in as_lines(planned, options.jobs):
        print(line)
    return 0


def _run(options: argparse.Namespace) -> int:
    from precompute.run import run

    # Slurm and others end a job with SIGTERM; it stops the run as cleanly as Ctrl-C.
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    outcome = run(_grid_of(options), options.store, executor_of(options))
    for line in notes(ShardStore(options.store)):
        print(f"note: {line}")
    return say_outcome(outcome, options.store)


def say_outcome(outcome: Any, store: Path) -> int:
    """Say what a run came to. Returns the exit code."""
    print(f"{outcome.computed} shards computed, {outcome.already_done} were done already, {outcome.failed} failures")
    if outcome.failed:
        print(f"see: python -m precompute status --store {store}")
    if outcome.interrupted or outcome.stopped:
        why = "interrupted" if outcome.interrupted else f"stopped: {outcome.stopped}"
        print(
            f"{why}; finished shards are kept, {outcome.left} are left, and the same command continues from there",
            file=sys.stderr,
        )
    return 130 if outcome.interrupted else 1 if outcome.failed or outcome.stopped else 0


def _grid_of(options: argparse.Namespace) -> Any:
    from precompute.grid import Grid
    from precompute.presets import GRIDS

    given = {field.name: getattr(options, field.name) for field in fields(Grid) if hasattr(options, field.name)}
    for name in ("models", "datasets"):
        if name in given:
            given[name] = all_words(given[name])
        elif not options.grid:
            raise HEvalError(f"--{name} is missing; give it, or choose a preset: --grid {', '.join(GRIDS)}.")
    if "explainers" in given:
        given["explainers"] = tuple(explainer.key for explainer in methods_of(options.explainers))
    if given.get("techniques"):
        given = {"explainers": ()} | given
        given["techniques"] = tuple(catalogue.find("technique", key).key for key in given["techniques"])
    default = GRIDS[options.grid].regimes if options.grid else Grid.regimes
    given["regimes"] = regimes_of(options, CONTEXT_KINDS if given.get("techniques") else default)
    return replace(GRIDS[options.grid], **given) if options.grid else Grid(**given)


def executor_of(options: argparse.Namespace) -> Any:
    """The executor that the options of `add_executor` name."""
    if options.executor == "local":
        from precompute.executors.local import Local

        return Local
    from precompute.executors.ray import on_ray

    return on_ray(options.ray_address, options.workers, options.cpus_per_worker)
