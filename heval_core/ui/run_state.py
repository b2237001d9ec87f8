"""The state of the batch job: instances tried, kept and dropped, failures, and the progress of an active run."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path

import pandas as pd
import streamlit as st

from heval_core.figures.cells import apart
from heval_core.records import CELL, DROP_REASONS
from heval_core.store.progress import progress
from heval_core.store.reader import Reader
from heval_core.ui.published_results import query
from heval_core.wording import percent


def what_was_run(results: Reader) -> None:
    """Models, instances kept and dropped, agreement with the taught rule, failures, provenance."""
    st.subheader("What was run")
    accounting = query(results, Reader.accounting)
    tried, kept = accounting["instances"].sum(), accounting[accounting["outcome"] == "kept"]["instances"].sum()
    st.markdown(f"{tried:,} instances were tried, {kept:,} kept and {tried - kept:,} dropped ({percent(1 - kept / tried)}).")
    table = accounting.pivot_table(index=list(CELL), columns="outcome", values="instances", fill_value=0, aggfunc="sum")
    agreement = query(results, Reader.agreement)
    if len(agreement):
        table["follows the taught rule"] = agreement.set_index(list(CELL))["agreement"].map(percent)
    st.dataframe(apart(table.reset_index()), hide_index=True, height=min(38 + 35 * len(table), 460))
    reasons = [reason for reason in DROP_REASONS if reason in table.columns]
    if reasons:
        st.caption("Dropped: " + "; ".join(f"*{reason}*: {DROP_REASONS[reason]}" for reason in reasons) + ".")
    failures = results.failures()
    if len(failures):
        st.warning(f"{len(failures)} instances or models failed; the next run tries them again.")
        st.dataframe(failures, hide_index=True)


def batch_job(folder: Path) -> None:
    """The progress of the batch job that writes into the folder of these results, updated while it runs."""
    if not (folder / "manifest.jsonl").is_file():
        return
    st.subheader("The batch job")
    now = progress(folder)
    st.fragment(_job, run_every=5 if now.process else None)(folder)


def _job(folder: Path) -> None:
    now = progress(folder)
    if now.process is None:
        st.markdown(f"No run is active: {now.done:,} shards are done, {now.missing:,} missing.")
    else:
        left = "" if now.seconds_left is None else f", about {now.seconds_left / 60:.0f} min left"
        st.markdown(f"A run is active: {now.done:,} shards are done, {now.missing:,} missing{left}.")
        st.progress(now.done / max(1, now.done + now.missing))
    if now.missing or now.failures:
        columns = [*CELL, "done", "running", "failed", "missing"]
        st.dataframe(apart(pd.DataFrame([asdict(cell) for cell in now.cells])[columns]), hide_index=True)
