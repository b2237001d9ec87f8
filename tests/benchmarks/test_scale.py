"""The benchmarks of scale: a large store made of stored scores, and runs by several processes beside the plan's time."""

from __future__ import annotations

import json

import numpy as np

from benchmarks import runs, scale
from heval_core.folders import BUNDLED
from heval_core.store.kinds import ATTRIBUTION, INSTANCE
from heval_core.store.shards import ShardRows, ShardStore


def test_a_large_store_has_other_instances_with_scores_of_their_own(tmp_path, monkeypatch):
    usual = scale._is_usual
    one = {"model": "demo-gpt2", "regime": "mixed"}
    monkeypatch.setattr(scale, "_is_usual", lambda entry: usual(entry) and vars(entry).items() >= one.items())
    assert scale.make(tmp_path, copies=2) == 2 * 2 * 212
    store, source = ShardStore(tmp_path), ShardStore(BUNDLED["demo"][1])
    entries = list(store.entries().values())
    assert all(store.intact(entry) for entry in entries)
    instances = ShardRows(store, entries, INSTANCE, ("fact_id", "dataset")).rows
    assert instances["instance_id"].is_unique
    assert instances.groupby("dataset")["fact_id"].nunique().tolist() == [424, 424]
    scores = ShardRows(store, entries, ATTRIBUTION)
    assert {*scores.rows["explainer"]} == {*scale.EXPLAINERS}
    assert {*scores.rows["instance_id"]} <= {*instances["instance_id"]}
    (before,) = (entry for entry in source.entries().values() if usual(entry) and entry.explainer == "fa" and not entry.start
                 and vars(entry).items() >= one.items())  # fmt: skip
    old = source.read(before)["scores"][0].as_py()
    new = next(entry for entry in entries if entry.explainer == "fa" and not entry.start)
    moved = store.read(new)["scores"][0].as_py()
    assert sorted(moved) == sorted(old)
    assert 0 < np.count_nonzero(np.array(moved) != np.array(old)) <= max(2, len(old) // scale.MOVED)


def test_each_grid_is_planned_and_run_by_one_and_by_several_processes(monkeypatch):
    typed = []

    def command(*words):
        typed.append(words)
        return json.dumps({"seconds": 30.0})

    clock = iter([0.0, 20.0, 100.0, 140.0] * 8)
    monkeypatch.setattr(runs, "_typed", command)
    monkeypatch.setattr(runs.time, "perf_counter", lambda: next(clock))
    monkeypatch.setattr(runs, "GRIDS", {"tiny": ("demo-gpt2", "--limit 10", 40)})
    figures = list(runs.run_figures())
    assert [figure.ratio for figure in figures] == [40 / 20, 30 / 20] * 2
    assert figures[0].detail == "instances a minute: auto 120, 1 60"
    assert [figure.what.partition(":")[0] for figure in figures[::2]] == ["tiny, idle", "tiny, beside 2 busy"]
    assert [words[0] for words in typed] == ["plan", "run", "run"] * 2
    assert [words[words.index("--workers") + 1] for words in typed if words[0] == "run"] == ["auto", "1"] * 2
