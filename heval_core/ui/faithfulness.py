"""Is it faithful to the model, and is the faithful one right?"""

from __future__ import annotations

import pandas as pd
import streamlit as st

from heval_core.evaluation.means import available, means, values_of
from heval_core.figures.measures import as_normalised
from heval_core.figures.palette import in_order
from heval_core.figures.plots import scatter
from heval_core.metrics.shared.measure import PROTECTED, QUESTION_PROTECTED, Measure
from heval_core.plugins.measures import headlines, measures, measures_of
from heval_core.present.names import regime_title
from heval_core.present.numbers import number, so_many
from heval_core.records import CELL, DEPTHS
from heval_core.records.vocabulary import REPLACEMENTS
from heval_core.statistics.correlation import clustered_spearman
from heval_core.store.filters import Filter
from heval_core.store.reader import Reader
from heval_core.ui import address, between_bounds, links, measured_cells
from heval_core.ui.marks import MarkSelection, draw_plotly
from heval_core.ui.published_results import names_of, query


def accuracies() -> dict[str, Measure]:
    """Return what faithfulness is compared with: the Overview's measures, that of tokens first."""
    ordered = sorted(headlines().items(), key=lambda pair: pair[0] != "RQ3")
    return {measure.title: measure for _, measure in ordered}


def faithfulness_measure(protected: bool = False) -> Measure:
    """Return the first measure of faithfulness, which stands for it. protected: whether the question is."""
    return next(each for each in measures_of("faithfulness").values() if (each.switch == QUESTION_PROTECTED) is protected)


def faithful_and_right(results: Reader, chosen: Filter, accuracy: str, k: int, protected: bool = False) -> pd.DataFrame:
    """Return faithfulness minus the random control's (x) and normalised accuracy (y) of every cell that has both."""
    measure, faithfulness = accuracies()[accuracy], faithfulness_measure(protected)
    faithful = query(results, Reader.cells, chosen, faithfulness.metric, faithfulness.at(k))
    right = query(results, Reader.cells, chosen, measure.metric, measure.at(k))
    right = as_normalised(right[right["part"].isin(measure.together)].dropna(subset=["value"]))
    faithful = faithful[faithful["part"].isin(faithfulness.together)]
    points = faithful.dropna(subset=["value"]).merge(right, on=[*CELL, "explainer"], suffixes=("", "_right"))
    labels = [f"{row.model} · {row.dataset} · {regime_title(row.regime)}" for row in points.itertuples()]
    return points.assign(
        label=labels,
        x=points["value"] - points["chance"],
        x_low=points["above_low"],
        x_high=points["above_high"],
        **{f"y{end}": points[f"{name}_right"] for end, name in (("", "value"), ("_low", "low"), ("_high", "high"))},
    )


def replacements(results: Reader, chosen: Filter, protected: bool) -> None:
    """Draw a row per explainer; nothing where faithfulness was not measured. protected: whether the question is."""
    columns = {}
    for measure in [candidate for candidate in measures_of("faithfulness").values() if not candidate.variant_of]:
        cells = query(results, Reader.cells, chosen, measure.metric, 0).dropna(subset=["value"])
        means = (cells["value"] - cells["chance"]).groupby([cells["part"], cells["explainer"]]).mean()
        for part, word in REPLACEMENTS.items():
            if (name := part + PROTECTED * protected) in means:
                columns[f"{measure.metric}, {word.title}"] = means[name]
    if not columns:
        return
    table = pd.DataFrame(columns)
    table = table.reindex(in_order(list(table.index))).rename(names_of(results).known("explainer")).rename_axis("explainer")
    which = "Only tokens of the documents are taken out." if protected else "Any token may be taken out, the question's too."
    with st.expander("By what stands in the tokens' place"):
        st.dataframe(table, width="stretch", column_config=dict.fromkeys(table, st.column_config.NumberColumn(format="%.2f")))
        st.caption(
            f"Nats above the random control, means over the cells. {which} Dots on this page are of the mean over the three. "
            "Feature ablation itself uses its baseline token, so the other replacements compare it more fairly."
        )


DOT = MarkSelection("dot", ("model", "dataset", "regime", "part", "explainer"))


