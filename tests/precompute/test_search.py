"""Variants of a technique search together: what one has tried, the others do not try again."""

from __future__ import annotations

from dataclasses import replace

import pytest

from heval_core import catalogue
from heval_core.lm.loading import identify, load
from heval_core.prompt_styles import style_of
from heval_core.records import HEvalError
from heval_core.store.shards import ShardStore
from heval_core.techniques import ph3
from precompute import techniques as searching
from precompute.grid import GRIDS
from precompute.pair import Pair
from precompute.plan import plan
from precompute.questions import load_questions
from precompute.task import unfinished
from precompute.techniques import SearchTask, search, search_tasks
from precompute.worker import Model
from tests.techniques.questions import development_of

GRID = replace(GRIDS["cub-smoke"], techniques=("ph3", "coiecd", "ph3(mode=memory)"), device="cpu", limit=24)


@pytest.mark.slow
def test_both_modes_rank_the_heads_once_and_ask_once_under_each_setting(monkeypatch):
    lm, asked, ranked = load(GRID.models[0], device="cpu"), [], []
    last_logits, effects = searching.last_logits, ph3.effects
    monkeypatch.setattr(searching, "last_logits", lambda *given: asked.append(1) or last_logits(*given))
    monkeypatch.setattr(ph3, "effects", lambda *given: ranked.append(1) or effects(*given))
    modes = [catalogue.find("technique", key) for key in ("ph3", "ph3(mode=memory)")]
    shared = development_of(lm, 8)
    together = [search(technique, shared) for technique in modes]
    trials = len(together[0][0])
    assert trials > 10
    assert (len(asked), len(ranked)) == (trials * len(shared.questions), 1)
    assert [search(technique, development_of(lm, 8)) for technique in modes] == together
    assert len(ranked) == 3
    # The same trials, from which each chooses by its own rule.
    assert together[0][0] == together[1][0]
    assert together[0][1][0] != together[1][1][0]


def test_where_one_variant_is_unavailable_the_others_are_searched_for(monkeypatch):
    (task, _) = tasks()
    development, tried = object(), []

    def found(technique, given):
        assert given is development
        if technique.key == "ph3":
            raise HEvalError("not this one")
        tried.append(technique.key)
        return [], ()

    monkeypatch.setattr("precompute.techniques.search", found)
    monkeypatch.setattr(SearchTask, "_development", lambda *given: development)
    rows = task.do(None, None).rows
    assert tried == ["ph3(mode=memory)"]
    assert [row["unavailable"] for row in rows[task.keys[0]]] == ["not this one"]
    assert rows[task.keys[1]] == []


def tasks(*techniques):
    model = Model(GRID.models[0], identify(GRID.models[0]))
    grid = replace(GRID, techniques=techniques or GRID.techniques)
    return search_tasks(Pair(grid, model, load_questions("world_capital", 24, 0, style_of(model.identity))))


def test_each_variant_keeps_the_shard_that_it_has_alone():
    both, coiecd = tasks()
    assert [shard.technique for shard in both.shards] == ["ph3", "ph3(mode=memory)"]
    assert both.name.endswith("search for ph3, ph3(mode=memory)")
    alone = [task for key in ("ph3", "ph3(mode=memory)", "coiecd") for task in tasks(key)]
    assert [task.keys for task in alone] == [(key,) for key in (*both.keys, *coiecd.keys)]


def test_what_is_left_of_a_search_is_what_has_no_shard(tmp_path):
    both, coiecd = tasks()
    store = ShardStore(tmp_path)
    assert unfinished([both, coiecd], store) == [both, coiecd]
    (left,) = unfinished([both, coiecd], store, tried=(both.keys[0], *coiecd.keys))
    assert left.shards == both.shards[1:]
    store.write(both.shards[0], [])
    store.write(both.shards[1], [], failed=1)
    assert [one.shards for one in unfinished([both], store)] == [both.shards[1:]]
    store.write(both.shards[1], [])
    assert unfinished([both], store) == []


def test_the_plan_counts_a_search_of_several_variants_once(tmp_path):
    assert plan(GRID, tmp_path, calibrated=False).searches == 2
