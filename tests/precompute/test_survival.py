"""The batch job survives kills, interruptions, a full disk, a worker's death (in a cluster too); and says how far it is."""

from __future__ import annotations

import dataclasses
import errno
import functools
import itertools
import os
import shutil
import signal
import threading
import time

import pytest

from heval_core.evaluation.publishing import publish
from heval_core.records import HEvalError
from heval_core.store import shards
from heval_core.store.kinds import INSTANCE
from heval_core.store.progress import progress
from heval_core.store.shards import ShardStore
from precompute.cli import main
from precompute.compute import JobTask
from precompute.questions import load_questions
from precompute.run import run
from precompute.worker import Done, Local, Worker
from tests.precompute.kills import contents, read, started, states_at_every_moment
from tests.precompute.test_cli import grid

pytestmark = pytest.mark.slow


@pytest.fixture
def remembering(monkeypatch):
    """An executor that does each task once, whoever asks for it: its rows are the same every time. Questions are read once."""
    monkeypatch.setattr("precompute.pair.load_questions", functools.cache(load_questions))
    done, workers = {}, {}

    class Remembering(Local):
        def __init__(self, loading):
            super().__init__(loading)
            self._worker = workers.setdefault(loading, self._worker)

        def next_done(self):
            task, questions = self._begun
            self._begun = None
            if task.keys not in done:
                done[task.keys] = self._worker.do(task, questions)
            return task, done[task.keys]

    return Remembering


@pytest.fixture
def few(small_grid):
    return dataclasses.replace(small_grid, models=small_grid.models[:1], explainers=("attn",), limit=4, shard_size=2)


