"""`plan` and `run`: say what is needed, and make what is missing; the same for a grid and for the study of citations."""

import argparse
import signal
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from heval_core.evaluation.usable import notes
from heval_core.folders import program
from heval_core.records import CONTEXT_KINDS, FOLLOWED, HEvalError
from heval_core.store.shards import ShardStore
from precompute.commands.options import (
    Commands,
    add_command,
    add_fields,
    add_regimes,
    given,
    print_json,
    refuse,
    regimes_of,
    workers,
)
from precompute.commands.store import failure_lines
from precompute.grid import GRIDS, OUT_OF_REACH, Grid
from precompute.messages import say
from precompute.on_ray import on_ray
from precompute.plan import as_json, as_lines, plan
from precompute.processes import on_processes
from precompute.questions import open_dataset
from precompute.run import run

PLAN = (
    "lines (where, and its shards to do and done; of a grid also questions, tokens of a prompt, passes, seconds), to_do, "
    "done, passes, seconds (null where no model was timed), searches, later, left_out (name, reason) and unavailable"
)
# What only explanations need, and what only models that answer.
OF_EXPLANATIONS = ["answers", "cap", "faithfulness", "faithfulness_protected", "head_need", "keep_heads", "sources"]
OF_EXPLANATIONS += ["randomised", "bounds", "target", "timing"]
OF_ANSWERING = [*OF_EXPLANATIONS[1:], "decoy", "length", "match", "memory", "place", "regimes", "techniques"]
REGIMES_DEFAULT = "by default the six of one or two documents, with --techniques the four kinds of context, with --answers two"


def add(commands: Commands) -> None:
    plan, run = add_plan_and_run(
        commands, _grid_of, "what a grid needs, and how much of it is done", "compute what is missing"
    )
    for parser in (plan, run):
        parser.add_argument("--grid", choices=GRIDS, help="a preset; the options below change it")
        # Options that are not given keep the value of the preset, or of Grid.
        group = parser.add_argument_group("what to compute", argument_default=argparse.SUPPRESS)
        add_fields(group, Grid)
        add_regimes(group, REGIMES_DEFAULT)
    plan.add_argument(
        "--no-calibrate", dest="calibrate", action="store_false", help="load no model; the plan then estimates no time"
    )


def add_plan_and_run(
    commands: Commands, asked_of: Callable[[argparse.Namespace], Any], plan_help: str, run_help: str
) -> tuple[argparse.ArgumentParser, argparse.ArgumentParser]:
    """Add both commands. asked_of: their options ▶ a `Grid` or a `Study`."""
    plan = add_command(commands, "plan", _plan, plan_help, store=True, keys=PLAN)
    run = add_command(commands, "run", _run, run_help, store=True)
    for parser in (plan, run):
        parser.set_defaults(asked_of=asked_of, calibrate=True)
    add_executor(run)
    return plan, run


def add_executor(run: argparse.ArgumentParser) -> None:
    """Add the options of where a run's tasks are done."""
    run.add_argument("--executor", choices=["local", "ray"], default="local", help="where it runs: on this machine, or on Ray")
    run.add_argument(
        "--workers",
        default="auto",
        type=workers,
        help="processes with a model each; auto: on a processor as many as pay, of a thread each where memory holds as many "
        "models as there are cores; on Ray one per GPU, or one per --cpus-per-worker CPUs",
    )
    ray = run.add_argument_group("with --executor ray", argument_default=argparse.SUPPRESS)
    ray.add_argument("--ray-address", help="a cluster to join, or auto; by default one is started here")
    ray.add_argument("--cpus-per-worker", type=int, help="CPUs, and threads, of a worker without a GPU; 2 by default")


def executor_of(options: argparse.Namespace) -> Any:
    """Return what `add_executor`'s options ask for."""
    of_ray = {"ray_address": "address", "cpus_per_worker": "cpus_per_worker"}
    refuse(options, of_ray, "without --executor ray all runs on this machine.", options.executor == "local")
    if options.executor == "local":
        return on_processes(options.workers)
    arguments = {argument: getattr(options, name) for name, argument in of_ray.items() if hasattr(options, name)}
    return on_ray(workers=options.workers, **arguments)


def _plan(options: argparse.Namespace) -> int:
    grid = options.asked_of(options)
    planned = plan(grid, options.store, options.calibrate, say)
    if not hasattr(options, "models"):
        planned.unavailable += [f"left out, {line}" for line in OUT_OF_REACH.get(getattr(options, "grid", None) or "", ())]
    if options.json:
        print_json(as_json(planned))
    else:
        print(*as_lines(planned), sep="\n")
    return 1 if planned.left_out else 0


def _run(options: argparse.Namespace) -> int:
    # Slurm and others end a job with SIGTERM; it stops the run as cleanly as Ctrl-C.
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    executor = executor_of(options)
    outcome = run(options.asked_of(options), options.store, executor)
    store = ShardStore(options.store)
    # A model that does not load was told when it did not.
    for line in failure_lines([f for f in store.failures() if not f.get("at_loading")]) if outcome.failed else ():
        say(line)
    for line in notes(store):
        print(f"note: {line}")
    print(f"{outcome.computed} shards computed, {outcome.already_done} were done already, {outcome.failed} failures")
    if outcome.failed:
        print(f"see: {program()} status --store {options.store}")
    if outcome.interrupted or outcome.stopped:
        why = "interrupted" if outcome.interrupted else f"stopped: {outcome.stopped}"
        say(f"{why}; finished shards are kept, {outcome.left} are left, and the same command continues from there")
    return 130 if outcome.interrupted else 1 if outcome.failed or outcome.stopped else 0


def _grid_of(options: argparse.Namespace) -> Grid:
    values = given(options, Grid)
    for name in ("models", "datasets"):
        if name not in values and not options.grid:
            raise HEvalError(f"--{name} is missing; give it, or choose a preset: --grid {', '.join(GRIDS)}.")
    if values.get("techniques"):
        values = {"explainers": ()} | values
    default = GRIDS[options.grid].regimes if options.grid else FOLLOWED if values.get("answers") else Grid.regimes
    values["regimes"] = regimes_of(options, CONTEXT_KINDS if values.get("techniques") else default)
    grid = replace(GRIDS[options.grid], **values) if options.grid else Grid(**values)
    refuse(options, OF_EXPLANATIONS, "only answers are computed; name --explainers too.", not grid.explainers)
    of_people = all(getattr(open_dataset(name), "of_people", False) for name in grid.datasets)
    refuse(options, OF_ANSWERING, "people wrote these answers, and models only read them.", of_people)
    return grid
