"""Presets, plans with what they cost, how many questions make a shard; and variants of a technique, which search together."""

import dataclasses
import pickle

import pytest

from heval_core.lm.loading import load
from heval_core.plugins import catalogue
from heval_core.records import REGIMES, HEvalError
from heval_core.store.shards import ShardStore
from heval_core.techniques import ph3
from precompute import searches as searching
from precompute import task as costs
from precompute.cli import main
from precompute.grid import GRIDS
from precompute.highlights import job_tasks
from precompute.pair import SIZE, shard_size
from precompute.plan import RunPlan, plan
from precompute.run import run
from precompute.searches import SearchTask, search, search_tasks
from precompute.task import unfinished
from tests.precompute.kills import pair_of
from tests.techniques.questions import development_of


def test_the_presets_are_what_they_say():
    paper = GRIDS["paper"]
    assert len(paper.models) == 5
    assert {name.partition("/")[2] for name in paper.datasets} == {"world_capital", "counterfact", "fakepedia", "conflictqa"}
    assert (paper.regimes, paper.explainers, paper.cap) == (REGIMES, catalogue.default_methods(), "auto")
    demo = GRIDS["demo"]
    assert len(demo.models) * len(demo.datasets) * len(demo.regimes) * demo.limit == 3 * 2 * 6 * 200
    assert demo.explainers == catalogue.default_methods()


def test_options_change_a_preset_and_without_one_models_and_data_are_needed(tmp_path, capsys, prints):
    printed = prints("plan", "--grid", "smoke", "--limit", "3", "--no-calibrate", "--store", tmp_path).out
    assert printed.count("demo-qwen2") == 2
    assert [line.split()[3:6] for line in printed.splitlines()[2:4]] == [["3", "5", "0"]] * 2
    assert main(["run", "--models", "x", "--store", str(tmp_path)]) == 2
    assert (
        "--datasets is missing; give it, or choose a preset: --grid demo, paper, cub, cub-smoke, smoke"
        in capsys.readouterr().err
    )


def test_the_published_grid_names_its_models_that_cannot_be_run_here_and_why(monkeypatch, tmp_path, prints):
    monkeypatch.setattr("precompute.commands.grid.plan", lambda grid, *_: asked.append(grid.models) or RunPlan())
    asked = []
    told = prints("plan", "--grid", "cub", "--no-calibrate", "--store", tmp_path).out
    (left_out,) = [[line for line in told.splitlines() if "one of CUB's eleven models" in line]]
    assert [line.partition(" is ")[0] for line in left_out] == ["left out, GPT-4o", "left out, GPT-4o mini"]
    assert all("behind an API" in line for line in left_out)
    assert len(GRIDS["cub"].models) + len(left_out) == 11
    assert "GPT-4o" not in prints("plan", "--grid", "cub", "--models", "gpt2", "--store", tmp_path).out
    assert asked == [GRIDS["cub"].models, ("gpt2",)]
    assert "GPT-4o mini" in prints("plan", "--grid", "cub", "--json", "--store", tmp_path).out


@pytest.mark.parametrize(("what", "expected"), [
    ("fa", (301, 45_300)), ("ig", (22, 6_600)), ("ig(steps=20)", (42, 12_600)), ("attn", (2, 301)), ("mechlight", (2, 301)),
    ("instance", (2, 600)), ("head_attention", (1, 300)), ("head_need", (4, 901)), ("source", (7 + 2 / 300, 1052)),
])  # fmt: skip
def test_a_cost_is_what_the_explainer_declares(what, expected):
    assert costs.cost(what, 300)[:2] == expected


def test_what_runs_together_shares_its_passes():
    # The answer's clean pass serves all three, and the heads that attn has read serve mechlight.
    assert costs.together(("instance", "fa", "attn", "mechlight", "ig"), 300).passes == 2 + 300 + 1 + 0 + 21
    assert costs.together(("mechlight", "head_attention"), 300).passes == 2
    assert costs.together(("attn(row=mean)", "attn"), 300).passes == 2 + 1


