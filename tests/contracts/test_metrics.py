"""What every metric that is found must keep to on cells that are not empty: its best, its chance, its bounds."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from heval_core.evaluation.scored import measured_metrics
from heval_core.metrics._features import LearnedMetric
from heval_core.metrics.description_length import mdl
from heval_core.metrics.shared.cell import Cell, Fixed, MeasuredValues, Places, Positions
from heval_core.metrics.shared.measure import QUESTIONS
from heval_core.plugins import catalogue
from heval_core.plugins.measures import declared

METRICS = list(catalogue.plugins("metric").values())
COUNT = 240


def layout(dual: bool, count: int = COUNT, seed: int = 0) -> Positions:
    """Prompts of 24 to 40 tokens after a BOS, with one document or two of their own lengths, and a question.

    The answer stands at two gold tokens: of both documents, one of them the source where its document was used; else of one.
    """
    rng = np.random.default_rng(seed)
    lengths = rng.integers(24, 41, count)
    middle, end = 1 + lengths // 4, 1 + lengths // 2
    spans = [[(1, int(m)), (int(m), int(e))] if dual else [(1, int(e))] for m, e in zip(middle, end, strict=True)]
    gold = [[tuple(sorted(rng.choice(np.arange(*span), 2, replace=False))) for span in own] for own in spans]
    groups = rng.permutation(np.resize(["C1", "C2"] if dual else ["C", "M"], count))
    where = Positions.of(list(lengths), [1] * count, spans, gold, list(groups))
    of_both = np.array([[own[0][0], own[-1][-1]] for own in gold])
    starts = np.sort(of_both, axis=1)
    either = (np.arange(count) % 3 == 0) & (groups != "M")
    if dual:  # where either will do, both are in the document that was used
        used = (groups == "C2").astype(int)
        starts = np.where(
            either[:, None], np.sort([own[place] for own, place in zip(gold, used, strict=True)], axis=1), starts
        )
        source = used
    else:
        source = rng.permutation(np.resize([0, 1], count))
    right, worded = np.where(either, -1, source), np.arange(count) % 4 < 2
    agreed = (np.arange(2) == np.where(worded, source, 1 - source)[:, None]).astype(int)
    places = Places(starts, starts + 1, np.where(either, "either", "one"), right, right, agreed)
    return dataclasses.replace(where, places=places)


def oracle(where: Positions) -> Cell:
    """The used document above all and its answer first, the unused one below all; the size of scores tells the group."""
    rng = np.random.default_rng(1)
    scores = 0.01 * rng.random(where.ranked.shape)
    for number, (document, gold) in enumerate(zip(where.documents, where.gold, strict=True), start=1):
        used = (where.groups == ("C" if len(where.documents) == 1 else f"C{number}"))[:, None]
        scores += document * np.where(used, 1.0, -1.0) + 0.5 * (gold & used)
    places, rows = where.places, np.arange(len(scores))
    if len(where.documents) == 1:  # sources, whatever was used
        scores[rows, places.starts[rows, np.maximum(places.source, 0)]] += 0.25
        either = places.verdicts == "either"
        for place in (0, 1):
            scores[rows[either], places.starts[either, place]] += 2.0
    scores = np.where(where.ranked, scores, 0.0)
    everybody = np.ones(len(scores), dtype=bool)
    return Cell(where, scores, fixed=Fixed(scores, everybody))


def drawn(where: Positions, seed: int) -> Cell:
    """Scores that know nothing, a third of them tied; and what was measured of them as of a random control."""
    rng = np.random.default_rng(seed)
    scores, fixed = rng.choice([0.0, *rng.random(40)], (2, *where.ranked.shape))
    scores[rng.random(scores.shape) < 0.3] = 0.0
    measured = {
        (key, part): MeasuredValues(*rng.exponential(1, (2, len(scores))))
        for key, metric in measured_metrics().items()
        for part in metric.parts
    }
    there = np.ones(len(scores), dtype=bool)
    return Cell(where, np.where(where.ranked, scores, 0.0), measured, fixed=Fixed(fixed * where.ranked, there))


@pytest.mark.parametrize("key", measured_metrics())
def test_what_the_random_control_was_not_measured_on_is_not_available(key):
    cell = drawn(layout(False), 0)
    measured = {at: own._replace(chance=np.r_[np.nan, own.chance[1:]]) for at, own in cell.measured.items()}
    values = catalogue.find("metric", key).over(Cell(cell.layout, cell.scores, measured), 0)
    assert {value.unavailable for value in values} == {"the random control lacks some of these answers"}


@pytest.mark.parametrize("dual", [False, True], ids=["one document", "two"])
@pytest.mark.parametrize("metric", METRICS, ids=lambda m: m.key)
def test_an_oracle_reaches_the_best_there_is(metric, dual):
    cell = oracle(layout(dual))
    for each in metric.each(cell, 5):
        used = np.isfinite(each.value) & np.isfinite(each.best)
        if metric.key != "rank_at_k":  # which has a value where the document was not used, too
            np.testing.assert_allclose(each.value[used], each.best[used], err_msg=each.part)
    for estimate in metric.over(cell, 5):
        if estimate.unavailable is None and np.isfinite(estimate.best):
            part = estimate.part.removesuffix("_context")
            if (
                metric.key == "mdl"
            ):  # its best is the code of somebody who need not learn: whoever must gets as near as labels do
                labels = np.isin(cell.layout.groups, ("C", "C1")).astype(int)
                width = 5 * len(cell.layout.documents)
                assert estimate.value == pytest.approx(getattr(mdl(np.tile(labels[:, None], width), labels), part), rel=0.1)
            else:
                assert estimate.normalised == pytest.approx(1, abs=0.12 if part == "information" else 1e-9), estimate.part
            assert estimate.normalised <= 1 + 1e-9


@pytest.mark.parametrize("dual", [False, True], ids=["one document", "two"])
@pytest.mark.parametrize(
    "metric",
    [pytest.param(own, marks=pytest.mark.slow) if isinstance(own, LearnedMetric) else own for own in METRICS],
    ids=lambda m: m.key,
)
def test_scores_that_know_nothing_are_at_chance_within_their_own_error(metric, dual):
    """Four of 8 independent draws' standard errors from chance: one in 16,000 for each part."""
    apart: dict[str, list[tuple[float, float]]] = {}
    for seed in range(8):
        for estimate in metric.over(drawn(layout(dual, seed=seed), seed), 5):
            assert estimate.unavailable is None, estimate.part
            low, high = estimate.intervals()[1]
            apart.setdefault(estimate.part, []).append((estimate.value - estimate.chance, (high - low) / 2 / 1.96))
    asks_elsewhere = all(measure.question in ("RQ1" if dual else "RQ2", "") for measure in metric.measures)
    assert apart or metric.key == "rank_at_k" or asks_elsewhere
    for part, found in apart.items():
        values, errors = np.array(found).T
        assert abs(values.mean()) < 4 * np.sqrt(np.square(errors).sum()) / len(values), part


