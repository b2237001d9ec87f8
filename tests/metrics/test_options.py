"""The options of Rank@k, the margins and MRR, position bias and length: by hand, literally, and by exact enumeration."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from heval_core import catalogue
from heval_core.metrics.group_rank_margin import GroupRankMargin
from heval_core.metrics.instance_rank_margin import InstanceRankMargin
from heval_core.metrics.length_sensitivity import PLUGIN as LENGTH
from heval_core.metrics.mrr import MeanReciprocalRank
from heval_core.metrics.position_bias import PLUGIN as BIAS
from heval_core.metrics.rank_at_k import RankAtKMetric, rank_at_k
from heval_core.metrics.shared.cell import KS, Cell, Layout
from heval_core.metrics.shared.ranks import chance_capped, chance_rank, chance_reciprocal_rank
from heval_core.records import HEvalError
from heval_core.statistics.values import normalised
from tests.metrics import literal


@pytest.fixture(scope="module")
def dual():
    """90 instances of 12 to 20 tokens: a BOS, two documents of 4 and 5 tokens, a question; scores with ties."""
    rng = np.random.default_rng(3)
    lengths = rng.integers(12, 21, 90)
    groups = rng.choice(["C1", "C2", "M"], 90)
    layout = Layout.of(
        list(lengths), [1] * 90, [[(1, 5), (5, 10)]] * 90, [[(2, 3), (6, 7, 9)]] * 90, list(groups), [[(2, 3), (6, 7)]] * 90
    )
    return Cell.of(layout, rng.choice([0.0, 0.1, 0.4, 0.9], size=(90, 20)))


def ranked_places(cell, row, pool="prompt", drop_first=0):
    n = int(np.flatnonzero(cell.layout.ranked[row]).max()) + 1
    places = [p for p in range(1, n) if p >= drop_first]
    return [p for p in places if p < 10] if pool == "context" else places


def by_hand(cell, row, document, k, tokens="best", pool="prompt", normalise=False, drop_first=0):
    places = ranked_places(cell, row, pool, drop_first)
    scores = [cell.scores[row, p] for p in places]
    inside = [i for i, p in enumerate(places) if p in (range(1, 5), range(5, 10))[document]]
    capped = (lambda rank: min(rank, k + 1)) if tokens == "global_topk" else (lambda rank: rank)
    value = literal.of_ranks(scores, inside, len(inside) if tokens == "all" else k, capped)
    return value / len(places) if normalise else value


OPTIONS = [
    {},
    {"tokens": "all"},
    {"tokens": "global_topk"},
    {"pool": "context"},
    {"normalise": True},
    {"drop_first": 3},
    {"tokens": "global_topk", "pool": "context", "normalise": True, "drop_first": 2},
]


@pytest.mark.parametrize("k", KS)
@pytest.mark.parametrize("options", OPTIONS, ids=str)
def test_every_option_of_rank_at_k_and_its_margins_equals_a_literal_version(dual, options, k):
    expected = [[by_hand(dual, row, document, k, **options) for row in range(90)] for document in (0, 1)]
    for each, own in zip(RankAtKMetric(**options).each(dual, k), expected, strict=True):
        np.testing.assert_allclose(each.value, own)
        assert (each.best <= each.chance + 1e-12).all()
        assert (each.best <= each.value + 1e-12).all()
    groups = dual.layout.groups
    for estimate in GroupRankMargin(**options, smallest_group=5).over(dual, k):
        used, unused, own = ("C1", "C2", expected[0]) if estimate.part == "c1" else ("C2", "C1", expected[1])
        values = [[v for v, g in zip(own, groups, strict=True) if g == name] for name in (used, unused)]
        assert estimate.value == pytest.approx(literal.margin(*values))
    margins = {e.part: e.value for e in InstanceRankMargin(**options, smallest_group=5).over(dual, k)}
    pairs = list(zip(*expected, groups, strict=True))
    first = [two - one for one, two, group in pairs if group == "C1"]
    second = [one - two for one, two, group in pairs if group == "C2"]
    assert margins["C1"] == pytest.approx(np.mean(first))
    assert margins["C2"] == pytest.approx(np.mean(second))
    assert margins["balanced"] == pytest.approx((np.mean(first) + np.mean(second)) / 2)
    assert margins["gap"] == pytest.approx(np.mean(first) - np.mean(second))


@pytest.mark.parametrize(("m", "n"), [(1, 6), (2, 7), (4, 9), (5, 5)])
@pytest.mark.parametrize("k", [1, 3, 5, 9])
def test_chance_levels_are_exact(k, m, n):
    """All places that a document of m tokens can have among n are as likely under random scores."""
    draws = list(itertools.combinations(range(1, n + 1), m))
    assert chance_rank(k, np.array(m), np.array(n)) == pytest.approx(np.mean([np.mean(sorted(d)[:k]) for d in draws]))
    assert chance_reciprocal_rank(m, n) == pytest.approx(np.mean([1 / min(d) for d in draws]))
    assert float(chance_capped(k, np.array(m), np.array(n))) == pytest.approx(literal.chance_capped(k, m, n))


@pytest.mark.parametrize("options", OPTIONS, ids=str)
def test_perfect_scores_are_1_and_the_worst_possible_margin_is_its_negative_of_best(dual, options):
    """Scores that put the used document on top and the other at the bottom: the normalised margins are 1."""
    scores = np.zeros(dual.scores.shape)
    rng = np.random.default_rng(0)
    for row, group in enumerate(dual.layout.groups):
        used, other = (slice(1, 5), slice(5, 10)) if group == "C1" else (slice(5, 10), slice(1, 5))
        scores[row, used] = 1 + rng.random(used.stop - used.start)
        scores[row, other] = -1 - rng.random(other.stop - other.start)
    perfect = Cell.of(dual.layout, scores)
    for metric in (InstanceRankMargin(**options, smallest_group=5), GroupRankMargin(**options, smallest_group=5)):
        for estimate in metric.over(perfect, 3):
            if estimate.part != "gap":
                assert estimate.value == pytest.approx(estimate.best), (metric.key, estimate.part)
                assert estimate.normalised == pytest.approx(1)


def test_the_options_of_mrr(dual):
    row = int(np.flatnonzero(dual.layout.groups == "C2")[0])
    places = ranked_places(dual, row)
    scores = [dual.scores[row, p] for p in places]
    for options, gold in (
        ({}, (6, 7, 9)),
        ({"mention": "first"}, (6, 7)),
        ({"subtoken": "first"}, (6, 9)),
        ({"mention": "first", "subtoken": "first"}, (6,)),
    ):
        each = MeanReciprocalRank(**options).each(dual, 0)[1]
        expected = literal.of_best(scores, [places.index(p) for p in gold], lambda rank: 1 / rank)
        assert each.value[row] == pytest.approx(expected)
        assert each.chance[row] == pytest.approx(chance_reciprocal_rank(len(gold), len(places)))
    context = ranked_places(dual, row, "context")
    inside = [dual.scores[row, p] for p in context]
    expected = literal.of_best(inside, [context.index(p) for p in (6, 7, 9)], lambda rank: 1 / rank)
    assert MeanReciprocalRank(pool="context").each(dual, 0)[1].value[row] == pytest.approx(expected)
    dropped = MeanReciprocalRank(drop_first=8).each(dual, 0)
    assert np.isnan(dropped[0].value).all()  # the first answer is among the tokens left out


def test_unknown_options_are_refused_by_name(dual):
    with pytest.raises(HEvalError, match="no tokens='some'; there are: best, global_topk, all"):
        RankAtKMetric(tokens="some").each(dual, 3)
    with pytest.raises(HEvalError, match="mrr has no mention='last'"):
        catalogue.find("metric", "mrr(mention=last)")
    assert catalogue.find("metric", "instance_rank_margin(drop_first=1)").drop_first == 1
    with pytest.raises(HEvalError, match="k is 0"):
        rank_at_k(np.ones(3), (0, 2), 0)


def test_the_normalised_form_is_0_at_chance_and_1_at_best():
    assert normalised(3.0, 3.0, 1.0) == 0
    assert normalised(1.0, 3.0, 1.0) == 1
    assert np.isnan(normalised(1.0, 1.0, 1.0))


def test_a_preference_for_the_first_document_is_a_bias_and_one_for_content_is_none(dual):
    early = np.tile(-np.arange(20.0), (90, 1))
    (tilt,) = BIAS.over(Cell.of(dual.layout, early), 3)
    assert tilt.unavailable
    tilted = type(BIAS)(smallest_group=5)
    (tilt,) = tilted.over(Cell.of(dual.layout, early), 3)
    assert tilt.value == pytest.approx(4)  # ranks 5, 6, 7 less 1, 2, 3
    gap = next(e for e in InstanceRankMargin(smallest_group=5).over(Cell.of(dual.layout, early), 3) if e.part == "gap")
    assert gap.value == pytest.approx(2 * tilt.value)
    # One document is always on top, wherever it stands: the other way round it is on top again.
    first, second = np.zeros((2, 90, 20))
    first[:, 1:5], second[:, 5:10] = 1, 1
    ahead, one, two = (tilted.one_way(Cell.of(dual.layout, scores), 3) for scores in (early, first, second))
    swap = tilted.both_ways(one, two)
    assert abs(swap.value) < 1  # of a span of about 6 ranks; documents of 4 and 5 tokens share their ties otherwise
    assert tilted.both_ways(ahead, ahead).value == pytest.approx(4)


def test_the_slope_against_length_is_scikit_learns_and_its_interval_holds_it():
    from sklearn.linear_model import LinearRegression

    rng = np.random.default_rng(0)
    lengths = rng.integers(20, 120, 200)
    layout = Layout.of(list(lengths), [0] * 200, [[(0, 10)]] * 200, [[(4,)]] * 200, ["C"] * 200)
    scores = rng.random((200, lengths.max()))
    scores[np.arange(200), 4] += np.where(lengths < 60, 1, 0)  # found in short prompts only
    cell = Cell.of(layout, scores)
    (estimate,) = LENGTH.over(cell, 5)
    (each,) = MeanReciprocalRank().each(cell, 0)
    values = normalised(each.value, each.chance, each.best)
    expected = LinearRegression().fit(lengths[:, None] / 100, values).coef_[0]
    assert estimate.value == pytest.approx(expected)
    assert estimate.value < -0.5
    weights = np.random.default_rng(1).multinomial(200, np.full(200, 1 / 200), size=300).astype(np.float32)
    spread = estimate.replicates(weights)
    again = LinearRegression().fit(lengths[:, None] / 100, values, sample_weight=weights[0]).coef_[0]
    assert spread[0] == pytest.approx(again, rel=1e-3)
    assert np.quantile(spread, 0.975) < 0
