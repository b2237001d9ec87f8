"""What can be taken away from a page: its table as CSV, Parquet and LaTeX, its figures as pictures, its address as a link."""

from __future__ import annotations

import io
from collections.abc import Mapping
from functools import partial
from typing import Any
from urllib.parse import urlencode, urlsplit, urlunsplit

import pandas as pd
import streamlit as st

from heval_core.store.export import as_csv, as_latex
from heval_core.store.reader import Reader
from heval_core.ui.component import component
from heval_core.ui.published_results import SNAPSHOT

PICTURE = "picture"
_PARQUET = "application/vnd.apache.parquet"
# Everything a link can carry, in this order; a control writes its own parameter only when it is not at its default.
LINKED = (
    "technique", "leader_model", "leader_dataset", "model", "dataset", "regime", "group", "relation", "origin", "tokens",
    "answer_at", "head", "best", "without_first", "k", "question",
    "along", "memory", "document", "token", "faithful", "fixed", "normalised", "accuracy", "first", "second", "explainer",
    "pattern", "while_right", "controls",
    "search", "sort", "descending", "page", "section", "scale", "level", "instance",
)  # fmt: skip


def figure_config() -> dict[str, Any]:
    """Plotly's own picture button, in the format that was chosen; everything happens in the browser."""
    kind = st.session_state.get(PICTURE, "svg")
    return {
        "displaylogo": False,
        "displayModeBar": "hover",
        "modeBarButtonsToRemove": ["zoom2d", "pan2d", "select2d", "lasso2d", "zoomIn2d", "zoomOut2d", "autoScale2d",
                                   "resetScale2d"],
        "toImageButtonOptions": {"format": kind, "filename": "heval", "scale": 3 if kind == "png" else 1},
    }  # fmt: skip


def table_exports(results: Reader, frame: pd.DataFrame, name: str, of: Mapping[str, str] | None = None) -> None:
    """Download buttons for a table; the file's name has the snapshot it was made from. Files are made when asked for.

    of: what the table is of, such as its measure and filter: columns of CSV and Parquet, comments of LaTeX.
    """
    said = {key: text for key, text in (of or {}).items() if text}
    stem = "-".join(["heval", name, *(["filtered"] if "filter" in said else []), results.snapshot_id[:8]])
    bare, frame = frame, frame.assign(**said)
    csv, parquet, latex, picture = st.columns([1, 1, 1, 3], vertical_alignment="bottom")
    common: dict[str, Any] = {"width": "stretch", "on_click": "ignore"}
    csv.download_button("CSV", partial(as_csv, frame), f"{stem}.csv", "text/csv", key=f"csv_{name}", **common)
    parquet.download_button(
        "Parquet", partial(as_parquet, frame), f"{stem}.parquet", _PARQUET, key=f"parquet_{name}", **common
    )
    latex.download_button(
        "LaTeX",
        partial(as_latex, bare, results.snapshot_id, [f"{key}: {text}" for key, text in said.items()]),
        f"{stem}.tex",
        "text/x-tex",
        key=f"latex_{name}",
        **common,
    )
    with picture:
        st.segmented_control(
            "The camera above a figure saves", ["svg", "png"], default="svg", key=PICTURE, required=True,
            format_func=str.upper,
        )  # fmt: skip


def as_parquet(frame: pd.DataFrame) -> bytes:
    buffer = io.BytesIO()
    frame.to_parquet(buffer, index=False)
    return buffer.getvalue()


def link_button(results: Reader, more: Mapping[str, Any] | None = None) -> None:
    """The address of exactly this view: every parameter that is set, and the snapshot."""
    with st.popover("Copy link", icon=":material/link:"):
        component("copy_link")(key="link_to_this_view", data={"link": link_of(results, more or {})})
        st.caption("It is tied to these results, of which the newest two sets are kept.")


def link_of(results: Reader, more: Mapping[str, Any]) -> str:
    """more: what no control holds, such as the instance that is shown."""
    chosen: list[tuple[str, str]] = []
    held = {**{name: st.session_state.get(name) for name in LINKED}, **more}
    for name in LINKED:
        value = held.get(name)
        for one in value if isinstance(value, (list, tuple)) else [value]:
            if one is not None and one is not False and one != "":
                chosen.append((name, "true" if one is True else str(one)))
    here = urlsplit(st.context.url or "")
    return urlunsplit((here.scheme, here.netloc, here.path, urlencode([*chosen, (SNAPSHOT, results.snapshot_id)]), ""))
