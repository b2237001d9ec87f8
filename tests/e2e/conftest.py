"""An explorer on the demo results, once for each module of browser tests."""

from __future__ import annotations

import pytest

from heval_core.store.published import current_file
from heval_core.store.reader import Reader
from tests.e2e.browser import explorer, page_of


@pytest.fixture(scope="module")
def address(demo_results):
    with explorer(HEVAL_STORE=str(demo_results)) as url:
        yield url


@pytest.fixture(scope="module")
def reader(demo_results):
    return Reader(current_file(demo_results))


@pytest.fixture(scope="module")
def page():
    with page_of() as opened:
        yield opened
