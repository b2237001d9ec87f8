"""python -m demo train [--smoke] | examine | claims | results | real | examples | keep | report"""

from __future__ import annotations

import argparse
import dataclasses
import os
import sys
import tempfile
from collections.abc import Callable, Iterable
from pathlib import Path

import torch

from demo import claims, examine, obeying, real, results
from demo.hands import HANDS
from demo.models import MODELS, make
from demo.results import DEMO, QUESTIONS
from heval_core.evaluation.publishing import publish
from heval_core.lm.loading import load
from heval_core.records import HEvalError
from heval_core.store import shipped


def _train(options: argparse.Namespace) -> None:
    torch.set_num_threads(options.threads)
    for name in options.architectures:
        print(make(name, options.out, options.smoke, options.seed))


def _examine(options: argparse.Namespace) -> None:
    for name, demo_model in MODELS.items():
        folder = options.out / f"demo-{name}"
        if not demo_model.answers and (folder / "config.json").is_file():
            print(f"demo-{name}\n{demo_model.card.measure(folder, options.questions)['table']}")
    for folder in sorted((options.out).glob("*/heval.json")):
        lm = load(str(folder.parent), device="cpu")
        print(lm.key, {name: f"{rate:.1%}" for name, rate in examine.recall_rates(lm).items()})
        for report in examine.examine(lm, options.questions):
            print(dataclasses.asdict(report))
        if lm.tokenizer.chat_template:
            print("\n".join(obeying.table(obeying.rates(lm, min(options.questions, examine.DOCUMENTS)))))


def _claims(options: argparse.Namespace) -> None:
    """Write the world of claims with its hands, as one's own claims are written: a file that `--claims` reads."""
    print(claims.write(options.out, options.hands, options.count, options.seed))


def _results(options: argparse.Namespace) -> int:
    with tempfile.TemporaryDirectory() as folder:
        written = claims.write(Path(folder) / "demo-claims.jsonl", HANDS)
        code = next(filter(None, _codes(results.runs(options.datasets, written), options.store)), 0)
    if not code:
        _keep_values(options)
    return code


def _real(options: argparse.Namespace) -> int:
    for name in (name for name in real.PUBLIC if not real.named(name)):
        print(f"{name} is left out: {real.PUBLIC[name]} is not here", file=sys.stderr)
    with tempfile.TemporaryDirectory() as folder:
        written = claims.write(Path(folder) / "demo-claims.jsonl", HANDS[:1], real.CLAIMS)
        code = max(_codes(real.runs(options.models, written, DEMO / "models" / "demo-nli"), options.store))
    _keep_values(options)
    return code


def _codes(runs: Iterable[list[str]], store: Path) -> Iterable[int]:
    """Carry out runs of `precompute`, one after another. Yields what each ends with."""
    from precompute.cli import main

    return (main([*arguments, "--device", "cpu", "--store", str(store)]) for arguments in runs)


def _examples(options: argparse.Namespace) -> None:
    from demo import examples

    examples.make()


def _keep_values(options: argparse.Namespace) -> None:
    """Save what takes long to evaluate beside the shards, and what the Overview shows, so that the explorer starts quickly."""
    with tempfile.TemporaryDirectory() as folder:
        published = publish(options.store, Path(folder), bundled=True, keep=True)
        shipped.cut(published, options.store / shipped.NAME)


def _report(options: argparse.Namespace) -> None:
    """Write the report of bundled results that the README links to."""
    from heval_core.report.write import report_of
    from heval_core.store.reader import Reader

    with tempfile.TemporaryDirectory() as folder:
        published = publish(options.store, Path(folder), bundled=True)
        options.out.write_text(report_of(Reader(published)).as_html(), encoding="utf-8")
    print(options.out)


def main() -> int:
    """Carry out one command; every error for the user is one line."""
    parser = argparse.ArgumentParser(prog="python -m demo", description=__doc__)
    commands = parser.add_subparsers(required=True, metavar="command")

    def command(name: str, carried_out: Callable[[argparse.Namespace], int | None], help_text: str) -> argparse.ArgumentParser:
        added = commands.add_parser(name, help=help_text)
        added.set_defaults(command=carried_out)
        return added

    training = command("train", _train, "train the demo models from a seed, with a progress bar")
    going_on = "instruct, writer and …-long go on from the models in --out, nli from the demo-writer"
    training.add_argument("--architectures", nargs="+", default=list(MODELS), choices=list(MODELS), help=going_on)
    training.add_argument("--smoke", action="store_true", help="a few seconds each; learns next to nothing")
    training.add_argument("--seed", type=int, default=0)
    training.add_argument("--threads", type=int, default=os.cpu_count() or 1)
    examining = command("examine", _examine, "recall of facts and agreement with the taught rule")
    examining.add_argument("--questions", type=int, default=QUESTIONS)
    for one in (training, examining):
        one.add_argument("--out", type=Path, default=DEMO / "models")
    claiming = command("claims", _claims, "write the demo's claims with the explanations of its hands, as JSON lines")
    claiming.add_argument("--hands", nargs="+", default=HANDS, choices=HANDS)
    claiming.add_argument("--count", type=int, default=claims.COUNT)
    claiming.add_argument("--seed", type=int, default=0)
    claiming.add_argument("--out", type=Path, required=True)
    computing = command("results", _results, "compute the bundled demo results")
    computing.add_argument("--datasets", nargs="+", default=[results.SHORT, results.LONG])
    asking = command("real", _real, "compute the bundled results of two real models; goes on where it stopped")
    asking.add_argument("--models", nargs="+", default=real.MODELS, choices=real.MODELS)
    asking.add_argument("--store", type=Path, default=real.STORE)
    command("examples", _examples, "compute the explorer's examples again")
    keeping = command("keep", _keep_values, "evaluate the bundled results again, after a change of a metric")
    reporting = command("report", _report, "make docs/demo-report.html again, or that of another --store")
    reporting.add_argument("--out", type=Path, default=Path("docs/demo-report.html"))
    for one in (computing, keeping, reporting):
        one.add_argument("--store", type=Path, default=DEMO)
    options = parser.parse_args()
    try:
        return int(options.command(options) or 0)
    except HEvalError as error:
        print(error, file=sys.stderr)
        return 2


if __name__ == "__main__":
    sys.exit(main())