def test_a_plan_counts_what_jobs_share_once(small_grid, tmp_path):
    grid = dataclasses.replace(small_grid, models=small_grid.models[:1], regimes=("mixed",), keep_heads=0)
    both = plan(dataclasses.replace(grid, explainers=("attn", "mechlight")), tmp_path, calibrated=False)
    one = plan(dataclasses.replace(grid, explainers=("attn",)), tmp_path, calibrated=False)
    # Two passes for an answer, and one over the last token that reads the heads.
    assert both.total("passes") == one.total("passes") == 6 * 3


@pytest.mark.slow
def test_a_plan_tells_passes_and_time_and_agrees_with_what_is_then_done(small_grid, tmp_path):
    found = plan(small_grid, tmp_path)
    assert (found.total("shards"), found.total("done")) == (44, 0)
    assert all(0 < line.seconds < 60 for line in found.lines)
    assert not (tmp_path / "manifest.jsonl").exists()  # a plan writes nothing
    assert run(small_grid, tmp_path).computed == 44
    after = plan(small_grid, tmp_path)
    assert (after.total("shards"), after.total("done"), after.total("passes")) == (0, 44, 0)
    assert all(line.seconds is None for line in after.lines)


@pytest.mark.slow
def test_a_store_keeps_the_size_of_its_shards(small_grid, tmp_path):
    grid = dataclasses.replace(small_grid, shard_size=None)
    own, store = pair_of(grid), ShardStore(tmp_path)
    assert shard_size(own, store) == SIZE
    assert shard_size(pair_of(dataclasses.replace(grid, shard_size=7)), store) == 7
    run(dataclasses.replace(grid, shard_size=4, explainers=("attn",)), tmp_path)
    assert shard_size(own, store) == 4
    outcome = run(dataclasses.replace(grid, explainers=("attn",)), tmp_path)
    assert (outcome.computed, outcome.already_done) == (0, 2 * 2 * (2 + 2 + 1))


def test_jobs_are_frozen_and_picklable(small_grid):
    task = next(job_tasks(pair_of(small_grid), "mixed", range(2), ("instance", "fa")))
    assert pickle.loads(pickle.dumps(task)) == task
    with pytest.raises(dataclasses.FrozenInstanceError):
        task.grid = small_grid


@pytest.mark.parametrize("named", [["conflicting", "mixed"], ["conflicting,mixed"], ["conflicting,", "mixed"]])
def test_regimes_are_named_like_models(named, small_grid, tmp_path, capsys, prints):
    common = ["--models", small_grid.models[0], "--datasets", "world_capital", "--limit", "2", "--regimes", *named]
    assert main(["plan", *common, "--no-calibrate", "--store", str(tmp_path)]) == 0
    lines = [line.split() for line in capsys.readouterr().out.splitlines() if line.startswith("random-gpt2")]
    assert [line[2] for line in lines] == ["conflicting", "mixed"]
    assert "There is no regime 'calm'" in prints("plan", *common, "calm", "--store", tmp_path, ends=2).err


GRID = dataclasses.replace(GRIDS["cub-smoke"], techniques=("ph3", "coiecd", "ph3(mode=memory)"), device="cpu", limit=24)


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

    monkeypatch.setattr("precompute.searches.search", found)
    monkeypatch.setattr(SearchTask, "_development", lambda *given: development)
    rows = task.do(None, None).rows
    assert tried == ["ph3(mode=memory)"]
    assert [row["unavailable"] for row in rows[task.keys[0]]] == ["not this one"]
    assert rows[task.keys[1]] == []


def tasks(*techniques):
    return search_tasks(pair_of(dataclasses.replace(GRID, techniques=techniques or GRID.techniques)))


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


def test_a_search_that_no_kind_of_context_is_asked_for_is_planned(tmp_path):
    grid = dataclasses.replace(GRID, techniques=("coiecd",), regimes=("mixed",), limit=4)
    assert plan(grid, tmp_path, calibrated=False).searches == 1
