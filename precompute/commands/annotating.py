"""`citations study`, `export`, `import` and `ratings`: what people are asked on the page Annotate, and what they answered."""

from __future__ import annotations

import argparse
import shlex
import sys
from pathlib import Path

from heval_core.citations.people.ratings import helpfulness
from heval_core.citations.people.study import MASKINGS, make_study
from heval_core.records import HEvalError
from heval_core.store.annotation_file import OF_BUNDLED, command
from heval_core.store.annotations import AnnotationStore, bring_in, export
from heval_core.store.shards import ShardStore
from precompute.citations.people import explanations_of, take_over
from precompute.commands.options import DEMO, DEMO_RESULTS, STORE, existing

FILE_HELP = "a .jsonl file"


def add(actions: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    study = actions.add_parser("study", help="ask people about the explanations of a store, or show how far they are")
    study.set_defaults(command=_study)
    study.add_argument("--store", type=Path, default=STORE, help="your own, in which the study is kept")
    study.add_argument(
        "--from", dest="source", type=Path, help="another store whose explanations are taken over into it first"
    )
    study.add_argument("--per-item", type=int, default=3, help="people who are to answer each question (3)")
    study.add_argument("--controls", type=float, default=0.1, help="share of explanations that become control items (.1)")
    study.add_argument(
        "--masking", choices=MASKINGS, default=MASKINGS[0], help="one cited passage of each explanation, or each"
    )
    study.add_argument("--seed", type=int, default=0, help="draws the passages and the control items; that of `run`")
    for name, function, text in (
        ("export", _export, "write a study, its people and their answers to a file"),
        ("import", _import, "add what a file holds to a store's study"),
    ):
        action = actions.add_parser(name, help=text)
        action.set_defaults(command=function)
        action.add_argument("file", type=Path, help=FILE_HELP)
        action.add_argument("--store", type=Path, default=STORE)
    ratings = actions.add_parser("ratings", help="how helpful people found explanations, by writer, from published ratings")
    ratings.set_defaults(command=_ratings)
    ratings.add_argument("file", type=Path, help="ratings.csv of Transparent-FCExp; nothing of any person is printed")


def _ratings(options: argparse.Namespace) -> int:
    for one in helpfulness(options.file):
        print(f"{one.writer}: helpfulness {one.mean:.1f}, z {one.z:+.2f}; {one.ratings:,} ratings by {one.people:,} people")
    return 0


def _study(options: argparse.Namespace) -> int:
    _own(options.store)
    if options.source is not None:
        take_over(existing(options.source), ShardStore(options.store))
    explanations = explanations_of(existing(options.store))
    if not explanations:
        raise HEvalError(
            f"The store {options.store} has no explanations; run: python -m precompute citations run --store {options.store} …"
        )
    items = make_study(explanations, options.per_item, options.controls, options.seed, options.masking)
    store, added = AnnotationStore.make(options.store, items)
    state = store.progress()
    print(
        f"{added:,} items added; now {state.questions:,} questions and {state.controls:,} control items; "
        f"{state.answers:,} of {state.wanted:,} answers, by {state.people:,} people"
    )
    for name, quality in state.left_out.items():
        print(f"{name}: left out, {quality.right} of {quality.asked} control items right")
    print(f"people answer at: HEVAL_ANNOTATE=1 HEVAL_STORE={shlex.quote(str(options.store))} streamlit run app.py")
    return 0


def _own(folder: Path) -> None:
    if folder.resolve() in (DEMO, DEMO_RESULTS):
        raise HEvalError(f"{folder} comes with the program; a study lies in a store of one's own: {command(OF_BUNDLED, DEMO)}")


def _export(options: argparse.Namespace) -> int:
    print(f"{export(options.store, options.file):,} records in {options.file}")
    return 0


def _import(options: argparse.Namespace) -> int:
    _own(options.store)
    found = bring_in(options.store, options.file)
    print(
        f"{found.items:,} items, {found.people:,} people and {found.answers:,} answers added; "
        f"{found.known:,} answers were there"
    )
    for problem in found.problems:
        print(problem, file=sys.stderr)
    return 1 if found.problems else 0
