"""`citations`: plan, run, status and verify of the study of citations; and what people are asked on the page Annotate."""

import argparse
import shlex
from pathlib import Path

from heval_core.citations.people.annotations import OF_BUNDLED, AnnotationStore, command
from heval_core.citations.people.items import make_study
from heval_core.citations.writing import SHIPPED, writer_of
from heval_core.folders import bundled_shards, program
from heval_core.plugins import catalogue
from heval_core.records import HEvalError
from heval_core.store.shards import ShardStore
from precompute.citations.study import Study, explanations_of, take_over
from precompute.commands import grid, store
from precompute.commands.options import STORE, Commands, add_command, add_fields, existing, given, helps_of, refuse


def add(commands: Commands) -> None:
    parser = commands.add_parser(
        "citations", help="the study of citations: plan, run, status, verify, and what people are asked"
    )
    actions = parser.add_subparsers(required=True, metavar="action")
    texts = "what the study needs, and how much of it is done", "make what is missing"
    claims = f"{helps_of(Study)['claims']}; NAME is one of {', '.join(catalogue.plugins('claims'))}"
    for action in grid.add_plan_and_run(actions, _study_of, *texts):
        group = action.add_argument_group("what is asked", argument_default=argparse.SUPPRESS)
        add_fields(group, Study, required=("claims", "writers"), claims=claims)
    store.add_checks(actions)
    study = add_command(actions, "study", _study, "ask people about the explanations of a store, or show how far they are")
    study.add_argument("--store", type=Path, default=STORE, help="your own, in which the study is kept")
    study.add_argument(
        "--from", dest="source", type=Path, help="another store whose explanations are taken over into it first"
    )
    study.add_argument("--per-item", type=int, default=3, help="people who are to answer each question (3)")
    study.add_argument("--controls", type=float, default=0.1, help="share of explanations that become control items (.1)")
    study.add_argument("--seed", type=int, default=0, help="draws the passages and the control items; that of `run`")


def _study_of(options: argparse.Namespace) -> Study:
    study = Study(**given(options, Study))
    shipped = all(writer_of(text).model == SHIPPED for text in study.writers)
    refuse(
        options, ["selectors"], "these explanations came with their own passages.", shipped and study.selectors != (SHIPPED,)
    )
    refuse(options, ["masking"], "nobody is asked; name --annotators too.", not study.annotators)
    asking = not shipped or any(catalogue.find("annotator", key).reads == "speaker" for key in study.annotators)
    refuse(options, ["llm"], "no writer and no annotator here asks for a text.", not asking)
    return study


def _study(options: argparse.Namespace) -> int:
    if shards := bundled_shards(options.store):
        raise HEvalError(
            f"{options.store} comes with the program; a study lies in a store of one's own: {command(OF_BUNDLED, shards)}"
        )
    if options.source is not None:
        take_over(existing(options.source), ShardStore(options.store))
    explanations = explanations_of(existing(options.store))
    if not explanations:
        raise HEvalError(
            f"The store {options.store} has no explanations; run: {program()} citations run --store {options.store} …"
        )
    items = make_study(explanations, options.per_item, options.controls, options.seed)
    store, added = AnnotationStore.make(options.store, items)
    state = store.progress()
    print(
        f"{added:,} items added; now {state.questions:,} questions and {state.controls:,} control items; "
        f"{state.answers:,} of {state.wanted:,} answers, by {state.people:,} people"
    )
    for name, quality in state.left_out.items():
        print(f"{name}: left out, {quality.right} of {quality.controls} control items right")
    print(f"people answer at: HEVAL_ANNOTATE=1 HEVAL_STORE={shlex.quote(str(options.store))} streamlit run app.py")
    return 0
