"""Every sentence about techniques on a store in which it is known to hold, and on one in which it is known to fail."""

import json

import numpy as np
import pytest

from heval_core.evaluation.findings.claims import CONTRADICTED, LARGEST, LEAST, SUPPORTED, UNDECIDED, Hypothesis, Number
from heval_core.evaluation.findings.cub import CLAIMS, MARGIN
from heval_core.records import TECHNIQUE
from heval_core.store.filters import Filter
from tests.planted import noise
from tests.planted import plant as plant_explained
from tests.planted import published as published_explained
from tests.techniques.planted import MEMORY, Answer, blind, perfect, plant, published

pytestmark = pytest.mark.slow

SEVERAL = {"models": ("a", "b"), "datasets": ("counterfact", "nq"), "test": 60}


def remembering(sign):
    """Follows half of the documents, whatever their kind: with sign -1 those whose memory is weakest."""

    def answer(case):
        place = case.number % 10
        return Answer(case.follows if place < 5 else MEMORY, p_alone=0.5 - sign * (place - 4.5) / 20)

    return answer


def easier(case):
    """Perfect on synthesised questions, blind on the others."""
    return perfect(case) if case.dataset == "counterfact" else blind(0.5)(case)


def harder(case):
    return blind(0.5)(case) if case.dataset == "counterfact" else perfect(case)


def stores(techniques, folder, **more):
    return published(plant(folder, techniques, **{**SEVERAL, **more}))


@pytest.fixture(scope="module")
def holding(tmp_path_factory):
    """One technique follows more, one less, and a prompt helps with synthesised questions."""
    techniques = {TECHNIQUE: remembering(-1), "acd": blind(0.2), "cad": blind(0.8)}
    return stores(techniques, tmp_path_factory.mktemp("holding"))


@pytest.fixture(scope="module")
def failing(tmp_path_factory):
    """ACD does what every kind asks for."""
    return stores({TECHNIQUE: remembering(1), "acd": perfect, "cad": blind(0.8)}, tmp_path_factory.mktemp("failing"))


def finding(reader, key):
    return reader.findings("techniques").set_index("key").loc[key]


def effects_of(reader, key):
    return {effect["label"]: effect for effect in json.loads(finding(reader, key)["effects"])}


# Others are tested on stores of their own below.
KNOWN = [("holding", claim.key, SUPPORTED) for claim in CLAIMS if claim.key != "synthesised"]
KNOWN += [("failing", claim.key, CONTRADICTED) for claim in CLAIMS if claim.key not in ("unaided", "synthesised")]


@pytest.mark.parametrize(("store", "key", "expected"), KNOWN)
def test_a_sentence_is_supported_where_it_is_known_to_hold_and_contradicted_where_to_fail(request, store, key, expected):
    row = finding(request.getfixturevalue(store), key)
    assert row["verdict"] == expected, (row["reason"], row["effects"])
    assert row["reason"].startswith("Against it: ") == (expected == CONTRADICTED)


@pytest.mark.parametrize(("answers", "verdict"), [(easier, SUPPORTED), (harder, CONTRADICTED)])
def test_real_questions_are_harder_or_not(tmp_path, answers, verdict):
    reader = stores({TECHNIQUE: blind(0.5), "cad": answers}, tmp_path)
    assert finding(reader, "synthesised")["verdict"] == verdict
    (effect,) = effects_of(reader, "synthesised").values()
    totals = reader.technique_cells(Filter(technique=("cad",)))
    totals = totals[(totals["regime"] == "total") & (totals["measure"] == "bcu")].groupby("dataset")["value"].mean()
    assert effect["value"] == pytest.approx(totals["counterfact"] - totals["nq"])
    assert abs(effect["value"]) == pytest.approx(0.5)


def test_a_model_that_is_perfect_by_itself_needs_no_technique(tmp_path):
    reader = stores({TECHNIQUE: perfect, "acd": blind(0.5)}, tmp_path)
    assert finding(reader, "unaided")["verdict"] == CONTRADICTED


def test_the_techniques_that_are_best_or_worst_somewhere_are_named(holding, failing):
    assert set(effects_of(holding, "no_best")) == {"ACD behind CAD, gold", "CAD behind ACD, irrelevant"}
    against = finding(failing, "no_best")["reason"]
    assert "ACD behind" in against
    assert "CAD behind" not in against


def test_effects_are_differences_of_what_the_page_shows(holding):
    cells = holding.technique_cells(Filter())
    gains = cells[cells["measure"] == "bcu"].groupby(["technique", "regime"])["delta"].mean()
    ahead = effects_of(holding, "no_best")["ACD behind CAD, gold"]
    assert ahead["value"] == pytest.approx(gains["cad", "gold"] - gains["acd", "gold"]) == pytest.approx(0.6)
    traded = effects_of(holding, "trade_off")
    faithful = (gains["acd", "gold"] + gains["acd", "conflicting"]) / 2
    assert traded["ACD, gain in faithfulness"]["value"] == pytest.approx(faithful) == pytest.approx(-0.3)
    assert traded["CAD, gain in robustness"]["value"] == pytest.approx(gains["cad", "irrelevant"])
    j = cells[cells["measure"] == "discrimination"].groupby("technique")["delta"].mean()
    for name, effect in effects_of(holding, "blind_decoding").items():
        assert effect["value"] == pytest.approx(j[name.split(",")[0].lower()])


