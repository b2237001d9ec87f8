"""Faithfulness between a model's own bounds: how it is planned, stored, published and shown."""

from __future__ import annotations

import dataclasses

import numpy as np
import pandas as pd
import pytest

from heval_core.explaining import removal
from heval_core.explaining.removal import LONGEST, documents_tokens, passes
from heval_core.lm.installed import DEMO_MODELS
from heval_core.plugins import catalogue
from heval_core.records import ORDERS, RANGE
from heval_core.store.filters import Filter
from heval_core.ui.between_bounds import _sentence, _shared, models_compared
from precompute.bounds import bounds_tasks
from precompute.grid import Grid
from precompute.run import run
from tests.pages.opening import open_page, text_of
from tests.precompute.kills import pair_of
from tests.precompute.measured import measured_by


@pytest.fixture(scope="module")
def grid():
    return Grid(
        models=tuple(str(DEMO_MODELS / name) for name in ("demo-qwen2", "demo-gpt2")), datasets=("world_capital",),
        regimes=("conflicting",), explainers=("attn", "fa"), limit=24, shard_size=24, bounds=24,
    )  # fmt: skip


@pytest.fixture(scope="module")
def measured(grid, tmp_path_factory):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(removal, "BEAM", 1)  # a third of the passes
        return measured_by(grid, tmp_path_factory.mktemp("bounds"))


@pytest.mark.slow
def test_a_plan_counts_it_and_a_run_continues(measured, grid):
    assert measured.planned.total("shards") == measured.outcome.computed
    assert run(grid, measured.folder).computed == 0
    assert run(dataclasses.replace(grid, bounds=1), measured.folder).computed == 2


@pytest.mark.slow
def test_shares_are_between_the_bounds_and_controls_below_ablation(measured):
    rows = measured.reader.rows("score")
    parts = {metric: {*of_metric["part"]} for metric, of_metric in rows.groupby("metric")}
    assert parts["aopc"] == {*ORDERS}
    assert parts["naopc"] == {"falling", "rising"}
    keys = ["instance_id", "explainer"]
    nats, shares = (
        rows[rows["metric"] == name].pivot(index=keys, columns="part", values="value") for name in ("aopc", "naopc")
    )
    for part in ("falling", "rising"):
        expected = (nats[part] - nats["least"]) / (nats["most"] - nats["least"])
        wide = nats["most"] - nats["least"] >= RANGE
        assert 0 < wide.sum() < len(wide)
        assert set(shares.index) == set(nats.index[wide])  # where no order costs much, a share would be of nothing
        np.testing.assert_allclose(shares[part], expected[shares.index], atol=1e-5)
        assert shares[part].between(0, 1).all()
    assert nats.groupby("instance_id")[["least", "most"]].nunique().eq(1).all(axis=None)  # of the prompt, not of the explainer
    cells = measured.reader.cells(Filter(), "naopc", 0).set_index(["model", "part", "explainer"])
    for model in ("demo-gpt2", "demo-qwen2"):  # who takes tokens out to see what is lost is near the best order
        assert cells.loc[(model, "falling", "fa"), "value"] > cells.loc[(model, "falling", "random"), "value"] + 0.2
        assert cells.loc[(model, "rising", "fa"), "value"] < 0.1 < cells.loc[(model, "rising", "random"), "value"]
        row = cells.loc[(model, "falling", "random")]
        assert (row["normalised"], row["best"]) == (pytest.approx(0.0), 1.0)


@pytest.mark.slow
def test_models_are_compared_over_the_same_explainers(measured):
    models, explainers = models_compared(measured.reader, Filter())
    assert {*models.index} == {"demo-gpt2", "demo-qwen2"}
    assert (models["least"] < models["most"]).all()
    assert (models["share_low"] < models["share"]).all()
    assert (models["share"] < models["share_high"]).all()
    cells = measured.reader.cells(Filter(), "aopc", 0)
    falling = cells[(cells["part"] == "falling") & cells["explainer"].isin(["attn", "fa"])]
    expected = (falling["value"] - falling["chance"]).groupby(falling["model"]).mean()
    np.testing.assert_allclose(models["nats"], expected[models.index])
    assert {"fa", "attn", "random"} <= {*explainers["explainer"]}
    one, _ = models_compared(measured.reader, Filter(model=("demo-gpt2",)))
    assert [*one.index] == ["demo-gpt2"]


