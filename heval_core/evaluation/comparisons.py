"""Compares explainers in pairs, over the same instances: differences, their intervals and tests."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from itertools import combinations
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from heval_core import catalogue, metrics
from heval_core.evaluation import cells
from heval_core.evaluation.live import stored
from heval_core.evaluation.regime import Regime
from heval_core.records import CELL
from heval_core.statistics.bootstrap import percentile_interval
from heval_core.statistics.paired_tests import holm
from heval_core.statistics.values import Value, differences
from heval_core.store.filters import Filter
from heval_core.store.reader import Reader


class Compared(NamedTuple):
    """Pairs of explainers, with differences first minus second, over the instances for which all explainers have scores.

    cells: one row per cell, part and pair: the cell's columns, part, first, second, difference, low, high (95 %, questions
    resampled), p (sign flips over questions), p_holm (over the cell's pairs), better (the better explainer at p_holm < .05,
    else ""), n. overall: one row per technique and pair: first, second, wins of the first, ties, losses, mean difference over
    cells and parts, low, high (95 %, the same questions resampled in all cells), comparisons, cells.
    """

    cells: pd.DataFrame
    overall: pd.DataFrame


def comparisons(reader: Reader, chosen: Filter, metric: str, parts: Collection[str], k: int) -> Compared:
    """All pairs of methods, in every cell and part, and over all of them."""
    plugin = catalogue.find("metric", metric)
    rows: list[dict[str, Any]] = []
    for one in stored(reader, chosen):
        regime = one.common()
        methods = [key for key in one.scored.explainers if key not in catalogue.explainers(control=True)]
        found = cells.estimates([plugin], one.scored.cells(regime, methods), (k,))[plugin.key]
        for part in parts:
            own = {
                explainer: estimate
                for (explainer, _), all_parts in found.items()
                for estimate in all_parts
                if estimate.part == part and estimate.unavailable is None
            }
            rows += _pairs(regime, own, part, metrics.best_of(metric, part))
    columns = [*CELL, "part", "first", "second", "difference", "low", "high", "p", "p_holm", "better", "n"]
    each = pd.DataFrame(rows, columns=[*columns, "drawn"])
    return Compared(each[columns], _overall(each))


def _pairs(regime: Regime, found: Mapping[str, Value], part: str, best: str) -> Iterator[dict[str, Any]]:
    """A row of every pair; drawn: the (resamples,) replicates of its difference."""
    names = list(combinations(found, 2))
    apart = differences([(found[first], found[second]) for first, second in names], regime.weights)
    adjusted = holm(np.array([own.p for own in apart]))
    for (first, second), own, p in zip(names, apart, adjusted, strict=True):
        ahead = second if (own.value > 0) == (best == "low") else first
        better = ahead if p < 0.05 and best != "zero" else ""
        yield {
            **regime.key._asdict(),
            "part": part,
            "first": first,
            "second": second,
            "difference": own.value,
            **own.interval(regime.numbers)._asdict(),
            "p": own.p,
            "p_holm": p,
            "better": better,
            "n": own.n,
            "drawn": own.drawn,
        }


def _overall(found: pd.DataFrame) -> pd.DataFrame:
    rows = []
    for (technique, first, second), own in found.groupby(["technique", "first", "second"]):
        low, high = percentile_interval(np.mean(list(own["drawn"]), axis=0))
        rows.append(
            {
                "technique": technique,
                "first": first,
                "second": second,
                "wins": int((own["better"] == first).sum()),
                "ties": int((own["better"] == "").sum()),
                "losses": int((own["better"] == second).sum()),
                "mean difference": float(own["difference"].mean()),
                "low": low,
                "high": high,
                "comparisons": len(own),
                "cells": len(own.drop_duplicates(list(CELL))),
            }
        )
    columns = ["technique", "first", "second", "wins", "ties", "losses", "mean difference", "low", "high", "comparisons"]
    return pd.DataFrame(rows, columns=[*columns, "cells"])