def test_one_cell_has_the_correlation_of_the_page(tmp_path):
    reader = published(plant(tmp_path, {TECHNIQUE: remembering(-1), "acd": blind(0.2)}, test=60))
    (effect,) = effects_of(reader, "strong_memory").values()
    shown = reader.rows("feature_correlation", Filter(technique=(TECHNIQUE,), regime=("conflicting",))).set_index("feature")
    assert effect["value"] == pytest.approx(shown.loc["memory_strength", "rho_stratified"])
    assert effect["low"] < effect["value"] < effect["high"] < 0
    row = finding(reader, "strong_memory")
    assert row["verdict"] == UNDECIDED  # of one model on one dataset
    assert "1 model and 1 dataset" in row["reason"]


def test_what_a_store_lacks_is_said(tmp_path):
    kinds = ("gold", "conflicting")
    reader = stores({TECHNIQUE: blind(0.5), "prompting": blind(0.8)}, tmp_path, datasets=("one", "two"), regimes=kinds)
    found = reader.findings("techniques").set_index("key")
    lacking = {claim.key: claim.lacking for claim in CLAIMS}
    for key in ("unaided", "trade_off", "strong_memory", "blind_decoding", "synthesised"):
        assert found.loc[key, "verdict"] == UNDECIDED
        assert found.loc[key, "reason"] == f"{lacking[key][0].upper()}{lacking[key][1:]}."
    assert found.loc["no_best", "verdict"] == CONTRADICTED  # prompting is the best in both kinds that there are


def test_techniques_that_few_models_were_asked_with_do_not_hold_up_a_verdict(tmp_path):
    def only_a(case):
        return blind(0.5)(case) if case.model == "a" else None

    techniques = {TECHNIQUE: remembering(-1), "acd": blind(0.2), "cad": blind(0.8), "prompting": only_a}
    reader = stores(techniques, tmp_path)
    assert finding(reader, "no_best")["verdict"] == SUPPORTED
    assert not any("Prompting" in label for label in effects_of(reader, "no_best"))


def test_without_techniques_there_are_no_sentences_about_them(tmp_path):
    plant_explained(tmp_path, noise, count=3)
    reader = published_explained(tmp_path)
    assert len(reader.findings("techniques")) == 0
    assert len(reader.findings()) == 11


def made_up(label, value, error, rng, resamples=1000):
    """A mean of one cell: what was seen of a true value, and its replicates."""
    seen = value + rng.normal(0, error)
    values = np.concatenate([[seen], seen + rng.normal(0, error, resamples)])
    return number(label, values)


def number(label, values):
    """Of one cell. values: (1 + R,)."""
    return Number(label, values, values[:, None], frozenset("m"), frozenset("d"), 1, 100)


def test_the_largest_of_equals_is_not_ahead_by_being_chosen():
    """Thirty differences that are all 0: the largest one alone would be above 0 in half of the stores and more."""
    rng = np.random.default_rng(0)
    wrong = chosen_alone = 0
    for _ in range(200):
        means = tuple(made_up(str(number), 0.0, 0.05, rng) for number in range(30))
        effect = Hypothesis(means, least=0.0, which=LARGEST).effect(1)
        wrong += effect.inside
        alone = Hypothesis((max(means, key=lambda number: number.drawn[0]),), least=0.0).effect(1)
        chosen_alone += alone.inside
    assert wrong <= 14  # 2.5 % are 5
    assert chosen_alone > 90


def test_the_interval_of_a_choice_by_hand():
    """Limits at 95 %, and at 97.5 % on the side that the choice is corrected on, of two evenly spread means."""
    first, second = (
        number(name, np.concatenate([[middle], middle + np.linspace(-0.1, 0.1, 1001)]))
        for name, middle in (("first", 0.3), ("second", 0.1))
    )
    largest = Hypothesis((first, second), least=MARGIN, which=LARGEST).effect(1)
    assert (largest.label, largest.value) == ("first", pytest.approx(0.3))
    assert (largest.low, largest.high) == (pytest.approx(0.2 + 0.2 * 0.0125), pytest.approx(0.4 - 0.2 * 0.025))
    least = Hypothesis((first, second), most=MARGIN, which=LEAST).effect(2)
    assert (least.label, least.value) == ("second", pytest.approx(0.1))
    assert (least.low, least.high) == (pytest.approx(0.2 * 0.025), pytest.approx(0.2 - 0.2 * 0.0125))
    assert (least.strict_low, least.strict_high) == (pytest.approx(0.2 * 0.0125), pytest.approx(0.2 - 0.2 * 0.00625))
