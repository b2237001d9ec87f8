"""Faithfulness by what stands in for a token that is taken out, and what its own baseline token is worth to fa."""

from __future__ import annotations

from typing import NamedTuple

import pandas as pd

from heval_core.figures.palette import in_order

PARTS = {"baseline": "fa's baseline token", "drawn": "drawn by frequency", "deletion": "deletion", "all": "mean"}
CELL = ["model", "dataset", "regime"]


class Advantage(NamedTuple):
    """What fa's own token is worth to it, in nats, means over cells; above 0 it looks better by it.

    own: how much better fa is under `baseline` than under the mean of the other replacements. rest: the same, mean of the
    other methods. cells: how many. above: those of them in which fa gains more than the rest.
    """

    own: float
    rest: float
    cells: int
    above: int


def advantage(cells: pd.DataFrame, controls: set[str], lower_is_better: bool) -> Advantage | None:
    """cells: rows of `cell_metric` of one metric, all parts. None where fa, or the other replacements, were not measured."""
    methods = cells[~cells["explainer"].isin(controls)].dropna(subset=["value"])
    wide = methods.pivot_table(index=[*CELL, "explainer"], columns="part", values="value")
    if not {"baseline", "drawn", "deletion"} <= set(wide.columns):
        return None
    gain = (wide["baseline"] - (wide["drawn"] + wide["deletion"]) / 2) * (-1 if lower_is_better else 1)
    table = gain.unstack("explainer")
    if "fa" not in table or table.shape[1] < 2:
        return None
    own, rest = table["fa"], table.drop(columns="fa").mean(axis=1)
    both = own.notna() & rest.notna()
    own, rest = own[both], rest[both]
    return Advantage(float(own.mean()), float(rest.mean()), len(own), int((own > rest).sum())) if len(own) else None


def table_of(frames: dict[str, pd.DataFrame], titles: dict[str, str]) -> pd.DataFrame:
    """Per explainer the mean over cells of each metric and replacement, as measured."""
    columns = {}
    for metric, cells in frames.items():
        means = cells.dropna(subset=["value"]).groupby(["part", "explainer"])["value"].mean()
        for part, words in PARTS.items():
            if part in means:
                columns[f"{metric}, {words}"] = means[part]
    table = pd.DataFrame(columns)
    table = table.reindex(in_order(list(table.index)))
    table.index = pd.Index([titles.get(key, key) for key in table.index], name="explainer")
    return table
