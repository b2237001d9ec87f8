"""A question's page: bars of one measure for all cells under a filter, with chance, a sentence, and a table."""

from __future__ import annotations

from typing import Any

import pandas as pd
import streamlit as st

from heval_core.evaluation.cells import entering
from heval_core.figures.accuracy import cell_bars
from heval_core.figures.cells import apart, as_normalised, labelled, of_measure
from heval_core.metrics import measures_of
from heval_core.metrics.shared.measure import QUESTIONS, Measure
from heval_core.records import CELL
from heval_core.store.filters import Filter
from heval_core.store.reader import Reader
from heval_core.ui import behind, paired_view
from heval_core.ui.computing import live_cells
from heval_core.ui.exports import figure_config, table_exports
from heval_core.ui.filters import refuse_value
from heval_core.ui.results import query
from heval_core.ui.slices import slice_bar
from heval_core.ui.text import plain
from heval_core.wording import number, percent


def cells_of(results: Reader, chosen: Filter, measure: Measure, metric: str, k: int) -> pd.DataFrame:
    """The cells of a measure, with what figures need: a label per cell and a title per explainer.

    metric: the measure's, or a variant of it. Published values where these are of all instances, else computed now.
    """
    live = chosen.cuts_cells or metric != measure.metric
    if live:
        return labelled(of_measure(live_cells(results, chosen, metric, k), measure), titles_of(results))
    cells = query(results, Reader.cells, chosen, metric, k)
    return labelled(of_measure(cells, measure), titles_of(results))


def titles_of(results: Reader) -> dict[str, str]:
    known = query(results, Reader.catalogue, "explainer")
    return dict(zip(known["key"], known["title"], strict=True))


def verdict(cells: pd.DataFrame, measure: Measure, unit: str, controls: set[str]) -> str:
    """One sentence from the data on screen: the best method beside chance and the best control, and how clear it is."""
    found = cells.dropna(subset=["value"])
    methods = found[~found["explainer"].isin(controls)]
    if methods.empty:
        return "Nothing is available under these filters; the table below says why."
    # Cells of opposite sign are no small bias: of a measure that is best at none, the distance counts.
    away = (found["value"] - found["chance"]).abs()
    found = found.assign(order={"high": found["value"], "low": -found["value"], "zero": -away}[measure.best])
    means = found.groupby(["title", "explainer"]).agg(
        value=("value", "mean"), chance=("chance", "mean"), order=("order", "mean")
    ).reset_index()  # fmt: skip
    best = _first(means[~means["explainer"].isin(controls)])
    count = len(found[found["title"] == best["title"]].drop_duplicates(list(CELL)))
    if measure.best == "zero":
        far = f"{number(-best['order'])} {unit} from chance"
        return f"Closest to none: **{plain(best['title'])}**, {far} on average over {count} cells. {_clear(methods, measure)}"
    beside = [f"chance {number(best['chance'])}"]
    rivals = means[means["explainer"].isin(controls - {"random"})]
    if len(rivals):
        rival = _first(rivals)
        beside.append(f"best control: {plain(rival['title'].removesuffix(' (control)'))} {number(rival['value'])}")
    return (
        f"{'Highest' if measure.best == 'high' else 'Lowest'} on average: **{plain(best['title'])}** with "
        f"{number(best['value'])} {unit} over {count} cells ({', '.join(beside)}). {_clear(methods, measure)}"
    )


def _first(means: pd.DataFrame) -> dict[str, Any]:
    return {str(key): value for key, value in means.loc[means["order"].idxmax()].items()}


def _clear(found: pd.DataFrame, measure: Measure) -> str:
    """The share of the methods' bars that are clear of chance, and the methods that are on the wrong side of it."""
    above, below = found["above_low"] > 0, found["above_high"] < 0
    if measure.best == "zero":
        return (
            f"Of the methods' bars {percent(above.mean())} lie above chance with their whole interval, "
            f"{percent(below.mean())} below it."
        )
    right, wrong, side, other = above, below, "above", "below"
    if measure.best == "low":
        right, wrong, side, other = below, above, "below", "above"
    told = f"{percent(right.mean())} of the methods' bars lie {side} chance with their whole interval"
    names = found[wrong].groupby("title").size().sort_values(ascending=False)
    if names.empty:
        return f"{told}."
    each = ", ".join(f"{plain(str(title))} in {count}" for title, count in names.items())
    return f"{told}; wholly {other} it: {each}."


