"""Explainers compared with themselves on a model with shuffled weights: what is shuffled, what controls get, and how it is
planned, stored, published and shown."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
import torch

from heval_core.explaining import pipeline
from heval_core.lm.clean_pass import CleanPass
from heval_core.lm.installed import DEMO_MODELS
from heval_core.lm.shuffled import shuffled
from heval_core.plugins import catalogue
from heval_core.records import DEPTHS, REPLACEMENTS, HEvalError, Target
from heval_core.statistics.correlation import spearman
from heval_core.store.filters import Filter
from heval_core.ui.faithfulness import under_shuffled_weights
from precompute.closer import QUESTIONS
from precompute.grid import Grid
from precompute.randomised import randomised_tasks
from precompute.run import run
from precompute.worker import Local
from tests.pages.opening import open_page, text_of
from tests.precompute.kills import pair_of
from tests.precompute.measured import measured_by


def weights_of(lm):
    return {name: weight.detach().clone() for name, weight in lm.model.named_parameters()}


def test_ever_more_blocks_are_shuffled_and_nothing_else_is(lm):
    before, seen = weights_of(lm), []
    for depth, other in shuffled(lm):
        now = weights_of(other)
        changed = {name for name, weight in now.items() if not torch.equal(weight, before[name])}
        for name in changed:  # the same values in another order
            assert torch.equal(now[name].flatten().sort().values, before[name].flatten().sort().values)
        blocks = {int(part) for name in changed for part in name.split(".") if part.isdecimal()}
        assert all(any(part.isdecimal() for part in name.split(".")) for name in changed)  # no embedding, no read-out
        seen.append((depth, blocks))
    everything = set(range(lm.layers))
    assert seen == [("last", {lm.layers - 1}), ("half", set(range(lm.layers // 2, lm.layers))), ("all", everything)]
    assert all(torch.equal(weight, before[name]) for name, weight in weights_of(lm).items())


def test_the_order_is_the_same_each_time(lm):
    def logits():
        return [other.forward.logits(torch.arange(6)[None]).clone() for _, other in shuffled(lm)]

    once, again = logits(), logits()
    assert all(torch.equal(one, other) for one, other in zip(once, again, strict=True))
    plain = lm.forward.logits(torch.arange(6)[None])
    assert all((one - plain).abs().max() > 1e-3 for one in once)


def test_a_model_without_a_list_of_blocks_is_refused(lm, monkeypatch):
    monkeypatch.setattr(lm, "layers", 99)
    with pytest.raises(HEvalError, match="has no list of blocks"):
        next(shuffled(lm))


def test_an_explainer_on_the_copy_is_the_explainer_of_those_weights(lm, clean):
    """Whatever is kept of a model is not taken over: scores are those of a model that was loaded with these weights."""
    target = (Target((3,), (5,)),) * clean.size
    explainer = catalogue.method("attnlrp")
    for _, other in shuffled(lm):
        (scores, *_) = explainer.explain(CleanPass(other, clean.prompts), target)
    from heval_core.lm.model import LanguageModel

    fresh = LanguageModel(lm.key, other.model, lm.tokenizer, lm.style, lm.revision, lm.template, lm.budget)
    (again, *_) = explainer.explain(CleanPass(fresh, clean.prompts), target)
    np.testing.assert_array_equal(scores.scores, again.scores)
    (own, *_) = explainer.explain(CleanPass(lm, clean.prompts), target)
    assert abs(spearman(own.scores, scores.scores)) < 0.95


def test_the_copy_has_the_fits_that_its_model_was_given(lm, monkeypatch):
    fit = object()
    monkeypatch.setattr(lm.fits, "given", (fit,))
    assert [other.fits.given for _, other in shuffled(lm)] == [(fit,)] * len(DEPTHS)


@pytest.fixture(scope="module")
def grid():
    return Grid(
        models=(str(DEMO_MODELS / "demo-qwen2"),), datasets=("world_capital",), regimes=("conflicting",),
        explainers=("attn", "gxi"), limit=48, shard_size=48, randomised=40, faithfulness=4,
    )  # fmt: skip


@pytest.fixture(scope="module")
def measured(grid, tmp_path_factory):
    return measured_by(grid, tmp_path_factory.mktemp("randomised"))


@pytest.mark.slow
def test_a_plan_counts_it_and_a_run_continues(measured, grid):
    assert measured.planned.total("shards") == measured.outcome.computed
    assert run(grid, measured.folder).computed == 0
    assert run(dataclasses.replace(grid, randomised=8), measured.folder).computed == 1


@pytest.mark.slow
def test_controls_survive_and_explainers_do_not(measured):
    cells = measured.reader.cells(Filter(), "randomised", 0).set_index(["explainer", "part"])
    assert {part for _, part in cells.index} == set(DEPTHS)
    assert cells["high"].max() <= 1
    for control in ("lexical", "random", "position"):
        assert cells.loc[control, "all"]["value"] == pytest.approx(1.0)
        assert cells.loc[control, "all"]["normalised"] == pytest.approx(0.0)
    for method in ("attn", "gxi"):
        values = [cells.loc[method, depth]["value"] for depth in DEPTHS]
        assert abs(values[-1]) < 0.5
        row = cells.loc[method, "all"]
        assert (row["chance"], row["best"]) == (pytest.approx(1.0), 0.0)
        assert -1 <= row["low"] < row["value"] < row["high"] <= 1
        assert 20 <= row["n"] <= 40
        assert row["high"] - row["low"] < 0.5
    # With a single block left to choose from, what comes before it still speaks.
    assert cells.loc["gxi", "last"]["value"] > cells.loc["gxi", "all"]["value"]


@pytest.mark.slow
def test_what_else_was_measured_of_an_answer_stays(measured):
    """Both measures have a part `all`."""
    rows = measured.reader.rows("score")
    parts = {metric: {*of_metric["part"]} for metric, of_metric in rows.groupby("metric")}
    assert parts["randomised"] == set(DEPTHS)
    assert parts["comprehensiveness"] == {"all", *REPLACEMENTS}
    assert not rows.duplicated(["instance_id", "explainer", "metric", "part", "k"]).any()


@pytest.mark.slow
def test_the_page_shows_who_looks_at_the_model(measured, monkeypatch):
    monkeypatch.setenv("HEVAL_STORE", str(measured.folder))
    text = text_of(open_page("leaderboard", tab="faithful"))
    assert "Does it look at the model?" in text
    assert "With all weights shuffled" in text
    table = under_shuffled_weights(measured.reader, Filter())
    assert set(table["part"]) == set(DEPTHS)
    assert {"attn", "gxi", "lexical"} <= set(table["explainer"])


def test_one_task_a_regime_of_the_first_questions_and_other_explainers_are_another(small_grid):
    pair = pair_of(dataclasses.replace(small_grid, randomised=True))
    assert randomised_tasks(pair.with_options(randomised=False)) == []
    one, other = randomised_tasks(pair.with_options(explainers=("attn",)))
    assert (one.regime_key.regime, other.regime_key.regime) == ("conflicting", "mixed")
    assert one.indices == tuple(range(min(QUESTIONS, len(pair.questions.facts))))
    few = randomised_tasks(pair.with_options(explainers=("attn",), randomised=2))[0]
    assert few.indices == (0, 1)
    keys = {one.keys, few.keys, randomised_tasks(pair.with_options(explainers=("attn", "gxi")))[0].keys}
    assert len(keys) == 3
    assert randomised_tasks(pair.with_options(explainers=("attn",), shard_size=2))[0].keys == one.keys


@pytest.mark.slow
def test_an_explainer_that_fails_is_noted_and_tried_again(grid, tmp_path, monkeypatch):
    known, explainer = pipeline.explain, "gxi"

    def failing(answered, method):
        if method.key == explainer and answered.clean.lm.model is not models[0]:
            raise ValueError("planted")
        models.append(answered.clean.lm.model)
        return known(answered, method)

    models: list = []
    few = dataclasses.replace(grid, limit=4, shard_size=4, randomised=4, faithfulness=False)
    monkeypatch.setattr(pipeline, "explain", failing)
    assert run(few, tmp_path, Local).failed == 1  # the same at every depth
    monkeypatch.setattr(pipeline, "explain", known)
    again = run(few, tmp_path, Local)
    assert (again.computed, again.failed) == (1, 0)
