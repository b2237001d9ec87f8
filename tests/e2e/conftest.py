"""An explorer on some of the demo results: one server for each store, which all files of a process share."""

from __future__ import annotations

import functools
import json
from contextlib import ExitStack

import pytest

from heval_core.evaluation.publishing import publish
from heval_core.records import REGIMES
from heval_core.store.published import current_file
from heval_core.store.reader import Reader
from tests.conftest import DEMO
from tests.e2e.browser import explorer, page_of

REGIMES_OF = {"world_capital": REGIMES, "country_profiles": ("conflicting", "mixed")}


def taken(entry: dict[str, str]) -> bool:
    """Of two models all regimes of one data set and two of another, and the answers under one technique."""
    of_technique = entry["technique"] == "acd" and entry["dataset"] == "world_capital"
    usual = entry["technique"] in ("", "regular") and entry["regime"] in ("", *REGIMES_OF.get(entry["dataset"], ()))
    of_model = entry["model"] in ("demo-gpt2", "demo-qwen2") and entry["dataset"] in REGIMES_OF
    return of_model and entry["kind"] != "faithfulness_protected" and (of_technique or usual)


@pytest.fixture(scope="session")
def some_results(tmp_path_factory):
    """A part of the demo results, which is published in seconds."""
    folder = tmp_path_factory.mktemp("some-results")
    for name in ("shards", "evaluated", "format.json", "journal.jsonl"):
        (folder / name).symlink_to(DEMO / name)
    lines = (DEMO / "manifest.jsonl").read_text(encoding="utf-8").splitlines(keepends=True)
    (folder / "manifest.jsonl").write_text("".join(line for line in lines if taken(json.loads(line))), encoding="utf-8")
    publish(folder, folder / "published", bundled=True)
    return folder / "published"


@pytest.fixture(scope="session")
def served():
    """A function: store ▶ the address of its explorer, which starts when it is first asked for."""
    with ExitStack() as servers:
        yield functools.cache(lambda store: servers.enter_context(explorer(HEVAL_STORE=str(store))))


@pytest.fixture(scope="session")
def address(served, some_results):
    return served(some_results)


@pytest.fixture(scope="session")
def reader(some_results):
    return Reader(current_file(some_results))


@pytest.fixture(scope="module")
def page():
    with page_of() as opened:
        yield opened
