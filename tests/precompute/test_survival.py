"""The batch job survives kills, interruptions, a full disk, a worker's death (in a cluster too); and says how far it is."""

from __future__ import annotations

import dataclasses
import errno
import functools
import itertools
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
import torch

from heval_core.evaluation.publishing import publish
from heval_core.records import HEvalError
from heval_core.store import shards
from heval_core.store.progress import progress
from heval_core.store.shards import ShardStore
from precompute.cli import main
from precompute.grid import GRIDS
from precompute.questions import load_questions
from precompute.run import run
from precompute.worker import Done, Local, on_ray
from tests.precompute.kills import Deathbed, contents, read, started, states_at_every_moment
from tests.precompute.test_cli import grid
from tests.precompute.test_fine_tuning import KEY as TRAINED

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
    for task, seen in watched:
        assert seen.process == str(os.getpid())
        running = {(c.key.model, c.key.regime): c.shards["running"] for c in seen.cells if c.shards["running"]}
        assert running == ({(task.model.key, task.regime_key.regime): len(task.keys)} if task.counts else {})
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


# A job of each kind: searched, trained and explained.
ON_RAY = dataclasses.replace(
    GRIDS["cub-smoke"], limit=48, regimes=("conflicting",), explainers=("attn",), techniques=("coiecd", TRAINED), device="cpu"
)


@contextmanager
def ray_cluster(folder: Path) -> Iterator[str]:
    """Start a cluster of its own, and stop no other: `ray stop` would end all that run on this machine. Gives its address."""
    how = "--head --block --port=0 --num-cpus=2 --num-gpus=2 --include-dashboard=false --node-ip-address=127.0.0.1"
    command = [sys.executable, "-m", "ray.scripts.scripts", "start", *how.split()]
    # Sockets of a cluster lie in its folder, and their paths may have 107 characters.
    with tempfile.TemporaryDirectory(prefix="ray") as short, (folder / "printed").open("w+") as printed:
        started = subprocess.Popen([*command, f"--temp-dir={short}"], stdout=printed, stderr=subprocess.STDOUT)
        try:
            while not (address := re.search(r"--address='([\d.:]+)'", (folder / "printed").read_text())):
                assert started.poll() is None, (folder / "printed").read_text()
                time.sleep(0.1)
            yield address[1]
        finally:
            started.terminate()
            started.wait()


def test_a_cluster_gives_the_same_results_and_a_dead_worker_costs_its_task_only(model_folders, tmp_path):
    ray = pytest.importorskip("ray", reason="Ray is not installed")
    here, there, killed = (tmp_path / name for name in ("here", "there", "killed"))
    grid = dataclasses.replace(ON_RAY, models=(*ON_RAY.models, str(model_folders["gpt2"])))
    quiet = run(grid, here)
    # Its workers would be nice, and get a thirtieth of a core beside a busy process.
    os.environ.update(RAY_USAGE_STATS_ENABLED="0", RAY_worker_niceness="0", RAY_AUTH_MODE="disabled")

    def on_a_deathbed(loading):
        # As many threads as here: sums in another order end in other bits.
        made = Deathbed(loading, None, torch.get_num_threads())
        made.killed = killed
        return made

    with ray_cluster(tmp_path) as address:
        try:
            on_ray(address)
            outcome = run(grid, there, on_a_deathbed)
            assert killed.exists()
            assert (outcome.computed, outcome.failed, outcome.left) == (quiet.computed, 0, 0)
            assert {entry.kind for entry in ShardStore(there).entries().values()} > {"trial", "instance", "attribution"}
            assert contents(there) == contents(here)
            assert publish(there).name == publish(here).name
        finally:
            ray.shutdown()
