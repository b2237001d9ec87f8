"""NMutInf, MDL and the probe: against literal versions and scikit-learn, by chance, and on what cannot be computed."""

from __future__ import annotations

import math

import numpy as np
import pytest

from heval_core.metrics._cell import Cell, Layout
from heval_core.metrics._features import labelled, largest, standardised
from heval_core.metrics.mdl import PLUGIN as MDL
from heval_core.metrics.mdl import code_lengths, first_block, mdl
from heval_core.metrics.nmutinf import PLUGIN as NMUTINF
from heval_core.metrics.nmutinf import doubts, neighbours, nmutinf
from heval_core.metrics.probe import PLUGIN as PROBE
from heval_core.metrics.probe import probe
from heval_core.records import HEvalError
from tests.metrics import literal


def sample(count: int, strength: float, seed: int = 1, width: int = 5):
    rng = np.random.default_rng(seed)
    labels = rng.integers(0, 2, count)
    features = rng.standard_normal((count, width))
    features[:, 0] += strength * labels
    return features, labels


def cell_of(features, labels, groups=("C", "M")):
    """A cell whose document's k largest scores are the features (descending)."""
    count, width = features.shape
    scores = np.concatenate([-np.sort(-features, axis=1), np.full((count, 3), 99.0)], axis=1)
    names = [groups[0] if label else groups[1] for label in labels]
    layout = Layout.of([width + 3] * count, [0] * count, [[(0, width)]] * count, [[(0,)]] * count, names)
    return Cell.of(layout, scores)


@pytest.mark.parametrize("seed", range(3))
def test_nmutinf_equals_a_literal_version(seed):
    features, labels = sample(80, 1.5, seed, 3)
    assert nmutinf(features, labels).raw == pytest.approx(literal.nmutinf(features.tolist(), labels.tolist()))


def test_neighbours_are_scikit_learns_in_its_exact_tree():
    from sklearn.neighbors import KDTree

    features, _ = sample(300, 0.0)
    found = KDTree(standardised(features)).query(standardised(features), k=6)[1][:, 1:]
    np.testing.assert_array_equal(np.sort(neighbours(features, 5), axis=1), np.sort(found, axis=1))


@pytest.mark.parametrize(("share", "published"), [(0.5, 0.168), (0.8, 0.24), (0.9, 0.33)])
def test_the_chance_level_of_nmutinf_is_that_of_methods_md(share, published):
    """Features that know nothing give everybody five random neighbours."""
    weights = [math.comb(5, i) * share**i * (1 - share) ** (5 - i) for i in range(6)]
    by_formula = 1 - sum(w * literal.entropy(i / 5) for i, w in enumerate(weights)) / literal.entropy(share)
    assert by_formula == pytest.approx(published, abs=0.006)
    rng = np.random.default_rng(0)
    labels = (rng.random(400_000) < share).astype(np.int8)
    found = np.mean([doubts(rng.integers(0, len(labels), (400_000, 5)), labels).mean() for _ in range(5)])
    assert 1 - found / literal.entropy(labels.mean()) == pytest.approx(by_formula, abs=1e-3)


def test_nmutinf_of_random_features_is_its_chance_and_its_p_says_so():
    features, labels = sample(3000, 0.0)
    found = nmutinf(features, labels)
    assert found.raw == pytest.approx(found.chance, abs=0.02)
    assert found.chance == pytest.approx(0.168, abs=0.005)
    assert abs(found.adjusted) < 0.03
    assert found.p > 0.05
    sure = nmutinf(*sample(300, 200.0, width=1))
    assert (sure.raw, sure.adjusted) == (1.0, 1.0)
    assert sure.p == pytest.approx(1 / 51)


def test_equal_features_have_random_neighbours_and_no_order_of_the_instances_tells():
    """All scores equal, labels in blocks: neighbours by stored order would know everything."""
    labels = np.repeat([0, 1], 500)
    near = neighbours(np.zeros((1000, 5)), 5)
    assert len(np.unique(near)) > 900
    found = nmutinf(np.zeros((1000, 5)), labels)
    assert found.raw == pytest.approx(found.chance, abs=0.04)


def test_mdl_costs_a_bit_for_random_labels_and_far_less_where_features_tell():
    random, perfect = mdl(*sample(600, 0.0)), mdl(*sample(600, 30.0))
    assert 0.98 < random.bits_per_label < 1.15
    assert perfect.bits_per_label < 0.3
    assert perfect.compression > 3
    assert perfect.bits == pytest.approx(600 * perfect.bits_per_label)


@pytest.mark.slow
@pytest.mark.parametrize(("count", "strength"), [(150, 0.0), (200, 1.5)])
def test_mdl_agrees_with_scikit_learns_net_within_sampling_error(count, strength):
    features, labels = sample(count, strength)
    ours = code_lengths([features], labels, 20, 0)[0][0].sum(axis=1)
    theirs = np.array([literal.mdl_bits(features, labels, np.random.default_rng(i)) for i in range(20)])
    error = math.sqrt((ours.var(ddof=1) + theirs.var(ddof=1)) / 20)
    assert abs(ours.mean() - theirs.mean()) < 3.5 * error
    assert 0.5 < ours.std() / theirs.std() < 2


def test_the_code_of_features_is_the_same_in_any_company():
    features, labels = sample(120, 1.0)
    alone = code_lengths([features[:, :3]], labels, 4, 0)[0][0]
    company = code_lengths([features, features[:, :3], features[:, 3:]], labels, 4, 2)[1][0]
    np.testing.assert_allclose(alone, company, atol=2e-3)


