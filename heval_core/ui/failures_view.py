"""The failures page: how often each pattern is on top, per dataset and explainer, and examples of it."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd
import streamlit as st

from heval_core.evaluation.patterns import patterns_under
from heval_core.figures.cells import apart
from heval_core.figures.palette import in_order
from heval_core.figures.patterns import pattern_bars
from heval_core.records import PATTERNS
from heval_core.store.filters import Filter
from heval_core.store.reader import Reader
from heval_core.ui import behind
from heval_core.ui.accuracy_view import titles_of
from heval_core.ui.exports import figure_config, table_exports
from heval_core.ui.filters import refuse_value
from heval_core.ui.results import query
from heval_core.ui.text import plain
from heval_core.wording import percent

SHOWN = 25


def draw(results: Reader, chosen: Filter) -> None:
    """A figure per dataset; examples of the bar that was clicked, or of what is chosen below."""
    counts = query(results, patterns_under, chosen)
    if counts.empty:
        st.info("No instance under these filters was answered from a document; remove one of the chips above.",
                icon=":material/filter_alt_off:")  # fmt: skip
        return
    titles = titles_of(results)
    known = query(results, Reader.catalogue, "explainer")
    st.markdown(_sentence(counts, titles, set(known[known["control"]]["key"])))
    st.caption(
        "Whiskers: 95 % interval of the answer's share, questions resampled; those of the other parts are in the hover and "
        "the table. Chance: the share of the prompt's tokens that are of each kind."
    )
    clicked = None
    for dataset, own in counts.groupby("dataset"):
        st.subheader(plain(str(dataset)))
        event = st.plotly_chart(
            pattern_bars(own, titles), width="stretch", key=f"patterns_{dataset}", on_select="rerun",
            selection_mode="points", config=figure_config(),
        )  # fmt: skip
        own_click = [str(value) for value in behind.clicked(event)[:2]]
        clicked = own_click if any(own_click) else clicked
    with st.expander("What each pattern is"):
        st.markdown("\n".join(f"- **{key.replace('_', ' ')}**: {text}" for key, text in PATTERNS.items()))
        st.caption(
            "The first that holds, in this order: the answer, the wrong document, the question, a function word, "
            "near the entity."
        )
    _examples(results, chosen, counts, clicked)
    with st.expander("The numbers behind these bars"):
        st.dataframe(apart(counts).round(3), hide_index=True)
    table_exports(results, counts, "patterns", {"filter": str(chosen)})


def _sentence(counts: pd.DataFrame, titles: dict[str, str], controls: set[str]) -> str:
    own = (
        counts[~counts["explainer"].isin(controls)]
        .groupby(["explainer", "pattern"])["instances"]
        .sum()
        .unstack(fill_value=0)
    )
    if own.empty:
        return "Only controls are left under these filters."
    shares = own.div(own.sum(axis=1), axis=0)
    right = shares["answer"] if "answer" in shares else shares.iloc[:, 0] * 0
    wrong = shares.drop(columns=["answer"], errors="ignore")
    worst = right.idxmin()
    answers = counts[counts["pattern"] == "answer"]
    chance = float(np.average(answers["chance"], weights=answers["n"])) if len(answers) else 0.0
    named = titles.get(str(right.idxmax()), str(right.idxmax()))
    return (
        f"**{plain(named)}** puts the answer's token first in {percent(right.max())} of its instances, "
        f"{plain(titles.get(str(worst), str(worst)))} in {percent(right.min())} "
        f"(chance {percent(chance)}); there the commonest other thing on top is "
        f"*{str(wrong.loc[worst].idxmax()).replace('_', ' ')}* ({percent(wrong.loc[worst].max())})."
    )


def _examples(results: Reader, chosen: Filter, counts: pd.DataFrame, clicked: list[str] | None) -> None:
    st.subheader("Examples")
    explainers, patterns = in_order(list(counts["explainer"].unique())), list(PATTERNS)
    refuse_value("explainer", explainers, "explainer")
    refuse_value("pattern", patterns, "pattern")
    if clicked and st.session_state.get("pattern_clicked") != clicked:
        st.session_state["pattern_clicked"] = clicked
        st.session_state["explainer"], st.session_state["pattern"] = clicked
    refuse_value("while_right", explainers, "explainer")
    left, middle, right = st.columns(3)
    explainer = left.selectbox("Explainer", explainers, key="explainer", bind="query-params")
    pattern = middle.selectbox("Pattern", patterns, index=1, key="pattern", bind="query-params")
    others = right.multiselect(
        "While the answer is on top for", explainers, key="while_right", bind="query-params", placeholder="whomever",
    )  # fmt: skip
    own = replace(chosen, best=(f"{explainer}: {pattern}", *(f"{key}: answer" for key in others)))
    count = len(query(results, Reader.instance_ids, own))
    found = query(results, Reader.pattern_examples, own, explainer, pattern, SHOWN)
    if found.empty:
        st.caption("There is none under these filters.")
        return
    event = st.dataframe(found, hide_index=True, on_select="rerun", selection_mode="single-row", key="pattern_rows")
    st.caption(f"{len(found)} of {count:,}; tick one, or click a part of a bar for its examples.")
    rows = event.selection.rows if event else []
    shown = str(found.iloc[rows[0] if rows else 0]["instance_id"])
    st.page_link(
        "pages/instances.py",
        label=f"Open the instance {shown}",
        icon=":material/article:",
        query_params={"instance": shown},
    )
    behind.link_to(f"Open all {count:,} of them", own)
