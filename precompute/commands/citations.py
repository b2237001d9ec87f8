"""`citations`: plan, run, status and verify of the study of citations; what people are asked, `annotating` has."""

from __future__ import annotations

import argparse
import signal
import sys
from pathlib import Path
from typing import Any

from heval_core import catalogue
from precompute.commands import annotating, store
from precompute.commands.grid import add_executor, executor_of, say_outcome
from precompute.commands.options import STORE

CLAIMS_HELP = f"NAME=PATH, or your own FILE.jsonl; NAME is one of {', '.join(catalogue.plugins('claims'))}"
WRITERS_HELP = (
    "shipped, for the explanations that came with the claims; a Hugging Face id or a folder; or MODEL(prompt=ID) for another "
    "prompt"
)
SELECTORS_HELP = f"comma-separated, some of {', '.join(catalogue.plugins('selector'))}; human by default"
ANNOTATORS_HELP = (
    f"comma-separated, some of {', '.join(catalogue.plugins('annotator'))}; with options in brackets: "
    "explainer(loo),llm(model=ID)"
)
LLM_HELP = (
    "the address of a server that speaks the OpenAI interface, as http://localhost:8000/v1; it is asked in place of local "
    "models wherever a text is wanted"
)


def add(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    parser = commands.add_parser(
        "citations", help="the study of citations: plan, run, status, verify, and what people are asked"
    )
    actions = parser.add_subparsers(required=True, metavar="action")
    for name, function, text in (
        ("plan", _plan, "what the study needs, and how much of it is done"),
        ("run", _run, "make what is missing"),
    ):
        action = actions.add_parser(name, help=text)
        action.set_defaults(command=function)
        _add_study(action)
        if name == "run":
            add_executor(action)
    store.add_checks(actions)
    annotating.add(actions)


def _add_study(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--store", type=Path, default=STORE)
    parser.add_argument("--claims", nargs="+", required=True, metavar="NAME=PATH", help=CLAIMS_HELP)
    parser.add_argument("--writers", nargs="+", required=True, metavar="WRITER", help=WRITERS_HELP)
    asked = parser.add_argument_group("what is asked", argument_default=argparse.SUPPRESS)
    asked.add_argument("--selectors", type=catalogue.split, metavar="KEY,…", help=SELECTORS_HELP)
    asked.add_argument("--annotators", type=catalogue.split, metavar="KEY,…", help=ANNOTATORS_HELP)
    asked.add_argument(
        "--masking", choices=["sample", "full"], help="one cited passage of each claim (the default), or every one"
    )
    asked.add_argument("--llm", metavar="URL", help=LLM_HELP)
    asked.add_argument("--limit", type=int, help="claims of each source; all by default")
    asked.add_argument("--shard-size", type=int, help="claims of a shard; 25 by default")
    asked.add_argument("--seed", type=int, help="draws the sampled passages, and the claims of a --limit")
    asked.add_argument("--device")
    asked.add_argument("--dtype")
    asked.add_argument("--batch-tokens", type=int, help="tokens per forward pass; by default as many as are quick")


def _study_of(options: argparse.Namespace) -> Any:
    from dataclasses import fields

    from precompute.citations.study import Study

    given = {field.name: getattr(options, field.name) for field in fields(Study) if hasattr(options, field.name)}
    return Study(**given | {"claims": tuple(options.claims), "writers": tuple(options.writers)})


def _plan(options: argparse.Namespace) -> int:
    from precompute.citations.plan import as_lines, plan

    for line in as_lines(plan(_study_of(options), options.store)):
        print(line)
    return 0


def _run(options: argparse.Namespace) -> int:
    from heval_core.store.shards import ShardStore
    from precompute.citations.run import run

    signal.signal(signal.SIGTERM, signal.default_int_handler)
    outcome = run(_study_of(options), options.store, executor_of(options))
    for line in store.failure_lines(ShardStore(options.store).failures()):
        print(line, file=sys.stderr)
    return say_outcome(outcome, options.store)
