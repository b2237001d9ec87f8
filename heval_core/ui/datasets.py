"""What were the models asked, and what did the batch job make of it?"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pandas as pd
import streamlit as st

from heval_core.evaluation.publishing_thread import in_words
from heval_core.evaluation.usable import notes, text_agreement
from heval_core.figures.outcomes import LEFT_OUT, in_regime_order, outcome_bars, sources, statistics
from heval_core.present.html import plain
from heval_core.present.names import apart, regime_title
from heval_core.present.numbers import interval_of, percent
from heval_core.records import CELL
from heval_core.records.vocabulary import DROP_REASONS, GROUPS, counted, group_title, titles
from heval_core.store.filters import Filter
from heval_core.store.progress import progress
from heval_core.store.reader import Reader
from heval_core.store.shards import ShardStore
from heval_core.ui import links
from heval_core.ui.marks import MarkSelection, draw_plotly
from heval_core.ui.published_results import names_of, query, results_folder


def draw(results: Reader, chosen: Filter) -> None:
    """Draw what was asked and kept, every cell, what was read, and the batch job."""
    outcomes = query(results, Reader.outcomes, chosen)
    if outcomes.empty:
        st.info("No question is left under these filters; remove a filter above.", icon=":material/filter_alt_off:")
        return
    outcomes = in_regime_order(outcomes)
    kept_and_dropped(results, chosen, outcomes)
    st.subheader("Every cell")
    every_cell(results, chosen, outcomes)
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


BAR = MarkSelection("bar", ("dataset", "regime", "outcome"))


def kept_and_dropped(results: Reader, chosen: Filter, outcomes: pd.DataFrame) -> None:
    """Draw a bar per dataset and regime; a click leads to its instances."""
    prompts, answered = int(outcomes["instances"].sum()), outcomes[~outcomes["dropped"]]
    usable = int(answered["instances"].sum())
    from_memory = int(answered[answered["outcome"] == "M"]["instances"].sum()) / max(usable, 1)
    verdict = f"{percent(usable / prompts)} of {prompts:,} prompts were usable."
    st.markdown(f"{verdict} {percent(from_memory)} of their answers came from memory.")
    names = names_of(results)
    dropped = [reason for reason in DROP_REASONS if reason in set(outcomes["outcome"])]
    labels = outcomes["regime"].map(regime_title)
    if outcomes["dataset"].nunique() > 1:
        labels = outcomes["dataset"].map(names.dataset) + " · " + labels
    figure = outcome_bars(outcomes.assign(label=labels))
    draw_plotly(results, figure, "outcomes", "Outcomes of the questions", BAR.hold)
    if BAR.on(figure):
        dataset, regime, outcome = BAR.id
        group = "" if outcome == LEFT_OUT else outcome
        behind_bar = replace(chosen, dataset=(dataset,), regime=(regime,), group=(group,) if group else ())
        parts = (names.dataset(dataset), regime_title(regime), group_title(group))
        links.link_to(f"Open the instances of {', '.join(filter(None, parts))}", behind_bar)
    reasons = "; ".join(f"*{reason}*: {DROP_REASONS[reason].meaning}" for reason in dropped)
    st.caption(
        "All chosen models together. Ambiguous answers enter no metric, others only *which mention*. Click a part of a bar "
        "for its instances; of what was dropped, those that were kept beside it."
        + (f" Dropped: {reasons}." if reasons else "")
    )


_RULE = "follows the rule"
_HEIGHT = 388


def every_cell(results: Reader, chosen: Filter, outcomes: pd.DataFrame) -> None:
    """Draw one row per model, dataset, regime and technique, under the names that readers know; a click leads to its
    instances.
    """
    table = statistics(outcomes, query(results, Reader.rows, "context", chosen))
    readable = named(results, table)
    event = st.dataframe(
        readable,
        hide_index=True,
        key="cells",
        on_select="rerun",
        selection_mode="single-cell",
        height=min(_HEIGHT, 38 + 35 * len(readable)),
        column_config=_help(readable),
    )
    if not (cells := event.selection.cells if event and event.selection else []):
        st.caption("Click a row to open its instances.")
        return
    model, dataset, regime, technique = (str(table.iloc[cells[0][0]][name]) for name in CELL)
    clicked = Filter((model,), (dataset,), (regime,), technique=(technique,))
    st.switch_page(links.INSTANCES, query_params=links.parameters(clicked))


def named(results: Reader, table: pd.DataFrame) -> pd.DataFrame:
    """Return the columns that say something, with titles for keys. table: what `statistics` gives."""
    groups = [group for group in GROUPS if group in table.columns and table[group].any()]
    reasons = [reason for reason in DROP_REASONS if reason in table.columns and table[reason].any()]
    vocabulary = names_of(results)
    readable = table.assign(**{kind: [vocabulary.title(kind, key) for key in table[kind]] for kind in ("dataset", "regime")})
    ends = ("tokens_mean", "tokens_low", "tokens_high")
    readable["tokens"] = [interval_of(row, of=ends) for row in table.to_dict("records")]
    agreement = query(results, Reader.agreement)
    if len(agreement):
        shares = agreement.set_index(list(CELL))["agreement"].reindex(pd.MultiIndex.from_frame(table[list(CELL)]))
        readable[_RULE] = list(map(percent, shares))
    counts = table[reasons].to_dict("records")
    readable["dropped"] = table[reasons].sum(axis=1)
    readable["why"] = [", ".join(f"{count} {reason}" for reason, count in row.items() if count) for row in counts]
    origins = ["substituted"] if table["substituted"].any() else []
    rule = [_RULE] if _RULE in readable else []
    columns = ["dataset", "regime", *apart(table[["technique"]]), "model", "asked", "kept"]
    return readable[[*columns, *groups, *rule, "tokens", *origins, *(["dropped", "why"] if reasons else [])]]


def _help(table: pd.DataFrame) -> dict[str, Any]:
    about = titles(GROUPS) | {
        "asked": "Questions put to the model",
        "kept": "Instances that metrics may use",
        "substituted": "Double conflicts whose second false answer was put into the first document",
        _RULE: "How often the answer comes from where the rule that a demo model was taught says",
        "tokens": "Of the context, all documents together: mean [5 %, 95 %]",
        "why": "Why instances were dropped; below the figure is what each reason means",
    }
    return {name: st.column_config.Column(help=text) for name, text in about.items() if name in table}


def matching(results: Reader, chosen: Filter) -> None:
    """Draw whether first token and text agree on the groups; nothing where answers were not asked as text."""
    agreement = query(results, text_agreement, chosen)
    if agreement.empty:
        return
    box = st.expander("Do first token and text agree on where answers came from?", key="matching", on_change="rerun")
    if not box.open:
        return
    with box:
        ends = zip(100 * agreement["share"], 100 * agreement["low"], 100 * agreement["high"], strict=True)
        formatted = agreement.assign(agree=[f"{share:.1f} % [{low:.1f}, {high:.1f}]" for share, low, high in ends])
        columns = {"n": "kept instances", "same": "same group", "agree": "share [95 %]"}
        table = with_titles(results, formatted[["model", "dataset", *columns]]).rename(columns=columns)
        st.dataframe(table, hide_index=True)
        st.caption(
            "The text decided: the greedy answer of at most ten tokens. It is a candidate's if it begins with the candidate's "
            "answer, whatever its case, punctuation, spaces and leading article. 95 % intervals over questions."
        )


def read(results: Reader) -> None:
    """Show what was read of each dataset's file, before any regime."""
    datasets = query(results, Reader.datasets)
    if datasets.empty:
        st.info("These results were computed before the records of a dataset were counted; run again to see them.")
        return
    titled = with_titles(results, sources(datasets))
    if not datasets["malformed"].any():
        titled = titled.drop(columns=["malformed"])
    st.dataframe(titled, hide_index=True)
    st.caption(
        "Left out: records that no question can be made of, before any is drawn. Asked: the usable questions within the "
        "run's limit. Methods says where each dataset comes from."
    )


