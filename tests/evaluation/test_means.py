"""Means over cells: published values, the headline, and intervals whose questions are resampled in all cells together."""

import itertools

import numpy as np
import pytest

from heval_core.evaluation.cells import cells_of
from heval_core.evaluation.means import cells_and_means, controls_of, headline, values_of
from heval_core.metrics.shared.measure import SumOfMeans
from heval_core.plugins import catalogue
from heval_core.plugins.measures import headlines, measures
from heval_core.records import CELL, HEvalError
from heval_core.records.vocabulary import BY_CONSTRUCTION
from heval_core.statistics.bounded import share_interval
from heval_core.store.filters import Filter
from heval_core.store.kinds import TABLES
from tests.planted import noise, plant, published

LENGTH = 20


def regime_means(results, chosen, metric, parts, k, by=("regime", "part")):
    return cells_and_means(results, chosen, metric, k, ((tuple(parts), tuple(by)),))[1][0]


def every_other(instance, explainer, rng):
    """The answer's token is first where the place is even and last where it is odd; the other tokens are in order."""
    scores = np.arange(LENGTH, dtype=float)
    scores[instance["answer_tokens"][0][0]] = 100 if instance["place"] % 2 == 0 else -1
    return scores


@pytest.fixture(scope="module")
def twins(tmp_path_factory):
    """Two models that do exactly the same."""
    folder = tmp_path_factory.mktemp("twins")
    how = {"regimes": ("conflicting",), "explainers": ("fa",), "count": 60, "lengths": (LENGTH, LENGTH)}
    plant(folder, every_other, models=2, change=lambda instance: instance | {"group": "C"}, **how)
    return published(folder)


def test_models_that_do_the_same_are_no_surer_together_than_one_alone(twins):
    """By hand: half the reciprocal ranks are 1, half 1/20. Errors added in quadrature would be smaller by 1.41."""
    (both,) = regime_means(twins, Filter(), "mrr", ("C",), 0).query("explainer == 'fa'").to_dict("records")
    assert both["value"] == pytest.approx((1 + 1 / LENGTH) / 2)
    assert (both["cells"], both["n"], both["interval"]) == (2, 120, "resampled")
    # The mid-P interval of so many yes-or-no answers as have the error of 60 such ranks.
    error = (1 - 1 / LENGTH) / 2 / np.sqrt(60)
    low, high = share_interval(both["value"], both["value"] * (1 - both["value"]) / error**2)
    assert (both["low"], both["high"]) == pytest.approx((low, high))
    assert both["normalised"] == pytest.approx((both["value"] - both["chance"]) / (1 - both["chance"]))
    ends = [(end - both["chance"]) / (1 - both["chance"]) for end in (low, high)]
    assert [both["normalised_low"], both["normalised_high"]] == pytest.approx(ends)
    one = twins.cells(Filter(model=("made-up-0",)), "mrr", 0).query("explainer == 'fa'").iloc[0]
    assert (both["low"], both["high"]) == pytest.approx((one["low"], one["high"]))


def test_one_cell_has_its_own_published_interval(twins):
    chosen = Filter(model=("made-up-1",))
    (own,) = regime_means(twins, chosen, "mrr", ("C",), 0).query("explainer == 'fa'").to_dict("records")
    published_one = twins.cells(chosen, "mrr", 0).query("explainer == 'fa'").iloc[0]
    assert own["interval"] == "cell"
    assert [own[name] for name in ("value", "low", "high")] == published_one[["value", "low", "high"]].tolist()


FEW = Filter(model=("demo-qwen2", "demo-gpt2"), dataset=("world_capital",), regime=("irrelevant", "mixed"))
SUMS = (
    "auroc", "forced_choice", "rank_margin", "group_margin", "instance_margin", "mrr", "hits", "position_bias",
    "comprehensiveness", "sufficiency",
)  # fmt: skip


def literal(cells):
    """MOVER pair by pair (Zou & Donner 2008): a cell's distance to its end, times the other's, times their correlation."""
    ends = []
    for name, sign in (("low", -1), ("high", 1)):
        total = 0.0
        for one, other in itertools.product(cells, cells):
            together = 1.0
            if one is not other and min(np.ptp(one["drawn"]), np.ptp(other["drawn"])) > 0:
                together = np.corrcoef(one["drawn"], other["drawn"])[0, 1]
            total += (one[name] - one["value"]) * (other[name] - other["value"]) * together
        ends.append(np.mean([cell["value"] for cell in cells]) + sign * np.sqrt(total) / len(cells))
    return tuple(ends)


@pytest.mark.parametrize("key", [pytest.param(own, marks=[pytest.mark.slow] * (own != "mrr")) for own in SUMS])
def test_intervals_are_those_of_scores_ranked_again(few, key):
    """An independent way: all tokens' scores, ranked and resampled now."""
    measure = measures()[key]
    parts = tuple(part for part in (*measure.parts, *measure.whole) if part != "swap")
    own = regime_means(few, FEW, measure.metric, parts, measure.at(5))
    found = cells_of(few, FEW, measure.metric, measure.at(5), with_replicates=True)
    assert len(own)
    for row in own.to_dict("records"):
        cells = found[(found["regime"] == row["regime"]) & (found["part"] == row["part"])]
        cells = cells[(cells["explainer"] == row["explainer"]) & cells["unavailable"].isna()]
        assert row["cells"] == len(cells) == len(cells.drop_duplicates(list(CELL)))
        if row["interval"] == BY_CONSTRUCTION:
            assert row["explainer"] in catalogue.explainers(control=True)
            assert (row["normalised"], np.isnan(row["low"])) == (1.0, True)
            continue
        expected = literal(cells.to_dict("records"))
        assert row["interval"] == "resampled"
        # Published scores are rounded so that ranks stay, values nearly.
        assert (row["low"], row["high"]) == pytest.approx(expected, rel=2e-4, abs=2e-4)
        assert row["low"] < row["value"] <= row["high"] or row["low"] == row["value"] < row["high"]


