"""The numbers behind one instance: every explainer's Rank@k and reciprocal rank, beside chance."""

from __future__ import annotations

from typing import cast

import pandas as pd
import streamlit as st

from heval_core.figures.palette import in_order
from heval_core.store.reader import Reader
from heval_core.ui.results import cached

_NAMES = {
    "rank_at_k": "Rank@{k} of {part}",
    "instance_rank_margin": "Margin of {part}@{k}",
    "mrr": "Reciprocal rank ({part})",
}


def scores_table(results: Reader, instance_id: str, k: int) -> None:
    """One row per explainer, one column per metric with its chance level below the name."""
    scores = results.scores(instance_id)
    scores = scores[scores["k"].isin((0, k))]
    if scores.empty:
        return
    titles = cast(pd.DataFrame, cached(results, "catalogue", "explainer")).set_index("key")["title"]
    scores = scores.assign(
        column=[
            f"{_NAMES.get(s.metric, s.metric).format(k=s.k, part=s.part)} (chance {s.chance:.2f})"
            for s in scores.itertuples()
        ]
    )
    table = scores.pivot(index="explainer", columns="column", values="value")
    table = table.loc[in_order(list(table.index))]
    table.index = [titles.get(key, key) for key in table.index]
    st.subheader("How each explainer does here")
    st.dataframe(table.round(3), width="stretch")
    st.caption(
        "Rank@k: mean rank of a document's best k tokens, 1 is the top. Reciprocal rank: of the best gold token."
    )
