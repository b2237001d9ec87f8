"""What several files report: a few cells of the demo results, and a small store without techniques and citations."""

from __future__ import annotations

import json
from pathlib import Path

import pandas as pd
import pytest

from heval_core.report.write import report_of, write
from tests.planted import marking, plant, published


@pytest.fixture(scope="session")
def report(few):
    return report_of(few)


@pytest.fixture(scope="session")
def plain(tmp_path_factory):
    """One model, one dataset, one kind of documents; fa knows the answer and ig does not."""
    draw = marking(lambda instance, explainer: 2 if explainer == "fa" else 0)
    folder = tmp_path_factory.mktemp("plain")
    plant(folder, draw, regimes=("conflicting",), explainers=("fa", "ig"), count=80)
    return published(folder)


@pytest.fixture(scope="session")
def plain_report(plain):
    return report_of(plain)


@pytest.fixture(scope="module")
def told(store):
    """What `results.json` of a file's own store holds."""
    return json.loads(report_of(store).as_json())


@pytest.fixture
def written_plain(plain, plain_report, monkeypatch):
    """A function that writes the plain store's report into a folder; it is made once."""

    def put(folder: Path) -> None:
        monkeypatch.setattr("heval_core.report.write.report_of", lambda results: plain_report)
        write(plain.path.parent, folder)

    return put


def section_in(report, key):
    return next(own for own in report.sections if own.plan.key == key)


def rows_of(told, key):
    """The rows of a section of `results.json`."""
    return pd.DataFrame(next(own["rows"] for own in told["sections"] if own["key"] == key))


def same_bytes(folder: Path, *stores: Path) -> tuple[Path, set[str]]:
    """Reports of the same results have the same bytes. Returns the folder of the first, and the names of its files."""
    folders = [folder / f"report {number}" for number in range(len(stores))]
    for store, own in zip(stores, folders, strict=True):
        write(store, own)
    names = {str(path.relative_to(folders[0])) for path in folders[0].rglob("*.*")}
    for name in names:
        assert len({(own / name).read_bytes() for own in folders}) == 1, name
    return folders[0], names
