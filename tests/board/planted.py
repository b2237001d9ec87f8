"""Boards whose truth is planted: cells with values that a test wants, and replicates around them."""

from __future__ import annotations

import itertools
import zlib
from collections.abc import Callable, Mapping, Sequence

import numpy as np
import pandas as pd

from heval_core.evaluation.board.making import board_of, measures_of_boards
from heval_core.evaluation.board.records import COSTS, EVERY_SIZE, Board, BoardRow
from heval_core.evaluation.cells import COLUMNS
from heval_core.metrics.shared.measure import Measure
from heval_core.records.regime_keys import read_key

RESAMPLES = 400
# Of planted cells: raw values run from chance to best.
CHANCE, BEST = 2.0, 12.0
MODELS, DATASETS = ("model-a", "model-b"), ("data-1", "data-2")
REGIMES = ("conflicting", "mixed")

# (explainer, question, model, dataset, regime) ▶ value from chance (0) to best (1); None: not available.
Truth = Callable[[str, str, str, str, str], float | None]


def truth_of(table: Mapping[str, Mapping[str, float]]) -> Truth:
    """The same everywhere. table: explainer ▶ question ▶ value."""
    return lambda explainer, question, model, dataset, regime: table[explainer].get(question)


def lacking(explainer: str, question: str, model: str, dataset: str, regime: str) -> float | None:
    """The best lacks the cells of one model."""
    return None if (explainer, model) == ("partial", "model-b") else {"a": 0.5, "b": 0.3, "partial": 1.0}[explainer]


def cells_of(
    truth: Truth,
    explainers: Sequence[str],
    models: Sequence[str] = MODELS,
    datasets: Sequence[str] = DATASETS,
    regimes: Sequence[str] = REGIMES,
    noise: float = 0.02,
) -> dict[Measure, pd.DataFrame]:
    """Cells of the questions' measures where these are asked. noise: standard error of a normalised value."""
    cells = {}
    for measure in measures_of_boards():
        rows = []
        for model, dataset, regime, explainer in itertools.product(models, datasets, regimes, explainers):
            if part := PARTS.get((measure.question, read_key(regime).documents)):
                key = (model, dataset, regime, "regular", explainer, measure.metric, part, measure.at(5))
                rows.append([*key, *_numbers(truth(explainer, measure.question, model, dataset, regime), noise, repr(key))])
        cells[measure] = pd.DataFrame(rows, columns=[*COLUMNS, "drawn"])
    return cells


GROUPS = ('{"C": 60, "M": 40}', "{}")
# (question, number of documents) ▶ the part that answers it.
PARTS = {("RQ1", 1): "c", ("RQ2", 2): "balanced", ("RQ3", 1): "C", ("RQ3", 2): "balanced"}


def _numbers(value: float | None, noise: float, seed: str) -> list[object]:
    """The columns behind the key."""
    if value is None:
        why = "group M has 3 of the 30 instances needed"
        return [*[np.nan] * 3, *[None] * 4, np.nan, None, 0, *GROUPS, why, None]
    drawn = np.random.default_rng(zlib.crc32(seed.encode())).normal(value, noise, RESAMPLES)
    scaled = (value, value - 1.96 * noise, value + 1.96 * noise, drawn)
    at, low, high, drawn = (CHANCE + (BEST - CHANCE) * own for own in scaled)
    return [at, low, high, CHANCE, None, None, BEST, value, None, 100, *GROUPS, None, drawn]


def planted(
    table: Mapping[str, Mapping[str, float]] | None = None,
    truth: Truth | None = None,
    explainers: Sequence[str] = (),
    controls: Sequence[str] = (),
    passes: Mapping[str, float] | None = None,
    **where: object,
) -> Board:
    """A board. table: see `truth_of`; or truth with its explainers. where: see `cells_of`."""
    keys = list(table or explainers)
    measured = cells_of(truth or truth_of(table or {}), keys, **where)  # type: ignore[arg-type]
    rows = [BoardRow(key, "Own (ours)" if key == "ours" else key.upper(), key in controls) for key in keys]
    timed = [float("nan"), float("nan")]
    costs = [[key, EVERY_SIZE, 100.0, float(own), float(own), 100, *timed] for key, own in (passes or {}).items()]
    return board_of(measured, rows, pd.DataFrame(costs, columns=COSTS), asked_of(measured))


def asked_of(measured: Mapping[Measure, pd.DataFrame]) -> pd.DataFrame:
    """Thirty questions of each dataset, the same in all models and regimes, with answers of each group."""
    cells = pd.concat(measured.values())[["model", "dataset", "regime"]].drop_duplicates()
    groups = pd.DataFrame({"group": ["C", "M", "C1", "C2", "other"]})
    return cells.merge(groups, how="cross").merge(pd.DataFrame({"question": [f"q{n}" for n in range(30)]}), how="cross")


def level(rq1: float, rq2: float, rq3: float) -> dict[str, float]:
    return {"RQ1": rq1, "RQ2": rq2, "RQ3": rq3}
