"""NMutInf, MDL and the probe: against literal versions and scikit-learn, by chance, and on what cannot be computed."""

from __future__ import annotations

import itertools
import math
from dataclasses import replace

import numpy as np
import pytest

from heval_core.metrics._features import labelled, largest, standardised
from heval_core.metrics._nets import code_lengths, first_block
from heval_core.metrics.description_length import PLUGIN as MDL
from heval_core.metrics.description_length import mdl
from heval_core.metrics.mutual_information import PLUGIN as NMUTINF
from heval_core.metrics.mutual_information import Neighbourhood, nmutinf
from heval_core.metrics.probe import PLUGIN as PROBE
from heval_core.metrics.probe import fold_of, held_out
from heval_core.metrics.shared.cell import Cell, Positions
from heval_core.records import HEvalError
from heval_core.statistics.values import replicates
from tests.metrics import literal

pytestmark = pytest.mark.usefixtures("twenty_halves")


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
    layout = Positions.of([width + 3] * count, [0] * count, [[(0, width)]] * count, [[(0,)]] * count, names)
    return Cell(layout, scores)


@pytest.mark.parametrize("seed", range(3))
def test_what_another_machine_rounds_otherwise_changes_no_value(seed):
    """Two far groups whose members differ by single steps of the tolerance, and features that are all alike."""
    rng = np.random.default_rng(seed)
    steps = np.tile([0, 1, 2], 40)
    features = np.stack([np.repeat([0.0, 1.0], 60) + 0.5e-6 * steps, 0.5e-6 * rng.permutation(steps)], axis=1)
    features[:, 1] += np.tile([0.0, 1.0], 60)
    labels = rng.integers(0, 2, 120)
    for otherwise in (features + 1e-13 * rng.standard_normal(features.shape), features[:, ::-1]):
        assert nmutinf(otherwise, labels) == pytest.approx(nmutinf(features, labels), abs=1e-12)
    alike = np.full((120, 3), 0.1)
    (accuracy, information) = PROBE.of(labelled(cell_of(alike, labels), 3)[0])
    assert (accuracy.p, information.p) == (0.5, 0.5)


@pytest.mark.parametrize("seed", range(3))
def test_nmutinf_equals_a_literal_version(seed):
    features, labels = sample(80, 1.5, seed, 3)
    assert nmutinf(features, labels).raw == pytest.approx(literal.nmutinf(features.tolist(), labels.tolist()))


def whole(near, labels):
    """Mean entropy among everybody's neighbours."""
    return near.doubt(np.ones((1, len(labels)), dtype=bool), labels[None])[0]


def test_neighbours_of_a_half_are_those_of_the_half_alone():
    features, labels = sample(120, 0.8)
    there = np.random.default_rng(1).random(120) < 0.5
    found = Neighbourhood(features, 5).doubt(there[None], labels[None])[0]
    # Standardised by everybody: a literal search among those that are there.
    points = standardised(features)[there]
    distances = np.linalg.norm(points[:, None] - points[None], axis=2)
    near = np.argsort(distances, axis=1)[:, 1:6]
    assert found == pytest.approx(np.mean([literal.entropy(labels[there][row].mean()) for row in near]))


def test_tied_neighbours_are_drawn_and_the_value_is_the_mean_over_all_draws():
    """Six equal instances and five of another kind, by hand and by drawing: each has ties that no order decides."""
    features = np.array([[0.0]] * 6 + [[1.0]] * 5 + [[1.0 + 1e-9]] * 1)
    labels = np.array([1, 0, 0, 1, 1, 0] + [0, 1, 0, 0, 0] + [1])
    expected = []
    for i in range(12):
        order = sorted(
            (abs(round(float(features[j, 0]), 6) - round(float(features[i, 0]), 6)), j) for j in range(12) if j != i
        )
        fifth = order[4][0]
        sure = [labels[j] for d, j in order if d < fifth]
        tied = [labels[j] for d, j in order if d == fifth]
        ways = list(itertools.combinations(tied, 5 - len(sure)))
        expected.append(sum(literal.entropy((sum(sure) + sum(way)) / 5) for way in ways) / len(ways))
    assert whole(Neighbourhood(features, 5), labels) == pytest.approx(np.mean(expected))


def test_the_order_of_the_instances_and_a_seed_change_nothing_among_ties():
    """One draw of the ties moved the value by up to .08."""
    rng = np.random.default_rng(4)
    features, labels = rng.integers(0, 3, (200, 2)).astype(float), rng.integers(0, 2, 200)
    order = rng.permutation(200)
    one, other = (nmutinf(features, labels, seed=seed).raw for seed in (0, 1))
    assert one == other == pytest.approx(nmutinf(features[order], labels[order]).raw)


