"""Publishing in several processes gives the file that one process gives, and says so where a process dies."""

from __future__ import annotations

import shutil
from contextlib import closing, suppress

import pandas as pd
import psutil
import pyarrow.parquet as pq
import pytest

from heval_core.evaluation import parallel
from heval_core.evaluation.measuring import Shards
from heval_core.evaluation.publishing import publish
from heval_core.records import HEvalError, RegimeKey
from heval_core.store.published import current_file
from heval_core.store.reader import Reader


@pytest.fixture
def unpublished(small_store, tmp_path):
    store = shutil.copytree(small_store, tmp_path / "store")
    for file in (*store.glob("results-*"), *store.glob("evaluated/*"), store / "current.json"):
        file.unlink()
    return store


def _tables(path):
    """Every table with its rows in their order, but for when they were published."""
    with closing(Reader(path)) as reader:
        return {name: reader.rows(name).drop(columns="published_at", errors="ignore") for name in reader.tables()}


def _regimes(store):
    """Model's file ▶ regimes whose values are saved there."""
    files = (store / "evaluated").glob("*.parquet")
    return {file.name: {*pq.read_table(file)["regime"].to_pylist()} for file in files}


@pytest.mark.slow
def test_two_processes_publish_what_one_does(unpublished, small_store):
    ended = []
    published = publish(unpublished, on_progress=lambda progress: ended.append(progress.part), workers=2)
    one, two = (_tables(path) for path in (current_file(small_store), published))
    assert one.keys() == two.keys()
    for name, rows in one.items():
        pd.testing.assert_frame_equal(two[name], rows, check_exact=True)
    assert [part for part in ended if part] == sorted(part for part in ended if part)  # in the order of the regimes
    assert not [*unpublished.glob("*.tmp*")]
    # Both processes save what takes long in the file of a model.
    assert _regimes(unpublished) == _regimes(small_store)


@pytest.mark.slow
def test_a_process_that_dies_ends_the_publishing_with_what_helps(unpublished):
    def kill(progress):
        if progress.part:
            for child in psutil.Process().children(recursive=True):
                with suppress(psutil.Error):  # one that has ended since
                    if "forkserver" in " ".join(child.cmdline()):
                        child.kill()

    with pytest.raises(HEvalError, match=r"A process that evaluates has died, as where memory is short; use --workers 1"):
        publish(unpublished, on_progress=kill, workers=2)
    assert not [*unpublished.glob("*.tmp*"), *unpublished.glob("results-*")]
    assert publish(unpublished).is_file()


@pytest.mark.parametrize(("size", "number", "free", "expected"), [
    (1_000, None, 24e9, 1), (9_000_000, None, 24e9, 3), (9_000_000, None, 3.1e9, 2), (9_000_000, None, 1e8, 1),
    (1_000, 2, 24e9, 2), (9_000_000, 9, 24e9, 4),
])  # fmt: skip
def test_as_many_processes_as_work_cores_memory_and_regimes_allow(size, number, free, expected, monkeypatch):
    monkeypatch.setattr(parallel, "cores", lambda: 3)
    monkeypatch.setattr(parallel, "free_memory", lambda: int(free))
    regimes = [Shards(RegimeKey("m", "d", str(number), "regular"), [], size // 4) for number in range(4)]
    assert parallel.workers_for(regimes, number) == expected
