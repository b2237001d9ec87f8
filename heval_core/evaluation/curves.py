"""A metric by the length of the prompt or the position of the answer, in bins of equally many instances."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterator
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from heval_core import catalogue
from heval_core.evaluation import cells
from heval_core.evaluation.live import COLUMNS, stored
from heval_core.evaluation.regime import Regime
from heval_core.groups import context_groups
from heval_core.metrics.shared.measured import MeasuredMetric
from heval_core.records import CELL, RegimeKey
from heval_core.statistics.bootstrap import percentile_interval
from heval_core.store.filters import Filter
from heval_core.store.reader import Reader

BINS = 4
_CURVE = ["technique", "explainer"]


def _lengths(regime: Regime) -> np.ndarray:
    """(N,) number of tokens of each prompt."""
    ranked = regime.layout.ranked
    return np.asarray(ranked.shape[1] - np.argmax(ranked[:, ::-1], axis=1), dtype=np.float64)


def _places(regime: Regime) -> np.ndarray:
    """(N,) first position of the used document's answer (the first document's if none was used), in % of the prompt."""
    layout = regime.layout
    gold = layout.gold[0]
    for group, tokens in zip(context_groups(len(layout.gold))[1:], layout.gold[1:], strict=True):
        gold = np.where((layout.groups == group)[:, None], tokens, gold)
    return np.argmax(gold, axis=1) / np.maximum(_lengths(regime), 1) * 100


# What instances can be binned by ▶ the function that gives its (N,) values.
BINNED = {"tokens": _lengths, "answer_at": _places}


def binned(reader: Reader, chosen: Filter, metric: str, k: int, by: str = "tokens", bins: int = BINS) -> pd.DataFrame:
    """`live.cells_of` within bins of equally many instances by length of the prompt or by place of the answer (BINNED).

    Over instances that all explainers have scores of. Adds bin (from 0), least, most and mean of it. Instances of one length
    stay together.
    """
    frames = [
        pd.DataFrame(evaluated.rows, columns=COLUMNS).assign(
            bin=place, least=values.min(), most=values.max(), mean=float(values.mean())
        )
        for place, values, _, evaluated in _bins(reader, chosen, metric, k, by, bins)
    ]
    return pd.concat(frames, ignore_index=True) if frames else pd.DataFrame(columns=COLUMNS)


def _bins(
    reader: Reader, chosen: Filter, metric: str, k: int, by: str, bins: int
) -> Iterator[tuple[int, np.ndarray, Regime, cells.Evaluated]]:
    """(bin, values by which its instances were binned, its instances, the metric) for every model, dataset and regime."""
    plugin = catalogue.find("metric", metric)
    for one in stored(reader, chosen):
        regime = one.common()
        if not len(regime.ids):
            continue
        values = BINNED[by](regime)
        edges = np.unique(np.quantile(values, np.linspace(0, 1, bins + 1)[1:-1], method="lower"))
        places = np.searchsorted(edges, values, side="left")
        for number, place in enumerate(np.unique(places)):
            inside = places == place
            part = regime.rows(inside)
            own = one.scored.cells(part, one.scored.explainers)
            yield number, values[inside], part, cells.evaluate(part, own, [plugin], (k,))


class Curve(NamedTuple):
    """Means over the cells of a technique within quarters, see `binned`.

    points: technique, explainer, bin, mean, value, low, high (95 %), chance, n, cells. changes: technique, explainer, change
    (from the first to the last quarter, of the value above chance), low, high. cells: those that took part, with the columns
    of CELL, part, bin, least and most of what it is along. asked: how many cells there were.
    """

    points: pd.DataFrame
    changes: pd.DataFrame
    cells: pd.DataFrame
    asked: int


def curve(
    reader: Reader, chosen: Filter, metric: str, parts: Collection[str], k: int, by: str = "tokens", bins: int = BINS
) -> Curve:
    """A metric over the bins of each cell's instances.

    Only cells in which every bin is available for every explainer are used, so that all points average the same cells. Their
    replicates are averaged, as for the headline: one resample draws the same questions in all cells of a dataset.
    """
    whole, asked = _along(reader, chosen, metric, parts, k, by, bins)
    measured = isinstance(catalogue.find("metric", metric), MeasuredMetric)
    found, spread = [], {}
    for (technique, explainer, place), own in pd.DataFrame(whole).groupby([*_CURVE, "bin"]) if whole else ():
        drawn = spread[technique, explainer, place] = np.mean(list(own["spread"]), axis=0)
        means = {name: float(own[name].astype(float).mean()) for name in ("value", "chance", "mean")}
        found.append(
            {
                "technique": technique,
                "explainer": explainer,
                "bin": place,
                **means,
                **percentile_interval(drawn)._asdict(),
                "n": cells.entering(own),
                "cells": len(own.drop_duplicates(list(CELL))),
            }
        )
    points = pd.DataFrame(found, columns=[*_CURVE, "bin", "mean", "value", "low", "high", "chance", "n", "cells"])
    changes = []
    for (technique, explainer), own in points.groupby(_CURVE):
        above = (own["value"] - own["chance"]).to_numpy()
        first, last = own["bin"].iloc[0], own["bin"].iloc[-1]
        by_chance = own["chance"].iloc[-1] - own["chance"].iloc[0]
        # Measured chance is the random control's value, which was resampled too.
        if measured and (technique, "random", last) in spread:
            by_chance = spread[technique, "random", last] - spread[technique, "random", first]
        drawn = spread[technique, explainer, last] - spread[technique, explainer, first] - by_chance
        whole_change = {"change": above[-1] - above[0], **percentile_interval(drawn)._asdict()}
        changes.append({"technique": technique, "explainer": explainer, **whole_change})
    ends = pd.DataFrame(whole, columns=[*CELL, "part", "bin", "least", "most"]).drop_duplicates(ignore_index=True)
    return Curve(points, pd.DataFrame(changes, columns=[*_CURVE, "change", "low", "high"]), ends, asked)


def _along(
    reader: Reader, chosen: Filter, metric: str, parts: Collection[str], k: int, by: str, bins: int
) -> tuple[list[dict[str, Any]], int]:
    """The rows of all bins, for cells in which every bin is available for every explainer; and the number of all cells."""
    rows: dict[tuple[RegimeKey, str], list[dict[str, Any]]] = defaultdict(list)
    for place, values, regime, evaluated in _bins(reader, chosen, metric, k, by, bins):
        for row in evaluated.rows:
            if row["part"] in parts:
                spread = evaluated.replicates[cells.value_key(row)]
                family = (regime.key, row["part"])
                ends = {"least": float(values.min()), "most": float(values.max()), "mean": float(values.mean())}
                rows[family].append(row | {"bin": place, "spread": spread, **ends})
    return [row for own in rows.values() if _complete(own, bins) for row in own], len({key for key, _ in rows})


def _complete(rows: list[dict[str, Any]], bins: int) -> bool:
    return {row["bin"] for row in rows} == set(range(bins)) and all(row["unavailable"] is None for row in rows)
