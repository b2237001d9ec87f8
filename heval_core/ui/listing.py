"""A list that a reader goes through: where they are in it, steps to its neighbours, and its rows in a drawer.

Instances and explanations are listed alike; what is an instance's own stands below.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any, NamedTuple

import streamlit as st

from heval_core.evaluation.orders import SORTED_BY, scores_of
from heval_core.figures.palette import colour
from heval_core.plugins.measures import headlines
from heval_core.present.html import plain
from heval_core.present.numbers import ordinal
from heval_core.records import HEvalError
from heval_core.records.vocabulary import answer_from
from heval_core.store.filters import AS_STORED, Filter, ScoreOrder
from heval_core.store.reader import Reader
from heval_core.ui import address
from heval_core.ui.component import component
from heval_core.ui.published_results import names_of, query

PAGE = 11
# What changes with the instance: a head and a token of one mean nothing in another.
OF_ONE = {"pick": None, "pin": None, "need": None}


class Position(NamedTuple):
    """Where a reader is in a list. at: from 0; None for what is shown and not in the list."""

    ids: list[str]
    at: int | None

    def beside(self, step: int) -> str | None:
        """Return the id some steps on; from outside of the list, the first."""
        index = 0 if self.at is None else self.at + step
        return self.ids[index] if 0 <= index < len(self.ids) else None

    @property
    def page(self) -> tuple[int, int]:
        """The page of the list that the address asks for, else the one with what is shown; and how many there are."""
        pages = max(1, -(-len(self.ids) // PAGE))
        shown_page = self.at // PAGE + 1 if self.at is not None else 1
        return address.whole("page", 1, pages, shown_page, "the page"), pages


def position_among(
    ids: list[str], name: str, find: Callable[[str], object], usual: str | None = None
) -> tuple[Position, str | None]:
    """Return the position, and what is shown: the link's, else the usual, else the first; None if there is none.

    What the link names is shown under any filter; the next and previous ones are inside the filter. name: the parameter of
    the link. find: raises HEvalError for what there is not at all.
    """
    linked = address.value(name)
    if linked in ids:
        return Position(ids, ids.index(linked)), linked
    start = ids.index(usual) if usual in ids else 0
    first = (Position(ids, start if ids else None), ids[start] if ids else None)
    if not linked:
        return first
    try:
        find(linked)
    except HEvalError:
        address.refuse(name, linked, ids, name)
        return first
    return Position(ids, None), linked


def steps(position: Position, go: Callable[[str | None], None], what: str) -> None:
    """Draw the drawer's button; previous, where one is, and next. go: shows an id. what: an `instance` or a `claim`."""
    toggle, looks = ("open", "secondary") if address.value("list") != "open" else (None, "primary")
    st.button("List", key="list", icon=":material/menu:", on_click=address.setter(list=toggle), type=looks)
    back, forward = position.beside(-1), position.beside(1)
    st.button("‹ [", key="previous", disabled=back is None, on_click=go, args=(back,), help=f"Previous {what}: [")
    count = f"{len(position.ids):,}"
    where = f"**{position.at + 1:,}** of {count}" if position.at is not None else f"not among these {count}"
    st.markdown(where, width="content")
    st.button("] ›", key="next", disabled=forward is None, on_click=go, args=(forward,), help=f"Next {what}: ]")


@contextmanager
def beside_drawer(draw: Callable[[], None]) -> Iterator[None]:
    """Draw the drawer, where it is open, and beside it what the block draws. draw: the drawer."""
    columns = st.container(horizontal=True, gap="medium", key="list_frame")
    if address.value("list") == "open":
        with columns.container(width=264, key="drawer"):
            draw()
    with columns.container(width="stretch", key="beside_drawer"):
        yield


