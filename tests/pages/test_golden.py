"""Every page and tab runs, and says what it said; and where something is missing it says so."""

import pytest

from tests.pages.golden import FOLDER, STORES, VIEWS, told


@pytest.fixture(scope="module")
def stores(few_cells, made_up, tmp_path_factory):
    own = {"few cells": few_cells, "made up": made_up}
    return own | {name: make(tmp_path_factory.mktemp(name)) for name, make in STORES.items() if name not in own}


@pytest.mark.parametrize("page", [pytest.param(one, marks=[pytest.mark.slow] * (len(VIEWS[one]) > 5)) for one in VIEWS])
def test_a_page_says_what_it_said(stores, monkeypatch, page):
    monkeypatch.setenv("HEVAL_STORE", "")
    monkeypatch.delenv("HEVAL_ANNOTATE", raising=False)
    monkeypatch.setenv("HEVAL_MODELS", "")
    assert told(page, stores) == (FOLDER / f"{page}.txt").read_text(encoding="utf-8"), "meant? python -m tests.pages.golden"
