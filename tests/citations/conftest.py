"""Twelve claims, an annotator and a store, for every test of the study as a batch job."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.citations.batch_study import Chooser, known, line, write


@pytest.fixture
def first(monkeypatch) -> Chooser:
    """The only annotator: it chooses the first sentence."""
    chooser = Chooser("first", lambda question: {0})
    known(monkeypatch, chooser)
    return chooser


@pytest.fixture
def claims(tmp_path) -> Path:
    """A dozen claims, each explained in two sentences that cite passages 1 and 2 of three."""
    return write(tmp_path / "claims", *(line(f"claim {number}", "One [1].", "Two [2].") for number in range(12)))


@pytest.fixture
def store(tmp_path) -> Path:
    """Where a study's results will lie."""
    return tmp_path / "store"
