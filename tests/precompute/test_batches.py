"""Instances of equal length go together, and neither one bad instance nor a lack of memory costs the others anything."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import torch

from heval_core.lm.budget import Budget
from heval_core.lm.clean_pass import CleanPass
from heval_core.lm.forward import Forward
from heval_core.lm.heads import Heads
from heval_core.lm.loading import load
from heval_core.lm.model import LanguageModel
from heval_core.plugins import catalogue
from heval_core.records import HEvalError
from heval_core.store.shards import ShardStore
from precompute.grid import Grid
from precompute.highlights import INSTANCES, job_tasks
from precompute.memory import Memories
from precompute.run import run
from tests.asked import KENYA, PERU, asked
from tests.precompute.kills import pair_of

EXPLAINERS = ("fa", "ig", "attn", "mechlight")
COUNT = 8


@pytest.fixture(scope="module")
def lm(model_folders) -> LanguageModel:
    return load(str(model_folders["qwen2"]), "cpu")


@pytest.fixture(scope="module")
def work(lm, model_folders):
    """A job of some short questions, with what it needs."""
    pair = pair_of(Grid((str(model_folders["qwen2"]),), ("world_capital",), limit=COUNT, shard_size=COUNT))
    (task,) = job_tasks(pair, "mixed", range(COUNT), (INSTANCES, *EXPLAINERS))
    return replace(task, memories=Memories.collect(lm, pair.questions.facts)), pair.questions


def rows_of(lm, work):
    task, questions = work
    result = task.do(lm, questions)
    return {shard.explainer or shard.kind: result.rows[shard.key] for shard in task.shards}, result.failures


@pytest.fixture(scope="module")
def expected(lm, work):
    rows, failures = rows_of(lm, work)
    assert not failures
    return rows


def assert_same(found, expected):
    assert [row["fact_id"] for row in found["instance"]] == [row["fact_id"] for row in expected["instance"]]
    for key in EXPLAINERS:
        for one, other in zip(found[key], expected[key], strict=True):
            assert one["instance_id"] == other["instance_id"]
            np.testing.assert_allclose(one["scores"], other["scores"], rtol=2e-3, atol=1e-4)


@pytest.mark.slow
def test_rows_come_in_the_order_of_the_questions_and_do_not_depend_on_the_budget(work, lm, expected, monkeypatch):
    assert [row["place"] for row in expected["instance"]] == list(range(COUNT))
    for budget in (1, 60, 100_000):
        monkeypatch.setattr(lm.budget, "tokens", budget)
        assert_same(rows_of(lm, work)[0], expected)


def test_prompts_of_equal_length_are_answered_in_one_pass(work, lm, monkeypatch):
    passes = []
    whole = Forward.clean

    def noting(self, ids, *before):
        passes.append(tuple(ids.shape))
        return whole(self, ids, *before)

    monkeypatch.setattr(Forward, "clean", noting)
    rows_of(lm, work)
    kept = sum(size for size, _ in passes)
    assert len(passes) == len({length for _, length in passes}) < kept


@pytest.mark.parametrize(
    ("of", "step", "too_much"),
    [
        (Forward, "suffix_states", lambda prefix, start, suffixes, *_: suffixes.numel() > 40),
        (Heads, "read_all", lambda ids, prefix, *_: len(ids) > 1),  # an explainer is done again in parts
    ],
    ids=["suffixes", "heads"],
)
def test_where_memory_does_not_suffice_the_budget_is_halved_and_nothing_is_lost(
    work, lm, expected, monkeypatch, of, step, too_much
):
    whole = getattr(of, step)

    def with_little_memory(self, *given):
        if too_much(*given):
            raise torch.OutOfMemoryError("CUDA out of memory")
        return whole(self, *given)

    monkeypatch.setattr(of, step, with_little_memory)
    monkeypatch.setattr(lm.budget, "tokens", 4096)
    found, failures = rows_of(lm, work)
    assert not failures
    assert lm.budget.tokens < 4096
    assert_same(found, expected)


def test_a_prompt_for_which_no_budget_is_small_enough_fails_alone(work, lm, expected, monkeypatch):
    lengths = sorted({len(row["tokens"]) for row in expected["instance"]})
    whole = Forward.clean

    def refusing_the_longest(self, ids, *before):
        if ids.shape[1] == lengths[-1]:
            raise RuntimeError("[enforce fail at alloc_cpu.cpp] DefaultCPUAllocator: can't allocate memory")
        return whole(self, ids, *before)

    monkeypatch.setattr(Forward, "clean", refusing_the_longest)
    monkeypatch.setattr(lm.budget, "tokens", 4096)
    found, failures = rows_of(lm, work)
    assert failures
    assert all("can't allocate memory" in failure.error for failure in failures)
    assert len(found["instance"]) == COUNT - len(failures) > 0


def test_the_budget_grows_where_most_of_it_was_used(lm, monkeypatch):
    monkeypatch.setattr(lm.budget, "growing", True)
    for used, tokens in ((40, 100), (80, 200)):
        monkeypatch.setattr(lm.budget, "tokens", 100)
        lm.budget.grow(used)
        assert lm.budget.tokens == tokens


def test_logits_that_are_not_finite_cost_only_their_own_instance(work, lm, expected, monkeypatch):
    bad = expected["instance"][3]
    whole = Forward.clean

    def with_a_hole(self, ids, *before):
        logits, prefix = whole(self, ids, *before)
        for row, prompt in zip(logits, ids, strict=True):
            if lm.decode(prompt.tolist()) == bad["prompt"]:
                row[5] = float("nan")
        return logits, prefix

    monkeypatch.setattr(Forward, "clean", with_a_hole)
    found, failures = rows_of(lm, work)
    assert [(f.place, f.explainer) for f in failures] == [(bad["fact_id"], "")]
    assert "gave logits that are not finite in float32; try another dtype" in failures[0].error
    assert len(found["instance"]) == COUNT - 1
    assert {row["instance_id"] for row in found["fa"]} == {r["instance_id"] for r in expected["fa"]} - {bad["instance_id"]}


def test_scores_that_cannot_be_ranked_name_their_instance_and_cost_no_other(work, lm, expected, monkeypatch):
    bad = expected["instance"][5]["prompt"]
    fa = type(catalogue.find("explainer", "fa"))
    whole = fa.explain

    def with_infinity(self, clean, targets):
        found = whole(self, clean, targets)
        for prompt, attribution in zip(clean.prompts, found, strict=True):
            if prompt.text == bad:
                attribution.scores[0] = np.inf
        return found

    monkeypatch.setattr(fa, "explain", with_infinity)
    found, failures = rows_of(lm, work)
    (failure,) = failures
    assert failure.explainer == "fa"
    assert "explainer fa has scores that are NaN or infinite" in failure.error
    assert len(found["fa"]) == len(expected["fa"]) - 1
    assert len(found["ig"]) == len(expected["ig"])


def test_an_interrupted_call_leaves_the_model_as_it_was(work, lm, expected, monkeypatch):
    whole = Heads.logits
    monkeypatch.setattr(Heads, "logits", lambda *_: (_ for _ in ()).throw(KeyboardInterrupt))
    with pytest.raises(KeyboardInterrupt):
        rows_of(lm, work)
    monkeypatch.setattr(Heads, "logits", whole)
    assert_same(rows_of(lm, work)[0], expected)


def test_a_pass_is_of_prompts_of_one_length(lm):
    with pytest.raises(HEvalError, match="same number of tokens"):
        CleanPass(lm, [asked(lm, KENYA), asked(lm, KENYA, PERU)])


def test_a_job_whose_prompts_share_padded_passes_has_the_same_rows_after_fewer_passes(work, lm, expected, monkeypatch):
    shapes = []
    whole = Forward.clean

    def noting(self, ids, before, ends):
        shapes.append((ids.shape[0], ends is not None))
        return whole(self, ids, before, ends)

    monkeypatch.setattr(Forward, "clean", noting)
    assert_same(rows_of(lm, work)[0], expected)
    alike = len(shapes)
    monkeypatch.setattr(lm.budget, "padding", 1.0)
    shapes.clear()
    found, failures = rows_of(lm, work)
    assert not failures
    assert_same(found, expected)
    assert shapes == [(len(expected["fa"]), True)]
    assert alike > 1


@pytest.mark.slow
def test_everything_that_is_stored_is_the_same_of_padded_passes(model_folders, tmp_path, monkeypatch):
    """Heads, what the answer loses without them, sources, faithfulness, whole answers' groups and the context's target."""
    options = {"faithfulness": True, "head_need": True, "sources": True, "keep_heads": 9, "target": "context", "match": "text"}
    grid = Grid((str(model_folders["qwen2"]),), ("world_capital",), ("mixed",), ("fa", "attn", "cgim"), limit=COUNT, **options)
    stores = []
    for padding in (0.0, 1.0):
        monkeypatch.setattr(Budget, "of", lambda tokens, device, padding=padding: Budget(4096, device, padding=padding))
        assert not run(grid, tmp_path / str(padding)).failed
        stores.append(ShardStore(tmp_path / str(padding)))
    entries = [store.entries() for store in stores]
    assert entries[0].keys() == entries[1].keys()
    kinds = {entry.kind for entry in entries[0].values()}
    assert kinds >= {"instance", "attribution", "context_attribution", "faithfulness", "head_attention", "head_need", "source"}
    for key in entries[0]:
        rows = zip(*(store.read(each[key]).to_pylist() for store, each in zip(stores, entries, strict=True)), strict=True)
        for one, other in rows:
            for name, value in one.items():
                if isinstance(value, float) or (isinstance(value, list) and value and isinstance(value[0], float)):
                    apart = np.abs(np.subtract(value, other[name])).max() / (np.abs(value).max() or 1.0)
                    assert apart <= 2e-3 or name == "seconds", (entries[0][key].kind, name)
                elif name != "details":
                    assert value == other[name], (entries[0][key].kind, name)