@pytest.mark.slow
def test_the_page_says_whether_models_compare(measured, monkeypatch):
    monkeypatch.setenv("HEVAL_STORE", str(measured.folder))
    text = text_of(open_page("leaderboard", tab="faithful"))
    assert "Can models be compared?" in text
    assert "Pairs of models whose order changes" in text


def test_the_sentence_says_what_turns_and_what_is_told_apart():
    numbers = {"nats": [3.0, 2.0], "nats_low": [1.0, 1.0], "nats_high": [4.0, 4.0]}
    shares = {"share": [0.2, 0.3], "share_low": [0.1, 0.25], "share_high": [0.24, 0.4]}
    text = _sentence(pd.DataFrame(numbers | shares, index=["A", "B"]))
    assert text.startswith("In nats **A** is highest, as a share")
    assert "**B**" in text
    assert text.endswith("order changes: 1 of 1; pairs whose intervals are apart: 0 in nats, 1 in shares.")
    same = _sentence(pd.DataFrame(numbers | shares | {"share": [0.5, 0.3]}, index=["A", "B"]))
    assert "order changes: 0 of 1" in same
    alone = _sentence(pd.DataFrame(numbers | shares, index=["A", "B"]).head(1))
    assert "**0.20** [0.10, 0.24]" in alone
    assert alone.endswith("Models compare where several have bounds.")


def test_models_without_a_common_cell_of_a_method_are_left_out():
    def cells(model, dataset, *explainers):
        return pd.DataFrame([{"model": model, "dataset": dataset, "regime": "gold", "explainer": key} for key in explainers])

    both = _shared(pd.concat([cells("a", "x", "fa", "ig"), cells("b", "x", "fa")]))
    assert both[["model", "explainer"]].to_numpy().tolist() == [["a", "fa"], ["b", "fa"]]
    apart = _shared(pd.concat([cells("a", "x", "fa", "ig"), cells("b", "x", "fa"), cells("c", "y", "fa")]))
    assert set(apart["model"]) == {"a", "b"}
    alone = _shared(pd.concat([cells("a", "x", "fa", "ig"), cells("b", "x", "attn")]))
    assert set(alone["model"]) == {"a"}
    assert _shared(cells("a", "x", "fa").head(0)).empty


def test_one_task_a_regime_and_other_explainers_are_another(small_grid):
    pair = pair_of(dataclasses.replace(small_grid, bounds=True))
    assert bounds_tasks(pair.with_options(bounds=False)) == []
    one, other = bounds_tasks(pair.with_options(explainers=("attn",)))
    assert (one.regime_key.regime, other.regime_key.regime) == ("conflicting", "mixed")
    assert len({one.keys, bounds_tasks(pair.with_options(explainers=("attn", "gxi")))[0].keys}) == 2
    prompts = pair.first_prompts("conflicting")
    assert one.lengths == tuple(map(documents_tokens, prompts))
    (length,) = one.lengths[:1]
    orders = 2 * (1 + len(catalogue.explainers(control=True)))
    alone = dataclasses.replace(one, lengths=(length,)).cost(100.0).passes
    none = dataclasses.replace(one, lengths=(LONGEST + 1,)).cost(100.0).passes  # too long, and left out
    assert alone - none == len(one.indices) * (passes(length) + orders * length)
    assert (passes(3), passes(20), passes(1)) == (8, 3 * 20 * 20, 0)


def test_another_way_of_searching_is_another_shard(small_grid, monkeypatch):
    pair = pair_of(dataclasses.replace(small_grid, bounds=True))
    before = bounds_tasks(pair)[0].keys
    monkeypatch.setattr("precompute.bounds.BEAM", 4)
    assert bounds_tasks(pair)[0].keys != before
