"""What were the models asked, and what did the batch job make of it?"""

from __future__ import annotations

from dataclasses import asdict, replace
from pathlib import Path

import pandas as pd
import streamlit as st

from heval_core.evaluation.text_agreement import text_agreement
from heval_core.evaluation.usable import notes
from heval_core.figures.outcomes import LEFT_OUT, in_regime_order, outcome_bars, sources
from heval_core.present.names import Names, apart, regime_title
from heval_core.records import CELL
from heval_core.store.filters import Filter
from heval_core.store.progress import progress
from heval_core.store.reader import Reader
from heval_core.store.shards import ShardStore
from heval_core.ui import cell_table, links, picked, verdicts
from heval_core.ui.names import names_of
from heval_core.ui.published_results import query, results_folder
from heval_core.ui.selection import Selection
from heval_core.ui.text import plain
from heval_core.words import DROP_REASONS, counted, group_title


def draw(results: Reader, chosen: Filter) -> None:
    """What was asked and kept, every cell, what was read, and the batch job."""
    outcomes = query(results, Reader.outcomes, chosen)
    if outcomes.empty:
        st.info("No question is left under these filters; remove a filter above.", icon=":material/filter_alt_off:")
        return
    outcomes = in_regime_order(outcomes)
    kept_and_dropped(results, chosen, outcomes)
    st.subheader("Every cell")
    cell_table.draw(results, chosen, outcomes)
    matching(results, chosen)
    left, right = st.columns([1.25, 1], gap="medium")
    with left:
        st.subheader("What was read")
        read(results)
    with right:
        st.subheader("Relations")
        relations = with_titles(results, query(results, Reader.relations, chosen))
        st.dataframe(relations, hide_index=True, height=min(38 + 35 * len(relations), 248))
    draw_job(results, results_folder())


BAR = Selection("bar", ("dataset", "regime", "outcome"))


def kept_and_dropped(results: Reader, chosen: Filter, outcomes: pd.DataFrame) -> None:
    """A bar per dataset and regime; a click leads to its instances."""
    st.markdown(verdicts.of_outcomes(outcomes))
    names = names_of(results)
    dropped = [reason for reason in DROP_REASONS if reason in set(outcomes["outcome"])]
    drawn = outcome_bars(outcomes.assign(label=labels_of(outcomes, names)))
    picked.figure(results, drawn, "outcomes", "Outcomes of the questions", BAR.hold, "stretch")
    if BAR.on(drawn):
        dataset, regime, outcome = BAR.id
        group = "" if outcome == LEFT_OUT else outcome
        behind_bar = replace(chosen, dataset=(dataset,), regime=(regime,), group=(group,) if group else ())
        parts = (names.dataset(dataset), regime_title(regime), group_title(group))
        links.link_to(f"Open the instances of {', '.join(filter(None, parts))}", behind_bar)
    reasons = "; ".join(f"*{reason}*: {DROP_REASONS[reason].meaning}" for reason in dropped)
    st.caption(
        "All chosen models together. Other and ambiguous answers enter no metric. Click a part of a bar for its instances; "
        "of what was dropped, those that were kept beside it." + (f" Dropped: {reasons}." if reasons else "")
    )


def labels_of(outcomes: pd.DataFrame, names: Names) -> list[str]:
    """`Country profiles · Mixed`; the regime alone where there is one dataset."""
    single = outcomes["dataset"].nunique() == 1
    regimes = [regime_title(regime) for regime in outcomes["regime"]]
    titles = outcomes["dataset"].map(names.dataset)
    return regimes if single else [f"{title} · {regime}" for title, regime in zip(titles, regimes, strict=True)]


def matching(results: Reader, chosen: Filter) -> None:
    """Do first token and text agree on the groups? Nothing where answers were not asked as text."""
    agreement = query(results, text_agreement, chosen)
    if agreement.empty:
        return
    box = st.expander("Do first token and text agree on where answers came from?", key="matching", on_change="rerun")
    if not box.open:
        return
    with box:
        st.markdown(verdicts.matching_sentence(agreement))
        ends = zip(100 * agreement["share"], 100 * agreement["low"], 100 * agreement["high"], strict=True)
        shown = agreement.assign(agree=[f"{share:.1f} % [{low:.1f}, {high:.1f}]" for share, low, high in ends])
        columns = {"n": "kept instances", "same": "same group", "agree": "share [95 %]"}
        table = with_titles(results, shown[["model", "dataset", *columns]]).rename(columns=columns)
        st.dataframe(table, hide_index=True)
        st.caption(
            "The text is the greedy answer of at most ten tokens; it is a candidate's if it begins with the candidate's "
            "answer, whatever its case, punctuation, spaces and leading article. 95 % intervals over questions."
        )


def read(results: Reader) -> None:
    """What was read of each dataset's file, before any regime."""
    datasets = query(results, Reader.datasets)
    if datasets.empty:
        st.info("These results were computed before the records of a dataset were counted; run again to see them.")
        return
    shown = with_titles(results, sources(datasets)).drop(columns=["fingerprint"])
    if not datasets["malformed"].any():
        shown = shown.drop(columns=["malformed"])
    st.dataframe(shown, hide_index=True)
    st.caption(
        "Left out: records that no question can be made of, before any is drawn. Asked: the usable questions within the "
        "run's limit. Methods says where each dataset comes from."
    )


_COUNTS = ("done", "running", "failed", "missing")


def draw_job(results: Reader, folder: Path) -> None:
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
    names, shown = names_of(results), table.copy()
    for column in {"dataset", "regime", "explainer"} & set(shown):
        shown[column] = [names.title(column, str(key)) for key in shown[column]]
    return shown[[name for name in shown if not shown[name].isin(["", "–"]).all()]]
