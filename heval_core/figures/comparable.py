"""Which means may be set side by side: those over nearly the same cells. Others would compare cells, not explainers."""

from __future__ import annotations

import pandas as pd

# A cell in ten may be missing, such as where a run failed in part.
NEARLY_ALL = 0.9
PLACE = ["model", "dataset", "regime", "part"]
_ROW = ["technique", "explainer"]


def comparable(counts: pd.Series) -> pd.Series:
    """Whether each of some rows is over nearly as much as the most complete. counts: cells, or instances, of each."""
    return counts >= NEARLY_ALL * counts.max()


def shared(cells: pd.DataFrame) -> pd.DataFrame:
    """Those in which all explainers that have any have a value: over these, and no others, rows compare.

    cells: technique, explainer, PLACE and value; without a value in those that are not available.
    """
    there = cells.dropna(subset=["value"])
    rows = there.groupby(_ROW, sort=False).ngroup()
    return there[rows.groupby([there[name] for name in PLACE]).transform("nunique") == rows.nunique()]


def goodness(cells: pd.DataFrame, best: str) -> pd.Series:
    """By technique and explainer, the mean over cells of what is the better the higher it is. best: as of a measure."""
    value = cells["value"].astype(float)
    good = {"high": value, "low": -value, "zero": -(value - cells["chance"].astype(float)).abs()}[best]
    return good.groupby([cells[name] for name in _ROW], sort=False).mean()


def named(cells: pd.DataFrame, most: int = 6) -> str:
    """Which cells these are, in words: `m on d, n on d`; their number where they are many."""
    places = sorted({f"{model} on {dataset}" for model, dataset in zip(cells["model"], cells["dataset"], strict=True)})
    return ", ".join(places) if len(places) <= most else f"{len(places)} models on datasets"
