"""A board's numbers: means over the cells that count, with intervals, and replicates that are paired.

Which cells count, `evaluation.means` says. A row that lacks some of them says so, and is not compared. Replicates resample
the same questions for all rows, so that differences of rows are paired.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd

from heval_core.evaluation.board.records import VALUES, Column
from heval_core.evaluation.means import PLACE, available, drawn_of, means, scaled

NOT_RUN = "not run here"
OTHER_INSTANCES = "over other instances than most"


def values_of(
    column: Column, measured: pd.DataFrame, counted: pd.DataFrame, rows: Sequence[str], by: tuple[str, ...] = ()
) -> pd.DataFrame:
    """A column's numbers: `Board.values`, or with by=("model",) `Board.by_model`.

    measured: all cells of its measure. counted: see `means.counting`.
    """
    found = means(counted, (*by, "explainer"))
    if column.scaled:
        shown = {name: found[f"normalised{end}"] for name, end in _ENDS} | {"chance": 0.0}
    else:
        shown = {name: found[name] for name in ("value", "low", "high", "chance")}
    native = {f"native{end}": found[name] for name, end in _ENDS} | {"native_chance": found["chance"]}
    made = found[[*by, "explainer", "n"]].assign(column=column.key, **native, **shown)
    sizes = counted.groupby([*by, "explainer"]).size().rename("cells").reset_index()
    made = made.merge(sizes, on=[*by, "explainer"])
    places = counted.drop_duplicates(PLACE)
    wanted = [(group, len(own)) for group, own in places.groupby(list(by))] if by else [((), len(places))]
    pieces = [_whole(made, measured, rows, dict(zip(by, group, strict=True)), size) for group, size in wanted]
    return pd.concat(pieces, ignore_index=True)[[*by, *VALUES]]


_ENDS = (("value", ""), ("low", "_low"), ("high", "_high"))


def _whole(made: pd.DataFrame, cells: pd.DataFrame, rows: Sequence[str], of: dict[str, str], size: int) -> pd.DataFrame:
    """A line for every row of the board, with what it lacks. of: the model, where the numbers are by model."""
    for name, value in of.items():
        made, cells = made[made[name] == value], cells[cells[name] == value]
    why = dict.fromkeys(available(cells)["explainer"], OTHER_INSTANCES)
    why |= cells.dropna(subset=["unavailable"]).groupby("explainer")["unavailable"].first().to_dict()
    whole = made.set_index("explainer").reindex(list(rows)).rename_axis("explainer").reset_index().assign(of=size, **of)
    whole["column"], whole["cells"] = made["column"].iloc[0], whole["cells"].fillna(0).astype(int)
    whole["n"] = whole["n"].fillna(0).astype(int)
    whole["reason"] = [_reason(int(own.cells), size, str(why.get(own.explainer, NOT_RUN))) for own in whole.itertuples()]
    return whole


def _reason(cells: int, of: int, why: str) -> str:
    if not cells:
        return why
    return f"lacks {of - cells} of {of} cells" if cells < of else ""


def replicates(counted: pd.DataFrame, by: Sequence[str]) -> dict[Any, np.ndarray]:
    """Group ▶ (resamples, cells) normalised replicates; nothing of a group in which a cell has none."""
    groups = ((names, own, drawn_of(own)) for names, own in counted.groupby(list(by)))
    return {names: scaled(own, drawn) for names, own, drawn in groups if drawn is not None and len(drawn) > 1}
