"""How long a plan says that a grid takes: by what has ended in the store, or by a sample of its first questions."""

from __future__ import annotations

import dataclasses

import pytest

from heval_core.records import HEvalError
from heval_core.store.shards import ShardStore
from precompute import pace
from precompute.compute import JobTask
from precompute.memory import MemoryTask
from precompute.plan import plan
from precompute.run import run
from precompute.worker import Local
from tests.precompute.kills import pair_of

# Seconds of a question: without documents, and for each shard.
ALONE, EACH = 0.5, 0.25


class Planted(Local):
    """A worker whose tasks take as long as is planted. given: their questions and shards."""

    given: list[tuple[type, int, int]] = []

    def next_done(self):
        task, done = super().next_done()
        questions = len(task.texts if isinstance(task, MemoryTask) else task.indices)
        self.given.append((type(task), questions, len(task.shards)))
        return task, dataclasses.replace(done, seconds=questions * (EACH * len(task.shards) if task.counts else ALONE))


@pytest.fixture
def planted(monkeypatch):
    monkeypatch.setattr(pace, "on_processes", lambda number: Planted)
    monkeypatch.setattr(Planted, "given", [])
    monkeypatch.setattr(pace, "perf_counter", lambda: 0.0)  # they are there at once
    return Planted.given


@pytest.fixture
def grid(small_grid):
    return dataclasses.replace(small_grid, models=small_grid.models[:1], explainers=("attn",), keep_heads=0)


def test_a_plan_multiplies_what_the_first_questions_take(grid, planted, tmp_path):
    planned = plan(grid, tmp_path)
    # 6 questions without documents; and in each of two regimes 2 tasks of 3 questions and 2 shards.
    assert planned.total("seconds") == pytest.approx(6 * ALONE + 2 * 2 * 3 * 2 * EACH)
    assert planned.lines[0].seconds - planned.lines[1].seconds == pytest.approx(6 * ALONE)
    # One question was too short a sample, and so is a whole shard, beyond which there is none. One document is shorter.
    assert planted == [(MemoryTask, 3, 1), *[(JobTask, 1, 2), (JobTask, 3, 2)] * 2]


def test_until_the_workers_have_begun_it_takes_time_too(grid, planted, tmp_path, monkeypatch):
    clock = iter([100.0, 107.0, *[200.0] * 99])
    monkeypatch.setattr(pace, "perf_counter", lambda: next(clock))
    planned = plan(grid, tmp_path)
    # Of the first seven seconds the memory of three questions took a part.
    assert planned.total("seconds") == pytest.approx(7 - 3 * ALONE + 6 * ALONE + 24 * EACH)


def test_a_sample_that_is_long_enough_is_no_longer(grid, planted, tmp_path, monkeypatch):
    monkeypatch.setattr(pace, "ENOUGH", 0.4)
    assert plan(grid, tmp_path).total("seconds") == pytest.approx(6 * ALONE + 24 * EACH)
    assert planted[1:] == [(JobTask, 1, 2)] * 2


def test_what_takes_too_long_for_a_sample_is_priced_by_the_rest(grid, planted, tmp_path, monkeypatch):
    grid = dataclasses.replace(grid, explainers=("attn", "fa"), regimes=("mixed",))
    length, pair = pair_of(grid).tokens("mixed"), pair_of(grid)
    # A token takes this long; the sample may be of four passes, and feature ablation takes length / 2 of them.
    monkeypatch.setattr(pace, "LONGEST", 4 * length * ALONE / (pair.question_tokens() + pace.MEMORY_TOKENS))
    both, cheap = plan(grid, tmp_path), plan(dataclasses.replace(grid, explainers=("attn",)), tmp_path)
    assert {shards for task, _, shards in planted if task is JobTask} == {2}  # fa is not run
    (line,), (without,) = both.lines, cheap.lines
    ratio = (line.seconds - 6 * ALONE) / (without.seconds - 6 * ALONE)
    assert ratio == pytest.approx(line.cost.tokens / without.cost.tokens)


def test_a_store_whose_journal_knows_such_tasks_needs_no_sample(grid, planted, tmp_path, monkeypatch):
    assert run(grid, tmp_path, Planted).failed == 0
    more = dataclasses.replace(grid, limit=12)
    monkeypatch.setattr(pace, "on_processes", None)  # nothing is asked
    monkeypatch.setattr(pace.Pace, "asking", lambda self: 0.0)
    (first, second) = plan(more, tmp_path).lines
    assert first.seconds + second.seconds == pytest.approx(2 * 2 * 3 * 2 * EACH)
    # A task whose shards were made in part is another one; and what ended elsewhere tells nothing.
    ShardStore(tmp_path).event("ended", keys=["unknown"], seconds=1e9, device="cpu")
    *_, before, _ = (line for line in ShardStore(tmp_path).events() if line["event"] == "ended")
    ShardStore(tmp_path).event("ended", keys=before["keys"], seconds=1e9, device="cuda")
    assert plan(more, tmp_path).total("seconds") == pytest.approx(2 * 2 * 3 * 2 * EACH)


def test_a_sample_knows_the_memory_of_its_own_questions(grid, planted, tmp_path, monkeypatch):
    """Also where the first questions are done already: it would fail at once, and the plan would say no time at all."""
    assert run(dataclasses.replace(grid, limit=3), tmp_path, Planted).failed == 0
    monkeypatch.setattr(Planted, "given", [])
    more = dataclasses.replace(grid, limit=6, explainers=("attn", "gxi"))
    first, second = plan(more, tmp_path).lines
    assert first.seconds > second.seconds > 5 * EACH
    assert all(task is not JobTask or questions for task, questions, _ in Planted.given)


def test_a_model_that_cannot_be_loaded_has_no_pace(grid, planted, tmp_path, monkeypatch):
    def broken(self, loading):
        raise HEvalError("it is broken")

    monkeypatch.setattr("precompute.worker.Model.load", broken)
    with pytest.raises(HEvalError, match="it is broken"):
        plan(grid, tmp_path)


def test_several_workers_share_the_tasks_and_a_sample_is_done_by_all_at_once(grid, planted, tmp_path, monkeypatch):
    class Two(Planted):
        def __init__(self, loading):
            super().__init__(loading)
            self.waiting = []

        def submit(self, task, questions):
            self.waiting.append((task, questions))

        def next_done(self):
            super().submit(*self.waiting.pop())
            task, done = super().next_done()
            return task, dataclasses.replace(done, seconds=done.seconds * (1 + len(self.waiting)))  # the first is slower

    monkeypatch.setattr(pace, "processes_for", lambda *given: (2, 1))
    monkeypatch.setattr(pace, "on_processes", lambda number: Two)
    # Each takes twice as long beside the other one, and questions without documents are one task.
    assert plan(grid, tmp_path).total("seconds") == pytest.approx(6 * 2 * ALONE + 24 * EACH)
    assert planted[:2] == [(MemoryTask, 3, 1)] * 2