@pytest.mark.slow
def test_every_measure_has_rows_and_says_how_its_interval_was_made(few):
    for measure in measures().values():
        if not measure.question:
            continue
        own = regime_means(few, FEW, measure.metric, measure.parts, measure.at(5))
        plugin = isinstance(catalogue.find("metric", measure.metric), SumOfMeans)
        ways = {"resampled", "cell"} | ({"bound"} if "swap" in measure.parts else set()) if plugin else {"bound", "cell"}
        assert set(own["interval"]) <= ways | {BY_CONSTRUCTION}, measure.key
        assert list(own.columns[:4]) == ["technique", "regime", "part", "explainer"]


def test_errors_from_halves_are_bounded_by_the_mean_of_the_cells_ends(few):
    own = regime_means(few, FEW, "nmutinf", ("raw",), 5).query("regime == 'mixed'").set_index("explainer")
    cells = few.cells(FEW, "nmutinf", 5).query("regime == 'mixed' and part == 'raw'")
    means = cells.groupby("explainer")[["value", "low", "high"]].mean()
    assert set(own["interval"]) == {"bound", BY_CONSTRUCTION}
    own = own[own["interval"] == "bound"]
    for name in means:
        assert own[name].to_dict() == pytest.approx(means.loc[own.index, name].to_dict())


def test_a_filter_that_cuts_cells_is_computed_now(few):
    chosen = Filter(FEW.model, FEW.dataset, ("irrelevant",), tokens=(0, 90))
    own = regime_means(few, chosen, "mrr", ("C",), 0).set_index("explainer")
    cells = cells_of(few, chosen, "mrr", 0).dropna(subset=["value"])
    means = cells.groupby("explainer")["value"].mean()
    assert own["value"].to_dict() == pytest.approx(means.to_dict())
    methods = own.loc[["attn", "fa", "ig", "mechlight"]]
    assert set(methods["interval"]) == {"resampled"}
    assert (methods["low"] < methods["value"]).all()
    assert (methods["value"] < methods["high"]).all()


def test_parts_of_one_cell_count_their_instances_once(few):
    parts = ("c1", "c2")
    apart = regime_means(few, FEW, "group_rank_margin", parts, 5)
    together = regime_means(few, FEW, "group_rank_margin", parts, 5, by=("regime",))
    assert apart["part"].unique().tolist() == list(parts)
    for name in ("cells", "n"):
        assert together[name].tolist() == apart[apart["part"] == "c1"][name].tolist()
    means = apart.groupby("explainer")["value"].mean()
    assert together.set_index("explainer")["value"].to_dict() == pytest.approx(means.to_dict())


def test_nothing_left_is_an_empty_frame_and_an_unknown_metric_an_error(few):
    for nothing in (Filter(model=("none",)), Filter(relation=("none",))):
        assert regime_means(few, nothing, "mrr", ("C",), 0).empty
    with pytest.raises(HEvalError, match="no metric 'mrs'"):
        regime_means(few, Filter(), "mrs", ("C",), 0)


def test_a_cell_that_is_not_available_does_not_count(tmp_path):
    few = {"regimes": ("conflicting",), "explainers": ("fa",), "count": 60}
    plant(tmp_path, noise, models=2, change=_few_in_the_second, **few)
    own = regime_means(published(tmp_path), Filter(), "mrr", ("C",), 0).set_index("explainer")
    assert own.loc["fa", "cells"] == 1
    assert own.loc["fa", "interval"] == "cell"


def _few_in_the_second(instance):
    return instance | {"group": "C" if instance["model"] == "made-up-0" or instance["place"] < 20 else "M"}


KEY = ["question", "explainer"]


def under(reader, chosen):
    """The headline over the cells under a filter, made as publishing makes it."""
    own = headline(lambda measure, k: values_of(reader, chosen, measure.metric, k, measure.together), controls_of(reader))
    return own.set_index(KEY)


def test_without_a_filter_it_is_the_published_one(few):
    published, now = few.headline().set_index(KEY).sort_index(), under(few, Filter()).sort_index()
    assert published.index.equals(now.index)
    for column in ("value", "low", "high", "chance", "normalised", "normalised_low", "normalised_high", "cells", "n"):
        assert now[column].tolist() == pytest.approx(published[column].tolist(), abs=1e-9, nan_ok=True), column
    assert {*KEY, *now} == {*TABLES["headline"].names}


def test_values_are_means_over_cells_and_each_cell_counts_the_same_between_chance_and_best(few):
    chosen = Filter(("demo-qwen2",), ("country_profiles",))
    own = under(few, chosen)
    for question, measure in headlines().items():
        cells = few.cells(chosen, measure.metric, measure.at(5))
        cells = cells[cells["part"].isin(measure.together) & (cells["explainer"] == "fa")]
        row = own.loc[(question, "fa")]
        assert row["value"] == pytest.approx(cells["value"].mean())
        by_hand = ((cells["value"] - cells["chance"]) / (cells["best"] - cells["chance"])).mean()
        assert row["normalised"] == pytest.approx(by_hand)
        assert row["normalised_low"] < by_hand <= row["normalised_high"]
        assert row["cells"] == len(cells)
