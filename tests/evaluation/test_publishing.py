"""Two processes publish what one does, to the bit; how far it is is told; a killed publisher leaves nothing broken."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from heval_core.evaluation import publishing, regimes_written, second_process, steps
from heval_core.evaluation.publisher import renew_apart
from heval_core.evaluation.publishing import publish
from heval_core.evaluation.regimes_written import Shards
from heval_core.evaluation.second_process import SecondProcess
from heval_core.evaluation.steps import Steps, Told
from heval_core.records import RegimeKey
from heval_core.store.published import current_file
from tests.conftest import DEMO, ROOT
from tests.evaluation.same import assert_same
from tests.planted import noise, plant


@pytest.fixture(scope="module")
def store(tmp_path_factory):
    """Two models and two datasets, too few instances for the metrics that take long."""
    folder = tmp_path_factory.mktemp("store")
    regimes = ("conflicting", "mixed", "mixed_swap")
    plant(folder, noise, models=2, datasets=2, regimes=regimes, explainers=("fa", "ig"), count=9)
    return folder


@pytest.fixture(scope="module")
def alone(store, tmp_path_factory):
    """What one process publishes."""
    return publish(store, tmp_path_factory.mktemp("alone"), keep=False)


@pytest.fixture
def two(monkeypatch):
    """However small a store is, and however few cores there are."""
    monkeypatch.setattr(second_process, "worth_it", lambda regimes: True)


def test_two_processes_publish_what_one_does(store, alone, tmp_path, two, monkeypatch):
    results = []
    monkeypatch.setattr(
        SecondProcess, "result", lambda self, whole=SecondProcess.result: results.append(whole(self)) or results[-1]
    )
    assert_same(alone, publish(store, tmp_path / "two", keep=False, helped=True))
    assert len(results) == 1
    assert len(results[0].rows) > 100
    assert not list((tmp_path / "two").glob("*.tmp*"))


def test_if_the_second_process_fails_the_first_does_its_work(store, alone, tmp_path, two, monkeypatch):
    other = publishing.Work
    monkeypatch.setattr(publishing, "Work", lambda *told: other(*told)._replace(evaluated_by="another program"))
    assert_same(alone, publish(store, tmp_path / "two", keep=False, helped=True))


def test_what_the_second_process_did_before_it_failed_counts_once(store, tmp_path, two, monkeypatch):
    whole, told = SecondProcess.result, []
    monkeypatch.setattr(SecondProcess, "result", lambda self: whole(self) and None)
    publish(store, tmp_path, keep=False, helped=True, tell=told.append)
    assert max(one.share for one in told) == pytest.approx(1 - steps.AFTER)
    assert [one.phase for one in told if "12 of 12" in one.phase]
    assert not [one.phase for one in told if "13 of 12" in one.phase]


def test_only_small_stores_are_divided_and_never_between_regimes_that_are_compared(monkeypatch):
    def regime(model: int, name: str, size: int) -> Shards:
        return Shards(RegimeKey(f"m{model}", "d", name, "regular"), [], size)

    monkeypatch.setattr(os, "sched_getaffinity", lambda process: {0, 1}, raising=False)
    whole = [regime(model, name, 6_000_000) for model in range(3) for name in ("mixed", "mixed_swap")]
    mine, others = regimes_written.halves(whole)
    assert mine + others == whole
    assert {one.key.model for one in mine}.isdisjoint({one.key.model for one in others})
    assert regimes_written.halves(whole[:2]) == (whole[:2], [])
    assert second_process.worth_it(whole)
    assert not second_process.worth_it(whole[:1])
    assert not second_process.worth_it([one._replace(size=10 * one.size) for one in whole])
    monkeypatch.setattr(os, "sched_getaffinity", lambda process: {0}, raising=False)
    assert not second_process.worth_it(whole)


def test_time_left_is_what_the_rest_takes_at_the_measured_rate(monkeypatch):
    clock = [100.0]
    monkeypatch.setattr(steps.time, "monotonic", lambda: clock[0])
    told: list[Told] = []
    going = Steps([10] * 9, told.append)
    for _ in range(9):
        clock[0] += 2
        going.ended("a", 10)
    going.last()
    shares = [one.share for one in told]
    assert shares == sorted(shares)
    assert shares[0] == 0
    assert shares[-1] == pytest.approx(0.9)
    # The first two are not measured. All together are ten times as long as one, by the share of what comes at the end.
    assert [one.seconds_left for one in told[:3]] == [None] * 3
    assert told[3].seconds_left == pytest.approx(2 * 7)
    assert told[-1].seconds_left == pytest.approx(2)
    assert "3 of 9" in told[3].phase


def test_another_process_says_how_far_it_is_and_why_it_could_not(store, alone, tmp_path):
    told: list[Told] = []
    target = tmp_path / "results"
    assert renew_apart(store, target, True, told.append) is None
    assert_same(current_file(target), alone)
    assert told[-1].share > 0.8
    assert "12 of 12" in told[-2].phase
    (tmp_path / "file").write_text("in the way")
    assert "cannot be written" in (renew_apart(store, tmp_path / "file" / "results", True, told.append) or "")
    assert "no finished shards" in (renew_apart(_empty(tmp_path / "empty"), tmp_path / "none", True, told.append) or "")


def _empty(folder: Path) -> Path:
    folder.mkdir()
    (folder / "manifest.jsonl").write_text("")
    return folder


def test_a_killed_publisher_leaves_nothing_behind_and_the_next_publishes(tmp_path):
    command = [sys.executable, "-m", "heval_core.evaluation.publisher", str(DEMO), str(tmp_path), "bundled"]
    process = subprocess.Popen(command, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    for line in process.stdout:
        if " 1 of " in line:
            break
    assert list(tmp_path.glob("*.tmp"))
    process.send_signal(signal.SIGKILL)
    process.communicate()
    assert current_file(tmp_path) is None
    publishing.published.remove_unfinished(tmp_path)
    assert not list(tmp_path.iterdir())


def test_the_publisher_ends_with_the_program_that_started_it(tmp_path):
    command = [sys.executable, "-m", "heval_core.evaluation.publisher", str(DEMO), str(tmp_path), "bundled"]
    process = subprocess.Popen(command, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    process.stdout.readline()
    process.stdin.close()
    assert process.wait(timeout=120) == 1
    process.stdout.close()
    assert current_file(tmp_path) is None