@pytest.mark.parametrize(("share", "published"), [(0.5, 0.168), (0.8, 0.24), (0.9, 0.33)])
def test_the_chance_level_of_nmutinf_is_that_of_methods_md(share, published):
    """Features that know nothing give everybody five random neighbours."""
    weights = [math.comb(5, i) * share**i * (1 - share) ** (5 - i) for i in range(6)]
    by_formula = 1 - sum(w * literal.entropy(i / 5) for i, w in enumerate(weights)) / literal.entropy(share)
    assert by_formula == pytest.approx(published, abs=0.006)
    labels = (np.arange(100_000) < share * 100_000).astype(np.int8)
    found = whole(Neighbourhood(np.zeros((100_000, 1)), 5), labels)  # all tied: drawn from everybody
    assert 1 - found / literal.entropy(labels.mean()) == pytest.approx(by_formula, abs=1e-4)


@pytest.mark.slow
def test_nmutinf_of_random_features_is_its_chance_and_its_p_says_so():
    features, labels = sample(3000, 0.0)
    found = nmutinf(features, labels)
    assert found.raw == pytest.approx(found.chance, abs=0.02)
    assert found.chance == pytest.approx(0.168, abs=0.005)
    assert abs(found.adjusted) < 0.03
    assert found.p > 0.05
    sure = nmutinf(*sample(300, 200.0, width=1))
    assert (sure.raw, sure.adjusted) == (1.0, 1.0)
    assert sure.p == pytest.approx(1 / 101)


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
    orders = np.stack([np.random.default_rng(i).permutation(count) for i in range(20)])
    ours = coded([features], labels, orders)[0].sum(axis=1)
    theirs = np.array([literal.mdl_bits(features, labels, np.random.default_rng(i)) for i in range(20)])
    error = math.sqrt((ours.var(ddof=1) + theirs.var(ddof=1)) / 20)
    assert abs(ours.mean() - theirs.mean()) < 3.5 * error
    assert 0.5 < ours.std() / theirs.std() < 2


def coded(sets, labels, orders):
    """(C, runs, n) bits, in the order of the orders."""
    width = max(own.shape[1] for own in sets)
    table = np.stack([np.pad(standardised(own), ((0, 0), (0, width - own.shape[1]))) for own in sets])
    return code_lengths(table, orders, labels[orders])


ORDERS = np.stack([np.random.default_rng(i).permutation(120) for i in range(6)])


def test_the_code_of_features_is_the_same_in_any_company():
    features, labels = sample(120, 1.0)
    alone = coded([features[:, :3]], labels, ORDERS[:4])[0]
    company = coded([features, features[:, :3], features[:, 3:]], labels, ORDERS)[1, :4]
    np.testing.assert_allclose(alone, company, atol=2e-3)


def test_scaling_or_shifting_features_changes_no_code():
    features, labels = sample(120, 1.0)
    np.testing.assert_allclose(coded([features], labels, ORDERS), coded([1e-4 * features + 7], labels, ORDERS), atol=5e-3)


def test_no_label_is_coded_after_it_was_seen():
    """With the labels of the last block turned, only that block's bits change: nothing before has met them."""
    features, labels = sample(60, 2.0)
    orders = np.random.default_rng((0, 0)).permutation(60)[None]
    last = orders[0, 50:]
    turned = labels.copy()
    turned[last] = 1 - turned[last]
    one, two = (coded([features], own, orders)[0, 0] for own in (labels, turned))
    assert list(np.flatnonzero(np.abs(one - two) > 1e-6)) == list(range(50, 60))
    assert (one[: first_block(60)] == 1).all()


def test_the_probe_is_scikit_learns_cross_validated_regression():
    from sklearn.linear_model import LogisticRegression
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    for features, labels in (sample(200, 1.2), sample(60, 8.0, width=10), sample(90, 0.0, width=18)):
        (fold,) = fold_of(labels[None], np.arange(len(labels))[None], 5)
        for number in range(5):  # stratified: no fold has more of a class than another, but for one
            assert all(abs(((fold == number) & (labels == own)).sum() - (labels == own).sum() / 5) <= 1 for own in (0, 1))
        expected = np.empty(len(labels))
        for number in range(5):
            out = fold == number
            engine = make_pipeline(StandardScaler(), LogisticRegression(max_iter=5000, tol=1e-10))
            expected[out] = engine.fit(features[~out], labels[~out]).predict_proba(features[out])[:, 1]
        np.testing.assert_allclose(held_out(features[None], labels[None], fold[None])[0], expected, atol=1e-5)
        data = labelled(cell_of(features, labels), features.shape[1])[0]
        accuracy, information = PROBE.of(replace(data, features=features))
        assert accuracy.value == pytest.approx(((expected > 0.5) == labels).mean())
        cost = -np.log2(np.where(labels, expected, 1 - expected)).mean()
        assert information.value == pytest.approx(literal.entropy(labels.mean()) / math.log(2) - cost, abs=1e-4)


