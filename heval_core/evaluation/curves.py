"""A metric by the length of the prompt or the position of the answer, in bins of equally many instances."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from heval_core import catalogue
from heval_core.evaluation import cells
from heval_core.evaluation.live import COLUMNS, stored
from heval_core.evaluation.means import means
from heval_core.evaluation.regime import Regime
from heval_core.groups import context_groups
from heval_core.metrics.shared.measured import MeasuredMetric
from heval_core.records import CELL
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

    Over instances that all explainers have scores of. Adds drawn, bin (from 0), least, most and mean of it. Instances of one
    length stay together.
    """
    plugin, rows = catalogue.find("metric", metric), list[dict[str, Any]]()
    for one in stored(reader, chosen):
        regime = one.common()
        if not len(regime.ids):
            continue
        values = BINNED[by](regime)
        edges = np.unique(np.quantile(values, np.linspace(0, 1, bins + 1)[1:-1], method="lower"))
        places = np.searchsorted(edges, values, side="left")
        for number, place in enumerate(np.unique(places)):
            inside = places == place
            part, own = regime.rows(inside), values[inside]
            about = {"bin": number, "least": float(own.min()), "most": float(own.max()), "mean": float(own.mean())}
            evaluated = cells.evaluate(part, one.scored.cells(part, one.scored.explainers), [plugin], (k,))
            rows += [row | about for row in evaluated.rows]
    return pd.DataFrame(rows, columns=[*COLUMNS, "drawn", "bin", "least", "most", "mean"])


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
    every = binned(reader, chosen, metric, k, by, bins)
    of_cells = every[every["part"].isin(list(parts))].groupby([*CELL, "part"], sort=False)
    # Whether every bin is available for every explainer.
    whole = of_cells.filter(lambda own: own["bin"].nunique() == bins and own["unavailable"].isna().all())
    points = means(whole, [*_CURVE, "bin"])
    middles = whole.groupby([*_CURVE, "bin"])["mean"].mean()
    intervals = [percentile_interval(drawn) for drawn in points["drawn"]]
    points = points.assign(mean=middles.to_numpy(), low=[own.low for own in intervals], high=[own.high for own in intervals])
    measured = isinstance(catalogue.find("metric", metric), MeasuredMetric)
    changes = [
        dict(zip(_CURVE, names, strict=True)) | _change(own, points if measured else points.iloc[:0])
        for names, own in points.groupby(_CURVE)
    ]
    points = points[[*_CURVE, "bin", "mean", "value", "low", "high", "chance", "n", "cells"]]
    ends = whole[[*CELL, "part", "bin", "least", "most"]].drop_duplicates(ignore_index=True)
    return Curve(points, pd.DataFrame(changes, columns=[*_CURVE, "change", "low", "high"]), ends, of_cells.ngroups)


def _change(own: pd.DataFrame, controls: pd.DataFrame) -> dict[str, float]:
    """From the first to the last point of a curve. controls: the points whose random ones are a measured chance level, which
    was resampled too."""
    first, last = own.iloc[0], own.iloc[-1]
    random = controls[(controls["technique"] == first["technique"]) & (controls["explainer"] == "random")]
    by_chance = random["drawn"].iloc[-1] - random["drawn"].iloc[0] if len(random) else last["chance"] - first["chance"]
    change = (last["value"] - last["chance"]) - (first["value"] - first["chance"])
    return {"change": change, **percentile_interval(last["drawn"] - first["drawn"] - by_chance)._asdict()}
