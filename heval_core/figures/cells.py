"""Cells of a measure as figures and tables take them: in order, with a label for each cell and a title for each explainer."""

from __future__ import annotations

from collections.abc import Mapping

import pandas as pd

from heval_core.metrics import part_title
from heval_core.metrics.shared.measure import Measure
from heval_core.present.names import regime_title
from heval_core.records import CELL
from heval_core.regime_keys import ordered_regimes
from heval_core.statistics.values import normalised


def of_measure(cells: pd.DataFrame, measure: Measure) -> pd.DataFrame:
    """The rows of a metric that a measure reads: its parts, in its regimes."""
    cells = cells[cells["part"].isin(measure.parts)]
    return cells[cells["regime"].map(measure.asks).astype(bool)]  # a bare list would name columns where no cell is left


def labelled(cells: pd.DataFrame, titles: Mapping[str, str], *, dataset: bool = False) -> pd.DataFrame:
    """Adds `label` and `title`, in order of regimes.

    A label is the regime, with technique and part where there are several, and the dataset first if asked.
    """
    labels = [regime_title(regime) for regime in cells["regime"]]
    if cells["technique"].nunique() > 1:
        labels = [f"{label} · {technique}" for label, technique in zip(labels, cells["technique"], strict=True)]
    if cells["part"].nunique() > 1:
        named = {part: part_title(part) for part in cells["part"].unique()}
        parts = [named[part] for part in cells["part"]]
        labels = [f"{label} · {part}" if part else label for label, part in zip(labels, parts, strict=True)]
    if dataset:
        labels = [f"{name} · {label}" for name, label in zip(cells["dataset"], labels, strict=True)]
    cells = cells.assign(label=labels, title=[titles.get(key, key) for key in cells["explainer"]])
    places = {regime: index for index, regime in enumerate(ordered_regimes(set(cells["regime"])))}

    def key(column: pd.Series) -> pd.Series:
        return column.map(places) if column.name == "regime" else column

    return cells.sort_values([*CELL, "part"], key=key, kind="stable")


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
