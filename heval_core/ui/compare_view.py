"""The compare page: two explainers on the same instances, cell by cell and instance by instance."""

from __future__ import annotations

from typing import Any

import pandas as pd
import streamlit as st

from heval_core.figures.accuracy import difference_dots
from heval_core.figures.cells import apart
from heval_core.figures.palette import in_order
from heval_core.metrics import measures
from heval_core.metrics.shared.measure import Measure
from heval_core.records import CELL
from heval_core.store.filters import Filter
from heval_core.store.reader import Reader
from heval_core.ui import behind, paired_view
from heval_core.ui.accuracy_view import choose, choose_question, titles_of
from heval_core.ui.exports import figure_config, table_exports
from heval_core.ui.filters import refuse_value
from heval_core.ui.results import query
from heval_core.ui.text import plain
from heval_core.wording import REGIME_TITLES

SHOWN = 10


def draw(results: Reader, chosen: Filter, k: int) -> None:
    """Draw the choice of explainers and measure, a sentence, a dot per cell, and the instances that differ most."""
    known = query(results, Reader.catalogue, "explainer")
    keys = in_order(list(known[~known["control"]]["key"]))
    if len(keys) < 2:
        st.info("These results hold one explainer; run another to compare it with.", icon=":material/balance:")
        return
    titles = titles_of(results)
    left, right = st.columns(2)
    for name in ("first", "second"):
        refuse_value(name, keys, "explainer")
    first = left.selectbox("Explainer", keys, index=0, key="first", bind="query-params", format_func=str)
    second = right.selectbox("against", keys, index=1, key="second", bind="query-params", format_func=str)
    measure = choose(choose_question())
    if first == second:
        st.info("These are the same explainer; choose another one to compare it with.", icon=":material/balance:")
        return
    own_k = measure.at(k)
    pairs, overall = pairs_of(results, chosen, measure, own_k, first, second)
    if pairs.empty:
        st.info("No cell has this measure for both of them under these filters.", icon=":material/balance:")
        return
    st.markdown(_verdict(overall, measure, titles.get(first, first), titles.get(second, second)))
    event = st.plotly_chart(
        difference_dots(pairs, f"{first} minus {second}, {measure.unit}", measure.best), width="stretch", key="differences",
        on_select="rerun", selection_mode="points", config=figure_config(),
    )  # fmt: skip
    behind.offer_cell(event, chosen, measure)
    st.caption(
        "A dot per cell, in the colour of the one that is ahead: filled where the difference holds (signs "
        "flipped by question, Holm over "
        "all pairs of the cell, p < .05). Whiskers: 95 % intervals, questions resampled together. Click a dot "
        "for its instances."
    )
    with st.expander("The numbers behind these dots"):
        st.dataframe(apart(pairs.drop(columns=["label"])).round(4), hide_index=True)
    table_exports(results, pairs.drop(columns=["label"]), "comparison",
                  {"measure": measure.metric, "unit": measure.unit, "filter": str(chosen)})  # fmt: skip
    _instances(results, chosen, measure, own_k, first, second)


def pairs_of(
    results: Reader, chosen: Filter, measure: Measure, k: int, first: str, second: str
) -> tuple[pd.DataFrame, dict[str, Any]]:
    """`comparisons` of two explainers, signed as first minus second: cells, with a label each, and the row over all."""
    found, overall = paired_view.compared(results, chosen, measure, measure.metric, k)
    if found.empty:
        return found, {}
    both = _turned(found, first, second).sort_values([*CELL, "part"], kind="stable")
    apart = len(measure.parts) > 1 and not measure.whole
    labels = [
        " · ".join([row.model, row.dataset, REGIME_TITLES.get(row.regime, row.regime), *([row.part] if apart else [])])
        for row in both.itertuples()
    ]
    rows = _turned(overall, first, second).to_dict("records")
    return both.assign(label=labels), {str(key): value for key, value in rows[0].items()} if rows else {}


def _turned(found: pd.DataFrame, first: str, second: str) -> pd.DataFrame:
    """The rows of two explainers, in whichever order the results hold them."""
    same = found[(found["first"] == first) & (found["second"] == second)]
    other = found[(found["first"] == second) & (found["second"] == first)]
    swapped = {"first": "second", "second": "first", "low": "high", "high": "low", "wins": "losses", "losses": "wins"}
    other = other.rename(columns=swapped)[list(found.columns)]
    signed = [name for name in ("difference", "mean difference", "low", "high") if name in found.columns]
    return pd.concat([same, other.assign(**{name: -other[name] for name in signed})], ignore_index=True)


def _verdict(row: dict[str, Any], measure: Measure, first: str, second: str) -> str:
    mean = paired_view.difference(row, measure.unit)
    if measure.best == "zero":
        return f"A bias has no winner. **{plain(first)}** minus {plain(second)}: {mean} over {paired_view.over(row)}."
    return (
        f"**{plain(first)}** against **{plain(second)}**: {row['wins']} wins, {row['ties']} ties, {row['losses']} losses over "
        f"{paired_view.over(row)} ({mean})."
    )


def _instances(results: Reader, chosen: Filter, measure: Measure, k: int, first: str, second: str) -> None:
    st.subheader("Where they differ most")
    if not measure.instance_parts:
        others = [
            own.title for own in measures().values() if own.instance_parts and own.question and not own.variant_of
        ]
        st.caption(f"This measure is defined for groups, not for single instances. These are: {', '.join(others)}.")
        return
    for place, (one, other) in enumerate(((first, second), (second, first))):
        _highest(results, chosen, measure, k, one, other, key=f"differing_{place}")


def _highest(results: Reader, chosen: Filter, measure: Measure, k: int, one: str, other: str, key: str) -> None:
    """Draw the instances in which the first explainer's value is furthest above the other's, with links to them."""
    asked = (chosen, measure.metric, measure.instance_parts, k, one, other, SHOWN)
    found = query(results, Reader.differences, *asked)
    st.markdown(f"**{plain(one)} higher than {plain(other)}**")
    if found.empty:
        st.caption("In no instance.")
        return
    named = found.rename(columns={"first": one, "second": other}).round(3)
    event = st.dataframe(named, hide_index=True, on_select="rerun", selection_mode="single-row", key=key)
    rows = event.selection.rows if event else []
    st.caption(f"The {len(found)} instances with the largest difference. Tick one to get a link to it.")
    if rows:
        row = found.iloc[rows[0]]
        st.page_link(
            "pages/instances.py", label=f"Open the instance {row['instance_id']}", icon=":material/article:",
            query_params={"instance": str(row["instance_id"])},
        )  # fmt: skip
