"""Metrics computed now from stored scores: without a filter what was published, with one what a person would compute."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

from heval_core.evaluation.cells import cells_of
from heval_core.evaluation.scored import ScoreRows, cell_of, regime_of
from heval_core.metrics._features import LearnedMetric
from heval_core.metrics.shared.measure import MirrorMetric
from heval_core.plugins import catalogue
from heval_core.records import REGIMES, HEvalError
from heval_core.statistics.bootstrap import Resamples
from heval_core.store.filters import Filter

KEY = ["model", "dataset", "regime", "explainer", "metric", "part", "k"]
QWEN = Filter(model=("demo-qwen2",), dataset=("country_profiles",))
CELL = Filter(model=("demo-qwen2",), dataset=("country_profiles",), regime=("conflicting",))


METRICS = catalogue.plugins("metric").values()


def some(metric):
    """One document and two; both ways round for a metric that is of both."""
    return ("mixed", "mixed_swap") if isinstance(metric, MirrorMetric) else ("conflicting", "mixed")


@pytest.mark.parametrize(
    ("metric", "regimes"),
    [pytest.param(metric, some(metric), marks=[pytest.mark.slow] * (metric.key == "mdl")) for metric in METRICS]
    + [pytest.param(metric, REGIMES, marks=pytest.mark.slow) for metric in METRICS if not isinstance(metric, LearnedMetric)],
    ids=lambda own: getattr(own, "key", len(own) if isinstance(own, tuple) else None),
)
def test_without_a_cut_live_values_are_the_published_ones(few, metric, regimes):
    k, chosen = 3 if metric.uses_k else 0, replace(QWEN, regime=regimes)
    published = few.cells(chosen, metric.key, k).set_index(KEY).sort_index()
    found = cells_of(few, chosen, metric.key, k).set_index(KEY).sort_index()
    assert list(found.index) == list(published.index)
    for column in ("value", "low", "high", "chance", "best", "normalised", "p"):
        pairs = [own[column].astype(float).to_numpy() for own in (found, published)]
        np.testing.assert_allclose(*pairs, rtol=2e-4, atol=2e-4, err_msg=column)
    for column in ("n", "group_sizes", "unavailable"):
        assert found[column].fillna("").tolist() == published[column].fillna("").tolist()


def test_a_filter_takes_exactly_the_instances_it_names(few):
    mean = (
        "SELECT avg(value) AS value, avg(chance) AS chance, count(*) AS n FROM score JOIN instance USING (instance_id) "
        "WHERE metric = 'mrr' AND explainer = 'fa' AND model = 'demo-qwen2' AND dataset = 'country_profiles' "
        "AND regime = 'conflicting' AND part = 'C' AND "
    )
    for extra, condition in (
        ({"relation": ("capital", "currency")}, "relation IN ('capital', 'currency')"),
        ({"tokens": (0, 86)}, "len(tokens) <= 86"),
        ({"answer_at": (0.0, 0.5)}, "answer_tokens[1][1] / len(tokens) <= 0.5"),
        ({"group": ("C",)}, "true"),
    ):
        chosen = Filter(CELL.model, CELL.dataset, CELL.regime, **extra)
        assert chosen.cuts_cells
        found = cells_of(few, chosen, "mrr", 0)
        own = found[(found["explainer"] == "fa") & (found["part"] == "C")].iloc[0]
        expected = few.query(mean + condition).iloc[0]
        assert own["n"] == expected["n"]
        if own["n"] >= 30:
            assert own["value"] == pytest.approx(expected["value"])
            assert own["chance"] == pytest.approx(expected["chance"])
            assert own["low"] <= own["value"] <= own["high"]
        else:
            assert f"has {int(expected['n'])} of the 30" in own["unavailable"]


def test_natural_and_substituted_conflicts_are_a_cell_in_two_parts(few):
    chosen = [Filter(QWEN.model, ("world_capital",), ("double_conflicting",), origin=(o,)) for o in ("natural", "substituted")]
    sizes = [len(few.instance_ids(own)) for own in chosen]
    assert sum(sizes) == len(few.instance_ids(Filter(QWEN.model, ("world_capital",), ("double_conflicting",))))
    ranges = few.ranges(Filter(QWEN.model, ("world_capital",), ("double_conflicting",))).iloc[0]
    assert [ranges["instances"] - ranges["substituted"], ranges["substituted"]] == sizes


def test_a_group_alone_has_no_margin_between_groups_and_says_so_and_nothing_has_no_rows(few):
    found = cells_of(few, Filter(CELL.model, CELL.dataset, CELL.regime, group=("C",)), "group_rank_margin", 5)
    assert found["value"].isna().all()
    assert set(found["unavailable"]) == {"group M has 0 of the 30 instances needed"}
    assert cells_of(few, Filter(relation=("none",)), "mrr", 0).empty  # a filter that leaves nothing


def test_a_variant_of_a_metric_is_computed_under_its_own_key(few):
    found = cells_of(few, CELL, "mrr(drop_first=1)", 0)
    assert set(found["metric"]) == {"mrr(drop_first=1)"}
    with pytest.raises(HEvalError, match="no metric 'mrs'; did you mean mrr"):
        cells_of(few, CELL, "mrs", 0)


def regime(answer_token=1):
    whose = {
        "instance_id": "i7",
        "fact_id": "q",
        "model": "m",
        "dataset": "d",
        "regime": "conflicting",
        "technique": "regular",
    }
    prompt = {"length": 4, "first_ranked": 0, "ranked_end": 4, "document_starts": [0], "document_ends": [3]}
    answer = {"document_kinds": ["conflicting"], "answer_tokens": [(answer_token,)], "group": "C"}
    return regime_of(pd.DataFrame([whose | prompt | answer]), Resamples("d", {"q": "q"}))


def scored(scores, signed=True):
    return ScoreRows(np.array([0]), pa.array([scores]), np.array([signed], dtype=object))


@pytest.mark.parametrize(
    ("scores", "answer_token", "told"),
    [
        ([0.0, np.nan, 1.0, 0.0], 1, "Instance i7, explainer fa has scores that are NaN or infinite"),
        ([0.0, np.inf, 1.0, 0.0], 1, "Instance i7, explainer fa has scores that are NaN or infinite"),
        ([0.0] * 5, 1, "Instance i7, explainer fa: there are more scores than tokens"),
        ([0.0] * 4, 4, "Instance i7 has answer tokens outside its prompt of 4 tokens"),
    ],
)
def test_what_cannot_be_ranked_is_refused_and_its_instance_named(scores, answer_token, told):
    with pytest.raises(HEvalError, match=told):
        cell_of(regime(answer_token), "fa", scored(np.array(scores)))


def test_scores_with_a_sign_are_divided_by_their_norm_and_attention_is_not():
    plain = np.array([0.5, 0.25, 0.0, 0.0])
    assert cell_of(regime(), "gone", scored(plain)).scores.tolist() == [[2 / 3, 1 / 3, 0, 0]]
    assert cell_of(regime(), "gone", scored(-3 * plain)).scores.tolist() == [[-2 / 3, -1 / 3, 0, 0]]
    assert cell_of(regime(), "gone", scored(plain, signed=False)).scores.tolist() == [[0.5, 0.25, 0, 0]]
    assert cell_of(regime(), "gone", scored(np.zeros(4))).scores.tolist() == [[0, 0, 0, 0]]
    assert not np.signbit(cell_of(regime(), "gone", scored(np.array([0.5, -0.0, 0.0, -0.0]))).scores).any()
