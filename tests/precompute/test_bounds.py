"""Faithfulness between a model's own bounds: how it is planned, stored, published and shown."""

from __future__ import annotations

import dataclasses
from types import SimpleNamespace

import numpy as np
import pytest

from heval_core.evaluation.publishing import publish
from heval_core.explaining import removal
from heval_core.lm.installed import DEMO_MODELS
from heval_core.records import ORDERS
from heval_core.store.filters import Filter
from heval_core.store.reader import Reader
from heval_core.ui.between_bounds import _sentence, models_compared
from precompute.bounds import bounds_tasks
from precompute.grid import Grid
from precompute.plan import plan
from precompute.run import run
from precompute.worker import Local
from tests.pages.opening import open_page, text_of
from tests.precompute.kills import pair_of


@pytest.fixture(scope="module")
def grid():
    return Grid(
        models=tuple(str(DEMO_MODELS / name) for name in ("demo-qwen2", "demo-gpt2")), datasets=("world_capital",),
        regimes=("conflicting",), explainers=("attn", "fa"), limit=12, shard_size=12, bounds=True,
    )  # fmt: skip


@pytest.fixture(scope="module")
def measured(grid, tmp_path_factory):
    folder = tmp_path_factory.mktemp("bounds")
    planned = plan(grid, folder, calibrated=False)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(removal, "BEAM", 1)  # a third of the passes
        outcome = run(grid, folder, Local)
    assert outcome.failed == 0
    return SimpleNamespace(folder=folder, planned=planned, outcome=outcome, reader=Reader(publish(folder)))


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
        np.testing.assert_allclose(shares[part], expected, atol=1e-5)
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
    assert "In nats, faithfulness is highest for" in text


def test_the_sentence_says_what_turns():
    import pandas as pd

    numbers = {"nats": [3.0, 2.0], "share": [0.2, 0.3], "share_low": [0.1, 0.2], "share_high": [0.3, 0.4]}
    text = _sentence(pd.DataFrame(numbers, index=["A", "B"]))
    assert "highest for **A**; as a share of what its own answers can lose, for **B** (0.30 [0.20, 0.40]" in text
    assert "whose interval overlaps with that of A" in text
    assert text.endswith("The order of the pair of models turns.")
    same = _sentence(pd.DataFrame(numbers | {"share": [0.5, 0.3], "share_low": [0.45, 0.2]}, index=["A", "B"]))
    assert "also for it (0.50" in same
    assert "overlaps" not in same
    assert same.endswith("The order of no pair of models turns.")


def test_one_task_a_regime_and_other_explainers_are_another(small_grid):
    pair = pair_of(dataclasses.replace(small_grid, bounds=True))
    assert bounds_tasks(pair.with_options(bounds=False)) == []
    one, other = bounds_tasks(pair.with_options(explainers=("attn",)))
    assert (one.regime_key.regime, other.regime_key.regime) == ("conflicting", "mixed")
    assert len({one.keys, bounds_tasks(pair.with_options(explainers=("attn", "gxi")))[0].keys}) == 2
    assert one.cost(100.0).tokens > 0
