"""`datasets`: the contents of each dataset, and what the filters leave."""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path
from typing import Any

from heval_core import catalogue
from heval_core.records import REGIMES, HEvalError
from precompute.commands.options import add_fields, add_regimes, all_words, existing, regimes_of
from precompute.grid import Grid


def add(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    parser = commands.add_parser("datasets", help="the contents of each dataset, and what the filters leave")
    parser.set_defaults(command=_datasets)
    add_fields(
        parser,
        Grid,
        ("datasets", "models", "limit", "seed"),
        datasets="as for run; by default all bundled ones",
        models="count tokens too, with these models' tokenizers",
    )
    add_regimes(parser, "the first six by default")
    parser.set_defaults(datasets=(), models=(), seed=Grid.seed)
    parser.add_argument("--store", type=Path, help="add results from this store: the groups, and what each model drops")
    parser.add_argument("--left-out", action="store_true", help="name every record that was left out, with its reason")
    parser.add_argument("--format", choices=["json", "text"], default="text")


def _datasets(options: argparse.Namespace) -> int:
    from heval_core.lm.loading import identify
    from precompute import dataset_summary

    regimes = regimes_of(options, REGIMES)
    Grid((), (), regimes, limit=options.limit).check()
    store = existing(options.store) if options.store else None
    named = all_words(options.datasets)
    models = [identify(word) for word in all_words(options.models)]
    sections = []
    for name in named or catalogue.plugins("dataset"):
        left_out = _name_record if options.left_out else lambda _: None
        try:
            section = dataset_summary.summarise(name, models, regimes, options.limit, options.seed, store, left_out)
        except HEvalError as error:
            if named:
                raise
            # Nobody asked for this dataset by name, so a missing file is no error.
            print(f"{name}: {error}\n", file=sys.stderr)
            continue
        sections.append(section)
        if options.format == "text":
            print(*dataset_summary.as_lines(section), "", sep="\n", flush=True)
    if options.format == "json":
        print(json.dumps(sections, ensure_ascii=False))
    return 1 if any(section["malformed"] for section in sections) else 0


def _name_record(record: Any) -> None:
    print(f"{record.place}: {record.reason}", file=sys.stderr)
