"""The parts of the Overview: headline, doors, what was run, what was dropped and why."""

from __future__ import annotations

from dataclasses import asdict, replace
from pathlib import Path

import pandas as pd
import streamlit as st

from heval_core.evaluation import live
from heval_core.evaluation.orders import SORTED_BY
from heval_core.figures.accuracy import headline_bars
from heval_core.figures.cells import apart
from heval_core.metrics import headlines
from heval_core.metrics.shared.measure import QUESTIONS
from heval_core.records import CELL, DROP_REASONS, DUAL_REGIMES, SINGLE_REGIMES
from heval_core.store.filters import Filter
from heval_core.store.progress import progress
from heval_core.store.reader import Reader
from heval_core.ui import behind
from heval_core.ui.exports import figure_config, table_exports
from heval_core.ui.results import query, results_folder
from heval_core.ui.text import plain
from heval_core.wording import DEMO_NOTE, number, percent

PAGES = {"RQ1": "pages/context_or_memory.py", "RQ2": "pages/which_document.py", "RQ3": "pages/which_token.py"}


# Of each question's bars: the regimes and groups that its instances are of.
_BEHIND = {
    "RQ1": (SINGLE_REGIMES, ("C", "M")),
    "RQ2": (DUAL_REGIMES, ("C1", "C2")),
    "RQ3": ((), ("C", "C1", "C2")),
}  # fmt: skip


def banner(results: Reader) -> None:
    """Name the demo models as such, until other results are published."""
    if results.bundled:
        st.info(DEMO_NOTE, icon=":material/science:")


def verdict(headline: pd.DataFrame, titles: dict[str, str], controls: set[str]) -> str:
    """One sentence from the data: the best method for each question, beside chance and the best control."""
    parts = []
    for question, measure in headlines().items():
        own = headline[headline["question"] == question].dropna(subset=["value"]).sort_values("value", ascending=False)
        methods, rivals = (own[own["explainer"].isin(controls) == other] for other in (False, True))
        rivals = rivals[rivals["explainer"] != "random"]
        if len(methods):
            best = methods.iloc[0]
            named = plain(titles.get(best["explainer"], best["explainer"]))
            ends = f"[{number(best['low'])}, {number(best['high'])}]"
            beside = [f"chance {number(best['chance'])}"]
            beside += [
                f"{plain(titles.get(one.explainer, one.explainer))} {number(one.value)}"
                for one in rivals[:1].itertuples()
            ]
            parts.append(
                f"*{QUESTIONS[question].title}* {named} ({number(best['value'])} {ends} {measure.unit}; {', '.join(beside)})"
            )
    if not parts:
        return "No metric is available in these results yet."
    return f"Best method at each question: {'; '.join(parts)}."


def headline_section(results: Reader, chosen: Filter) -> None:
    headline = query(results, Reader.headline if chosen.is_all else live.headline, chosen)
    known = query(results, Reader.catalogue, "explainer")
    titles = dict(zip(known["key"], known["title"], strict=True))
    st.markdown(verdict(headline, titles, set(known[known["control"]]["key"])))
    for column, (question, measure) in zip(st.columns(3), headlines().items(), strict=True):
        own = headline[headline["question"] == question]
        with column:
            st.subheader(QUESTIONS[question].title)
            st.caption(f"{measure.headline}. Click a bar for its instances.")
            if own.empty:
                st.info("Not available: no cell has 30 instances in each group.")
                continue
            figure = headline_bars(own, titles, measure.unit)
            event = st.plotly_chart(
                figure, width="stretch", key=f"headline_{question}", on_select="rerun", selection_mode="points",
                config=figure_config(),
            )  # fmt: skip
            _offer(next(iter(behind.clicked(event)), ""), question, chosen, titles)
            st.page_link(PAGES[question], label="Cell by cell", icon=":material/arrow_forward:")
    with st.expander("The numbers behind these bars"):
        st.dataframe(apart(headline).assign(explainer=headline["explainer"].map(titles)).round(3), hide_index=True)
        st.caption(
            "Means over all cells (model, dataset, regime, technique) in which the metric is available; with two documents, "
            "those answered from the first and from the second weigh alike. Intervals are 95 %, bootstrapped over questions; "
            "n counts instances."
        )
        table_exports(results, headline, "leaderboard")


def _offer(explainer: str, question: str, chosen: Filter, titles: dict[str, str]) -> None:
    """The way from a bar to its instances: where single ones have a value, those in which the explainer does worst first."""
    if not explainer:
        return
    regimes, groups = _BEHIND[question]
    sort = headlines()[question].sort.format(explainer=explainer)
    worst = ", worst first" if sort in SORTED_BY else ""
    behind.link_to(
        f"Open the instances behind {titles.get(explainer, explainer)}{worst}",
        replace(chosen, regime=regimes, group=groups),
        sort if worst else "",
    )


def doors(results: Reader, chosen: Filter) -> None:
    """Three ways on from here."""
    first, second, third = st.columns([5, 3.2, 3])
    missed = query(results, Reader.instance_missed_by, headlines()["RQ3"].metric, "mechlight", "fa", chosen)
    if missed:
        first.page_link(
            "pages/instances.py",
            label="An instance where MechLight is wrong and FA is right",
            icon=":material/search:",
            query_params={"instance": str(missed), "sort": "1/rank of mechlight"},
        )
    second.page_link("pages/your_prompt.py", label="Explain your own prompt", icon=":material/edit_note:")
    third.page_link("pages/compare.py", label="Compare explainers", icon=":material/compare_arrows:")


def run_section(results: Reader) -> None:
    """Models, instances kept and dropped, agreement with the taught rule, failures, provenance."""
    st.subheader("What was run")
    accounting = query(results, Reader.accounting)
    tried, kept = accounting["instances"].sum(), accounting[accounting["outcome"] == "kept"]["instances"].sum()
    st.markdown(
        f"{tried:,} instances were tried, {kept:,} kept and {tried - kept:,} dropped ({percent(1 - kept / tried)})."
    )
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


def job_section(folder: Path) -> None:
    """How far the batch job is that writes into the folder of these results; drawn again while it is on."""
    if not (folder / "manifest.jsonl").is_file():
        return
    st.subheader("The batch job")
    now = progress(folder)
    st.fragment(_job, run_every=5 if now.process else None)(folder)


def _job(folder: Path) -> None:
    now = progress(folder)
    if now.process is None:
        st.markdown(f"No run is on: {now.done:,} shards are done, {now.missing:,} missing.")
    else:
        left = "" if now.seconds_left is None else f", about {now.seconds_left / 60:.0f} min left"
        st.markdown(f"A run is on: {now.done:,} shards are done, {now.missing:,} missing{left}.")
        st.progress(now.done / max(1, now.done + now.missing))
    if now.missing or now.failures:
        columns = [*CELL, "done", "running", "failed", "missing"]
        st.dataframe(apart(pd.DataFrame([asdict(cell) for cell in now.cells])[columns]), hide_index=True)


def draw(results: Reader, chosen: Filter) -> None:
    """chosen: which models, datasets and technique the leaderboard is of."""
    headline_section(results, chosen)
    doors(results, chosen)
    run_section(results)
    job_section(results_folder())