def test_killed_at_any_moment_it_ends_with_the_same_results(few, remembering, tmp_path):
    store = tmp_path / "store"
    store.mkdir()
    with states_at_every_moment(store, tmp_path) as left:
        assert run(few, store, remembering).computed == 10
    assert len(left) > 100
    for state in left:
        outcome = run(few, state, remembering)
        assert (outcome.failed, outcome.left, contents(state)) == (0, 0, contents(store)), state
        assert not list(state.rglob("*.tmp"))
    assert publish(left[len(left) // 2]).name == publish(store).name


def test_an_error_at_any_moment_stops_cleanly_and_costs_nothing_that_was_finished(few, remembering, tmp_path, monkeypatch):
    def fails_at(number, call):
        def counted(*arguments):
            moments.append(call)
            if len(moments) == number:
                raise OSError(errno.EIO, os.strerror(errno.EIO))
            return call(*arguments)

        return counted

    assert run(few, tmp_path / "quiet", remembering).failed == 0
    for number in itertools.count(1):
        store, moments = tmp_path / str(number), []
        with monkeypatch.context() as patched:
            for name in ("fsync", "replace"):
                patched.setattr(os, name, fails_at(number, getattr(os, name)))
            try:
                stopped = run(few, store, remembering).stopped
            except HEvalError as error:  # where the store cannot even be made
                stopped = str(error)
        if len(moments) < number:
            break
        assert "Input/output error" in stopped, number
        assert not list(store.rglob("*.tmp"))
        kept = contents(store)
        assert run(few, store, remembering).failed == 0
        assert kept.items() <= contents(store).items() == contents(tmp_path / "quiet").items(), number
    assert number > 50


def test_killed_at_any_moment_the_publisher_harms_no_read(small_store, tmp_path):
    store, known, reads = shutil.copytree(small_store, tmp_path / "store"), {}, []
    manifest = store / "manifest.jsonl"
    *rest, last = manifest.read_text().splitlines(keepends=True)
    assert '"attribution"' in last
    manifest.write_text("".join(rest))
    with states_at_every_moment(store, tmp_path, lambda: reads.append(read(store, known))) as left:
        published = publish(store)
    assert all(reads)
    assert read(store, known)
    assert len(known) == 2
    for state in left:
        assert read(state, known)
        assert publish(state).name == published.name
        assert read(state, known)
        assert not [*state.glob("*.wal"), *state.glob("*.tmp")]


@pytest.mark.parametrize("with_signal", [signal.SIGINT, signal.SIGTERM])
def test_interrupted_it_says_what_is_done_and_goes_on_from_there(small_grid, tmp_path, with_signal):
    store, printed = tmp_path / "store", tmp_path / "printed"
    asked = ["run", *grid(small_grid, "--limit", "60", "--store", str(store))]
    process = started(*asked, printed=printed, shards=9)
    while process.is_alive() and len(ShardStore(store).entries()) < 9:
        time.sleep(0.02)
    os.kill(process.pid, with_signal)
    process.join(300)
    error = printed.read_text()
    assert process.exitcode == 130
    assert "interrupted; finished shards are kept" in error
    assert "Traceback" not in error
    kept = contents(store)
    assert 9 <= len(kept) < 300
    assert ShardStore(store).events()[-1]["interrupted"] is True
    left = progress(store)
    assert left.process is None
    assert left.missing > 100
    assert main([*asked, "--limit", "6"]) == 0
    assert all(contents(store)[key] == content for key, content in kept.items())


def test_a_full_disk_stops_cleanly_and_nothing_is_half_written(small_grid, tmp_path, monkeypatch, prints):
    whole, written = shards._write_table, []

    def full_after_five(kind, table, where):
        written.append(where)
        if len(written) > 5:
            where.write_bytes(b"half")
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        whole(kind, table, where)

    monkeypatch.setattr(shards, "_write_table", full_after_five)
    command = ["run", *grid(small_grid), "--store", str(tmp_path)]
    error = prints(*command, ends=1).err
    assert "No space left on device" in error
    assert "finished shards are kept" in error
    assert len(ShardStore(tmp_path).entries()) == 5
    assert not list(tmp_path.rglob("*.tmp"))
    monkeypatch.undo()
    assert main(command) == 0
    assert main(["verify", "--store", str(tmp_path)]) == 0


def executor(outcome):
    """A class of executors. outcome: of a task; None to let the worker do it."""

    class Instead(Local):
        def next_done(self):
            task, _ = self._begun
            done = outcome(task)
            if done is None:
                return super().next_done()
            self._begun = None
            return task, done

    return Instead


def test_a_task_that_comes_to_nothing_costs_its_shards_and_is_done_by_the_next_run(small_grid, small_store, tmp_path, prints):
    died = []

    def dies_with_the_first_that_explains(task):
        if task.counts and not died:
            died.append(task)
            return Done(None, error="ActorDiedError: the worker died")
        return None

    monitored = run(small_grid, tmp_path, executor(dies_with_the_first_that_explains))
    assert (monitored.computed, monitored.failed, monitored.left) == (38, 6, 6)
    printed = prints("status", "--store", tmp_path, ends=1).out
    assert "ActorDiedError: the worker died" in printed
    (cell,) = [cell for cell in progress(tmp_path).cells if cell.shards["failed"]]
    assert (cell.shards["failed"], cell.shards["missing"], run(small_grid, tmp_path).failed) == (6, 0, 0)
    assert contents(tmp_path) == contents(small_store)
    assert main(["status", "--store", str(tmp_path)]) == 0


def test_a_model_that_cannot_be_loaded_costs_only_itself_and_later_is_no_failure_any_more(model_folders, tmp_path, prints):
    folder = shutil.copytree(model_folders["gpt2"], tmp_path / "model")
    weights = (folder / "model.safetensors").read_bytes()
    (folder / "model.safetensors").write_bytes(b"broken")
    command = f"run --models {folder} {model_folders['qwen2']} --datasets world_capital --regimes conflicting".split()
    command += f"--limit 3 --explainers attn --device cpu --store {tmp_path / 's'}".split()
    assert "2 shards computed, 0 were done already, 1 failures" in (printed := prints(*command, ends=1)).out
    assert printed.err.count("cannot be loaded as a causal language model") == 1
    assert "cannot be loaded as a causal language model" in prints("status", "--store", tmp_path / "s", ends=1).out
    (folder / "model.safetensors").write_bytes(weights)
    assert main(command) == 0
    assert main(["status", "--store", str(tmp_path / "s")]) == 0


def test_status_can_be_watched_while_a_run_is_on(small_grid, tmp_path, prints, monkeypatch):
    monkeypatch.setattr("heval_core.store.progress.PAUSE", 0)  # who holds the store is tried again and again, at every look
    watched = []
    run(small_grid, tmp_path, executor(lambda task: watched.append((task, progress(tmp_path)))))
    counted = [len(task.keys) if task.counts else 0 for task, _ in watched]
    for (task, seen), own, before in zip(watched, counted, [0, *counted], strict=False):
        assert seen.process == str(os.getpid())
        running = {(c.key.model, c.key.regime): c.shards["running"] for c in seen.cells if c.shards["running"]}
        assert running.get((task.model.key, task.regime_key.regime), 0) >= own
        assert own <= sum(running.values()) <= own + before  # those before it may still be being written
    missing = [seen.missing for _, seen in watched]
    assert missing[0] == 44
    assert missing == sorted(missing, reverse=True)
    assert watched[-1][1].seconds_left > 0
    assert progress(tmp_path).process is None
    assert "no run is active; 44 shards done, 0 missing" in prints("status", "--store", tmp_path, "--watch", "0.1").out


def test_a_damaged_published_file_is_set_aside_and_published_again(small_store, tmp_path, prints):
    store = shutil.copytree(small_store, tmp_path / "store")
    published = publish(store)
    good = published.read_bytes()
    assert main(["verify", "--store", str(store)]) == 0
    published.write_bytes(good[:9000] + bytes([good[9000] ^ 255]) + good[9001:])
    assert "is damaged, set aside as" in prints("verify", "--store", store, ends=1).out
    assert publish(store) == published
    assert main(["verify", "--store", str(store)]) == 0


def test_a_model_that_cannot_be_loaded_is_not_tried_for_every_one_of_its_jobs(small_grid, tmp_path):
    gone = Done(None, error="it is gone", model_failed=True)  # after it has answered without context
    outcome = run(small_grid, tmp_path, executor(lambda task: gone if task.counts else None))
    assert (outcome.computed, outcome.failed, outcome.left) == (0, len(small_grid.models), 44)


def test_a_dataset_that_breaks_off_while_it_is_read_costs_only_itself(small_grid, tmp_path, monkeypatch, prints):
    from precompute import pair

    whole = pair.load_questions

    def breaks(name, *arguments):
        if name == "country_profiles":
            raise HEvalError("the file ends in the middle of a record")
        return whole(name, *arguments)

    monkeypatch.setattr(pair, "load_questions", breaks)
    grid = dataclasses.replace(small_grid, datasets=("country_profiles", "world_capital"), explainers=("attn",))
    outcome = run(grid, tmp_path)
    assert (outcome.computed, outcome.failed, outcome.left) == (20, 1, 0)
    assert "country_profiles: HEvalError: the file ends in the middle" in prints("status", "--store", tmp_path, ends=1).out


def test_what_is_done_is_written_beside_what_is_computed_next(few, tmp_path, monkeypatch):
    """One task at a time, in the order in which they ended; what reads the store finds all of it."""
    next_begun, order = threading.Event(), []
    write, do = ShardStore.write, Worker.do

    def waiting(self, shard, rows, failed=0):
        order.append(("written", shard.start))
        # Whoever wrote in turn with the worker would wait here in vain.
        overlapped = shard.kind != INSTANCE.name or shard.start or next_begun.wait(60)
        assert overlapped
        return write(self, shard, rows, failed)

    def doing(self, task, questions):
        if isinstance(task, JobTask):
            order.append(("begun", task.indices[0]))
            if task.indices[0]:
                next_begun.set()
        return do(self, task, questions)

    monkeypatch.setattr(ShardStore, "write", waiting)
    monkeypatch.setattr(Worker, "do", doing)
    grid = dataclasses.replace(few, regimes=("mixed",))
    assert run(grid, tmp_path / "store").failed == 0
    assert order.index(("begun", 2)) < order.index(("written", 2))
    written = [start for what, start in order if what == "written"][1:]  # the first is of the memories
    assert written == sorted(written)
    listed = [entry.start for entry in ShardStore(tmp_path / "store").entries().values()][1:]
    assert listed == written
