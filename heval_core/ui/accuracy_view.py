"""The Accuracy page: one metric over all cells under a filter, as bars beside chance, and the table behind them."""

from __future__ import annotations

from typing import Any, cast

import pandas as pd
import streamlit as st

from heval_core.figures.accuracy import cell_bars
from heval_core.store.reader import Filter, Reader
from heval_core.ui.filters import CELL
from heval_core.ui.results import cached
from heval_core.ui.text import REGIME_TITLES, UNITS, number, percent, plain

# What a person picks: metric and the parts that answer it, in the order of the research questions.
VIEWS = {
    "Context or memory? (rank margin)": ("group_rank_margin", ("c",)),
    "Which document? (group margin)": ("group_rank_margin", ("c1", "c2")),
    "Which document? (instance margin)": ("instance_rank_margin", ("C1", "C2")),
    "Which token? (MRR)": ("mrr", ("C", "pooled")),
}
_PART_TITLES = {
    "c": "",
    "C": "",
    "pooled": "",
    "c1": "document 1",
    "c2": "document 2",
    "C1": "used: 1",
    "C2": "used: 2",
}


def cells_of(results: Reader, chosen: Filter, view: str, k: int) -> pd.DataFrame:
    """The cells of a view, with what figures need: a label per cell and a title per explainer."""
    metric, parts = VIEWS[view]
    cells = cast(pd.DataFrame, cached(results, "cells", chosen, metric, 0 if metric == "mrr" else k))
    cells = cells[cells["part"].isin(parts)]
    known = cast(pd.DataFrame, cached(results, "catalogue", "explainer"))
    titles = dict(zip(known["key"], known["title"], strict=True))
    single_model, single_dataset = cells["model"].nunique() == 1, cells["dataset"].nunique() == 1
    labels = []
    for row in cells.itertuples():
        names = [] if single_model else [row.model]
        names += [] if single_dataset else [row.dataset]
        names += [REGIME_TITLES.get(row.regime, row.regime), _PART_TITLES.get(row.part, row.part)]
        labels.append(" · ".join(name for name in names if name))
    return cells.assign(label=labels, title=[titles.get(key, key) for key in cells["explainer"]])


def verdict(cells: pd.DataFrame, view: str) -> str:
    """One sentence from the data on screen."""
    found = cells.dropna(subset=["value"])
    if found.empty:
        return "Nothing is available under these filters; the table below says why."
    means = found.groupby("title").agg(value=("value", "mean"), chance=("chance", "mean"), cells=("value", "size"))
    best, unit = means.sort_values("value", ascending=False).iloc[0], UNITS[VIEWS[view][0]]
    above = float((found["low"] > found["chance"]).mean())
    return (
        f"Highest on average: **{plain(str(best.name))}** with {number(best['value'])} {unit} over {int(best['cells'])} "
        f"cells (chance {number(best['chance'])}). {percent(above)} of all bars lie above chance with their whole interval."
    )


def draw(results: Reader, chosen: Filter, k: int) -> None:
    """Question, verdict, bars, and the table behind them."""
    view = st.segmented_control(
        "Question", list(VIEWS), default=next(iter(VIEWS)), key="view", required=True, bind="query-params",
        label_visibility="collapsed",
    )  # fmt: skip
    cells = cells_of(results, chosen, str(view or next(iter(VIEWS))), k)
    if cells.empty:
        st.info("No cell is left under these filters for this question; remove one of the chips above.",
                icon=":material/filter_alt_off:")  # fmt: skip
        return
    st.markdown(verdict(cells, str(view)))
    for model, own in cells.groupby("model", sort=True):
        if cells["model"].nunique() > 1:
            st.subheader(plain(str(model)))
            own = own.assign(label=[label.removeprefix(f"{model} · ") for label in own["label"]])
        event = st.plotly_chart(
            cell_bars(own, UNITS[VIEWS[str(view)][0]]),
            width="stretch",
            key=f"bars_{model}",
            on_select="rerun",
            selection_mode="points",
            config={"displayModeBar": False},
        )
        _offer_instances(event)
    st.caption(
        "Whiskers: 95 % intervals, bootstrapped over questions. Dashed: what random scores get. "
        "Click a bar to get to the instances behind it."
    )
    _table(cells)


def _offer_instances(event: Any) -> None:
    """A link to the instances behind a bar that was clicked."""
    points = event.selection.points if event and event.selection else []
    if points and points[0].get("customdata"):
        cell = [str(value) for value in points[0]["customdata"][:3]]
        st.page_link(
            "pages/instances.py",
            label=plain(f"Open the instances of {', '.join(cell)}"),
            icon=":material/article:",
            query_params={CELL: "|".join(cell)},
        )


def _table(cells: pd.DataFrame) -> None:
    shown = [
        "model",
        "dataset",
        "regime",
        "part",
        "title",
        "value",
        "low",
        "high",
        "chance",
        "n",
        "group_sizes",
        "unavailable",
    ]
    st.dataframe(
        cells[shown].rename(columns={"title": "explainer", "unavailable": "why not available"}).round(3),
        hide_index=True,
    )
