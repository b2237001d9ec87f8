"""Scores of sets, by hand and by enumeration; and agreement, by hand and against a literal program of its definition."""

import itertools
import math
import random
import statistics

import pytest
from hypothesis import given
from hypothesis import strategies as st

from heval_core.citations import agreement, krippendorff_alpha, scoring, set_scores

PLACES = st.sets(st.integers(0, 9))


def test_precision_recall_and_f1_by_hand():
    assert set_scores({1, 2}, {2, 3}) == (0.5, 0.5, 0.5)
    assert set_scores({1, 2, 3, 4}, {1}) == (0.25, 1.0, 0.4)
    assert set_scores([4, 4], (4,)) == (1.0, 1.0, 1.0)
    for nothing in ((set(), {1}), ({1}, set()), (set(), set()), ({1}, {2})):
        assert set_scores(*nothing) == (0.0, 0.0, 0.0)


@given(PLACES, PLACES)
def test_f1_is_the_harmonic_mean(predicted, gold):
    precision, recall, f1 = set_scores(predicted, gold)
    assert f1 == pytest.approx(statistics.harmonic_mean([precision, recall]))
    assert set_scores(gold, predicted) == (recall, precision, f1)


def test_an_f1_of_exactly_the_threshold_is_not_rounded_below_it():
    for hits, size, gold in itertools.product(range(1, 30), range(1, 40), range(1, 40)):
        if hits <= min(size, gold) and 10 * 2 * hits == 6 * (size + gold):
            f1 = set_scores(range(size), range(size - hits, size - hits + gold))[2]
            assert f1 >= scoring.TRANSPARENT - scoring.ROUNDING


@pytest.mark.parametrize(("size", "gold", "sentences"), itertools.product(range(5), range(5), (4, 6)))
def test_chance_is_the_mean_over_all_sets_of_that_size(size, gold, sentences):
    every = [set_scores(chosen, range(gold))[2] for chosen in itertools.combinations(range(sentences), size)]
    found = scoring.scores([range(size)], [range(gold)], [sentences])
    assert found["chance"][0] == pytest.approx(statistics.mean(every))


def test_sets_that_an_explanation_cannot_have_are_refused():
    with pytest.raises(ValueError, match="larger than its explanation"):
        scoring.scores([{0, 1}], [{0}], [1])
    with pytest.raises(ValueError, match="2 numbers of sentences"):
        scoring.scores([{0}], [{0}], [1, 1])


@given(st.lists(st.tuples(PLACES, PLACES, st.integers(10, 12)), max_size=20))
def test_a_table_has_the_values_of_its_rows(rows):
    found = scoring.scores([row[0] for row in rows], [sorted(row[1]) for row in rows], [row[2] for row in rows])
    for place, (predicted, gold, _) in enumerate(rows):
        values = tuple(found[name][place] for name in ("precision", "recall", "f1"))
        assert values == pytest.approx(set_scores(predicted, gold))


CHAINS = [[1, 2], [2, 3, 4], [0, 5]]


def test_the_best_chain_counts_for_each_value_by_itself():
    # [1]: P 1/3, R 1, F1 1/2. [2, 3, 4, 5]: P 2/3, R 1/2, F1 4/7.
    assert scoring.retrieval([1, 2, 3], [[1], [2, 3, 4, 5]]) == (2 / 3, 1.0, 4 / 7)
    assert scoring.retrieval([], [[1]]) == (0, 0, 0)
    assert scoring.retrieval([1], []) is None


@pytest.mark.parametrize(
    ("size", "chains"), itertools.product(range(8), (CHAINS, CHAINS[:1], [[6]], [[], [1]], [[1, 2], [1, 2]]))
)
def test_chance_of_passages_is_the_mean_over_all_sets_of_that_size(size, chains):
    every = [scoring.retrieval(drawn, chains) for drawn in itertools.combinations(range(7), size)]
    expected = tuple(statistics.mean(values) for values in zip(*every, strict=True)) if every else None
    if size > 6:
        assert expected == scoring.retrieval(range(7), chains)
    assert scoring.chance_retrieval(size, range(7), chains) == pytest.approx(expected)


def test_chance_of_what_cannot_be():
    assert scoring.chance_retrieval(2, range(7), []) is None
    with pytest.raises(ValueError, match="8 passages cannot be drawn out of 7"):
        scoring.chance_retrieval(8, range(7), CHAINS)
    with pytest.raises(ValueError, match="a chain has a passage"):
        scoring.chance_retrieval(1, range(3), CHAINS)


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
