"""The state of the batch job: what failed, and the progress of an active run."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path

import pandas as pd
import streamlit as st

from heval_core.evaluation.usable import notes
from heval_core.figures.cells import apart
from heval_core.records import CELL
from heval_core.store.progress import progress
from heval_core.store.reader import Reader
from heval_core.store.shards import ShardStore
from heval_core.ui.names import titles_of
from heval_core.ui.published_results import query
from heval_core.ui.text import plain
from heval_core.wording import counted

_COUNTS = ("done", "running", "failed", "missing")


def draw(results: Reader, folder: Path) -> None:
    """folder: where the batch job writes what these results are made from."""
    failures = query(results, Reader.failures)
    manifest = (folder / "manifest.jsonl").is_file()
    if manifest or len(failures):
        st.subheader("The batch job")
    if manifest:
        warn(folder)
        st.fragment(_job, run_every=5 if progress(folder).process else None)(results, folder)
    if len(failures):
        some = counted(len(failures), "instance or model failed", "instances or models failed")
        st.warning(f"{some[0].upper()}{some[1:]}; the next run tries again.", icon=":material/error:")
        st.dataframe(with_titles(results, failures.fillna("–")), hide_index=True)


def warn(folder: Path) -> None:
    """What a reader should know of the results of a folder before reading their numbers."""
    for line in notes(ShardStore(folder)):
        st.warning(f"{plain(line)}.", icon=":material/info:")


def _job(results: Reader, folder: Path) -> None:
    now = progress(folder)
    if now.process is None:
        st.markdown(f"No run is active: {counted(now.done, 'shard')} done, {counted(now.missing, 'shard')} missing.")
    else:
        left = "" if now.seconds_left is None else f", about {now.seconds_left / 60:.0f} min left"
        st.markdown(f"A run is active: {counted(now.done, 'shard')} done, {counted(now.missing, 'shard')} missing{left}.")
        st.progress(now.done / max(1, now.done + now.missing))
    if now.missing or now.failures:
        cells = pd.DataFrame([asdict(cell) for cell in now.cells])
        counts = [name for name in _COUNTS if cells[name].any()]
        st.dataframe(with_titles(results, apart(cells[[*CELL, *counts]])), hide_index=True)


def with_titles(results: Reader, table: pd.DataFrame) -> pd.DataFrame:
    """The same with titles for keys of datasets, regimes and explainers; columns without any value are left out."""
    shown = table.copy()
    for column in ("dataset", "regime", "explainer"):
        if column in shown:
            titles = titles_of(results, column)
            shown[column] = [titles.get(str(key), str(key)) for key in shown[column]]
    return shown[[name for name in shown if not shown[name].isin(["", "–"]).all()]]
