"""Agreement worked out by hand, and against a literal program of its definition."""

from __future__ import annotations

import math
import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from heval_core.citations import agreement, krippendorff_alpha

THREE_UNITS = [({1}, {1}), ({1, 2}, {1}), ({3}, {4})]
SETS = st.frozensets(st.integers(0, 3), max_size=3)
UNITS = st.lists(st.lists(st.one_of(st.none(), SETS), max_size=4), max_size=6)


def test_alpha_of_three_units_by_hand():
    # Within units: 0, 1/2 and 1, so D_o = 1/2. The six answers {1} x 3, {1, 2}, {3}, {4} make 15 pairs: three of {1} with
    # itself (0), three of {1} with {1, 2} (1/2 each), and nine that share nothing (1 each), so D_e = 10.5 / 15 = 7/10.
    assert krippendorff_alpha(THREE_UNITS) == pytest.approx(1 - 0.5 / 0.7)


def test_units_count_by_their_answers():
    # D_o: three answers with distances 0, 1, 1 count (0 + 1 + 1) * 2 / 2, two equal ones 0; N = 5, so D_o = 2/5.
    # D_e: {1} x 4 with {2}: 4 of 10 pairs, so 4/10. A unit with one answer, or none, counts nowhere.
    units = [({1}, {1}, {2}), ({1}, {1}), ({7}, None), ({8},), ()]
    assert krippendorff_alpha(units) == pytest.approx(1 - (2 / 5) / (4 / 10))


def test_alpha_at_its_ends():
    assert krippendorff_alpha([({1}, {1}), (set(), set())]) == 1
    assert krippendorff_alpha([({1}, {2}), ({2}, {1})]) < 0
    draw = random.Random(3)
    dealt = [[{draw.randrange(5)} for _ in range(3)] for _ in range(2000)]
    assert abs(krippendorff_alpha(dealt)) < 0.03


@pytest.mark.parametrize("units", [[], [({1},)], [({1}, {1}), ({1}, {1})], [(set(), set())], [(None, None)]])
def test_alpha_is_undefined_where_answers_could_not_have_differed(units):
    assert math.isnan(krippendorff_alpha(units))


def literal_alpha(units):
    """The definition, pair by pair, with nothing counted together."""

    def distance(first, second):
        return 0 if first == second else 1 - len([x for x in first if x in second]) / len({*first, *second})

    units = [[answer for answer in unit if answer is not None] for unit in units]
    units = [unit for unit in units if len(unit) >= 2]
    everything = [answer for unit in units for answer in unit]
    total, within, across = len(everything), 0.0, 0.0
    for unit in units:
        for i in range(len(unit)):
            for j in range(len(unit)):
                within += distance(unit[i], unit[j]) / (len(unit) - 1) if i != j else 0
    for i in range(total):
        for j in range(total):
            across += distance(everything[i], everything[j]) if i != j else 0
    return 1 - (within / total) / (across / (total * (total - 1))) if across else math.nan


@given(UNITS)
def test_alpha_is_the_literal_one(units):
    assert krippendorff_alpha(units) == pytest.approx(literal_alpha(units), nan_ok=True)


def test_distances_by_hand():
    first, *others = agreement.jaccard_distances([frozenset(own) for own in (set(), set(), {1, 2}, {2, 3}, {1})])
    assert first.tolist() == [0, 0, 1, 1, 1]
    assert others[1].tolist() == pytest.approx([1, 1, 0, 2 / 3, 1 / 2])


def test_labels_outside_gold_become_one():
    assert agreement.outside_gold_as_one({7, 9}, {9}) == {agreement.OTHER, 9}
    assert agreement.outside_gold_as_one({7, 8}, {9}) == {agreement.OTHER}
    assert agreement.outside_gold_as_one((), {9}) == frozenset()


def test_entropy_by_hand():
    assert agreement.entropy([{1}, {1}, {1}]) == 0
    assert agreement.entropy([{1}, {2}]) == 1
    assert agreement.entropy([{1}, set()]) == 1
    assert agreement.entropy([set(), set()]) == 0
    assert agreement.entropy([{1, 2}, {1}, {3}]) == pytest.approx(1.5)  # halves 1, quarters 2 and 3
    assert agreement.entropy([]) == 0


def test_z_scores_by_hand():
    assert agreement.z_scores([10, 20, 30]) == pytest.approx([-math.sqrt(1.5), 0, math.sqrt(1.5)])
    assert agreement.z_scores([50, 50]).tolist() == [0, 0]
    assert agreement.z_scores([0.1] * 3).tolist() == [0, 0, 0]
    assert agreement.z_scores([]).tolist() == []
