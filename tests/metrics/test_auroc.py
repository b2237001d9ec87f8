"""AUROC of the context's share: against scikit-learn, by hand, and how often its interval holds the truth."""

import numpy as np
import pytest
from scipy.stats import norm
from sklearn.metrics import roc_auc_score

from heval_core.metrics.auroc import ContextAuroc, placements
from heval_core.metrics.shared.cell import Cell, Fixed, Positions
from heval_core.report.sections import plans
from heval_core.statistics.bootstrap import resample_weights
from heval_core.statistics.values import replicates

METRIC = ContextAuroc()


def cell_of(shares, groups, fixed=None):
    """Prompts of four tokens: the document's share on its first token of two, the rest on the question's."""
    shares = np.asarray(shares, dtype=float)
    layout = Positions.of([4] * len(groups), [0] * len(groups), [[(0, 2)]] * len(groups), [[(0,)]] * len(groups), groups)

    def scores(own):
        return np.stack([own, np.zeros_like(own), np.zeros_like(own), 1 - np.abs(own)], axis=1)

    there = np.ones(len(groups), dtype=bool)
    return Cell(layout, scores(shares), fixed=None if fixed is None else Fixed(scores(np.asarray(fixed)), there))


def of(cell, part="c"):
    (found,) = [own for own in METRIC.over(cell, 5) if own.part == part]
    return found


@pytest.fixture(scope="module")
def drawn():
    rng = np.random.default_rng(2)
    groups = rng.choice(["C", "M", "other"], 300, p=[0.5, 0.4, 0.1])
    return np.round(rng.random(300) * 0.6 + 0.3 * (groups == "C"), 1), groups


def test_it_is_scikit_learns_with_ties(drawn):
    shares, groups = drawn
    used = groups != "other"
    expected = roc_auc_score(groups[used] == "C", shares[used])
    found = of(cell_of(shares, groups))
    assert found.value == pytest.approx(expected)
    assert found.sizes == (("C", int((groups == "C").sum())), ("M", int((groups == "M").sum())))
    assert (found.chance, found.best) == (0.5, 1.0)
    assert all(np.mean(own) == pytest.approx(expected) for own in placements(shares[groups == "C"], shares[groups == "M"]))


def test_the_share_is_signed_over_the_ranked_prompts_absolute_sum():
    """Worked by hand: (2 - 1) / (3 + 1 + 1) = .2 beats (1 + 1) / (2 + 10) = .17, and both beat a prompt of zeros, with 0."""
    layout = Positions.of([6] * 3, [1] * 3, [[(1, 4)]] * 3, [[(1,)]] * 3, ["C", "M", "M"])
    scores = np.array([[99.0, 2, -1, 0, 1, -1], [99, 1, 1, 0, -10, 0], np.zeros(6)])
    cell = Cell(layout, scores)
    metric = ContextAuroc(smallest_group=1)
    assert metric.over(cell, 5)[0].value == 1.0
    scores[0, 1] = 1
    assert metric.over(Cell(layout, scores), 5)[0].value == 0.25


def test_several_documents_are_asked_by_forced_choice():
    layout = Positions.of([4] * 90, [0] * 90, [[(0, 1), (1, 2)]] * 90, [[(0,), (1,)]] * 90, ["C1", "C2", "M"] * 30)
    assert METRIC.over(Cell(layout, np.ones((90, 4))), 5) == []


def test_fewer_than_thirty_of_a_side_is_told():
    few = of(cell_of(np.linspace(0, 1, 60), ["C"] * 31 + ["M"] * 29))
    assert few.unavailable == "group M has 29 of the 30 instances needed"


def test_at_a_fixed_target_a_string_match_tells_nothing(drawn):
    """The answer given stands in the document where it came from there; the first document's answer always does."""
    _, groups = drawn
    cell = cell_of((groups == "C").astype(float), groups, fixed=np.ones(len(groups)))
    assert of(cell).value == 1.0
    assert of(cell, "c_context").value == 0.5


def test_values_of_instances_add_up_to_it_so_that_means_over_cells_are_resampled(drawn):
    shares, groups = drawn
    cell = cell_of(shares, groups)
    (each,), found = METRIC.each(cell, 0), of(cell)
    sides = {mean.groups: each.value[np.isin(groups, mean.groups)].mean() for mean in METRIC.means("c", 1)}
    assert sum(sides.values()) == pytest.approx(found.value)
    weights = resample_weights(len(groups))
    (drawn_values,) = replicates([found], weights)
    exact = []
    for row in weights[:300]:
        chosen = np.repeat(np.arange(len(groups)), row)
        own = chosen[groups[chosen] != "other"]
        exact.append(roc_auc_score(groups[own] == "C", shares[own]))
    assert drawn_values[:300].std() == pytest.approx(np.std(exact), rel=0.03)
    assert np.corrcoef(drawn_values[:300], exact)[0, 1] > 0.99


def test_no_interval_or_replicate_passes_zero_or_one():
    for shares in (
        np.r_[np.ones(40), np.zeros(40)],
        np.r_[np.ones(39), 0.0, np.zeros(39), 0.5],
        np.r_[np.zeros(40), np.ones(40)],
    ):
        found = of(cell_of(shares, ["C"] * 40 + ["M"] * 40))
        low, high = found.interval()
        assert 0 <= low < high <= 1
        (values,) = replicates([found], resample_weights(80))
        assert values.min() >= 0
        assert values.max() <= 1


@pytest.mark.parametrize("apart", [0.0, 1.0, 2.5, 4.0])
@pytest.mark.parametrize("counts", [(30, 30), (30, 120)])
def test_intervals_hold_the_truth(apart, counts):
    """Normal shares, whose AUROC is known: .5 to .998. Of 300 intervals of 95 %, fewer than 270 hold it once in 5,000 runs."""
    rng = np.random.default_rng(int(10 * apart) + counts[1])
    groups = np.repeat(["C", "M"], counts)
    truth = norm.cdf(apart / np.sqrt(2))
    held = 0
    for _ in range(300):
        values = rng.normal(size=sum(counts)) + apart * (groups == "C")
        low, high = of(cell_of(norm.cdf(values / 3), groups)).interval()
        held += low <= truth <= high
    assert held >= 270


def test_the_report_has_it_with_its_twin_at_a_fixed_target():
    assert [own.key for own in plans()["auroc"].measures] == ["auroc", "auroc_fixed"]
    assert "auroc_fixed" not in plans()
