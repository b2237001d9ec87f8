"""Faithfulness by what replaces a token, and how much fa gains from its own baseline token."""

from __future__ import annotations

from collections.abc import Collection
from typing import NamedTuple

import pandas as pd

from heval_core.figures.palette import in_order
from heval_core.metrics.shared.measure import PROTECTED
from heval_core.words import REPLACEMENTS

CELL = ["model", "dataset", "regime"]


class Advantage(NamedTuple):
    """How much fa gains from its own baseline token, in nats, as means over cells; above 0 it looks better with it.

    own: how much better fa is under `baseline` than under the mean of the other replacements. rest: the same for the mean of
    the other methods. cells: how many. above: the number of cells in which fa gains more than the rest.
    """

    own: float
    rest: float
    cells: int
    above: int


def parts_of(cells: pd.DataFrame, protected: bool) -> pd.DataFrame:
    """Rows of `cell_metric` with the question protected, or those without, under the plain names of their parts."""
    own = cells[cells["part"].str.endswith(PROTECTED) == protected]
    return own.assign(part=own["part"].str.removesuffix(PROTECTED))


def advantage(cells: pd.DataFrame, controls: Collection[str], lower_is_better: bool) -> Advantage | None:
    """cells: rows of `cell_metric` of one metric, all parts. None where fa, or the other replacements, were not measured."""
    methods = cells[~cells["explainer"].isin(controls)].dropna(subset=["value"])
    wide = methods.pivot_table(index=[*CELL, "explainer"], columns="part", values="value")
    if not {"baseline", "drawn", "deletion"} <= set(wide.columns):
        return None
    gain = (wide["baseline"] - (wide["drawn"] + wide["deletion"]) / 2) * (-1 if lower_is_better else 1)
    table = gain.unstack("explainer")
    if "fa" not in table or table.shape[1] < 2:
        return None
    both = pd.DataFrame({"fa": table["fa"], "rest": table.drop(columns="fa").mean(axis=1)}).dropna()
    if both.empty:
        return None
    of_fa, rest = both.mean()
    return Advantage(float(of_fa), float(rest), len(both), int((both["fa"] > both["rest"]).sum()))


def table_of(frames: dict[str, pd.DataFrame], titles: dict[str, str]) -> pd.DataFrame:
    """Per explainer the mean over cells of each metric and replacement, as measured."""
    columns = {}
    for metric, cells in frames.items():
        means = cells.dropna(subset=["value"]).groupby(["part", "explainer"])["value"].mean()
        for part, word in REPLACEMENTS.items():
            if part in means:
                columns[f"{metric}, {word.title}"] = means[part]
    table = pd.DataFrame(columns)
    table = table.reindex(in_order(list(table.index)))
    table.index = pd.Index([titles.get(key, key) for key in table.index], name="explainer")
    return table
