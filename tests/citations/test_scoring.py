"""Scores of sets, by hand and by enumeration."""

from __future__ import annotations

import itertools
import statistics

import pytest
from hypothesis import given
from hypothesis import strategies as st

from heval_core.citations import scoring, set_scores

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


def test_an_omitted_citation_scores_nothing():
    found = scoring.scores([set(), {0}, set()], [set(), set(), {1}], [3, 3, 3])
    assert found["f1"].tolist() == [0, 0, 0]


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
