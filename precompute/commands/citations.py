"""`citations`: plan, run, status and verify of the study of citations; what people are asked, `annotating` has."""

from __future__ import annotations

import argparse

from heval_core import catalogue
from precompute.citations.study import Study
from precompute.commands import annotating, grid, store
from precompute.commands.options import add_fields, given, helps_of


def add(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    parser = commands.add_parser(
        "citations", help="the study of citations: plan, run, status, verify, and what people are asked"
    )
    actions = parser.add_subparsers(required=True, metavar="action")
    texts = "what the study needs, and how much of it is done", "make what is missing"
    claims = f"{helps_of(Study)['claims']}; NAME is one of {', '.join(catalogue.plugins('claims'))}"
    for action in grid.add_plan_and_run(actions, lambda options: Study(**given(options, Study)), *texts):
        asked = action.add_argument_group("what is asked", argument_default=argparse.SUPPRESS)
        add_fields(asked, Study, required=("claims", "writers"), claims=claims)
    store.add_checks(actions)
    annotating.add(actions)
