"""Selected passages against people's chains, by hand and by enumeration."""

from __future__ import annotations

import itertools
import statistics

import pytest

from heval_core.citations.scoring import chance_retrieval, retrieval

CHAINS = [[1, 2], [2, 3, 4], [0, 5]]


def test_the_best_chain_counts_for_each_value_by_itself():
    # [1]: P 1/3, R 1, F1 1/2. [2, 3, 4, 5]: P 2/3, R 1/2, F1 4/7.
    assert retrieval([1, 2, 3], [[1], [2, 3, 4, 5]]) == (2 / 3, 1.0, 4 / 7)
    assert retrieval([], [[1]]) == (0, 0, 0)
    assert retrieval([1], []) is None


@pytest.mark.parametrize(
    ("size", "chains"), itertools.product(range(8), (CHAINS, CHAINS[:1], [[6]], [[], [1]], [[1, 2], [1, 2]]))
)
def test_chance_is_the_mean_over_all_sets_of_that_size(size, chains):
    every = [retrieval(drawn, chains) for drawn in itertools.combinations(range(7), size)]
    expected = tuple(statistics.mean(values) for values in zip(*every, strict=True)) if every else None
    if size > 6:
        assert expected == retrieval(range(7), chains)
    assert chance_retrieval(size, range(7), chains) == pytest.approx(expected)


def test_chance_of_what_cannot_be():
    assert chance_retrieval(2, range(7), []) is None
    with pytest.raises(ValueError, match="8 passages cannot be drawn out of 7"):
        chance_retrieval(8, range(7), CHAINS)
    with pytest.raises(ValueError, match="a chain has a passage"):
        chance_retrieval(1, range(3), CHAINS)
