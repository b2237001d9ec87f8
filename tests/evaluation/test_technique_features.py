"""What BCU depends on: features by hand, and a planted confounder that a pooled correlation falls for."""

import json
from math import sqrt

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from heval_core.evaluation.techniques import features
from heval_core.evaluation.techniques.features import EVERY_DATASET, stratified, student_p
from heval_core.store.filters import Filter
from tests.techniques.planted import MEMORY, Answer, perfect, plant, published


@pytest.mark.parametrize(
    ("word", "count"),
    [("capital", 3), ("table", 2), ("made", 1), ("the", 1), ("Rome", 1), ("agree", 2), ("rhythm", 1), ("tsk", 1), ("ö", 1)],
)
def test_syllables_by_the_stated_rule(word, count):
    assert features.syllables(word) == count


QUESTION, NAN = "What is the capital of the capital France?", float("nan")
ANSWERS = {features.spelled(answer) for answer in ("Paris", "Rome", "New York", "York", "Oslo")}


@pytest.mark.parametrize(("feature", "texts", "value"), [
    # 2 sentences; 6 words; the-cat-sat (3), on-a-table (4): 7 syllables.
    (features.flesch, ("The cat sat. On a table!",), 206.835 - 1.015 * 6 / 2 - 84.6 * 7 / 6),
    # An unfinished sentence is one, a decimal point and an abbreviation's full stop within a word are none.
    (features.flesch, ("It cost 3.5 then",), 206.835 - 1.015 * 5 / 1 - 84.6 * 5 / 5),
    (features.flesch, ("One. Two",), 206.835 - 1.015 * 2 / 2 - 84.6 * 2 / 2), (features.flesch, (" . ",), NAN),
    # Content words count once, in any case.
    (features.overlap, (QUESTION, "Paris, Capital of Spain"), 1 / 2), (features.overlap, (QUESTION, "the what is"), 0),
    (features.overlap, ("What is the?", "the"), NAN),
    # Word for word, of Rome, New York, York and Oslo: New York and York. Romeo is not Rome.
    (features.distractors, ("Paris, not New York, says Romeo", ANSWERS, "Paris"), 2 / 4),
    (features.distractors, ("Paris", {"Paris"}, "Paris"), NAN),
])  # fmt: skip
def test_features_of_texts_by_hand(feature, texts, value):
    assert feature(*texts) == pytest.approx(value, nan_ok=True)


def test_features_of_models_come_from_their_names_and_sizes():
    names = ["org/Qwen2.5-1.5B-Instruct", "gemma-2-2b-it", "Llama-2-7b-chat-hf", "demo-instruct", "gpt2", "kitchen", "chatty"]
    found = features.of_models(pd.DataFrame({"model": names, "parameters": [1000, 0, *[10**9] * 5]}))
    assert list(found["instruct"]) == [1, 1, 1, 1, 0, 0, 0]
    assert found["parameters"].iloc[0] == 3
    assert np.isnan(found["parameters"].iloc[1])


def test_stratified_by_hand():
    # Two strata of three. Ranks less their mean, divided by 3: x (-1, 0, 1)/3 in both; y (-1, 0, 1)/3 and (-1, 1, 0)/3.
    first, second = np.array([1, 2, 3, 101, 102, 103.0]), np.array([5, 6, 7, 1, 3, 2.0])
    strata = np.array([0, 0, 0, 1, 1, 1])
    rho, p = stratified(first, second, strata, np.arange(6))
    assert rho == pytest.approx((1 + 0 + 1 + 1 + 0 + 0) / 4)
    # What answers add: x y / 4 - rho / 2 (x² + y²) / 4, in units of 1/9, which cancel.
    adds = np.array([1 - 0.75, 0, 1 - 0.75, 1 - 0.75, -0.375, -0.375]) / 4
    se = sqrt(np.square(adds).sum() * 6 / 5)
    assert p == pytest.approx(2 * stats.t.sf(0.75 / se, 4))


def test_a_stratum_in_which_one_is_constant_says_nothing():
    first, second = np.array([1, 2, 3, 4, 4, 4.0]), np.array([1, 2, 3, 9, 8, 7.0])
    strata = np.array([0, 0, 0, 1, 1, 1])
    assert stratified(first, second, strata, np.arange(6)) == (pytest.approx(1), 0)
    assert np.isnan(stratified(first, np.ones(6), strata, np.arange(6))).all()


def test_answers_of_many_models_to_one_question_are_not_many_questions():
    rng = np.random.default_rng(0)
    x, noise = rng.random((2, 30))
    y = x + 4 * noise
    once = stratified(x, y, np.zeros(30, int), np.arange(30))
    copied = stratified(np.tile(x, 5), np.tile(y, 5), np.repeat(np.arange(5), 30), np.tile(np.arange(30), 5))
    assert copied == pytest.approx(once)
    assert 1e-4 < once[1] < 0.3
    assert student_p(once[0], 148) < once[1] / 10


def test_the_stratified_p_is_uniform_where_nothing_depends():
    rng = np.random.default_rng(3)
    strata, questions = np.repeat([0, 1], 40), np.tile(np.arange(40), 2)
    found = [stratified(rng.random(80), (rng.random(80) < 0.4) * 1.0, strata, questions)[1] for _ in range(400)]
    assert np.mean(np.array(found) < 0.05) == pytest.approx(0.05, abs=0.03)


