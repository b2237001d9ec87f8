"""How tests open a page."""

from __future__ import annotations

import functools
from urllib.parse import parse_qs

import pandas as pd
from streamlit.components.v2 import manifest_scanner
from streamlit.testing.v1 import AppTest

from heval_core.evaluation.board import making
from heval_core.evaluation.board.records import Board
from heval_core.present.names import Names
from heval_core.store.filters import Filter
from heval_core.store.reader import Reader
from heval_core.ui import frame, own_requests
from heval_core.ui.published_results import query
from tests.conftest import ROOT

# AppTest looks through all installed packages for components whenever it runs a page.
manifest_scanner.scan_component_manifests = functools.cache(manifest_scanner.scan_component_manifests)

QWEN = {"model": "demo-qwen2", "dataset": "country_profiles"}


def open_page(page: str, /, **query: str | list[str]) -> AppTest:
    """A page as a link opens it: the overview through app.py, every other by itself, without table of contents and sidebar.
    There an error is an exception and no sentence on the page, so that it ends the test."""
    app = AppTest.from_file(str(ROOT / "app.py"), default_timeout=300)
    app.query_params |= query
    if page != "overview":
        app.session_state[frame._MARK] = True
        app.switch_page(f"pages/{page}.py")
    return ran(app)


def ran(app: AppTest) -> AppTest:
    """The app when it has run once more, without an exception."""
    assert not app.run().exception, (app.query_params, app.exception)
    return app


def open_well(page: str, /, **query: str | list[str]) -> AppTest:
    """The same, where nothing is refused on the page."""
    app = open_page(page, **query)
    assert not app.error
    return app


def unfolded(app: AppTest, fold: str = "numbers") -> AppTest:
    """A page with a fold open. fold: its key."""
    app.session_state[fold] = True
    return ran(app)


def open_form(own: bool = False, **query: str) -> AppTest:
    """The form of the sidebar by itself. own: on its own page, where the address fills it."""
    app = AppTest.from_string(f"from heval_core.ui import sidebar\nsidebar.draw({own})", default_timeout=300)
    app.query_params |= query
    return ran(app)


def send(app: AppTest) -> list[str]:
    """Press Explain. Returns the errors on the page."""
    app.sidebar.button(key="own_send").click().run()
    assert not app.exception
    return [error.value for error in app.error]


def text_of(app: AppTest) -> str:
    """What is written on a page."""
    return " ".join(one.value for one in (*app.markdown, *app.caption, *app.subheader, *app.info, *app.warning, *app.title))


def html_of(app: AppTest) -> str:
    """What a page draws as HTML."""
    return "\n".join(element.proto.body for element in app.get("html"))


def table_of(app: AppTest, column: str) -> pd.DataFrame:
    """The first table of a page that has a column."""
    return next(one.value for one in app.dataframe if column in one.value.columns)


def links_of(app: AppTest) -> dict[str, dict[str, list[str]]]:
    """What is written on each link of a page, and what it asks of the page that it leads to."""
    return {one.proto.label: parse_qs(one.proto.query_string) for one in app.get("page_link")}


def address_of(app: AppTest) -> dict[str, list[str]]:
    """What the address of a page asks for."""
    return {name: values if isinstance(values, list) else [values] for name, values in app.query_params.items()}


def named(explainers, controls=()) -> Names:
    """Names of explainers, by key, and of controls, which are called by their keys."""
    rows = {("explainer", key): {"title": title, "control": False} for key, title in explainers.items()}
    return Names(rows | {("explainer", key): {"title": explainers.get(key, key), "control": True} for key in controls})


def board(results: Reader, chosen: Filter) -> Board:
    """The board under a filter, made once: pages keep it."""
    return query(results, making.board, chosen)


def under_way(ticket, asked, before=None):
    """A request is known by the id of its answer."""
    own_requests._requests[asked.id] = own_requests.OwnRequest(asked, ticket, before)
    return asked.id


def finished(ticket, asked):
    """The page of an answer whose request has ended."""
    own_requests._keep(asked, ticket)
    return open_page("your_prompt", result=under_way(ticket, asked))
