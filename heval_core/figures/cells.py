"""Cells of a measure as figures and tables take them."""

from __future__ import annotations

import pandas as pd

from heval_core.metrics.shared.measure import Measure
from heval_core.statistics.values import normalised


def of_measure(cells: pd.DataFrame, measure: Measure) -> pd.DataFrame:
    """The rows of a metric that a measure reads: its parts, in its regimes."""
    cells = cells[cells["part"].isin(measure.parts)]
    return cells[cells["regime"].map(measure.asks).astype(bool)]  # a bare list would name columns where no cell is left


def as_normalised(cells: pd.DataFrame) -> pd.DataFrame:
    """The same with 0 for chance and 1 for the best possible value; intervals are moved with their values."""
    numbers = {name: cells[name].astype(float).to_numpy() for name in ("value", "low", "high", "chance", "best")}
    ends = [normalised(numbers[name], numbers["chance"], numbers["best"]) for name in ("low", "high")]
    turned = numbers["best"] < numbers["chance"]
    low, high = (pd.Series(end, index=cells.index) for end in ends)
    return cells.assign(
        value=normalised(numbers["value"], numbers["chance"], numbers["best"]),
        low=low.where(~turned, high),
        high=high.where(~turned, low),
        chance=cells["chance"].astype(float) * 0,
    )
