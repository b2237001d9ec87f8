"""The list of instances beside the prompt: searched, sorted and paged in the database."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, NamedTuple

import streamlit as st

from heval_core.evaluation.orders import SORTED_BY, scores_of
from heval_core.figures.palette import colour
from heval_core.metrics import headlines
from heval_core.records import HEvalError
from heval_core.store.filters import AS_STORED, Filter
from heval_core.store.reader import Reader
from heval_core.ui import address
from heval_core.ui.component import component
from heval_core.ui.names import titles_of
from heval_core.ui.published_results import query
from heval_core.ui.text import plain
from heval_core.ui.walk import Place, go_to

PAGE = 11


class Listed(NamedTuple):
    """The filter, narrowed by the search, and the order that instances are gone through in."""

    chosen: Filter
    order: str = AS_STORED
    descending: bool = False


def listed(results: Reader, chosen: Filter) -> Listed:
    """The list that the address asks for, whether or not it is drawn. Shows an error for a search that is none."""
    order = (address.known("sort", list(SORTED_BY), "order") or [AS_STORED])[-1]
    descending = bool(address.known("descending", (True,)))
    narrowed = replace(chosen, search=address.value("search"))
    try:
        query(results, Reader.instance_ids, narrowed, SORTED_BY[order], descending)
    except HEvalError as error:
        st.error(plain(str(error)))
        return Listed(chosen, order, descending)
    return Listed(narrowed, order, descending)


def draw(results: Reader, them: Listed, place: Place, shown: str | None) -> None:
    """Search, order, and a page of the list; a row opens its instance. shown: the instance on the page."""
    st.markdown(f"**{len(place.ids):,} instances**")
    address.text("Search prompts and answers", "search", "search: a word, or a regular expression", hidden=True)
    titles = {name: order_title(name, titles_of(results)) for name in SORTED_BY}
    address.one_of("Order", list(SORTED_BY), "sort", what="order", titles=titles, hidden=True, menu=True)
    address.switch("Highest first", "descending")
    pages = max(1, -(-len(place.ids) // PAGE))
    there = place.position // PAGE + 1 if place.position is not None else 1
    page = address.whole("page", 1, pages, there, "the page")
    rows = query(
        results,
        Reader.instances,
        them.chosen,
        SORTED_BY[them.order],
        them.descending,
        (page - 1) * PAGE,
        PAGE,
        scores_of(headlines()["RQ3"]),
    )

    def asked() -> None:
        state = st.session_state.get("instance_list") or {}
        what, _, value = str(state.get("asked", "")).partition(" ")
        if what == "open":
            go_to(value, page=None)
        elif what == "page":
            address.put(page=int(value))

    data = {
        "rows": [_row(row) for row in rows.to_dict("records")],
        "shown": shown,
        "page": page,
        "pages": pages,
        "first": (page - 1) * PAGE + 1,
        "count": len(place.ids),
        "legend": [{"title": titles_of(results)[key], "color": colour(key)} for key in _ranked(rows.columns)],
    }
    component("instance_list")(key="instance_list", data=data, on_asked_change=asked)


def order_title(name: str, titles: dict[str, str]) -> str:
    """An order as people read it: `rank of the answer, Feature ablation`."""
    what, _, key = name.partition(" of ")
    if key not in titles:
        return f"order: {name}"
    said = {
        "1/rank": "1 / rank of the answer",
        "margin": "ranks between the documents",
        "choice": "whether the used document is named",
    }.get(what, what)
    return f"{said}, {titles[key]}"


def _ranked(columns: Any) -> list[str]:
    """The first two explainers whose rank of the answer is in the table."""
    return [name.removeprefix("1/rank of ") for name in columns if name.startswith("1/rank of ")][:2]


def _row(row: dict[str, Any]) -> dict[str, Any]:
    ranks = []
    for key in _ranked(row):
        value = row[f"1/rank of {key}"]
        ranks.append({"color": colour(key), "rank": round(1 / value, 1) if value and value == value else None})
    return {
        "id": row["instance_id"],
        "subject": row["subject"],
        "answer": row["answer"],
        "group": row["group"],
        "tokens": row["tokens"],
        "ranks": ranks,
    }
