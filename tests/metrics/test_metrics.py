"""Metrics: by hand, by chance, by a literal second version, and on planted truths."""

from __future__ import annotations

import doctest
import importlib
import itertools
from functools import partial

import numpy as np
import pytest

from heval_core.metrics.document_rank import RankAtKMetric, rank_at_k
from heval_core.metrics.group_margin import GroupRankMargin
from heval_core.metrics.instance_margin import InstanceRankMargin
from heval_core.metrics.length_sensitivity import PLUGIN as LENGTH
from heval_core.metrics.mrr import MeanReciprocalRank, reciprocal_rank
from heval_core.metrics.shared.broken_ties import hit, reciprocal
from heval_core.metrics.shared.cell import KS, Cell, Positions
from heval_core.metrics.shared.ranks import chance_rank, of_best, segment_ranks
from heval_core.plugins import catalogue
from heval_core.records import HEvalError
from heval_core.statistics.scores import ties
from heval_core.statistics.values import Each, mean_of, normalised, replicates
from tests.metrics import literal


@pytest.mark.parametrize("name", catalogue.plugins("metric"))
def test_the_examples_worked_by_hand_hold(name):
    module = importlib.import_module(type(catalogue.plugins("metric")[name]).__module__)
    failed, tried = doctest.testmod(module, extraglobs={"np": np})
    assert tried > 0
    assert failed == 0


def test_the_published_chance_level_of_a_short_prompt():
    assert reciprocal(0, 22, 1) == pytest.approx(0.168, abs=5e-4)


def value_of(metric, cell, part, k=5):
    return next(e for e in metric.over(cell, k) if e.part == part)


def of_two(second, first, scores):
    """So many prompts that use the second document, then so many that use the first: 6 tokens each, and 3 of question."""
    count, groups = second + first, ["C2"] * second + ["C1"] * first
    layout = Positions.of([15] * count, [0] * count, [[(0, 6), (6, 12)]] * count, [[[1], [7]]] * count, groups)
    return Cell(layout, scores)


def test_to_point_always_at_the_document_that_is_used_more_often_is_no_skill():
    """All scores rise with the place in the prompt, and the later of two equal documents is used in nine of ten instances."""
    cell = of_two(360, 40, np.tile(np.arange(15.0), (400, 1)))
    found = {part: value_of(InstanceRankMargin(), cell, part).value for part in ("C1", "C2", "balanced", "gap")}
    assert (found["C1"], found["C2"], found["balanced"], found["gap"]) == (-6, 6, 0, -12)
    assert value_of(GroupRankMargin(), cell, "c1").value == 0


def test_swapping_the_documents_swaps_the_parts(dual):
    layout = dual.layout
    flipped = [{"C1": "C2", "C2": "C1"}.get(group, group) for group in layout.groups]
    turned = (marks[::-1] for marks in (layout.documents, layout.gold))
    mirror = Cell(Positions(layout.ranked, *turned, np.array(flipped)), dual.scores)
    for metric, one, other in (
        (InstanceRankMargin, "C1", "C2"),
        (MeanReciprocalRank, "C1", "C2"),
        (GroupRankMargin, "c1", "c2"),
    ):
        own = metric(smallest_group=5)
        assert value_of(own, dual, one).value == value_of(own, mirror, other).value


def test_all_equal_scores_get_exactly_what_chance_gives():
    """Ties are broken at random: whoever says nothing is not above chance, nor below it."""
    assert rank_at_k(np.zeros(9), (0, 3), 3) == (5.0, 5.0)
    assert rank_at_k(np.zeros(9), (0, 5), 3).value == rank_at_k(np.zeros(9), (0, 5), 3).chance == pytest.approx(10 / 3)
    value, chance = reciprocal_rank(np.zeros(9), [4, 7])
    assert value == chance == pytest.approx(reciprocal(0, 9, 2))
    assert of_best(partial(hit, k=3), ties(np.zeros((1, 9))), np.arange(9)[None] < 2)[0] == hit(0, 9, 2, 3)


