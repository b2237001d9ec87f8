"""How far a publishing is, why it was not possible, and that a killed one leaves nothing broken."""

from __future__ import annotations

import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from heval_core.evaluation import publishing
from heval_core.evaluation.measuring import Shards
from heval_core.evaluation.publishing import PublishProgress, Steps, publish, renew
from heval_core.records import RegimeKey
from heval_core.store.published import current_file
from tests.conftest import ROOT
from tests.planted import assert_same, noise, plant


@pytest.fixture(scope="module")
def store(tmp_path_factory):
    """Two models and two datasets, too few instances for the metrics that take long."""
    folder = tmp_path_factory.mktemp("store")
    regimes = ("conflicting", "mixed", "mixed_swap")
    plant(folder, noise, models=2, datasets=2, regimes=regimes, explainers=("fa", "ig"), count=9)
    return folder


def test_time_left_is_what_the_rest_takes_at_the_measured_rate(monkeypatch):
    clock = [100.0]
    monkeypatch.setattr(publishing.time, "monotonic", lambda: clock[0])
    told: list[PublishProgress] = []
    going = Steps([10] * 9, told.append)
    for _ in range(9):
        clock[0] += 2
        going.ended(Shards(RegimeKey("m", "d", "mixed", "regular"), [], 10))
    going.last()
    shares = [one.share for one in told]
    assert shares == sorted(shares)
    assert shares[0] == 0
    assert shares[-1] == pytest.approx(0.9)
    # The first is not measured. All together are ten times as long as one, by the share of what comes at the end.
    assert [one.seconds_left for one in told[:2]] == [None] * 2
    assert told[2].seconds_left == pytest.approx(2 * 8)
    assert told[-1].seconds_left == pytest.approx(2)
    assert "2 of 9" in told[2].phase
    assert told[2].part == "m · d · mixed"


@pytest.mark.slow
def test_it_says_how_far_it_is_and_why_it_could_not(store, tmp_path):
    told: list[PublishProgress] = []
    target = tmp_path / "results"
    assert renew(store, target, True, told.append) is None
    assert_same(current_file(target), publish(store, tmp_path / "here", keep=False))
    assert told[-1].share > 0.8
    assert "12 of 12" in told[-2].phase
    (tmp_path / "file").write_text("in the way")
    assert "cannot be written" in (renew(store, tmp_path / "file" / "results", True, told.append) or "")
    assert "no finished shards" in (renew(_empty(tmp_path / "empty"), tmp_path / "none", True, told.append) or "")


def _empty(folder: Path) -> Path:
    folder.mkdir()
    (folder / "manifest.jsonl").write_text("")
    return folder


@pytest.mark.slow
def test_a_killed_publisher_leaves_nothing_behind_and_the_next_publishes(store, tmp_path):
    folder = shutil.copytree(store, tmp_path / "store")
    command = [sys.executable, "-m", "precompute", "publish", "--store", str(folder)]
    with subprocess.Popen(command, cwd=ROOT, stderr=subprocess.PIPE, text=True) as publisher:
        next(line for line in publisher.stderr if " 1 of " in line)
        assert list(folder.glob("*.tmp"))
        publisher.send_signal(signal.SIGKILL)
    assert current_file(folder) is None
    publishing.published.remove_unfinished(folder)
    assert not list(folder.glob("*.tmp"))
