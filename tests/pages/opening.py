"""How tests open a page."""

from __future__ import annotations

import functools

from streamlit.components.v2 import manifest_scanner
from streamlit.testing.v1 import AppTest

from heval_core.evaluation.board import making
from heval_core.evaluation.board.records import Board
from heval_core.present.names import Names
from heval_core.store.filters import Filter
from heval_core.store.reader import Reader
from heval_core.ui import frame
from heval_core.ui.published_results import query
from tests.conftest import ROOT

# AppTest looks through all installed packages for components whenever it runs a page.
manifest_scanner.scan_component_manifests = functools.cache(manifest_scanner.scan_component_manifests)

QWEN = {"model": "demo-qwen2", "dataset": "country_profiles"}


def open_page(page: str, /, **query: str | list[str]) -> AppTest:
    """A page as a link opens it: the overview through app.py, every other by itself, without table of contents and sidebar.
    There an error is an exception and no sentence on the page, so that it ends the test."""
    app = AppTest.from_file(str(ROOT / "app.py"), default_timeout=60)
    for name, value in query.items():
        app.query_params[name] = value
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


def open_numbers(page: str, /, **query: str | list[str]) -> AppTest:
    """The same with its numbers open."""
    app = open_page(page, **query)
    app.session_state["numbers"] = True
    return ran(app)


def text_of(app: AppTest) -> str:
    """What is written on a page."""
    return " ".join(one.value for one in (*app.markdown, *app.caption, *app.subheader, *app.info, *app.title))


def named(explainers, controls=()) -> Names:
    """Names of explainers, by key, and of controls, which are called by their keys."""
    rows = {("explainer", key): {"title": title, "control": False} for key, title in explainers.items()}
    return Names(rows | {("explainer", key): {"title": explainers.get(key, key), "control": True} for key in controls})


def board(results: Reader, chosen: Filter) -> Board:
    """The board under a filter, made once: pages keep it."""
    return query(results, making.board, chosen)