def test_a_string_match_that_is_97_percent_tied_has_no_margin_beyond_its_one_token():
    """400 prompts of 30 tokens, one token of the document's 15 matches where it was used: 1 of its 5 best stands first. By
    hand: 1, and four of 29 tied places that the document's 14 others share, against five of 30 that its 15 share."""
    groups = ["C", "M"] * 200
    layout = Positions.of([30] * 400, [0] * 400, [[(0, 15)]] * 400, [[(3,)]] * 400, groups)
    scores = np.zeros((400, 30))
    scores[::2, 3] = 1
    used = (1 + sum(1 + j * 30 / 15 for j in (1, 2, 3, 4))) / 5
    unused = sum(j * 31 / 16 for j in (1, 2, 3, 4, 5)) / 5
    margin = value_of(GroupRankMargin(), Cell(layout, scores), "c")
    assert margin.value == pytest.approx(unused - used)
    assert margin.value < 0.9  # shared average ranks made it 5.6


def test_ties_broken_by_draws_average_to_the_closed_form():
    rng = np.random.default_rng(8)
    scores = rng.choice([0.0, 1.0, 2.0], (1, 14))
    inside = np.isin(np.arange(14), (1, 4, 5, 9, 12))[None]
    broken = ties(scores + 1e-6 * rng.random((60_000, 14)))
    marks = np.repeat(inside, 60_000, axis=0)
    for exact, drawn in (
        (segment_ranks(ties(scores), inside, 3), segment_ranks(broken, marks, 3)),
        *((of_best(own, ties(scores), inside), of_best(own, broken, marks)) for own in (reciprocal, partial(hit, k=2))),
    ):
        assert abs(exact[0] - drawn.mean()) < 4 * drawn.std() / np.sqrt(len(drawn)) + 1e-12


def test_two_groups_together_need_as_many_as_one_alone_and_either_a_third():
    def found(first, second):
        cell = of_two(second, first, np.random.default_rng(0).random((first + second, 15)))
        return value_of(MeanReciprocalRank(), cell, "balanced", 0).unavailable

    assert found(20, 10) is None
    assert found(15, 14) == "group used has 29 of the 30 instances needed"
    assert found(90, 9) == "group C2 has 9 of the 10 instances needed"


def test_both_groups_of_two_documents_weigh_alike():
    """An explainer that finds the token in C2 only, which is used in nine of ten prompts, knows half of what there is."""
    cell = of_two(360, 40, np.tile(np.arange(15.0) == 7, (400, 1)).astype(float))
    found = {part: value_of(MeanReciprocalRank(), cell, part, 0).value for part in ("C1", "C2", "balanced")}
    assert found["C2"] == 1
    assert found["balanced"] == pytest.approx((found["C1"] + 1) / 2)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: rank_at_k(np.ones(4), (2, 2), 3), "segment 2:2 is empty"),
        (lambda: rank_at_k(np.ones(4), (2, 6), 3), "outside the prompt"),
        (lambda: reciprocal_rank(np.ones(4), [4]), "not inside the prompt"),
        (lambda: reciprocal_rank(np.ones(4), []), "not inside the prompt"),
        (lambda: rank_at_k(np.array([1.0, np.nan]), (0, 1), 3), "NaN or infinite"),
        (lambda: rank_at_k(np.ones(3), (0, 2), 0), "k is 0"),
    ],
)
def test_bad_input_is_refused(call, message):
    with pytest.raises(HEvalError, match=message):
        call()


@pytest.mark.parametrize(
    ("best", "chance", "share"), [(1.0, 0.1, 0.99), (1.0, 0.1, 0.95), (20.0, 0.0, 0.97), (0.0, 0.6, 0.98)]
)
def test_intervals_end_where_values_end_and_hold_the_truth_next_to_it(best, chance, share):
    """Most instances are as good as they can be: Hall's interval passed the best value, and had no width where all were."""
    rng, held = np.random.default_rng(5), []
    other = 2 * chance - best
    for _ in range(200):
        values = np.where(rng.random(60) < share, best, (best + other) / 2)
        found = mean_of("C", [Each("C", values, np.full(60, chance), np.full(60, best))], 5)
        for (low, high), shift in zip(found.intervals(), (0.0, chance), strict=True):
            assert min(best, other) - 1e-9 <= low + shift < high + shift <= max(best, other) + 1e-9
        low, high = found.interval()
        held.append(low <= share * best + (1 - share) * (best + other) / 2 <= high)
    assert np.mean(held) > 0.92


