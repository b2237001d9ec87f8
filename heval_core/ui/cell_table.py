"""The outcomes of every cell's questions, as a table; a selected row leads to its instances."""

from __future__ import annotations

from typing import Any

import pandas as pd
import streamlit as st

from heval_core.figures.outcomes import statistics
from heval_core.present.names import apart
from heval_core.present.numbers import interval, percent
from heval_core.records import CELL
from heval_core.store.filters import Filter
from heval_core.store.reader import Reader
from heval_core.ui import links
from heval_core.ui.names import names_of
from heval_core.ui.published_results import query
from heval_core.words import DROP_REASONS, GROUPS, titles

_RULE = "follows the rule"
_HEIGHT = 388


def draw(results: Reader, chosen: Filter, outcomes: pd.DataFrame) -> None:
    """One row per model, dataset, regime and technique, under the names that readers know."""
    table = statistics(outcomes, query(results, Reader.contexts, chosen))
    shown = named(results, table)
    event = st.dataframe(
        shown,
        hide_index=True,
        key="cells",
        on_select="rerun",
        selection_mode="single-cell",
        height=min(_HEIGHT, 38 + 35 * len(shown)),
        column_config=_help(shown),
    )
    _open_instances(event, table)


def named(results: Reader, table: pd.DataFrame) -> pd.DataFrame:
    """The columns that say something, with titles for keys. table: what `statistics` gives."""
    groups = [group for group in GROUPS if group in table.columns and table[group].any()]
    reasons = [reason for reason in DROP_REASONS if reason in table.columns and table[reason].any()]
    titled = names_of(results)
    shown = table.assign(**{kind: [titled.title(kind, key) for key in table[kind]] for kind in ("dataset", "regime")})
    for name in ("characters", "tokens"):
        shown[name] = [_range(row, name) for row in table.to_dict("records")]
    agreement = query(results, Reader.agreement)
    if len(agreement):
        share = agreement.set_index(list(CELL))["agreement"]
        shown[_RULE] = [
            percent(share[key]) if key in share.index else "–" for key in zip(*(table[c] for c in CELL), strict=True)
        ]
    counts = table[reasons].to_dict("records")
    shown["dropped"] = table[reasons].sum(axis=1)
    shown["why"] = [", ".join(f"{count} {reason}" for reason, count in row.items() if count) for row in counts]
    origins = ["substituted"] if table["substituted"].any() else []
    rule = [_RULE] if _RULE in shown else []
    names = ["dataset", "regime", *apart(table[["technique"]]), "model", "asked", "kept"]
    return shown[[*names, *groups, *rule, "characters", "tokens", *origins, *(["dropped", "why"] if reasons else [])]]


def _help(shown: pd.DataFrame) -> dict[str, Any]:
    about = {
        "asked": "Questions put to the model",
        "kept": "Instances that metrics may use",
        "substituted": "Double conflicts whose second false answer was put into the first document",
    }
    about |= titles(GROUPS)
    texts = {
        _RULE: "How often the answer comes from where the rule that a demo model was taught says",
        "characters": "Of the context, all documents together: mean [5 %, 95 %]",
        "tokens": "The same in the model's own tokens",
        "why": "Why instances were dropped; below the figure is what each reason means",
    }
    return {
        **{name: st.column_config.NumberColumn(help=text) for name, text in about.items() if name in shown},
        **{name: st.column_config.TextColumn(help=text) for name, text in texts.items() if name in shown},
    }


def _range(row: dict[str, Any], name: str) -> str:
    return interval(row[f"{name}_mean"], row[f"{name}_low"], row[f"{name}_high"])


def _open_instances(event: Any, table: pd.DataFrame) -> None:
    cells = event.selection.cells if event and event.selection else []
    if not cells:
        st.caption("Click a row to open its instances.")
        return
    model, dataset, regime, technique = (str(table.iloc[cells[0][0]][name]) for name in CELL)
    wanted = Filter((model,), (dataset,), (regime,), technique=(technique,))
    st.switch_page("pages/instances.py", query_params=links.parameters(wanted))
