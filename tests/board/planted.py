"""Boards whose truth is planted: cells with values that a test wants, and replicates around them."""

from __future__ import annotations

import itertools
import zlib
from collections.abc import Callable, Mapping, Sequence

import numpy as np
import pandas as pd

from heval_core.evaluation.board.making import board_of, measures_of_boards
from heval_core.evaluation.board.records import COSTS, EVERY_SIZE, Board, Row
from heval_core.evaluation.live import COLUMNS
from heval_core.metrics.shared.measure import Measure
from heval_core.regime_keys import read_key

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


def cells_of(
    truth: Truth,
    explainers: Sequence[str],
    models: Sequence[str] = MODELS,
    datasets: Sequence[str] = DATASETS,
    regimes: Sequence[str] = REGIMES,
    noise: float = 0.02,
) -> dict[Measure, pd.DataFrame]:
    """Cells of the questions' measures where these are asked. noise: standard error of a normalised value."""
    return {
        measure: _measured(measure, truth, explainers, models, datasets, regimes, noise) for measure in measures_of_boards()
    }


def _measured(measure: Measure, truth: Truth, explainers, models, datasets, regimes, noise: float) -> pd.DataFrame:
    rows = []
    for place in itertools.product(models, datasets, regimes, explainers):
        model, dataset, regime, explainer = place
        if _asked(measure, regime):
            key = (*place[:3], "regular", explainer, measure.metric, _part(measure, regime), measure.at(5))
            value, drawn = truth(explainer, measure.question, model, dataset, regime), None
            if value is not None:
                own = np.random.default_rng(zlib.crc32(repr(key).encode())).normal(value, noise, RESAMPLES)
                drawn = CHANCE + (BEST - CHANCE) * own
            rows.append([*key, *_numbers(value, noise), drawn])
    return pd.DataFrame(rows, columns=[*COLUMNS, "drawn"])


def _asked(measure: Measure, regime: str) -> bool:
    dual = read_key(regime).dual
    return {"RQ1": not dual, "RQ2": dual, "RQ3": True, "faithfulness": False}[measure.question]


def _part(measure: Measure, regime: str) -> str:
    return {"RQ1": "c", "RQ2": "balanced", "RQ3": "balanced" if read_key(regime).dual else "C"}[measure.question]


def _numbers(value: float | None, noise: float) -> list[object]:
    def raw(scaled: float) -> float:
        return CHANCE + (BEST - CHANCE) * scaled

    known = value is not None
    at = value if value is not None else float("nan")
    numbers = [raw(at), raw(at - 1.96 * noise), raw(at + 1.96 * noise), CHANCE if known else None, None, None]
    numbers += [BEST if known else None, at, None]
    why = None if known else "group M has 3 of the 30 instances needed"
    return [*numbers, 100 if known else 0, '{"C": 60, "M": 40}', "{}", why]


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
    rows = [Row(key, key.upper(), key in controls) for key in keys]
    timed = [float("nan"), float("nan")]
    costs = [[key, EVERY_SIZE, 100.0, float(own), float(own), 100, *timed] for key, own in (passes or {}).items()]
    return board_of(measured, rows, pd.DataFrame(costs, columns=COSTS))


def level(rq1: float, rq2: float, rq3: float) -> dict[str, float]:
    return {"RQ1": rq1, "RQ2": rq2, "RQ3": rq3}