@pytest.fixture(scope="module")
def dual():
    """90 instances of 12 to 20 tokens: a BOS, two documents of 4 and 5 tokens, a question; scores with ties."""
    rng = np.random.default_rng(3)
    lengths = rng.integers(12, 21, 90)
    groups = rng.choice(["C1", "C2", "M"], 90)
    layout = Positions.of(list(lengths), [1] * 90, [[(1, 5), (5, 10)]] * 90, [[(2, 3), (6, 7, 9)]] * 90, list(groups))
    return Cell(layout, rng.choice([0.0, 0.1, 0.4, 0.9], size=(90, 20)))


def ranked_places(cell, row, drop_first=0):
    n = int(np.flatnonzero(cell.layout.ranked[row]).max()) + 1
    return [p for p in range(1, n) if p >= drop_first]


def by_hand(cell, row, document, k, drop_first=0):
    places = ranked_places(cell, row, drop_first)
    scores = [cell.scores[row, p] for p in places]
    inside = [i for i, p in enumerate(places) if p in (range(1, 5), range(5, 10))[document]]
    return literal.of_ranks(scores, inside, k)


OPTIONS = [{}, {"drop_first": 3}]


@pytest.mark.parametrize("k", KS)
@pytest.mark.parametrize("options", OPTIONS, ids=str)
def test_rank_at_k_and_its_margins_equal_a_literal_version(dual, options, k):
    expected = [[by_hand(dual, row, document, k, **options) for row in range(90)] for document in (0, 1)]
    for each, own in zip(RankAtKMetric(**options).each(dual, k), expected, strict=True):
        np.testing.assert_allclose(each.value, own)
        assert (each.best <= each.chance + 1e-12).all()
        assert (each.best <= each.value + 1e-12).all()
    groups = dual.layout.groups
    for estimate in GroupRankMargin(**options, smallest_group=5).over(dual, k):
        used, unused, own = ("C1", "C2", expected[0]) if estimate.part == "c1" else ("C2", "C1", expected[1])
        means = {name: np.mean([v for v, g in zip(own, groups, strict=True) if g == name]) for name in (used, unused)}
        assert estimate.value == pytest.approx(means[unused] - means[used])
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
    assert reciprocal(0, n, m) == pytest.approx(np.mean([1 / min(d) for d in draws]))


def test_mrr_with_and_without_first_tokens(dual):
    row = int(np.flatnonzero(dual.layout.groups == "C2")[0])
    for drop_first in (0, 3):
        places = ranked_places(dual, row, drop_first)
        each = MeanReciprocalRank(drop_first).each(dual, 0)[1]
        scores = [dual.scores[row, p] for p in places]
        expected = literal.of_ranks(scores, [places.index(p) for p in (6, 7, 9)], 1, lambda rank: 1 / rank)
        assert each.value[row] == pytest.approx(expected)
        assert each.chance[row] == pytest.approx(reciprocal(0, len(places), 3))
    # The first answer is among the tokens left out.
    assert np.isnan(MeanReciprocalRank(drop_first=8).each(dual, 0)[0].value).all()


def test_the_normalised_form_is_0_at_chance_and_1_at_best():
    assert normalised(3.0, 3.0, 1.0) == 0
    assert normalised(1.0, 3.0, 1.0) == 1
    assert np.isnan(normalised(1.0, 1.0, 1.0))


def test_the_slope_against_length_is_scikit_learns_and_its_interval_holds_it():
    from sklearn.linear_model import LinearRegression

    rng = np.random.default_rng(0)
    lengths = rng.integers(20, 120, 200)
    layout = Positions.of(list(lengths), [0] * 200, [[(0, 10)]] * 200, [[(4,)]] * 200, ["C"] * 200)
    scores = rng.random((200, lengths.max()))
    scores[np.arange(200), 4] += np.where(lengths < 60, 1, 0)  # found in short prompts only
    cell = Cell(layout, scores)
    (estimate,) = LENGTH.over(cell, 5)
    (each,) = MeanReciprocalRank().each(cell, 0)
    values = normalised(each.value, each.chance, each.best)
    expected = LinearRegression().fit(lengths[:, None] / 100, values).coef_[0]
    assert estimate.value == pytest.approx(expected)
    assert estimate.value < -0.5
    weights = np.random.default_rng(1).multinomial(200, np.full(200, 1 / 200), size=300).astype(np.float32)
    spread = replicates([estimate], weights)[0]
    again = LinearRegression().fit(lengths[:, None] / 100, values, sample_weight=weights[0]).coef_[0]
    assert spread[0] == pytest.approx(again, rel=1e-3)
    assert np.quantile(spread, 0.975) < 0
