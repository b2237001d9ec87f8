"""What techniques come to: BCU, CCU, memory kept and the like, worked out by hand on small planted stores."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from heval_core.evaluation.techniques.tables import measured
from heval_core.records import HEvalError
from heval_core.store.filters import Filter
from tests.techniques.planted import FALSE, MEMORY, SOMETHING_ELSE, TRUE, Answer, blind, perfect, plant, published


def answer(regime, predicted, accepted, *, p=0.5, p_0=0.5, alone=MEMORY, question="q", true=(TRUE, 21)):
    return {
        "instance_id": f"{question} {regime}", "fact_id": question, "regime": regime, "predicted_id": predicted,
        "accepted": np.array(accepted), "true_ids": np.array(true), "memory_id": MEMORY, "alone_id": alone,
        "probability": p, "alone_probability": p_0,
    }  # fmt: skip


def metrics(*answers) -> list[list[float]]:
    found = measured(pd.DataFrame(answers))[["bcu", "ccu", "correct", "memory_kept", "neither"]]
    return found.to_numpy().tolist()


def test_what_an_answer_comes_to_under_every_kind_of_context():
    assert metrics(
        answer("gold", TRUE, (TRUE, 21), p=0.75, p_0=0.5),  # half of what there was to add
        answer("conflicting", FALSE, (FALSE,), p=0.1, p_0=0.4),  # three quarters of what there was to take
        answer("irrelevant", FALSE, (FALSE,), p=0.4, p_0=0.4),
        answer("off_topic", SOMETHING_ELSE, (FALSE,), alone=SOMETHING_ELSE),
    ) == [[1, 0.5, 1, 1, 0], [1, pytest.approx(-0.75), 0, 1, 0], [0, 0, 0, 1, 0], [0, 0, 0, 0, 1]]
    # The other accepted form of the true answer.
    assert [row[2] for row in metrics(answer("gold", TRUE, (TRUE, 21)), answer("conflicting", 21, (FALSE,)))] == [1, 1]
    # Memory is what irrelevant and off-topic documents ask for, and what a conflicting one asks to give up.
    for regime, bcu in (("irrelevant", 1), ("off_topic", 1), ("conflicting", 0), ("gold", 0)):
        assert metrics(answer(regime, MEMORY, (FALSE,)))[0][0] == bcu


def test_what_is_not_known_is_not_guessed():
    alone = metrics(answer("conflicting", FALSE, (FALSE,), true=()), answer("gold", TRUE, (TRUE,)))
    assert np.isnan(alone[0][2])
    assert not np.isnan(alone[1][2])
    assert np.isnan(metrics(answer("conflicting", None, (FALSE,)))[0]).all()
    assert np.isnan(metrics(answer("conflicting", FALSE, (FALSE,), p=None))[0][1])
    assert metrics(answer("conflicting", FALSE, (FALSE,), p=1 + 1e-9))[0][1] == 1
    with pytest.raises(HEvalError, match="q conflicting.*two probabilities"):
        metrics(answer("conflicting", FALSE, (FALSE,), p=1.5))


def by_hand(case):
    """Of the test questions 2 to 5, Regular follows 3 gold, 1 conflicting and 2 irrelevant documents; the technique others."""
    number = case.number - 2
    if case.technique == "regular":
        follows = {"gold": 3, "conflicting": 1, "irrelevant": 2}[case.regime]
        return Answer(case.follows if number < follows else MEMORY, knew=number == 0)
    if case.regime == "irrelevant" and number == 3:
        return None
    followed = {"gold": (0, 1, 2, 3), "conflicting": (0, 1, 2), "irrelevant": (0,)}[case.regime]
    token = case.follows if number in followed else SOMETHING_ELSE
    return Answer(token, alone=MEMORY if number else TRUE, p=0.9, p_alone=0.6, knew=number == 0)


@pytest.fixture(scope="module")
def cells(tmp_path_factory):
    tried = {"regime": "gold", "bcu": 0.25, "n": 2, "chosen": True, "tied": True}
    trials = [
        {"technique": "prompting", "unavailable": "The model follows no instructions."},
        {"technique": "coiecd", "setting": '{"lam": 0.1}', **tried},
    ]
    asked, kinds = {"regular": by_hand, "acd": by_hand}, ("gold", "conflicting", "irrelevant")
    return published(plant(tmp_path_factory.mktemp("by-hand"), asked, regimes=kinds, development=2, test=4, trials=trials))


def cell(reader, technique, regime, measure):
    rows = reader.technique_cells(Filter(technique=(technique,)))
    (row,) = rows[(rows["regime"] == regime) & (rows["measure"] == measure)].to_dict("records")
    return row


VALUES = {
    # technique, kind, measure: value, difference from Regular, n
    ("regular", "gold", "bcu"): (3 / 4, 0, 4),
    ("regular", "conflicting", "bcu"): (1 / 4, 0, 4),
    # Of four questions the three that ACD answered too.
    ("regular", "irrelevant", "bcu"): (1 / 3, 0, 3),
    ("regular", "total", "bcu"): (5 / 11, 0, 11),
    ("regular", "total", "discrimination"): (1 / 4 + 1 / 3 - 1, 0, 7),
    ("regular", "gold", "bcu_unknown"): (2 / 3, 0, 3),
    ("acd", "gold", "bcu"): (1, 1 / 4, 4),
    ("acd", "conflicting", "bcu"): (3 / 4, 2 / 4, 4),
    # Three questions; of these Regular's memory answered the third, the technique's none.
    ("acd", "irrelevant", "bcu"): (0, 0 - 1 / 3, 3),
    ("acd", "total", "bcu"): (7 / 11, 7 / 11 - 5 / 11, 11),
    ("acd", "total", "discrimination"): (3 / 4 + 0 - 1, (3 / 4 + 0) - (1 / 4 + 1 / 3), 7),
    ("acd", "gold", "accuracy"): (1, 1 / 4, 4),
    ("acd", "conflicting", "accuracy"): (0, 0, 4),
    ("acd", "irrelevant", "neither"): (2 / 3, 2 / 3, 3),
    # Per question, not per answer: question 2 was forgotten under all three kinds, and question 5 has only two answers.
    ("acd", "total", "memory_kept"): (3 / 4, -1 / 4, 4),
    ("acd", "conflicting", "ccu"): (0.3 / 0.4, 0.3 / 0.4 - 0.25 / 0.5, 4),
}


@pytest.mark.parametrize("key", VALUES, ids=" ".join)
def test_cells_are_the_means_worked_out_by_hand(cells, key):
    row, (value, delta, n) = cell(cells, *key), VALUES[key]
    assert (row["value"], row["delta"], row["n"]) == (pytest.approx(value), pytest.approx(delta), n)
    assert row["low"] - 1e-12 <= row["value"] <= row["high"] + 1e-12
    assert row["delta_low"] - 1e-12 <= row["delta"] <= row["delta_high"] + 1e-12


def test_chance_stands_where_it_is_defined_and_what_is_not_available_says_why(cells):
    assert cell(cells, "acd", "total", "discrimination")["chance"] == 0
    assert cell(cells, "prompting", "total", "bcu")["unavailable"] == "The model follows no instructions."
    assert cell(cells, "acd", "off_topic", "bcu")["unavailable"] == "No test question was asked with off-topic documents."
    row = cell(cells, "acd", "total", "discrimination_off_topic")
    assert row["unavailable"] == "No test question was asked with off-topic documents."
    rows = cells.technique_cells(Filter())
    assert rows[~rows["measure"].str.startswith("discrimination")]["chance"].isna().all()
    assert (rows["value"].isna() == rows["unavailable"].notna()).all()


def test_a_search_is_published_as_it_was_stored(cells):
    trials = cells.rows("technique_trial", Filter(technique=("coiecd",)))
    assert trials[["setting", "regime", "bcu", "n", "chosen", "tied"]].values.tolist() == [
        ['{"lam": 0.1}', "gold", 0.25, 2, True, True]
    ]
    assert list(cells.rows("technique_trial", Filter(regime=("conflicting",)))["technique"]) == []


def test_without_regular_there_are_values_but_no_differences(tmp_path):
    rows = published(plant(tmp_path, {"acd": perfect}, test=5)).technique_cells(Filter())
    assert rows["value"].notna().any()
    assert rows["delta"].isna().all()


def test_development_questions_never_count(tmp_path):
    def only_in_development(case):
        return Answer(MEMORY if case.split == "development" else case.right)

    reader = published(plant(tmp_path, {"regular": perfect, "acd": only_in_development}, development=30, test=6))
    for kind, n in (("conflicting", 6), ("total", 24)):
        row = cell(reader, "acd", kind, "bcu")
        assert (row["value"], row["delta"], row["n"]) == (1, 0, n)
        # All right, and all as under Regular: on 6 questions that is not certain to stay so.
        assert 0.4 < row["low"] < 0.8 < row["high"] == 1
        assert row["delta_low"] < -0.1 < 0.1 < row["delta_high"]
    assert set(reader.query("SELECT split FROM behaviour")["split"]) == {"development", "test"}
    assert list(reader.rows("pareto", Filter())["n"]) == [6, 6]
    assert set(reader.rows("feature_correlation", Filter())["n"].dropna()) <= {0, 6}


def test_only_development_questions_are_no_result(tmp_path):
    reader = published(plant(tmp_path, {"regular": perfect}, test=0))
    assert reader.technique_cells(Filter()).empty
    assert len(reader.query("SELECT * FROM behaviour")) == 40


def test_a_dropped_instance_does_not_count_but_one_that_only_the_cap_left_out_does(tmp_path):
    def answered(case):
        reason = {10: "same first token", 11: "not sampled"}.get(case.number)
        return Answer(case.right, change={"dropped_because": reason})

    assert cell(published(plant(tmp_path, {"regular": answered}, test=5)), "regular", "gold", "bcu")["n"] == 4


def test_all_techniques_are_compared_on_the_questions_that_all_of_them_answered(tmp_path):
    def asked_less(case):
        easy = case.number < 16
        reason = None if easy or case.technique == "regular" else "prompt too long"
        return Answer(case.right if easy else MEMORY, change={"dropped_because": reason})

    reader = published(plant(tmp_path, {"regular": asked_less, "acd": asked_less}, test=12))
    both = [cell(reader, technique, "total", "bcu") for technique in ("regular", "acd")]
    assert both[0]["n"] == both[1]["n"] == 24
    assert both[0]["value"] == both[1]["value"] == 1
    assert len(reader.instance_ids(Filter(technique=("regular",), changed="counted"))) == 24


@pytest.mark.slow
@pytest.mark.parametrize("without", [2, 6])
def test_an_answer_that_was_given_without_the_document_counts_and_hinders_no_metric(tmp_path, without):
    """Agents answer so where they call the document irrelevant: the prompt has no document, its kind is still known."""
    gone = dict.fromkeys(("document_starts", "document_ends", "answer_tokens", "first_mention"), [])

    def asked(case):
        return Answer(case.right, change=gone if case.technique == "multi_agent" and case.number < without else {})

    store = plant(tmp_path, {"regular": perfect, "multi_agent": asked}, development=0, test=6)
    reader = published(store)
    assert cell(reader, "multi_agent", "irrelevant", "bcu")["n"] == 6
    first = reader.instance(reader.instance_ids(Filter(technique=("multi_agent",)))[0])
    assert (first.documents, first.group, first.used_document) == ((), "C", None)


@pytest.mark.slow
def test_differences_are_paired_so_a_constant_gain_is_better_known_than_the_value(tmp_path):
    def at_random(case):
        return Answer(case.right if (case.number * 7919) % 11 < 5 else SOMETHING_ELSE)

    def with_probability(case):
        return Answer(at_random(case).token, p=0.75 + 0.2 * (case.technique == "acd"))

    reader = published(plant(tmp_path, {"regular": with_probability, "acd": with_probability}, test=40))
    row = cell(reader, "acd", "total", "ccu")
    assert row["delta"] == pytest.approx(0.4)
    assert 0.1 < row["delta_low"] < 0.4 < row["delta_high"] < 0.75
    bcu = cell(reader, "acd", "total", "bcu")
    assert bcu["delta"] == 0
    assert 0 < bcu["delta_high"] == -bcu["delta_low"] < (bcu["high"] - bcu["low"]) / 2.5
    assert bcu["low"] < bcu["value"] < bcu["high"]


@pytest.mark.slow
def test_a_blind_technique_has_no_discrimination(tmp_path):
    rng = np.random.default_rng(0)
    draws = {(kind, number): rng.random() for kind in ("conflicting", "irrelevant") for number in range(400)}

    def coin(case):
        return Answer(case.follows if draws[case.regime, case.number] < 0.3 else MEMORY)

    folder = plant(
        tmp_path,
        {"regular": coin, "acd": blind(0.8), "coiecd": perfect},
        regimes=("conflicting", "irrelevant"),
        development=0,
        test=400,
    )
    reader = published(folder)
    drawn = cell(reader, "regular", "total", "discrimination")
    assert drawn["low"] < 0 < drawn["high"]
    assert drawn["high"] - drawn["low"] == pytest.approx(2 * 1.96 * (2 * 0.21 / 400) ** 0.5, rel=0.1)
    # The same questions followed whatever the document: J is hardly uncertain: the kinds of a question belong together.
    exact = cell(reader, "acd", "total", "discrimination")
    assert [exact["value"], exact["low"], exact["high"]] == pytest.approx([0, 0, 0], abs=0.01)
    perfectly = cell(reader, "coiecd", "total", "discrimination")
    assert (perfectly["value"], perfectly["high"]) == (1, 1)
    assert 0.98 < perfectly["low"] < 0.995


@pytest.mark.slow
def test_what_sees_only_the_topic_discriminates_off_topic_and_not_within_the_relation(tmp_path):
    followed = {"conflicting": 6, "irrelevant": 6, "off_topic": 1}

    def by_topic(case):
        if case.technique == "regular":
            return Answer(case.follows)
        return Answer(case.follows if case.number < followed[case.regime] else MEMORY)

    kinds = tuple(followed)
    store = plant(tmp_path, {"regular": by_topic, "acd": by_topic}, regimes=kinds, development=0, test=8)
    reader = published(store)
    within, apart = (cell(reader, "acd", "total", f"discrimination{name}") for name in ("", "_off_topic"))
    assert within["value"] == pytest.approx(0, abs=1e-12)
    assert -0.5 < within["low"] < -0.2 < 0.2 < within["high"] < 0.5
    # 6 of 8 conflicting documents are followed and 7 of 8 off-topic ones ignored; Regular, which follows all, has 0.
    assert [apart["value"], apart["delta"], apart["chance"], apart["n"]] == [pytest.approx(5 / 8), pytest.approx(5 / 8), 0, 16]
    assert 0 < apart["low"] < 5 / 8 < apart["high"] <= 1
    assert 0 < apart["delta_low"] < 5 / 8 < apart["delta_high"] < 1.1
    regular = cell(reader, "regular", "total", "discrimination_off_topic")
    assert regular["value"] == 0
    assert -0.5 < regular["low"] < -0.2 < 0.2 < regular["high"] < 0.5