def draw_rows(
    position: Position, rows: list[dict[str, Any]], shown: str | None, go: Callable[..., None], what: str, legend: Any = ()
) -> None:
    """Draw a page of a list, whose rows open what they stand for.

    rows: id, title, about, and the ranks of the answer with their colours where there are some. shown: the id on the page.
    go: shows an id. what: the rows, in the plural. legend: titles and colours of the ranks.
    """
    page, pages = position.page

    def act(message: str) -> None:
        action, _, value = message.partition(" ")
        if action == "open" and value in position.ids:
            go(value)
        elif action == "page" and value.isdecimal():
            address.put(page=int(value))

    data = {"rows": rows, "shown": shown, "page": page, "pages": pages, "first": (page - 1) * PAGE + 1}
    data |= {"count": len(position.ids), "what": what, "legend": list(legend)}
    component("list", "list_rows", data, asked=act)


# The filter, narrowed by the search, the order as the database has it, and whether the highest come first.
Listed = tuple[Filter, str | ScoreOrder, bool]


def listed_instances(results: Reader, chosen: Filter) -> tuple[Listed, Position, str | None]:
    """Return the instances that the address asks for, the position among them, and the one shown.

    Shows an error for a bad search.
    """
    order = SORTED_BY[address.requested("sort", list(SORTED_BY), AS_STORED, "order")]
    listed = replace(chosen, search=address.value("search")), order, bool(address.known("descending", (True,)))
    try:
        ids = query(results, Reader.instance_ids, *listed)
    except HEvalError as error:
        st.error(plain(str(error)))
        listed = (chosen, *listed[1:])
        ids = query(results, Reader.instance_ids, *listed)
    unsorted = (order, listed[2]) == (AS_STORED, False) and replace(listed[0], technique=(), explained=False) == Filter()
    usual = query(results, Reader.telling_instance, listed[0]) if unsorted else None
    return listed, *position_among(ids, "instance", results.instance, usual)


def show_instance(instance_id: str | None, **more: Any) -> None:
    """Show an instance, and let go of what belongs to the last one. more: further parameters to set."""
    if instance_id is not None:
        painted = None if "head" in address.values("painted") else address.values("painted")
        address.put(**{"instance": instance_id, "painted": painted, "page": None, **OF_ONE, **more})


def draw_instances(results: Reader, listed: Listed, position: Position, shown: str | None) -> None:
    """Draw the search, the order, and a page of the instances. shown: the one on the page."""
    st.markdown(f"**{len(position.ids):,} instances**")
    address.text("Search prompts and answers", "search", "search: a word, or a regular expression")
    explainers = names_of(results).known("explainer")
    titles = {name: order_title(name, explainers) for name in SORTED_BY}
    address.one_of("Order", list(SORTED_BY), "sort", what="order", titles=titles, hidden=True, menu=True)
    address.switch("Highest first", "descending")
    ranks = scores_of(headlines()["RQ3"])
    rows = query(results, Reader.instances, *listed, (position.page[0] - 1) * PAGE, PAGE, ranks)
    # The first two explainers whose rank of the answer is in the table.
    ranked = {ranks[name].explainer: name for name in [name for name in rows.columns if name in ranks][:2]}
    legend = [{"title": explainers[key], "color": colour(key)} for key in ranked]
    lines = [_line(row, ranked) for row in rows.to_dict("records")]
    draw_rows(position, lines, shown, show_instance, "instances", legend)


def order_title(name: str, titles: dict[str, str]) -> str:
    """Return an order as people read it: `rank of the answer, Feature ablation`."""
    key = getattr(SORTED_BY[name], "explainer", "")
    if key not in titles:
        return f"order: {name}"
    what = name.removesuffix(f" of {key}")
    words = {
        "1/rank": "1 / rank of the answer",
        "margin": "ranks between the documents",
        "choice": "whether the used document is named",
    }
    return f"{words.get(what, what)}, {titles[key]}"


def _line(row: dict[str, Any], ranked: dict[str, str]) -> dict[str, Any]:
    best = {key: round(1 / row[name], 1) if row[name] and row[name] == row[name] else None for key, name in ranked.items()}
    ranks = [{"color": colour(key), "rank": rank, "said": ordinal(rank) if rank else "–"} for key, rank in best.items()]
    about = f"{row['answer']}, {answer_from(row['group'])}"
    return {"id": row["instance_id"], "title": row["subject"], "about": about, "tokens": row["tokens"], "ranks": ranks}