def test_scaling_or_shifting_features_changes_no_code():
    features, labels = sample(120, 1.0)
    np.testing.assert_allclose(
        code_lengths([features], labels, 2, 0)[0][0], code_lengths([1e-4 * features + 7], labels, 2, 0)[0][0], atol=5e-3
    )


def test_no_label_is_coded_after_it_was_seen():
    """With the labels of the last block turned, only that block's bits change: nothing before has met them."""
    features, labels = sample(60, 2.0)
    orders = np.random.default_rng((0, 0)).permutation(60)
    last = orders[50:]
    turned = labels.copy()
    turned[last] = 1 - turned[last]
    one, two = (code_lengths([features], own, 1, 0)[0][0][0] for own in (labels, turned))
    changed = np.flatnonzero(np.abs(one - two) > 1e-6)
    assert set(changed) == set(last)
    assert (one[orders[: first_block(60)]] == 1).all()


def test_the_probe_is_scikit_learns_cross_validated_regression():
    from sklearn.linear_model import LogisticRegression
    from sklearn.model_selection import StratifiedKFold, cross_val_predict
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    features, labels = sample(200, 1.2)
    engine = make_pipeline(StandardScaler(), LogisticRegression(max_iter=500))
    folds = StratifiedKFold(5, shuffle=True, random_state=0)
    p = cross_val_predict(engine, features, labels, cv=folds, method="predict_proba")
    found = probe(features, labels)
    assert found.accuracy == pytest.approx((p.argmax(axis=1) == labels).mean())
    share = labels.mean()
    cost = -np.log2(p[np.arange(200), labels]).mean()
    assert found.information == pytest.approx(literal.entropy(share) / math.log(2) - cost, abs=1e-6)
    blind = probe(*sample(400, 0.0))
    assert blind.information < 0.02


def test_features_are_the_largest_scores_descending_and_of_two_documents_in_prompt_order():
    scores = np.array([[0.1, 0.9, 0.5, 0.3, 0.8, 0.7]] * 20)
    groups = ["C1", "C2", "M", "other"] * 5
    layout = Layout.of([6] * 20, [1] * 20, [[(0, 3), (3, 5)]] * 20, [[(1,), (4,)]] * 20, groups)
    data = labelled(Cell.of(layout, scores), 3)
    # The first token is not ranked (a BOS); the first document has two tokens left, the second two: filled up with 0.
    assert data.features.tolist() == [[0.9, 0.5, 0.0, 0.8, 0.3, 0.0]] * 10
    assert data.labels.tolist() == [1, 0] * 5
    assert data.sizes == (("C1", 5), ("C2", 5))
    assert largest(np.array([[1.0, 2.0]]), np.zeros((1, 2), dtype=bool), 3).tolist() == [[0, 0, 0]]


@pytest.mark.parametrize("metric", [NMUTINF, MDL, PROBE], ids=lambda m: m.key)
def test_a_cell_gives_what_the_function_gives_and_bootstraps_around_it(metric):
    features, labels = sample(150, 1.5)
    features = -np.sort(-features, axis=1)
    found = {e.part: e for e in metric.over(cell_of(features, labels), 5)}
    functions = {"nmutinf": nmutinf, "mdl": mdl, "probe": probe}
    for part, estimate in found.items():
        expected = getattr(functions[metric.key](features, labels), part)
        assert estimate.value == pytest.approx(expected, rel=1e-4)
        assert estimate.of_weights(np.ones((1, 150)))[0] == pytest.approx(expected, rel=1e-4)
        if part != "bits":
            assert estimate.normalised == pytest.approx(
                (estimate.value - estimate.chance) / (estimate.best - estimate.chance)
            )


@pytest.mark.parametrize("metric", [NMUTINF, MDL, PROBE], ids=lambda m: m.key)
def test_what_is_too_small_is_not_available_and_says_why(metric):
    features, labels = sample(60, 1.0)
    few = np.zeros(60, dtype=int)
    few[:4] = 1
    for estimate in metric.over(cell_of(features, few), 5):
        assert math.isnan(estimate.value)
        assert estimate.unavailable == "group C has 4 of the 10 instances needed"
    assert all(e.unavailable is None for e in metric.over(cell_of(features, labels), 5))


def test_no_labels_beyond_the_first_block_are_not_enough_for_mdl():
    features, _ = sample(20, 1.0)
    labels = np.tile([0, 1], 10)
    (estimate, *_) = MDL.over(cell_of(features, labels), 5)
    assert estimate.unavailable == "20 instances are no more than the first block's 20, which is coded blindly"
    with pytest.raises(HEvalError, match="20 instances are no more than the first block's 20"):
        mdl(features, labels)


@pytest.mark.parametrize("function", [nmutinf, mdl, probe])
@pytest.mark.parametrize(
    ("features", "labels", "told"),
    [
        (np.array([[np.nan]] + [[1.0]] * 49), np.tile([0, 1], 25), "instance 0 are NaN"),
        (np.array([[1.0]] * 49 + [[np.inf]]), np.tile([0, 1], 25), "instance 49 are NaN or infinite"),
        (np.ones((50, 2)), np.ones(50, dtype=int), "smaller class has 0 of the 10"),
        (np.ones((50, 2)), np.arange(50), "Labels must be 0 or 1"),
        (np.ones((50, 2)), np.tile([0, 1], 24), "do not belong together"),
        (np.ones(50), np.tile([0, 1], 25), "do not belong together"),
    ],
)
def test_bad_input_is_refused(function, features, labels, told):
    with pytest.raises(HEvalError, match=told):
        function(features, labels)


def test_fewer_instances_than_neighbours_are_refused():
    with pytest.raises(HEvalError, match="4 instances have no 5 neighbours"):
        nmutinf(np.arange(4.0)[:, None], np.array([0, 1, 0, 1]), smallest_class=1)
