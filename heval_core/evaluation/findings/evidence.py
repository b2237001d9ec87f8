"""The data behind findings: series of values over cells, with their replicates."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import pandas as pd

from heval_core.evaluation.cells import ValueKey, value_key
from heval_core.metrics.length_sensitivity import PER
from heval_core.records import DUAL_REGIMES, SINGLE_REGIMES, TECHNIQUE, RegimeKey

METHODS = ("mechlight", "fa", "ig", "attn")
K = 5
DUAL = DUAL_REGIMES[:2]
MAIN = SINGLE_REGIMES + DUAL


@dataclass(frozen=True)
class Series:
    """What is compared: a metric's cells. parts: each regime has one of them.

    scale: `best` sets chance to 0 and the best possible value to 1; the name of a detail of the metric divides the value above
    chance by it (`tokens`) or multiplies (`length_sd`, for a slope per 100 tokens); empty leaves the value as it is.
    """

    title: str
    metric: str
    parts: tuple[str, ...]
    regimes: tuple[str, ...] = MAIN
    k: int = 0
    scale: str = ""


MRR = Series("MRR", "mrr", ("C", "balanced"))
MARGIN = Series("group margin", "group_rank_margin", ("c",), SINGLE_REGIMES, K, "best")
BETWEEN = Series("instance margin", "instance_rank_margin", ("balanced",), DUAL, K, "best")
OVERALL = (MARGIN, BETWEEN, Series("MRR", "mrr", ("C", "balanced"), scale="best"))
SLOPES = (
    Series("slope of MRR", "length_sensitivity", ("mrr",), MAIN, K, "length_sd"),
    Series("slope of the instance margin", "length_sensitivity", ("instance_rank_margin",), DUAL, K, "length_sd"),
)
BIAS = Series("position bias", "position_bias", ("tilt",), DUAL_REGIMES, K, "tokens")
# The values whose replicates findings need: (metric, part, k).
WANTED = frozenset(
    {(one.metric, part, one.k) for one in (MRR, *OVERALL, *SLOPES, BIAS) for part in one.parts} | {("nmutinf", "raw", K)}
)
METRICS = frozenset(metric for metric, _, _ in WANTED)


class Place(NamedTuple):
    """Where a series has a value: a regime's instances, and the part of the metric."""

    key: RegimeKey
    part: str

    def value(self, series: Series, explainer: str) -> ValueKey:
        return ValueKey(self.key.cell(explainer), series.metric, self.part, series.k)


class Evidence:
    """A store's values for the technique TECHNIQUE. rows: of `cell_metric`, with the same instances for all explainers of a
    regime. spread: (resamples,) replicates of each value.
    """

    def __init__(self, rows: pd.DataFrame, spread: Mapping[ValueKey, np.ndarray]):
        self._spread = spread
        own = rows[rows["unavailable"].isna() & rows["value"].notna() & (rows["technique"] == TECHNIQUE)]
        self._rows = {
            value_key(row._asdict()): row for row in own.itertuples() if (row.metric, row.part, int(row.k)) in WANTED
        }

    def places(self, series: Series, explainers: Iterable[str]) -> list[Place]:
        """The places where all these explainers have a value, in order."""
        present: dict[Place, set[str]] = {}
        for (cell, metric, part, k), row in self._rows.items():
            wanted = metric == series.metric and part in series.parts and k == series.k and cell.regime in series.regimes
            if wanted and (series.scale != "best" or pd.notna(row.normalised)):
                present.setdefault(Place(cell.of_regime, part), set()).add(cell.explainer)
        return sorted(place for place, having in present.items() if having >= set(explainers))

    def values(self, series: Series, explainer: str, places: Sequence[Place]) -> tuple[np.ndarray, np.ndarray]:
        """(cells,) values and (resamples, cells) replicates."""
        keys = [place.value(series, explainer) for place in places]
        rows = [self._rows[key] for key in keys]
        value = np.array([row.value for row in rows], dtype=float)
        spread = np.stack([np.asarray(self._spread[key], dtype=float) for key in keys], axis=1)
        if not series.scale:
            return value, spread
        chance = self.chance(series, explainer, places)
        if series.scale == "best":
            unit = np.array([row.best for row in rows], dtype=float) - chance
        else:
            detail = np.array([json.loads(row.details)[series.scale] for row in rows], dtype=float)
            unit = detail if series.scale == "tokens" else PER / detail
        return (value - chance) / unit, (spread - chance) / unit

    def chance(self, series: Series, explainer: str, places: Sequence[Place]) -> np.ndarray:
        """(cells,) the chance levels of `values`, before any scale."""
        keys = [place.value(series, explainer) for place in places]
        return np.array([self._rows[key].chance for key in keys], dtype=float)

    def instances(self, series: Series, explainer: str, place: Place) -> int:
        return int(self._rows[place.value(series, explainer)].n)
