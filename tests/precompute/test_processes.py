"""Processes on one machine: how many there are, that they give what one gives, and what the death of one costs."""

from __future__ import annotations

import dataclasses
from types import SimpleNamespace

import pytest
import torch

from heval_core.lm.loading import identify, load, weights_of
from heval_core.new_processes import free_memory
from heval_core.records import HEvalError
from heval_core.store.shards import ShardStore
from precompute import processes
from precompute.cli import main
from precompute.processes import Processes, on_processes, processes_for
from precompute.run import run
from precompute.worker import FASTEST, Loading, Local, NoModel, fastest
from tests.precompute.kills import contents

GB = 1_000_000_000


@dataclasses.dataclass(frozen=True)
class _Sized:
    identity: float | None
    stays: bool = True


@pytest.mark.parametrize(("sizes", "cores", "free", "expected"), [
    # 2 cores hold two models of half a GB in 24 GB: each has a process of one thread.
    ({0.54 * GB: 1000}, 2, 24 * GB, (2, 1)),
    # A tiny model and few rows: what two processes take to start is more than they save.
    ({0.01 * GB: 100}, 2, 24 * GB, (1, FASTEST)),
    # 0.01 GB x 1,500 rows are worth three processes of eight.
    ({0.01 * GB: 1500}, 8, 24 * GB, (3, 1)),
    # .8 x 24 GB hold two of 2.5 x 3 + .7 = 8.2 GB: of eight cores each process has what a measurement finds.
    ({3 * GB: 1000}, 8, 24 * GB, (2, FASTEST)),
    ({15 * GB: 1000}, 8, 24 * GB, (1, FASTEST)),
    # Memory holds twelve models, and there is work for one process.
    ({3 * GB: 1}, 64, 120 * GB, (1, FASTEST)),
    # The largest of several decides.
    ({0.01 * GB: 9000, 15 * GB: 1}, 2, 24 * GB, (1, FASTEST)),
    ({None: 1000}, 2, 24 * GB, (1, FASTEST)),
])  # fmt: skip
def test_as_many_processes_as_there_is_work_and_memory_for(sizes, cores, free, expected, monkeypatch):
    monkeypatch.setattr(processes, "weights_of", lambda identity, dtype: identity)
    rows = {_Sized(size): count for size, count in sizes.items()}
    assert processes_for(rows, torch.float32, cores, int(free)) == expected
    assert processes_for(rows | {NoModel(): 9}, torch.float32, cores, int(free)) == expected


def test_weights_are_those_of_the_file_in_the_dtype_that_is_loaded(model_folders):
    identity = identify(str(model_folders["qwen2"]))
    parameters = sum(p.numel() for p in load(str(model_folders["qwen2"]), "cpu").model.parameters())
    assert weights_of(identity, torch.float32) == pytest.approx(4 * parameters, rel=0.1)
    assert weights_of(identity, torch.bfloat16) == weights_of(identity, torch.float32) / 2
    assert weights_of(dataclasses.replace(identity, path=None), torch.float32) is None


@pytest.mark.parametrize(("seconds", "most", "chosen"), [
    ({1: 8, 2: 5, 4: 3, 6: 4}, 6, 4), ({1: 2, 2: 2, 3: 9}, 3, 1), ({1: 7}, 1, 1), ({1: 9, 2: 8, 4: 7, 8: 1}, 8, 8),
])  # fmt: skip
def test_the_number_of_threads_is_that_of_the_fastest_passes(seconds, most, chosen, monkeypatch):
    clock, threads = [0.0], [0]
    monkeypatch.setattr(torch, "set_num_threads", lambda number: threads.__setitem__(0, number))

    def passes():
        clock[0] += seconds[threads[0]]

    assert fastest(passes, most, lambda: clock[0]) == chosen


def test_a_model_that_memory_holds_once_gets_the_threads_of_its_first_batch(small_grid, tmp_path, monkeypatch):
    measured = []
    monkeypatch.setattr(processes, "processes_for", lambda *given: (1, FASTEST))
    monkeypatch.setattr("precompute.worker.fastest", lambda passes, most: measured.append(passes()) or 1)
    grid = dataclasses.replace(small_grid, explainers=(), limit=3)
    assert run(grid, tmp_path, on_processes()).failed == 0
    assert len(measured) == len(grid.models)  # once a model is loaded


