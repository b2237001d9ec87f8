"""The runs behind the demo's board: further explainers on a part of the cells, then decoys and lengths.

A board compares explainers on the same instances only, so that further explainers have all questions of fewer cells, not fewer
questions of all. Decoys and lengths are run for the models that were taught them, and only where a model obeys its rule in
OBEYED of the prompts that its card counts: elsewhere no explanation could be held against the rule. Longer prompts than 256
tokens, and long documents, are left to one's own store: git would have to hold a megabyte for each hundred prompts of 1,024.
"""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from demo.examine import read_measured
from heval_core import catalogue
from heval_core.regime_keys import DECOYS, RegimeOptions

OBEYED = 0.9
# One regime with one document, and one with two.
PLAIN = ("conflicting", "mixed")
SHORT, LONG = "world_capital", "country_profiles"
# Of so many questions faithfulness with the question protected is measured. Seconds: in one regime.
PROTECTED, TIMED = 32, "mixed"
# So many questions that the smallest group has the 30 answers that its numbers need; further, where answers stand too often.
ENOUGH, FURTHER = 115, 10
# What at2 is fitted on.
FITTED = 300


class Harder(NamedTuple):
    """Regimes, with so many questions each. timed: seconds too."""

    questions: int
    regimes: tuple[RegimeOptions, ...]
    timed: bool = False


HARDER = (
    Harder(ENOUGH + FURTHER, tuple(RegimeOptions("mixed", decoy) for decoy in DECOYS[:2])),
    Harder(ENOUGH, tuple(RegimeOptions("mixed", decoy) for decoy in DECOYS[2:])),
    Harder(ENOUGH, (RegimeOptions("mixed", None, 256, "first"),), timed=True),
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
    for one in HARDER:
        obeyed = [str(regime) for regime in one.regimes if rates[SHORT, str(regime)] >= OBEYED]
        if obeyed:
            asked = ["--models", str(model), "--datasets", SHORT, "--explainers", ",".join(catalogue.explainers())]
            yield [*asked, "--regimes", *obeyed, *(["--timing"] if one.timed else [])], one.questions
