"""The demo results, as a reader and as what pages show."""

from __future__ import annotations

import pytest

from heval_core.store.published import current_file
from heval_core.store.reader import Reader


@pytest.fixture
def demo(demo_results, monkeypatch):
    monkeypatch.setenv("HEVAL_STORE", str(demo_results))
    return Reader(current_file(demo_results))
