"""`bench`: this machine's speed beside captum's and others'."""

from __future__ import annotations

import argparse
from pathlib import Path


def add(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    parser = commands.add_parser("bench", help="this machine's speed beside captum's and others'")
    parser.set_defaults(command=_bench)
    parser.add_argument("--models", nargs="+", default=[], help="names that the benchmark prints, folders or hub ids")
    parser.add_argument("--tokens", nargs="+", type=int, default=[100, 300], help="prompt lengths")
    parser.add_argument(
        "--only",
        choices=("explainers", "relevance", "techniques", "citations", "precision", "gpu"),
        help="one part; by default all",
    )
    parser.add_argument("--out", type=Path, help="write the figures as JSON too")


def _bench(options: argparse.Namespace) -> int:
    from precompute.bench.run import run

    run(options.models, options.tokens, options.out, lambda line: print(line, flush=True), options.only)
    return 0