prompts = st.integers(6, 30).flatmap(
    lambda n: st.tuples(
        st.lists(st.sampled_from([0.0, 0.0, 0.5, 1.0, -1.0, 3.25]), min_size=n, max_size=n),
        st.integers(2, n - 3),
        st.integers(1, 9),
        st.booleans(),
        st.integers(0, 1),
    )
)


@settings(deadline=None, max_examples=80)
@given(prompts)
def test_values_of_instances_keep_their_bounds_on_whatever_prompt(prompt):
    scores, end, k, dual, first = prompt
    spans = [(first, 1 + end // 2), (1 + end // 2, end + 1)] if dual else [(first, end)]
    gold = [(span[1] - 1,) for span in spans]
    groups = ["C1", "C2"] if dual else ["C", "M"]
    where = Positions.of([len(scores)] * 2, [first] * 2, [spans] * 2, [gold] * 2, groups)
    cell = Cell(where, np.array([scores, scores[::-1]]))
    n = len(scores) - first
    for metric in METRICS:
        for each in metric.each(cell, k):
            value, chance, best = (own[np.isfinite(each.value)] for own in each[1:])
            sign = 1 if metric.higher_is_better else -1
            if np.isfinite(best).all():
                assert (sign * value <= sign * best + 1e-9).all(), metric.key
                assert (sign * chance <= sign * best + 1e-9).all(), metric.key
            if metric.key in ("mrr", "hit_at_k", "forced_choice"):
                assert ((value >= 0) & (value <= 1)).all()
                assert metric.key != "mrr" or (value >= 1 / n - 1e-12).all()
            if metric.key == "rank_at_k":
                assert ((value >= 1) & (value <= n)).all()
            if metric.key in ("instance_rank_margin", "position_bias"):
                assert (np.abs(value) <= n - 1 + 1e-9).all()


@pytest.mark.parametrize("metric", [m for m in METRICS if m.uses_k], ids=lambda m: m.key)
def test_scores_that_are_all_equal_are_exactly_at_chance(metric):
    """Ties are broken at random: whoever says the same of every token says what random scores say."""
    for dual in (False, True):
        where = layout(dual, 120)
        for each in metric.each(Cell(where, np.zeros(where.ranked.shape)), 5):
            used = np.isfinite(each.value)
            np.testing.assert_allclose(each.value[used], each.chance[used], err_msg=each.part)


def test_what_is_published_is_what_the_functions_with_the_formula_give():
    """On cells with ties, group by group and prompt by prompt."""
    from heval_core.metrics.document_rank import rank_at_k
    from heval_core.metrics.group_margin import group_rank_margin
    from heval_core.metrics.instance_margin import instance_rank_margin
    from heval_core.metrics.mrr import reciprocal_rank

    where = layout(True, 120)
    cell = drawn(where, 3)
    ranks: dict[str, list[list[float]]] = {"C1": [[], []], "C2": [[], []]}
    reciprocals: dict[str, list[float]] = {"C1": [], "C2": []}
    for row, group in enumerate(where.groups):
        n = int(where.ranked[row].sum())
        own = cell.scores[row, 1 : n + 1]
        for number, document in enumerate(where.documents):
            places = np.flatnonzero(document[row]) - 1
            ranks[group][number].append(rank_at_k(own, (int(places[0]), int(places[-1]) + 1), 5).value)
        gold = np.flatnonzero(where.gold[int(group[1]) - 1][row]) - 1
        reciprocals[group].append(reciprocal_rank(own, list(gold)).value)
    found = {
        (key, e.part): e.value
        for key in ("group_rank_margin", "instance_rank_margin", "mrr")
        for e in catalogue.find("metric", key).over(cell, 5)
    }
    (own1, other1), (other2, own2) = (np.array(ranks[group]) for group in ("C1", "C2"))
    assert found["instance_rank_margin", "C1"] == pytest.approx(instance_rank_margin(own1, other1))
    assert found["instance_rank_margin", "C2"] == pytest.approx(instance_rank_margin(own2, other2))
    assert found["group_rank_margin", "c1"] == pytest.approx(group_rank_margin(own1, other2))
    assert found["group_rank_margin", "c2"] == pytest.approx(group_rank_margin(own2, other1))
    for group, own in reciprocals.items():
        assert found["mrr", group] == pytest.approx(np.mean(own))
    assert found["mrr", "balanced"] == pytest.approx(np.mean([np.mean(own) for own in reciprocals.values()]))


@pytest.mark.parametrize("metric", METRICS, ids=lambda m: m.key)
def test_what_a_metric_declares_is_whole(metric):
    parts = {each.part for dual in (False, True) for each in metric.each(drawn(layout(dual, 60), 0), 5)}
    for measure in declared(metric):
        assert measure.question in (*QUESTIONS, "")
        assert measure.best in ("high", "low", "zero")
        assert measure.title
        assert measure.unit
        assert measure.meaning.endswith(".")
        assert set(measure.instance_parts) <= parts


def test_no_two_measures_have_one_name():
    every = [measure for metric in METRICS for measure in declared(metric)]
    assert len({measure.key for measure in every}) == len(every)
    assert len({(measure.question, measure.title) for measure in every}) == len(every)
