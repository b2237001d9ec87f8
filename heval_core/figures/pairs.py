"""Two explainers against each other: a row for each model and dataset, a panel for each question."""

from __future__ import annotations

from typing import Any

import pandas as pd

from heval_core.evaluation.board.records import Board
from heval_core.figures.dots import Dot, DotFigure, Panel, Row, Slot, on_one_axis
from heval_core.figures.palette import colour
from heval_core.metrics.shared.measure import QUESTIONS
from heval_core.present.names import Names
from heval_core.present.numbers import change, interval, p_value


def pair_figure(board: Board, pairs: pd.DataFrame, names: Names) -> DotFigure:
    """Differences in the colour of the one that is ahead; hollow where the difference does not hold.

    pairs: rows of `Board.pairs` of one pair, turned alike.
    """
    places = list(pairs[["model", "dataset"]].drop_duplicates().itertuples(index=False, name=None))
    single = len({dataset for _, dataset in places}) == 1
    rows = [Row(f"{m} {d}", m if single else f"{m} · {names.dataset(d)}") for m, d in places]
    panels = []
    for question in QUESTIONS:
        own = {(row["model"], row["dataset"]): row for row in pairs[pairs["column"] == question].to_dict("records")}
        if own:
            slots = tuple(_slot(own[place], names) if place in own else Slot() for place in places)
            panels.append(Panel(QUESTIONS[question].title, slots, chance=0.0))
    legend = [("dot", "difference, 95 % interval"), ("hollow", "it does not hold (Holm, p ≥ .05)")]
    made = on_one_axis(rows, panels, "", ((0.0, "no difference"),))
    return DotFigure("One against another", rows, made, legend, "click a dot for its instances")


def _slot(row: dict[Any, Any], names: Names) -> Slot:
    ahead = row["first"] if row["difference"] > 0 else row["second"]
    about = (
        f"{names.explainer(row['first'])} against {names.explainer(row['second'])} · {row['model']}",
        f"{interval(row['difference'], row['low'], row['high'], signed=True)}, p (Holm) {p_value(row['p_holm'])}",
    )
    id = (row["first"], row["second"], row["model"], row["dataset"], row["column"])
    dot = Dot(row["difference"], about, id, row["low"], row["high"], hollow=not row["better"], hue=colour(ahead))
    return Slot((dot,), text=change(row["difference"]), best=bool(row["better"]))
