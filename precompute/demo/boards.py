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
# The questions that further explainers explain in each of these regimes.
EXPLAINED = {"world_capital": 80, "country_profiles": 16}
# Faithfulness with the question protected: of so many questions of one dataset. Seconds: in one regime.
PROTECTED, TIMED = ("world_capital", 20), "mixed"
# What at2 is fitted on.
FITTED = 300
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
    Harder("country_profiles", 10, _decoys("mixed")),
    Harder("world_capital", 16, _padded(256, *PLACES)),
    Harder("world_capital", 12, _padded(512, "middle")),
    Harder("country_profiles", 8, _padded(512, "middle")),
    Harder("world_capital", 6, _padded(1024, "middle"), ("ig",)),
    Harder("world_capital", 6, _padded(2048, "middle"), PER_TOKEN),
)


def further() -> list[str]:
    """The explainers that a run does not take by itself."""
    return [key for key in catalogue.explainers() if key not in catalogue.default_methods()]


def plain_runs(models: Sequence[str], questions: int) -> Iterator[tuple[list[str], int]]:
    """Arguments, and how many questions, of what the board's main columns need beside the results of the explainers that run
    by default, which have these questions."""
    for explainers, dataset, limit in _plain(questions):
        asked = ["--models", *models, "--datasets", dataset, "--explainers", ",".join(explainers)]
        measured = ["--faithfulness-protected", str(PROTECTED[1])] if dataset == PROTECTED[0] else []
        yield [*asked, "--regimes", *PLAIN, *measured], limit


def timing_runs(models: Sequence[str], questions: int) -> Iterator[tuple[list[str], int]]:
    """The same of seconds. Nothing else should run beside them."""
    for explainers, dataset, limit in _plain(questions):
        asked = ["--models", *models, "--datasets", dataset, "--explainers", ",".join(explainers)]
        yield [*asked, "--regimes", TIMED, "--timing"], limit


def _plain(questions: int) -> Iterator[tuple[Sequence[str], str, int]]:
    for dataset, explained in EXPLAINED.items():
        yield catalogue.default_methods(), dataset, questions
        yield further(), dataset, explained


def harder_runs(model: Path) -> Iterator[tuple[list[str], int]]:
    """Arguments, and how many questions, of the runs with decoys and lengths of a model, where it obeys."""
    rates = {(report.dataset, report.regime): report.agreement for report in read_measured(model)}
    for dataset, questions, regimes, left_out in HARDER:
        obeyed = [str(regime) for regime in regimes if rates[dataset, str(regime)] >= OBEYED]
        if obeyed:
            explainers = [key for key in catalogue.explainers() if key not in left_out]
            timed = ["--timing"] if all(regime.length for regime in regimes) and PER_TOKEN[0] in explainers else []
            chosen = ["--explainers", ",".join(explainers), "--regimes", *obeyed, *timed]
            yield ["--models", str(model), "--datasets", dataset, *chosen], questions