def test_the_probe_learns_nothing_of_a_question_that_it_is_asked():
    """Ten features tell 40 questions apart, four instances each of one label: only their own question gives that away."""
    rng, questions = np.random.default_rng(5), np.repeat(np.arange(40), 4)
    features, labels = rng.standard_normal((40, 10))[questions] * 9, rng.permutation(np.repeat([0, 1], 20))[questions]
    order = np.stack([rng.permutation(40)[questions] for _ in range(20)])
    (accuracy, information) = PROBE.over(replace(cell_of(features, labels), priorities=order), 10)
    assert (accuracy.value < 0.65, information.value < 0) == (True, True)
    assert PROBE.over(cell_of(features, labels), 10)[0].value > 0.7
    (fold,) = fold_of(labels[None], questions[None], 5)
    assert all(len(set(fold[questions == own])) == 1 for own in range(40))
    assert [(fold == own).sum() for own in range(5)] == [32] * 5


def test_a_probe_that_saw_one_label_alone_predicts_neither():
    labels, fold = np.repeat([0, 1], [8, 2]), np.repeat([0, 1], [8, 2])
    assert (held_out(np.zeros((1, 10, 1)), labels[None], fold[None]) == 0.5).all()


def test_the_probes_chance_is_measured_learning_from_nothing_costs_bits():
    (accuracy, information) = PROBE.over(cell_of(*sample(200, 0.0, width=9)), 9)
    assert information.chance < -0.02  # 0 lies above what random scores get
    assert abs(information.value - information.chance) < 4 * information.error.se
    assert accuracy.chance < 0.53
    assert min(accuracy.p, information.p) > 0.01


def test_features_are_the_largest_scores_descending_and_of_two_documents_in_prompt_order():
    scores = np.array([[0.1, 0.9, 0.5, 0.3, 0.8, 0.7]] * 20)
    groups = ["C1", "C2", "M", "other"] * 5
    layout = Positions.of([6] * 20, [1] * 20, [[(0, 3), (3, 5)]] * 20, [[(1,), (4,)]] * 20, groups)
    (data,) = labelled(Cell(layout, scores), 3)
    # The first token is not ranked (a BOS); the first document has two tokens left, the second two: filled up with 0.
    assert data.features.tolist() == [[0.9, 0.5, 0.0, 0.8, 0.3, 0.0]] * 10
    assert data.labels.tolist() == [1, 0] * 5
    assert data.sizes == (("C1", 5), ("C2", 5))
    assert largest(np.array([[1.0, 2.0]]), np.zeros((1, 2), dtype=bool), 3).tolist() == [[0, 0, 0]]


@pytest.mark.parametrize("metric", [NMUTINF, MDL, PROBE], ids=lambda m: m.key)
def test_a_cell_gives_what_the_function_gives_and_its_halves_scatter_around_it(metric):
    features, labels = sample(150, 1.5)
    features = -np.sort(-features, axis=1)
    found = {e.part: e for e in metric.over(cell_of(features, labels), 5)}
    functions = {"nmutinf": nmutinf, "mdl": mdl}
    for part, estimate in found.items():
        expected = estimate.value if metric is PROBE else getattr(functions[metric.key](features, labels), part)
        assert estimate.value == pytest.approx(expected, rel=1e-4)
        error = estimate.error
        spread = replicates([estimate], np.ones((2000, 150)))[0]
        assert abs(np.median(spread) - expected) < 0.1 * error.se
        assert 0.9 < spread.std() / (error.se * math.sqrt(error.df / (error.df - 2))) < 1.1
        if part != "bits":
            assert estimate.normalised == pytest.approx((estimate.value - estimate.chance) / (estimate.best - estimate.chance))


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
    features, _ = sample(58, 1.0)
    (estimate, *_) = MDL.over(cell_of(features, np.tile([0, 1], 29)), 5)
    assert estimate.unavailable == "58 of the 60 instances needed"
    features, labels = features[:20], np.tile([0, 1], 10)
    with pytest.raises(HEvalError, match="20 instances are no more than the first block's 20"):
        mdl(features, labels)


@pytest.mark.parametrize("function", [nmutinf, mdl])
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
