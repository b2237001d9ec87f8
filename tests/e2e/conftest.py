"""An explorer on a few cells of the demo results, once for each module of browser tests."""

from __future__ import annotations

import pytest

from tests.e2e.browser import explorer, page_of


@pytest.fixture(scope="module")
def address(few_cells):
    with explorer(HEVAL_STORE=str(few_cells)) as url:
        yield url


@pytest.fixture
def reader(few):
    return few


@pytest.fixture(scope="module")
def page():
    with page_of() as opened:
        yield opened
