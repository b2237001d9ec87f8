"""The Datasets page: what was asked, what the filters left of it, how long the documents are, and whose answers they got."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pandas as pd
import streamlit as st

from heval_core.evaluation.text_agreement import text_agreement
from heval_core.figures.cells import apart
from heval_core.figures.outcomes import in_regime_order, outcome_bars, statistics
from heval_core.records import CELL, DROP_REASONS
from heval_core.store.filters import Filter
from heval_core.store.reader import Reader
from heval_core.ui import behind
from heval_core.ui.exports import figure_config
from heval_core.ui.results import query
from heval_core.ui.text import plain
from heval_core.wording import GROUP_TITLES, REGIME_TITLES, number, percent


def verdict(outcomes: pd.DataFrame) -> str:
    """One sentence from the data on screen."""
    asked = int(outcomes["instances"].sum())
    dropped = outcomes[outcomes["dropped"]].groupby("outcome")["instances"].sum().sort_values(ascending=False)
    kept = outcomes[~outcomes["dropped"]].groupby("outcome")["instances"].sum()
    from_memory = int(kept.get("M", 0)) / max(int(kept.sum()), 1)
    why = f", most often because {plain(DROP_REASONS.get(dropped.index[0], dropped.index[0]))}" if len(dropped) else ""
    return (
        f"Of {asked:,} instances asked, {int(kept.sum()):,} are kept ({percent(kept.sum() / asked)}); "
        f"{int(dropped.sum()):,} are dropped{why}. {percent(from_memory)} of the kept answers came from memory."
    )


def filters_figure(outcomes: pd.DataFrame, chosen: Filter) -> None:
    single = outcomes["dataset"].nunique() == 1
    labels = [
        REGIME_TITLES.get(r, r) if single else f"{d} · {REGIME_TITLES.get(r, r)}"
        for d, r in zip(outcomes["dataset"], outcomes["regime"], strict=True)
    ]
    titles = GROUP_TITLES | {reason: f"dropped: {reason}" for reason in DROP_REASONS}
    event = st.plotly_chart(
        outcome_bars(outcomes.assign(label=labels), titles), width="stretch", key="outcomes", on_select="rerun",
        selection_mode="points", config=figure_config(),
    )  # fmt: skip
    point = [str(value) for value in behind.clicked(event)]
    if point:
        _, dataset, regime, group = point
        own = replace(chosen, dataset=(dataset,), regime=(regime,), group=(group,) if group else ())
        behind.link_to(f"Open the instances of {', '.join(filter(None, (dataset, regime, group)))}", own)
    st.caption(
        "All chosen models together. Groups say where the answer came from; `other` and `ambiguous` enter no metric. Click a "
        "part of a bar for its instances; of what was dropped, those that were kept beside it."
    )


def cells_table(results: Reader, chosen: Filter, outcomes: pd.DataFrame) -> None:
    """One row per model, dataset, regime and technique; a row that is picked leads to its instances."""
    contexts = query(results, Reader.contexts, chosen)
    table = statistics(outcomes, contexts)
    groups = [group for group in GROUP_TITLES if group in table.columns]
    reasons = [reason for reason in DROP_REASONS if reason in table.columns]
    for name in ("characters", "tokens"):
        table[name] = [_range(row, name) for row in table.to_dict("records")]
    event = st.dataframe(
        table,
        hide_index=True,
        key="cells",
        on_select="rerun",
        selection_mode="single-cell",
        column_order=["dataset", "regime", *apart(table[["technique"]]), "model", "asked", "kept", *groups,
                      "characters", "tokens", "shipped", "substituted", *reasons],
        column_config={
            "asked": st.column_config.NumberColumn(help="Questions put to the model"),
            "kept": st.column_config.NumberColumn(help="Instances that metrics may use"),
            "characters": st.column_config.TextColumn(help="Of the context, all documents together: mean [5 %, 95 %]"),
            "tokens": st.column_config.TextColumn(help="The same in the model's own tokens"),
            "shipped": st.column_config.NumberColumn(help="Instances whose documents all come with the dataset"),
            "substituted": st.column_config.NumberColumn(
                help="Double conflicts whose second false answer was put into the first document"
            ),
            **{reason: st.column_config.NumberColumn(help=f"Dropped: {DROP_REASONS[reason]}") for reason in reasons},
            **{group: st.column_config.NumberColumn(help=GROUP_TITLES[group]) for group in groups},
        },
    )  # fmt: skip
    _open_instances(event, table)


def _range(row: dict[str, Any], name: str) -> str:
    return f"{number(row[f'{name}_mean'])} [{number(row[f'{name}_low'])}, {number(row[f'{name}_high'])}]"


def _open_instances(event: Any, table: pd.DataFrame) -> None:
    cells = event.selection.cells if event and event.selection else []
    if not cells:
        st.caption("Click a row to open its instances.")
        return
    model, dataset, regime, technique = (str(table.iloc[cells[0][0]][name]) for name in CELL)
    wanted = Filter((model,), (dataset,), (regime,), technique=(technique,))
    st.switch_page("pages/instances.py", query_params=behind.parameters(wanted))


def matching_sentence(found: pd.DataFrame) -> str:
    """One sentence from the rows of `text_agreement`, at least one."""
    least, kept = found.loc[found["share"].idxmin()], int(found["n"].sum())
    where = f"{plain(least['model'])} on {plain(least['dataset'])}"
    few = f", in {where} in {percent(least['share'])}" if len(found) > 1 else ""
    return (
        f"The answer's first token and its text lead to the same group in {percent(found['same'].sum() / kept)} of "
        f"{kept:,} kept instances{few}; the text decided."
    )


def matching_table(results: Reader, chosen: Filter) -> None:
    """Do first token and text agree on the groups? Nothing where answers were not asked as text."""
    found = query(results, text_agreement, chosen)
    if found.empty:
        return
    st.subheader("First token and text")
    st.markdown(matching_sentence(found))
    shown = found.assign(low=100 * found["low"], high=100 * found["high"], share=100 * found["share"])
    percentage = {name: st.column_config.NumberColumn(format="%.1f %%") for name in ("share", "low", "high")}
    st.dataframe(shown, hide_index=True, column_config=percentage)
    st.caption(
        "The text is the greedy answer of at most ten tokens; it is a candidate's if it begins with the candidate's answer, "
        "whatever its case, punctuation, spaces and leading article. Low and high: 95 %, questions resampled."
    )


def sources_table(results: Reader) -> None:
    """What was read of each dataset's file, before any regime."""
    found = query(results, Reader.datasets)
    if found.empty:
        st.info("These results were computed before the records of a dataset were counted; run again to see them.")
        return
    rows = []
    for row in found.to_dict("records"):
        reasons = json.loads(row["unusable"])
        rows.append(
            {
                "dataset": row["dataset"],
                "records read": row["records"],
                "malformed": row["malformed"],
                "left out": ", ".join(f"{count:,} {reason}" for reason, count in reasons.items()) or "none",
                "usable questions": row["usable"],
                "asked": row["asked"],
                "relations": row["relations"],
                "fingerprint": row["fingerprint"],
            }
        )
    st.dataframe(pd.DataFrame(rows), hide_index=True)
    st.caption(
        "Malformed records are not what their file's format promises, and are listed on the Overview; records are left "
        "out for the reasons given before any question is drawn. Asked: what the run's limit took of the usable ones."
    )


def draw(results: Reader, chosen: Filter) -> None:
    outcomes = query(results, Reader.outcomes, chosen)
    if outcomes.empty:
        st.info(
            "No question is left under these filters; remove one of the chips above.", icon=":material/filter_alt_off:"
        )
        return
    outcomes = in_regime_order(outcomes)
    st.markdown(verdict(outcomes))
    filters_figure(outcomes, chosen)
    st.subheader("Every cell")
    cells_table(results, chosen, outcomes)
    matching_table(results, chosen)
    st.subheader("What was read")
    sources_table(results)
    st.subheader("Relations")
    relations = query(results, Reader.relations, chosen)
    st.dataframe(relations, hide_index=True, height=min(38 + 35 * len(relations), 320))
    with st.expander("Where the data comes from"):
        known = query(results, Reader.catalogue, "dataset").set_index("key")
        for dataset in dict.fromkeys(outcomes["dataset"]):
            entry = known.loc[dataset.split("/")[0]] if dataset.split("/")[0] in known.index else None
            st.markdown(
                f"**{plain(dataset)}**" + (f": {plain(entry['reference'])}" if entry is not None else ": a local file")
            )
            if entry is not None:
                st.text(entry["docstring"])
