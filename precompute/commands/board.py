"""`board`: explainers and controls by question; and an explainer of one's own set beside them."""

from __future__ import annotations

import argparse
import shutil
import signal
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

from heval_core.evaluation.board.conclusion import conclusion
from heval_core.evaluation.board.making import board
from heval_core.figures.board import harder_table, main_table
from heval_core.records import EVERY_REGIME, HEvalError
from heval_core.store.filters import Filter
from heval_core.store.published import published_file
from heval_core.store.reader import Reader
from precompute.commands.options import DEMO, MATCH_HELP, STORE, add_fields, all_words, given
from precompute.grid import GRIDS, Grid

OWN_STORE = Path("cache/board")
# The fewest questions of the demo datasets with which every group of answers has the 30 instances that RQ2 needs.
LIMIT = 120
_WHERE = "in which --beside has all others, if --datasets and --regimes are both left out"
LEGEND = "Of the questions, 0 is chance and 1 the best possible; in brackets 95 % intervals."


def add(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    parser = commands.add_parser("board", help="explainers by question; --explainer sets one of your own beside them")
    parser.set_defaults(command=_board)
    parser.add_argument(
        "--explainer",
        action="append",
        default=[],
        metavar="FILE.py:CLASS",
        help="run the explainer of this file on the same instances as the others; may be given several times. The file is "
        "run as a program: name only files that you trust",
    )
    parser.add_argument(
        "--store", type=Path, help=f"by default {STORE}; with --explainer {OWN_STORE}, where the board is kept"
    )
    own = parser.add_argument_group("with --explainer", argument_default=argparse.SUPPRESS)
    add_fields(
        own,
        Grid,
        ("models", "datasets", "explainers", "limit", "match", "faithfulness", "faithfulness_protected", "device", "dtype"),
        models="by default the three demo models",
        datasets=f"by default those {_WHERE}; else both demo datasets",
        limit=f"questions per dataset, {LIMIT} by default",
        match=f"{MATCH_HELP}; here the text by default",
        explainers="which others stand beside it, by default all that --beside has; what is there is not computed again",
    )
    own.add_argument(
        "--regimes", nargs="+", help=f"some of {', '.join(EVERY_REGIME)}; by default those {_WHERE}; else the first six"
    )
    own.add_argument(
        "--beside", type=Path, default=DEMO, help="the store whose results stand beside it; by default the demo results"
    )


def _board(options: argparse.Namespace) -> int:
    if options.explainer:
        return _own(options)
    store = options.store or STORE
    _print(published_file(store), Filter(), (), store)
    return 0


def _own(options: argparse.Namespace) -> int:
    from precompute.board import beside, where_all_stand

    signal.signal(signal.SIGTERM, signal.default_int_handler)
    store = options.store or OWN_STORE
    if store.resolve() == options.beside.resolve():
        raise HEvalError(f"--store and --beside are both {store}; results of your own explainer need a store of their own.")

    def say(text: str) -> None:
        print(text, file=sys.stderr, flush=True)

    grid = _grid(options)
    if not hasattr(options, "datasets") and not hasattr(options, "regimes"):
        grid = where_all_stand(grid, options.beside)
        say(f"on {', '.join(grid.datasets)}, regimes {', '.join(grid.regimes)}; --datasets and --regimes name others")
    with beside(grid, options.explainer, store, options.beside, say) as found:
        _print(found.published, found.shown, found.explainers, store)
    if found.failed:
        print(f"{found.failed} failures; see above, and: python -m precompute status --store {store}", file=sys.stderr)
    return 1 if found.failed else 0


def _grid(options: argparse.Namespace) -> Grid:
    regimes = {"regimes": all_words(options.regimes)} if hasattr(options, "regimes") else {}
    asked: dict[str, Any] = {"explainers": (), "limit": LIMIT, "match": "text"}
    return replace(GRIDS["demo"], **asked | given(options, Grid) | regimes)


def _print(published: Path, shown: Filter, own: tuple[str, ...], store: Path) -> None:
    """The board and what can be said of it. own: keys of one's own explainers, which come with their file only."""
    made = board(Reader(published), shown)
    for table in (main_table(made), harder_table(made)):
        if table.heads:
            print(table.text(), end="\n\n")
    found = conclusion(made)
    print("\n".join((LEGEND, "", found.said, *found.open, "")))
    for key in own:
        print(f"{key} is of your own file: elsewhere its results are shown, and it cannot be run.")
    streamlit = shutil.which("streamlit") or ".venv/bin/streamlit"
    print(f"open it: HEVAL_STORE={store} {streamlit} run app.py")