def test_servers_are_asked_and_a_gpu_is_used_by_one_worker(tmp_path, monkeypatch):
    assert isinstance(on_processes()(Loading("cpu")), Processes)
    assert isinstance(on_processes(1)(Loading("cpu")), Local)
    assert isinstance(on_processes()(Loading("cpu", answers=tmp_path)), Local)
    with pytest.raises(HEvalError, match="--workers 2 does not go with citations: one process keeps what"):
        on_processes(2)(Loading("cpu", answers=tmp_path))
    monkeypatch.setattr(processes, "choose_device", lambda name: torch.device("cuda"))
    assert isinstance(on_processes()(Loading("auto")), Local)
    assert isinstance(on_processes(2)(Loading("auto")), Processes)


@pytest.mark.parametrize(("limits", "free"), [
    ({"memory.max": "3000", "memory.current": "1000"}, 2000), ({"memory.max": "max", "memory.current": "1000"}, 9000),
    ({"memory/memory.limit_in_bytes": "8000", "memory/memory.usage_in_bytes": "1000"}, 7000), ({}, 9000),
    ({"memory.max": "1000", "memory.current": "3000"}, 0),
])  # fmt: skip
def test_free_memory_is_that_of_the_container(limits, free, tmp_path, monkeypatch):
    monkeypatch.setattr("psutil.virtual_memory", lambda: SimpleNamespace(available=9000))
    for name, text in limits.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text)
    assert free_memory(tmp_path) == free


@pytest.mark.slow
def test_what_measures_time_runs_alone(small_grid, tmp_path):
    """Beside it nothing is begun, and it waits for what is under way."""
    at_once: list[tuple[bool, ...]] = []

    class Three(Local):
        def __init__(self, loading):
            super().__init__(loading)
            self.waiting = []

        def free(self):
            return len(self.waiting) < 3

        def submit(self, task, questions):
            self.waiting.append((task, questions))
            at_once.append(tuple(one.alone for one, _ in self.waiting))

        def next_done(self):
            super().submit(*self.waiting[0])
            outcome = super().next_done()
            del self.waiting[0]
            return outcome

    assert run(dataclasses.replace(small_grid, explainers=("attn",), timing=True), tmp_path, Three).failed == 0
    assert (False, False, False) in at_once
    assert {alone for alone in at_once if any(alone)} == {(True,)}


@pytest.mark.parametrize("wrong", ["0", "-1", "many", "1.5"])
def test_a_wrong_number_of_workers_is_named(wrong, small_grid, capsys):
    with pytest.raises(SystemExit):
        main(["run", "--models", "x", "--datasets", "y", f"--workers={wrong}"])
    assert f"argument --workers: {wrong!r} is neither auto nor a number of processes" in capsys.readouterr().err


@pytest.mark.slow
def test_processes_give_what_one_gives_and_a_dead_one_costs_its_task_only(small_grid, tmp_path, capsys):
    grid = dataclasses.replace(small_grid, explainers=("attn", "fa"))
    quiet = run(grid, tmp_path / "one")
    assert run(grid, tmp_path / "two", on_processes(2)).computed == quiet.computed
    assert "2 processes of 1 thread each" in capsys.readouterr().err
    assert contents(tmp_path / "two") == contents(tmp_path / "one")
    killed: list[int] = []

    class Dying(Processes):
        def submit(self, task, questions):
            super().submit(task, questions)
            if task.counts and not killed:
                one = next(one for one, busy in self._busy.values() if busy is task)
                one.process.kill()
                killed.append(one.process.pid)

    outcome = run(grid, tmp_path / "killed", lambda loading: Dying(loading, 2))
    assert killed
    assert (outcome.failed, outcome.left) == (4, 4)  # instances, heads, and two explainers
    (failure,) = ShardStore(tmp_path / "killed").failures()
    assert "process ended (SIGKILL), as it does where memory is short; fewer --workers take less" in failure["error"]
    assert run(grid, tmp_path / "killed", on_processes(2)).failed == 0
    assert contents(tmp_path / "killed") == contents(tmp_path / "one")
