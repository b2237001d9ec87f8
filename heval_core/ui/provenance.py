"""Where the numbers on a page come from: program, machine, models, data. At the foot of every page."""

from __future__ import annotations

import json

import streamlit as st

from heval_core.evaluation import evaluator
from heval_core.store.reader import Reader
from heval_core.ui.published_results import query


def draw(results: Reader) -> None:
    """An expander with snapshot, runs, models and datasets."""
    with st.expander("Where these numbers come from", icon=":material/verified:"):
        st.markdown(
            f"Snapshot `{results.snapshot_id}`, published {results.published_at:%Y-%m-%d %H:%M} UTC in "
            f"`{results.path.name}`. Exports and links name the snapshot; the same shards and the same code give the same "
            f"snapshot. Evaluated by `{results.evaluator}` (code, settings and libraries)"
            + ("." if results.evaluator == evaluator.evaluator_id() else f"; this program is `{evaluator.evaluator_id()}`.")
        )
        runs = query(results, Reader.runs)
        st.caption("Runs: when, on what, and with which program")
        st.dataframe(runs.drop(columns=["versions", "configuration"]), hide_index=True)
        st.caption("Models, by revision")
        st.dataframe(query(results, Reader.models), hide_index=True)
        st.caption("Datasets, by fingerprint")
        st.dataframe(query(results, Reader.datasets), hide_index=True)
        if len(runs):
            st.caption("Libraries of the newest run")
            st.json(json.loads(runs["versions"].iloc[-1]), expanded=False)
