"""The runs behind the demo's board: further explainers on a part of the cells, then decoys and lengths.

A board compares explainers on the same instances only, so that further explainers have all questions of fewer cells, not fewer
questions of all. Long prompts, decoys and lengths are run for the models that were taught them, and only where a model obeys
its rule in OBEYED of the prompts that its card counts: elsewhere no explanation could be held against the rule. Ever fewer
questions as prompts grow, and at 2,048 tokens nothing that asks the model once for each token: one such explanation takes
minutes on one core.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from heval_core import catalogue
from heval_core.regime_keys import DECOYS, PLACES, RegimeOptions
from precompute.demo.examine import read_measured

OBEYED = 0.9
# One regime with one document, and one with two.
PLAIN = ("conflicting", "mixed")
SHORT, LONG = "world_capital", "country_profiles"
# Of so many questions faithfulness with the question protected is measured. Seconds: in one regime.
PROTECTED, TIMED = 20, "mixed"
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
    Harder(SHORT, 30, _decoys("mixed")),
    Harder(LONG, 10, _decoys("mixed")),
    Harder(SHORT, 12, _padded(256, *PLACES)),
    Harder(SHORT, 12, _padded(512, "first", "middle")),
    Harder(LONG, 8, _padded(512, "first", "middle")),
    Harder(SHORT, 6, _padded(1024, "first"), ("ig",)),
    Harder(SHORT, 6, _padded(2048, "first"), PER_TOKEN),
)


def further() -> list[str]:
    """The explainers that a run does not take by itself."""
    return [key for key in catalogue.explainers() if key not in catalogue.default_methods()]


def plain_runs(models: Sequence[str]) -> list[list[str]]:
    """Arguments of the runs that the board's main columns need of these models, beside what they have by default."""
    return [[*own, "--regimes", *PLAIN, "--faithfulness-protected", str(PROTECTED)] for own in _halves(models)]


def timing_runs(models: Sequence[str]) -> list[list[str]]:
    """The same of seconds. Nothing else should run beside them."""
    return [[*own, "--regimes", TIMED, "--timing"] for own in _halves(models)]


def _halves(models: Sequence[str]) -> list[list[str]]:
    """The explainers that have results already, and the others: what is there is not computed again with other neighbours."""
    asked = ["--models", *models, "--datasets", SHORT, "--explainers"]
    return [[*asked, ",".join(keys)] for keys in (catalogue.default_methods(), further())]


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
