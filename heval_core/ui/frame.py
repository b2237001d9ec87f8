"""What stands around every page: how it begins and ends, navigation, the sidebar's button, where its numbers come from."""

from __future__ import annotations

import logging
import uuid
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import pandas as pd
import streamlit as st
from streamlit.navigation.page import StreamlitPage
from streamlit.runtime.pages_manager import PagesManager

from heval_core.evaluation import evaluator
from heval_core.present.html import COMPONENTS, plain
from heval_core.records import HEvalError
from heval_core.store.reader import Reader
from heval_core.ui import address
from heval_core.ui.component import component
from heval_core.ui.published_results import WHICH_RESULTS, names_of, offered, query, reader

_log = logging.getLogger("heval")
_MARK = "came_through_app"


def mark() -> None:
    """Note that the page came through app.py, which calls this in every run."""
    st.session_state[_MARK] = True


def through_app() -> None:
    """Run again through app.py where Streamlit has not.

    Because there is a folder named `pages`, a fresh server runs a sub-page by itself, without table of contents and
    sidebar, until st.navigation was called once: a link to a sub-page would open broken. So the flag is set here.
    """
    if _MARK not in st.session_state:
        PagesManager.uses_pages_directory = False
        st.rerun()


@contextmanager
def results_page(*, at_once: bool = False) -> Iterator[Reader]:
    """Open a page of the results; below it stands where its numbers come from. at_once: see `reader`."""
    through_app()
    address.notices()
    names = [name for name in offered() if name]
    if address.value(WHICH_RESULTS) not in ("", *names):
        right = " or ".join(names) or "left out, since HEVAL_STORE names the results"
        address.unreadable(WHICH_RESULTS, "the results", right)
    results = reader(at_once=at_once)
    yield results
    draw_provenance(results)


@contextmanager
def watched(page: str) -> Iterator[None]:
    """Show a page's error as an id, with its trace in the log."""
    try:
        yield
    except HEvalError as error:  # written for users
        _log.exception("on the page %s", page)
        st.error(plain(str(error)), icon=":material/error:")
    except Exception:
        error_id = uuid.uuid4().hex[:8]
        _log.exception("error %s on the page %s", error_id, page)
        st.error(
            f"Something went wrong here (error {error_id}); the log has the details. The other pages still work.",
            icon=":material/error:",
        )


# A file of our own: a Material symbol here would be fetched from outside.
ICON = str(COMPONENTS / "icon.png")
OWN_PROMPT = "Your prompt"


def has_form(page: str) -> bool:
    """Return whether the form is open on a page: on *Your prompt*, unless it shows a log."""
    return page == OWN_PROMPT and address.value("tab") != "log"


def draw(pages: Sequence[StreamlitPage], current: StreamlitPage) -> None:
    """Draw the stylesheet, links to all pages with the view that goes along, and the key that opens the form.

    All in one row: a narrow window has the links in a menu. The form is open on its own page alone.
    """
    st.html(COMPONENTS / "page.css")
    with st.container(horizontal=True, key="navigation", gap="xsmall", vertical_alignment="center"):
        # First, so that the keyboard comes to it first; the stylesheet puts it last.
        component("sidebar_button", "sidebar_button", {"own": has_form(current.title)}, width="content")
        st.html(COMPONENTS / "brand.html", width="content")
        with st.container(horizontal=True, key="pages", gap="xsmall", vertical_alignment="center"):
            for page in pages:
                _link(page, current, "")
        with st.container(key="pages_menu", width="content"), st.popover(current.title):
            for page in pages:
                _link(page, current, "menu_")


def _link(page: StreamlitPage, current: StreamlitPage, menu: str) -> None:
    here = "here" if page is current else "there"
    with st.container(key=f"{here}_{menu}{page.url_path or 'overview'}", width="content"):
        st.page_link(page, label=page.title, query_params=address.onward(page.title))


# Columns of tables for readers, the others are for programs; and what they are called where it is not their name.
_RUNS = ("started", "finished", "device", "dtype", "seed", "git_commit", "run_id")
_MODELS = ("model", "architecture", "layers", "heads", "width", "parameters", "positions", "revision")
_DATASETS = ("dataset", "usable", "asked", "fingerprint")
_CALLED = {"dtype": "precision", "git_commit": "program", "run_id": "run", "positions": "longest prompt"}
_CALLED |= {"usable": "usable questions"}


def draw_provenance(results: Reader) -> None:
    """Draw a line with the snapshot; runs, models, datasets and libraries when it is opened."""
    label = f"Where these numbers come from · snapshot {results.snapshot_id}, published {results.published_at:%Y-%m-%d}"
    foot = st.expander(label, icon=":material/verified:", type="compact", key="provenance", on_change="rerun")
    if not foot.open:
        return
    same = results.evaluator == evaluator.evaluator_id()
    runs, datasets = query(results, Reader.runs), query(results, Reader.datasets)
    with foot:
        st.markdown(
            f"Published {results.published_at:%Y-%m-%d %H:%M} UTC in `{results.path.name}`, evaluated by "
            f"`{results.evaluator}` (code, settings and libraries)"
            f"{'' if same else f'; this program is `{evaluator.evaluator_id()}`'}. Exports and links name "
            "the snapshot; the same shards and the same code give the same snapshot."
        )
        left, right = st.columns([3, 1])
    with left:
        _table("Runs: when, on what, and with which program", readable(runs, _RUNS))
        _table("Models, by revision", readable(query(results, Reader.models), _MODELS))
        titled = datasets.assign(dataset=datasets["dataset"].map(names_of(results).dataset))
        _table("Datasets, by fingerprint", readable(titled, _DATASETS))
    libraries = query(results, Reader.libraries)
    if len(libraries):
        with right:
            _table("Libraries of the newest run", libraries)


def _table(caption: str, table: pd.DataFrame) -> None:
    st.caption(caption)
    st.dataframe(table, hide_index=True)


def readable(table: pd.DataFrame, columns: Sequence[str]) -> pd.DataFrame:
    """Return those of these columns that are there: times to the minute, dashes for what is missing, commits in short."""
    kept_columns = {}
    for name in filter(table.columns.__contains__, columns):
        values = table[name]
        if pd.api.types.is_datetime64_any_dtype(values):
            values = values.dt.strftime("%Y-%m-%d %H:%M")
        elif name == "git_commit":
            values = values.str.slice(0, 10)
        kept_columns[_CALLED.get(name, name)] = values if pd.api.types.is_numeric_dtype(values) else values.fillna("–")
    return pd.DataFrame(kept_columns)
