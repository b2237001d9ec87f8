"""An explorer on a few cells of the demo results: one server for each store, which all files of a process share."""

import functools
from contextlib import ExitStack

import pytest

from tests.e2e.browser import explorer, launched, page_of
from tests.e2e.own_form import filled  # noqa: F401


@pytest.fixture(scope="session")
def served():
    """A function: store ▶ the address of its explorer, which starts when it is first asked for."""
    with ExitStack() as servers:
        yield functools.cache(lambda store: servers.enter_context(explorer(HEVAL_STORE=str(store))))


@pytest.fixture(scope="session")
def address(served, few_cells):
    return served(few_cells)


@pytest.fixture
def reader(few):
    return few


@pytest.fixture(scope="module")
def browser():
    """Not of the session: while there is one, no other test can have an event loop, and its time is that of a file."""
    with launched() as browser:
        yield browser


@pytest.fixture(scope="module")
def opened(browser):
    with page_of(browser) as page:
        yield page


@pytest.fixture
def page(opened):
    """That of all tests of a file, as large as at first."""
    opened.set_viewport_size({"width": 1280, "height": 800})
    return opened
