"""Options that several commands share, and how their values are read."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from heval_core import catalogue
from heval_core.prompts import LAYOUTS
from heval_core.records import DUAL_REGIMES, EVERY_REGIME, HEvalError
from heval_core.regime_keys import DECOYS, LENGTHS, PLACES, expanded
from heval_core.store.shards import ShardStore

EXPLAINERS_HELP = (
    f"comma-separated, some of {', '.join(catalogue.explainers())}; by default {','.join(catalogue.default_methods())}; "
    "with options in brackets: fa(target=prob),ig(steps=20)"
)
MATCH_HELP = (
    "what decides where the answer came from: its first token (the default), its text of at most 10 tokens, or the candidate "
    "within its first sentence, which is then explained where it stands"
)
TARGET_HELP = "context: explain the first document's answer, whatever the model answered; a run adds this to the usual target"
TECHNIQUES_HELP = (
    f"comma-separated, some of {', '.join(catalogue.techniques())}; with options in brackets: ph3(mode=memory). Regular is "
    "always among them; without --explainers only answers are computed"
)
TEMPLATE_HELP = (
    f"one of {', '.join(LAYOUTS)}; 'chat: BEGINNING' with another beginning of the answer; or a layout of your own with "
    "{documents} and {question}. Models without a style of their own have auto; `layouts` says what each gives"
)
STORE = Path("cache/results")
# The bundled shards, which nothing but `demo` writes, and where the explorer publishes them.
DEMO = Path(__file__).resolve().parents[2] / "cache" / "demo"
DEMO_RESULTS = DEMO.with_name("demo-results")


def words(text: str) -> tuple[str, ...]:
    return tuple(word for word in text.split(",") if word)


def all_words(texts: Sequence[str]) -> tuple[str, ...]:
    """The values of an option that takes several, separated by spaces or commas."""
    return tuple(word for text in texts for word in words(text))


def add_regimes(asked: argparse._ActionsContainer, default: str) -> None:
    """--regimes and its options. default: in words."""
    asked.add_argument("--regimes", nargs="+", help=f"some of {', '.join(EVERY_REGIME)}; {default}")
    decoys = f"change the two documents of regimes that have two: some of {', '.join(DECOYS)}; see docs/leaderboard.md"
    asked.add_argument("--decoy", nargs="+", choices=DECOYS, help=decoys)
    longer = "pad prompts with other passages of the dataset, up to so many tokens of the model"
    asked.add_argument("--length", nargs="+", type=int, choices=LENGTHS, help=longer)
    asked.add_argument("--place", choices=PLACES, help="where the documents stand among the padding; first by default")


def regimes_of(options: argparse.Namespace, default: tuple[str, ...]) -> tuple[str, ...]:
    """The regimes that the options of `add_regimes` ask for; those that can have no decoy are left out, and named."""
    given = {name: getattr(options, name, None) for name in ("regimes", "decoy", "length", "place")}
    regimes = all_words(given["regimes"]) if given["regimes"] else default
    chosen, left_out = expanded(regimes, given["decoy"] or (), given["length"] or (), given["place"])
    if left_out:
        print(f"left out, because decoys need two documents: {', '.join(left_out)}", file=sys.stderr)
    if not chosen:
        raise HEvalError(f"No regime is left; decoys need two documents: {', '.join(DUAL_REGIMES)}.")
    return chosen


def existing(folder: Path) -> ShardStore:
    if not (folder / "format.json").is_file():
        raise HEvalError(f"There is no store at {folder}; run: python -m precompute run --store {folder} …")
    return ShardStore(folder)