def draw(results: Reader, chosen: Filter, k: int, question: str) -> None:
    """Measure, verdict, bars, and what is behind them. question: a key of QUESTIONS."""
    measure = choose(question)
    chosen, without_first = slice_bar(results, chosen, ranked=measure.ranked)
    metric = f"{measure.metric}(drop_first=1)" if without_first else measure.metric
    own_k = measure.at(k)
    cells = cells_of(results, chosen, measure, metric, own_k)
    if cells.empty:
        st.info(_nothing(measure), icon=":material/filter_alt_off:")
        return
    unit = measure.unit
    if measure.best == "high" and cells["best"].notna().any() and st.toggle(
        "Normalised: 0 is chance, 1 is the best there can be", key="normalised", bind="query-params",
        help="So that explainers compare across prompts of different length. Intervals are moved with their values.",
    ):  # fmt: skip
        shown, unit = as_normalised(cells), "normalised"
        cells = cells.assign(normalised_low=shown["low"], normalised_high=shown["high"])
    else:
        shown = cells
    known = query(results, Reader.catalogue, "explainer")
    st.markdown(verdict(shown, measure, unit, set(known[known["control"]]["key"])))
    st.caption(
        f"This measure uses {entering(cells):,} instances: those of the groups it compares, in cells where it is available."
    )
    _bars(shown, unit, chosen, measure)
    st.caption(
        f"{measure.meaning} Whiskers: 95 % intervals over questions. Dashed: what random scores get. "
        "Click a bar to open its instances."
    )
    table, paired = st.tabs(["Table", "Explainer against explainer"])
    with table:
        _table(results, cells, {"measure": metric, "unit": measure.unit, "filter": str(chosen)})
    with paired:
        if st.toggle("Compare every pair, paired over questions", key="compare"):
            paired_view.pairs(results, chosen, metric, measure, own_k, titles_of(results))


def choose_question() -> str:
    """The question that is asked for, a key of QUESTIONS, kept in the link."""
    titles = {question.title: question.key for question in QUESTIONS.values()}
    refuse_value("question", list(titles), "question")
    title = st.segmented_control(
        "Question", list(titles), default=QUESTIONS["RQ3"].title, key="question", required=True, bind="query-params",
        label_visibility="collapsed",
    )  # fmt: skip
    return titles[str(title)]


def choose(question: str) -> Measure:
    """The measure of a question that is asked for, kept in the link."""
    there = measures_of(question)
    names = [name for name, measure in there.items() if not measure.variant_of]
    link = QUESTIONS[question].link
    refuse_value(link, names, "measure")
    if len(names) == 1:
        return there[names[0]]
    name = st.segmented_control(
        "Measure", names, default=names[0], key=link, required=True, bind="query-params", label_visibility="collapsed"
    )
    measure = there[str(name or names[0])]
    variant = next((own for own in there.values() if own.variant_of == measure.title), None)
    if variant and st.toggle(
        "Target held fixed", key="fixed", bind="query-params",
        help="Every explainer explains the first document's answer, whatever was answered: only its scores can tell the "
        "groups apart, not the token that is explained.",
    ):  # fmt: skip
        return variant
    return measure


def _nothing(measure: Measure) -> str:
    if measure.needs:
        return f"No cell has this measure: run the batch job with {measure.needs}, and publish again."
    return "No cell is left under these filters for this question; remove one of the chips above, or the slice."


def _bars(cells: pd.DataFrame, unit: str, chosen: Filter, measure: Measure) -> None:
    """Draw one figure for each model and dataset, because scales differ between them."""
    alone = cells.groupby(["model", "dataset"]).ngroups == 1
    for (model, dataset), own in cells.groupby(["model", "dataset"], sort=True):
        if not alone:
            st.subheader(f"{plain(str(model))} · {plain(str(dataset))}")
        event = st.plotly_chart(
            cell_bars(own, unit),
            width="stretch",
            key=f"bars_{model}_{dataset}",
            on_select="rerun",
            selection_mode="points",
            config=figure_config(),
        )
        behind.offer_cell(event, chosen, measure)


def _table(results: Reader, cells: pd.DataFrame, of: dict[str, str]) -> None:
    """Draw the table of measured values, with normalised values beside them."""
    shown = [*CELL, "part", "title", "value", "low", "high", "chance", "n", "group_sizes"]
    more = ["normalised", "normalised_low", "normalised_high", "p", "unavailable"]
    shown += [name for name in more if name in cells.columns and cells[name].notna().any()]
    st.dataframe(
        apart(cells[shown]).rename(columns={"title": "explainer", "unavailable": "why not available"}).round(3),
        hide_index=True,
    )
    table_exports(results, cells.drop(columns=["label", "title"]), "cells", of)
