"""Which document has the largest sum of scores: by hand, against a loop, and what rank margins say of the same scores."""

import numpy as np
import pytest

from heval_core.metrics.forced_choice import ForcedChoice
from heval_core.metrics.instance_margin import InstanceRankMargin
from heval_core.metrics.shared.cell import Cell, Positions
from heval_core.metrics.shared.measure import SumOfMeans
from heval_core.plugins import catalogue

SPANS = [(0, 3), (3, 8)]


def cell_of(rows, groups, spans=SPANS, size=10):
    count = len(groups)
    layout = Positions.of([size] * count, [0] * count, [spans] * count, [[(start,) for start, _ in spans]] * count, groups)
    return Cell(layout, np.array(rows, dtype=float))


def balanced(metric, cell):
    (found,) = [own for own in metric.over(cell, 5) if own.part == "balanced"]
    return found


def test_right_wrong_and_a_tie_by_hand():
    """Sums 4 against 3; 1 against 1; 0 against 0; and one answer from memory, which does not count."""
    rows = [[4, 0, 0, 1, 1, 1, 0, 0, 9, 9], [1, 0, 0, 0, 0, 0, 0, 1, 0, 0], np.zeros(10), np.ones(10)]
    metric = ForcedChoice(smallest_group=1)
    first, second = metric.each(cell_of(rows, ["C1", "C2", "C2", "M"]), 5)
    np.testing.assert_array_equal(first.value, [1, np.nan, np.nan, np.nan])
    np.testing.assert_array_equal(second.value, [np.nan, 0.5, 0.5, np.nan])
    assert balanced(metric, cell_of(rows, ["C1", "C2", "C2", "M"])).value == 0.75
    turned = metric.each(cell_of(rows[:1], ["C2"]), 5)
    assert turned[1].value.tolist() == [0.0]


def test_a_loop_over_the_definition_gives_the_same():
    rng = np.random.default_rng(4)
    groups = rng.choice(["C1", "C2", "M", "other"], 300).tolist()
    scores = rng.integers(-2, 3, (300, 10))
    right = {"C1": [], "C2": []}
    for row, group in zip(scores, groups, strict=True):
        own = [sum(row[start:end]) for start, end in SPANS]
        if group in right:
            used = own[int(group[1]) - 1]
            right[group].append(0.0 if used < max(own) else 1 / own.count(used))
    expected = np.mean([np.mean(values) for values in right.values()])
    assert balanced(ForcedChoice(), cell_of(scores, groups)).value == pytest.approx(expected)


def test_sums_that_differ_by_rounding_only_are_a_tie():
    """.1 + .2 + .3 is not .3 + .2 + .1 in floating point."""
    row = [0.1, 0.2, 0.3, 0.3, 0.2, 0.1, 0, 0, 0, 0]
    (found, _) = ForcedChoice().each(cell_of([row], ["C1"]), 5)
    assert found.value.tolist() == [0.5]


def test_naming_always_the_same_document_is_at_chance_whatever_the_groups_sizes():
    row = [9, 0, 0, 0, 0, 0, 0, 0, 0, 0]
    found = balanced(ForcedChoice(), cell_of([row] * 130, ["C1"] * 90 + ["C2"] * 40))
    assert (found.value, found.chance, found.best) == (0.5, 0.5, 1.0)
    three = cell_of([row] * 120, ["C1", "C2", "C3"] * 40, [(0, 2), (2, 4), (4, 6)])
    assert balanced(ForcedChoice(), three).value == pytest.approx(1 / 3)
    assert balanced(ForcedChoice(), three).chance == pytest.approx(1 / 3)


def test_one_document_is_no_choice_and_small_groups_have_their_reason():
    assert ForcedChoice().each(cell_of([np.ones(10)] * 60, ["C", "M"] * 30, [(0, 8)]), 5) == []
    few = balanced(ForcedChoice(), cell_of([np.ones(10)] * 41, ["C1"] * 29 + ["C2"] * 12))
    assert few.unavailable == "group C1 has 29 of the 30 instances needed"


def test_an_interval_at_the_best_has_a_width_and_stays_below_one():
    rows = [[9 if group == "C1" else 0, 0, 0, 1, 1, 0, 0, 0, 0, 0] for group in ["C1", "C2"] * 40]
    found = balanced(ForcedChoice(), cell_of(rows, ["C1", "C2"] * 40))
    low, high = found.interval()
    assert found.value == pytest.approx(high) == 1.0
    assert high <= 1
    # Where half the probability of 40 right answers is .025; the two groups' ends are independent.
    assert low == pytest.approx(1 - (1 - 0.05 ** (1 / 40)) / np.sqrt(2), abs=1e-4)
    assert found.intervals()[1] == pytest.approx((low - 0.5, 0.5))


def test_rank_margins_pay_for_scores_that_are_alike_within_a_document_and_forced_choice_does_not():
    """The same sums, once on one token of the used document, once spread evenly over it."""
    rng = np.random.default_rng(0)
    groups = ["C1", "C2"] * 60
    noise = rng.random((120, 10)) * 0.01
    peaked, spread = noise.copy(), noise.copy()
    for row, group in enumerate(groups):
        start, end = SPANS[int(group[1]) - 1]
        peaked[row, start] += 1
        spread[row, start:end] += 1 / (end - start)
    of_peaked, of_spread = (cell_of(scores, groups) for scores in (peaked, spread))
    assert balanced(ForcedChoice(), of_peaked).value == balanced(ForcedChoice(), of_spread).value == 1.0
    margins = [balanced(InstanceRankMargin(), own).normalised for own in (of_peaked, of_spread)]
    assert margins[1] > 2 * margins[0] > 0


def test_the_papers_margins_stand_beside_it():
    assert not any(own.headline for own in catalogue.find("metric", "instance_rank_margin").measures)
    assert isinstance(ForcedChoice(), SumOfMeans)
    assert [mean.part for mean in ForcedChoice().means("balanced", 2)] == ["C1", "C2"]
