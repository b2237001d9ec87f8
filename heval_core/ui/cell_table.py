"""The outcomes of every cell's questions, as a table; a selected row leads to its instances."""

from __future__ import annotations

from typing import Any

import pandas as pd
import streamlit as st

from heval_core.figures.cells import apart
from heval_core.figures.outcomes import statistics
from heval_core.records import CELL, DROP_REASONS
from heval_core.store.filters import Filter
from heval_core.store.reader import Reader
from heval_core.ui import instance_links
from heval_core.ui.published_results import query
from heval_core.wording import GROUP_TITLES, number


def draw(results: Reader, chosen: Filter, outcomes: pd.DataFrame) -> None:
    """One row per model, dataset, regime and technique."""
    contexts = query(results, Reader.contexts, chosen)
    table = statistics(outcomes, contexts)
    groups = [group for group in GROUP_TITLES if group in table.columns]
    reasons = [reason for reason in DROP_REASONS if reason in table.columns]
    for name in ("characters", "tokens"):
        table[name] = [_range(row, name) for row in table.to_dict("records")]
    names = ["dataset", "regime", *apart(table[["technique"]]), "model", "asked", "kept"]
    event = st.dataframe(
        table,
        hide_index=True,
        key="cells",
        on_select="rerun",
        selection_mode="single-cell",
        column_order=[*names, *groups, "characters", "tokens", "shipped", "substituted", *reasons],
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
    )
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
    st.switch_page("pages/instances.py", query_params=instance_links.parameters(wanted))