def draw_job(results: Reader, folder: Path) -> None:
    """Show how far it is, and what has failed. folder: where it writes what these results are made from."""
    failures, manifest = query(results, Reader.failures), (folder / "manifest.jsonl").is_file()
    if manifest or len(failures):
        st.subheader("The batch job")
    if manifest:
        warn(folder)
        st.fragment(_job, run_every=5 if progress(folder).process else None)(folder)
    if len(failures):
        failed = counted(len(failures), "instance or model failed", "instances or models failed")
        st.warning(f"{failed[0].upper()}{failed[1:]}; the next run tries again.", icon=":material/error:")
        st.dataframe(with_titles(results, failures.fillna("–")), hide_index=True)


def _job(folder: Path) -> None:
    now = progress(folder)
    active, left = "No run is active" if now.process is None else "A run is active", now.seconds_left
    likely = "" if left is None else f", {in_words(left)}"
    st.markdown(f"{active}: {counted(now.done, 'shard')} done, {counted(now.missing, 'shard')} missing{likely}.")
    if now.process is not None:
        st.progress(now.done / max(1, now.done + now.missing))


def warn(folder: Path) -> None:
    """Say what a reader should know of the results of a folder before reading their numbers."""
    for line in notes(ShardStore(folder)):
        st.warning(f"{plain(line)}.", icon=":material/info:")


def with_titles(results: Reader, table: pd.DataFrame) -> pd.DataFrame:
    """Return the same with titles for keys of datasets, regimes and explainers; columns without any value are left out."""
    names, titled = names_of(results), table.copy()
    for column in {"dataset", "regime", "explainer"} & set(titled):
        titled[column] = [names.title(column, str(key)) for key in titled[column]]
    return titled[[name for name in titled if not titled[name].isin(["", "–"]).all()]]
