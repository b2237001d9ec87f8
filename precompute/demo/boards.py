"""The runs behind the demo's board: further explainers on a part of the questions, then decoys and lengths.

Decoys and lengths are run for the models that were taught them, and only where a model obeys its rule in OBEYED of the prompts
that its card counts: elsewhere no explanation could be held against the rule. Ever fewer questions as prompts grow, and at
2,048 tokens nothing that asks the model once for each token: one such explanation takes minutes on one core.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from heval_core import catalogue
from heval_core.regime_keys import DECOYS, PLACES, RegimeOptions
from precompute.demo.examine import read_measured

OBEYED = 0.9
# No swapped regimes: none of the board's columns needs them.
PLAIN = ("conflicting", "irrelevant", "double_conflicting", "mixed")
# Instances of each of these regimes that the further explainers explain.
EXPLAINED = {"world_capital": 80, "country_profiles": 24}
PER_TOKEN = ("fa", "ig")


class Harder(NamedTuple):
    """Regimes of a dataset, with so many questions each. left_out: explainers that would take too long."""

    dataset: str
    questions: int
    regimes: tuple[RegimeOptions, ...]
    left_out: Sequence[str] = ()


def _decoys(*bases: str) -> tuple[RegimeOptions, ...]:
    return tuple(RegimeOptions(base, decoy) for base in bases for decoy in DECOYS)


def _padded(length: int, *places: str) -> tuple[RegimeOptions, ...]:
    return tuple(RegimeOptions("mixed", None, length, place) for place in places)


HARDER = (
    Harder("world_capital", 30, _decoys("double_conflicting", "mixed")),
    Harder("country_profiles", 12, _decoys("mixed")),
    Harder("world_capital", 16, _padded(256, *PLACES)),
    Harder("world_capital", 12, _padded(512, "middle")),
    Harder("country_profiles", 8, _padded(512, "middle")),
    Harder("world_capital", 8, _padded(1024, "middle"), ("ig",)),
    Harder("world_capital", 8, _padded(2048, "middle"), PER_TOKEN),
)


def further() -> list[str]:
    """The explainers that a run does not take by itself."""
    return [key for key in catalogue.explainers() if key not in catalogue.default_methods()]


def plain_runs(models: Sequence[str]) -> Iterator[list[str]]:
    """What the board's main columns need: the further explainers, of models whose other results are there."""
    for dataset, explained in EXPLAINED.items():
        chosen = ["--explainers", ",".join(further()), "--regimes", *PLAIN, "--cap", str(explained)]
        yield ["--models", *models, "--datasets", dataset, *chosen]


def harder_runs(model: Path) -> Iterator[tuple[list[str], int]]:
    """Arguments, and how many questions, of the runs with decoys and lengths of a model, where it obeys."""
    rates = {(report.dataset, report.regime): report.agreement for report in read_measured(model)}
    for dataset, questions, regimes, left_out in HARDER:
        obeyed = [str(regime) for regime in regimes if rates[dataset, str(regime)] >= OBEYED]
        if obeyed:
            explainers = [key for key in catalogue.explainers() if key not in left_out]
            chosen = ["--explainers", ",".join(explainers), "--regimes", *obeyed]
            yield ["--models", str(model), "--datasets", dataset, *chosen], questions