def test_students_p_is_that_of_scipy():
    rng = np.random.default_rng(0)
    x, y = rng.random((2, 25))
    expected = stats.spearmanr(x, y)
    assert student_p(expected.statistic, 23) == pytest.approx(expected.pvalue)
    assert np.isnan(student_p(0.5, 0))
    assert student_p(1.0, 5) == 0


SENTENCE = "It is known that Rome is the capital of the country today as ever before"


def confounded(case):
    """Two models: one trusts its source in 4 of 5 questions and reads long documents, the other in 1 of 5 and short ones.
    Within a model, lengths have a period of 4 and answers one of 5: of 20 questions, one cannot tell the other."""
    long = case.model == "long-instruct"
    words = (*["Indeed"] * (8 if long else 0), *SENTENCE.split(" ")[: 10 + case.number % 4])
    follows = (case.number % 5 != 0) if long else (case.number % 5 == 0)
    return Answer(case.follows if follows else MEMORY, document=" ".join(words), p_alone=0.01 * (1 + case.number % 7))


@pytest.fixture(scope="module")
def found(tmp_path_factory):
    folder = plant(
        tmp_path_factory.mktemp("confounded"),
        {"regular": confounded},
        models={"long-instruct": 10**9, "short": 10**6},
        datasets=("one", "other"),
        regimes=("conflicting", "irrelevant"),
        development=0,
        test=60,
    )
    return published(folder).rows("feature_correlation", Filter())


def row(found, feature, dataset="one", regime="conflicting"):
    (own,) = found[(found["feature"] == feature) & (found["dataset"] == dataset) & (found["regime"] == regime)].to_dict(
        "records"
    )
    return own


def test_judged_relevance_is_what_the_agent_said_of_the_same_question(tmp_path):
    said = ["relevant", "irrelevant", "irrelevant", "relevant", "unparsable"]

    def answered(case):
        trace = json.dumps(
            [{"agent": "relevance", "verdict": said[case.number % 5]}, {"agent": "faithfulness", "verdict": "faithful"}]
        )
        follows = said[case.number % 5] == "relevant"
        return Answer(case.follows if follows else MEMORY, trace=trace if case.technique == "multi_agent" else None)

    folder = plant(tmp_path, {"regular": answered, "multi_agent": answered}, regimes=("conflicting",), development=0, test=40)
    found = published(folder).rows("feature_correlation", Filter(technique=("regular",)))
    (own,) = found[found["feature"] == "judged_relevance"].to_dict("records")
    # 8 of 40 are unparsable; in the others the answer goes with what the agent said.
    assert own["n"] == 32
    assert own["rho"] == pytest.approx(1)


@pytest.mark.parametrize(("trace", "said"), [
    ('[{"agent": "answer"}, {"agent": "relevance", "verdict": "relevant"}]', 1),
    ('[{"agent": "relevance", "verdict": "irrelevant"}]', 0), ('[{"agent": "relevance", "verdict": "unparsable"}]', None),
    ("[3]", None), ("{", None), (None, None),
])  # fmt: skip
def test_a_trace_without_a_verdict_is_unknown(trace, said):
    found = features.judged_relevance(trace)
    assert np.isnan(found) if said is None else found == said


@pytest.mark.parametrize(("dataset", "n"), [("one", 120), ("other", 120), (EVERY_DATASET, 240)])
def test_length_looks_guilty_where_models_are_pooled_and_is_not_within_them(found, dataset, n):
    length = row(found, "length", dataset)
    assert length["n"] == n
    assert length["rho"] > 0.4
    assert length["p_holm"] < 1e-4
    assert length["rho_stratified"] == pytest.approx(0, abs=1e-9)
    assert length["p_stratified"] == pytest.approx(1)


def test_a_feature_of_the_model_has_no_stratified_correlation(found):
    for name in features.OF_MODELS:
        own = row(found, name)
        # phi of (48, 12) against (12, 48): .6
        assert own["rho"] == pytest.approx(0.6)
        assert np.isnan(own["rho_stratified"])


def test_holm_is_over_the_features_of_one_dataset_regime_and_technique(found):
    own = found[(found["dataset"] == "one") & (found["regime"] == "conflicting")]
    known = own["p"].dropna().sort_values()
    assert len(known) >= 5
    smallest = own.loc[known.index[0]]
    assert smallest["p_holm"] == pytest.approx(min(1, smallest["p"] * len(known)))


def test_memory_strength_is_known_from_irrelevant_documents_and_is_the_questions_everywhere(found):
    assert row(found, "memory_strength")["n"] == 120
    assert abs(row(found, "memory_strength")["rho"]) < 0.15


def test_what_cannot_be_said_says_why(tmp_path):
    rows = published(plant(tmp_path, {"regular": perfect}, regimes=("gold",))).rows("feature_correlation", Filter())
    reasons = dict(zip(rows["feature"], rows["unavailable"], strict=True))
    assert reasons["memory_strength"] == "The feature is known for none of these answers."
    assert reasons["parameters"] == "The feature is the same for all of these answers."
    assert rows["rho"].isna().all()
