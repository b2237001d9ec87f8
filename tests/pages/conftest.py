"""The demo results, as a reader and as what pages show; and a store whose groups are small."""

from __future__ import annotations

import pytest

from heval_core.store.published import current_file
from heval_core.store.reader import Reader
from tests.planted import noise, plant, published


def draw(*given):
    return noise(*given).round(1)  # some are tied


@pytest.fixture(scope="session")
def made_up(tmp_path_factory):
    """A small published store, of which tests that change it take a copy."""
    folder = tmp_path_factory.mktemp("made-up")
    plant(folder, draw, regimes=("conflicting", "mixed"), count=6)
    published(folder)
    return folder


@pytest.fixture
def demo(demo_results, monkeypatch):
    monkeypatch.setenv("HEVAL_STORE", str(demo_results))
    return Reader(current_file(demo_results))