def faithful_or_right(results: Reader, chosen: Filter, k: int, protected: bool) -> None:
    """Draw the scatter, its rank correlation, and a way to the instances of a dot."""
    st.subheader("Does faithful mean right?")
    names = names_of(results)
    accuracy = address.one_of("Accuracy", list(accuracies()), "accuracy")
    points, faithfulness = faithful_and_right(results, chosen, accuracy, k, protected), faithfulness_measure(protected)
    if points.empty:
        st.info(
            "No cell has both faithfulness and this accuracy; run the batch job with "
            f"{faithfulness.needs}, and publish again.",
            icon=":material/scatter_plot:",
        )
        return
    st.markdown(_verdict(points[~points["explainer"].isin(names.controls)]))
    x_title = f"{faithfulness.title.lower()} above the random control, {faithfulness.unit}"
    y_title = f"{accuracy}, normalised: 0 is chance"
    dots = scatter(points, names, x_title, y_title)
    draw_plotly(results, dots, "faithful_and_right", f"{y_title}, by {x_title}", DOT.hold)
    if DOT.on(dots):
        model, dataset, regime, part, _ = DOT.id
        cell = links.of_part(chosen, accuracies()[accuracy], regime, part, model=(model,), dataset=(dataset,))
        links.link_to(f"Open the instances of {names.location(model, dataset, regime, part)}", cell)


def _verdict(points: pd.DataFrame) -> str:
    """Return the rank correlation of faithfulness and accuracy. points: of methods, what `faithful_and_right` gives."""
    cells = list(points[list(CELL)].itertuples(index=False, name=None))
    rho, (low, high) = clustered_spearman(points["x"].to_numpy(), points["y"].to_numpy(), cells)
    brackets = f" [{number(low)}, {number(high)}] (0: none; 95 %, whole cells resampled, since their dots share instances)"
    return (
        f"Over {len(points)} dots of methods in {so_many(len(set(cells)), 'cell')}, faithfulness and accuracy have a rank "
        f"correlation of **{number(rho)}**{brackets if low == low else ' (0: none; an interval needs several cells)'}."
    )


def under_shuffled_weights(results: Reader, chosen: Filter) -> pd.DataFrame:
    """Return a row per explainer: mean rank correlation with itself at each of DEPTHS, with its interval, and answers (n)."""
    cells = query(results, values_of, chosen, "randomised", 0, DEPTHS)
    return means(available(cells), ("part", "explainer"))


def looks_at_the_model(results: Reader, chosen: Filter) -> None:
    """Draw what is left of each explainer's ranks when the weights are shuffled; nothing where that was not measured."""
    table = under_shuffled_weights(results, chosen)
    if table.empty:
        return
    names = names_of(results)
    st.subheader("Does it look at the model?")
    whole = table[table["part"] == DEPTHS[-1]].set_index("explainer")
    methods = whole[~whole.index.isin(names.controls)].sort_values("value")
    st.markdown(_sentence(methods.rename(names.known("explainer"))))
    titles = dict(measures()["randomised"].part_titles)
    shown: dict[str, dict[str, str]] = {titles[depth]: {} for depth in DEPTHS}
    for row in table.itertuples():  # controls have no interval: it is so by construction
        ends = "" if row.explainer in names.controls else f" [{number(row.low)}, {number(row.high)}]"
        shown[titles[str(row.part)]][str(row.explainer)] = f"{number(row.value)}{ends}"
    order = [*methods.index, *(key for key in whole.index if key in names.controls)]
    rows = pd.DataFrame(shown).reindex(order).assign(answers=whole["n"]).rename(names.known("explainer"))
    st.dataframe(rows.rename_axis("explainer"), width="stretch")
    st.caption(
        "Rank correlation of an explainer's scores with its own on the same model with shuffled weights, mean over the cells, "
        "95 %. 0: nothing is left, as it should be; 1: it does not look at the model, as controls do not."
    )


def _sentence(methods: pd.DataFrame) -> str:
    """Say of how many methods nothing is left, and what is left of the highest. methods: by title, by rising value."""
    if methods.empty:
        return "Only controls were compared."
    none, highest = ((methods["low"] <= 0) & (methods["high"] >= 0)).sum(), methods.iloc[-1]
    return (
        f"With all weights shuffled, what is left of the ranks cannot be told from 0 for {none} of "
        f"{so_many(len(methods), 'method')}. The highest is **{highest.name}**: {number(highest['value'])} "
        f"[{number(highest['low'])}, {number(highest['high'])}]."
    )


def draw(results: Reader, chosen: Filter) -> None:
    """Draw the measures of faithfulness, by replacement, and beside accuracy; and what shuffled weights leave."""
    measure, k = measured_cells.draw(results, chosen, "faithfulness")
    protected = measure.switch == QUESTION_PROTECTED
    if len(query(results, Reader.cells, chosen, measure.metric, measure.at(k))):
        replacements(results, chosen, protected)
        faithful_or_right(results, chosen, k, protected)
    between_bounds.draw(results, chosen)
    looks_at_the_model(results, chosen)
