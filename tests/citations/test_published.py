"""The published tables of the study against numbers worked out by hand.

Claim a: `One [1].`, made from passage 1; `Two [2].`, made from 3; `Three.`, made from none. Passages 1, 2, 3 were given. Claim
b: `It is [2].` and `It was.`, made from nobody knows what. Passages 1 and 2 of three were given. The control `first` chooses
the first sentence everywhere. The explainer chooses as in EXPLAINED."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from heval_core.citations.people.annotations import AnnotationStore
from heval_core.citations.people.items import Item
from heval_core.citations.records import Choice, Passage
from heval_core.evaluation.citations import measures
from heval_core.evaluation.citations.measures import of_sentences
from heval_core.evaluation.citations.tables import answers_of
from heval_core.records.vocabulary import OF_EXPLAINERS
from heval_core.store.reader import Reader
from tests.citations.batch_study import Chooser, known, line, published, ran
from tests.planted import marking, plant

EXPLAINED = {("a", 1): {0}, ("a", 2): set(), ("a", 3): {1}, ("b", 1): {0, 1}, ("b", 2): set()}


def explained(question):
    return EXPLAINED[question.explained.claim.id, question.passage]


def unread(question):
    return Choice(frozenset(), problem="it said nothing") if question.passage == 2 else {0}


@pytest.fixture(scope="module")
def results(tmp_path_factory) -> Reader:
    store = tmp_path_factory.mktemp("published") / "store"
    claims = (
        line("a", "One [1].", "Two [2].", "Three.", sources=[[1], [3], []], chains=[[1, 2]]),
        line("b", "It is [2].", "It was.", selected=[1, 2], chains=[[1], [2, 3]]),
    )
    with pytest.MonkeyPatch.context() as patch:
        explainer = Chooser("explainer", explained, control=False, family="explainer")
        known(patch, Chooser("first", lambda question: {0}), explainer, Chooser("unread", unread))
        assert ran(store, *claims, annotators=("first", "explainer", "unread")).failed == 0
        return published(store)


def cell(results: Reader, annotator: str, measure: str, masking: str = "full") -> pd.Series:
    rows = results.query(
        "SELECT * FROM cell_recovery WHERE annotator = ? AND measure = ? AND masking = ?", [annotator, measure, masking]
    )
    assert len(rows) == 1
    return rows.iloc[0]


@pytest.mark.parametrize(
    ("annotator", "measure", "value", "chance", "n"),
    [
        # F1 of a: 1, 0, and 0 for the passage that nobody cites; of b: 0 for such a passage, and 1.
        ("first", "f1", 2 / 5, (1 / 3 + 1 / 3 + 1 / 2) / 5, 5),
        ("first", "precision", 2 / 5, (1 / 3 + 1 / 3 + 1 / 2) / 5, 5),
        ("first", "recall", 2 / 5, (1 / 3 + 1 / 3 + 1 / 2) / 5, 5),
        ("first", "f1_of_claims", (1 / 3 + 1 / 2) / 2, (2 / 9 + 1 / 4) / 2, 5),
        # Of a one of two cited passages is found, of b the only one. By chance: 1/3 · 1/3, and 1/2.
        ("first", "transparent", 1 / 2, (1 / 9 + 1 / 2) / 2, 2),
        ("first", "correct_rejection", 0, 0, 2),
        ("first", "unreadable", 0, None, 5),
        ("unread", "unreadable", 2 / 5, None, 5),
        ("explainer", "f1", 1 / 5, None, 5),
        # It chooses none in 2 of 5 answers, but never for the two passages that nobody cites.
        ("explainer", "correct_rejection", 0, 2 / 5, 2),
        # a: the first sentence rests on what it cites, the second on another passage, the third on none. b: the first rests on
        # another, the second on one though it cites none. By chance passages 1 and 3 of a are missed with 2/3, 1 of b never.
        ("explainer", "supported", 1 / 3, (1 / 3 + 0 + 0) / 3, 3),
        ("explainer", "wrong_marker", 2 / 3, (2 / 3 * 1 / 3 + 5 / 9 + 1) / 3, 3),
        ("explainer", "unsupported_sentence", 1 / 5, (3 * 4 / 9 + 0 + 0) / 5, 5),
        ("explainer", "omitted_citation", 1 / 5, (1 / 3 * 1 / 3 + 0 + 5 / 9 + 0 + 1) / 5, 5),
        ("explainer", "source", 1, 1 / 3, 2),
        ("explainer", "source_behind_wrong_marker", 1, 1 / 3, 1),
        ("explainer", "no_source", 1, 4 / 9, 1),
        # The truth of claim a, which is known.
        ("", "supported", 1 / 2, None, 2),
        ("", "wrong_marker", 1 / 2, None, 2),
        ("", "unsupported_sentence", 1 / 3, None, 3),
        ("", "omitted_citation", 0, None, 3),
        # Passage 3 of a and passage 1 of b.
        ("", "omitted", 2 / 5, None, 5),
        ("", "uncited", 2 / 5, None, 5),
        # a: all three against {1, 2}. b: {1, 2} against {1} and {2, 3}, the best of each; of three pairs one is {2, 3}.
        ("", "retrieval_precision", (2 / 3 + 1 / 2) / 2, (2 / 3 + 2 / 3) / 2, 2),
        ("", "retrieval_recall", 1, 1, 2),
        ("", "retrieval_f1", (4 / 5 + 2 / 3) / 2, (4 / 5 + 7 / 9) / 2, 2),
    ],
)
def test_a_cell_by_hand(results, annotator, measure, value, chance, n):
    found = cell(results, annotator, measure)
    assert found["value"] == pytest.approx(value)
    assert found["n"] == n
    assert found["low"] - 1e-9 <= value <= found["high"] + 1e-9
    if chance is not None:
        assert found["chance"] == pytest.approx(chance)
    elif measure in ("unreadable", "omitted", "uncited") or not annotator:
        assert pd.isna(found["chance"])


def test_a_cited_sentence_that_rests_on_nothing_has_no_wrong_marker():
    row = {"explanation_id": "x", "claim_id": "a", "predicted": (), "gold": (0,), "source": None, "sentences": 2}
    found = of_sentences(pd.DataFrame([row]))[list(OF_EXPLAINERS)]
    assert {name: own.dropna().tolist() for name, own in found.items()} == {
        "supported": [0], "wrong_marker": [0], "unsupported_sentence": [1, 1], "omitted_citation": [0, 0],
    }  # fmt: skip


def test_intervals_are_over_claims(results):
    found = cell(results, "first", "f1")
    # 1 of 3 in one claim, 1 of 2 in the other: two claims say little.
    assert found["claims"] == 2
    assert 0 < found["low"] < 1 / 3 < 1 / 2 < found["high"] < 1


def test_the_sample_is_of_cited_passages_and_says_what_it_cannot_tell(results):
    assert cell(results, "first", "f1", "sample")["n"] == 2
    sampled = results.query("SELECT gold FROM recovery WHERE sampled AND annotator = 'first'")
    assert all(len(gold) for gold in sampled["gold"])
    for measure in ("correct_rejection", "transparent"):
        assert cell(results, "first", measure, "sample")["unavailable"].endswith("--masking full.")
    assert "--masking full" in cell(results, "explainer", "supported", "sample")["unavailable"]


def test_rows_have_their_own_scores_and_explanations_their_retrieval_and_sources(results):
    row = results.query(
        "SELECT recovery.* FROM recovery JOIN explanation USING (explanation_id) "
        "WHERE claim_id = 'b' AND passage = 1 AND annotator = 'explainer'"
    ).iloc[0]
    assert (list(row["gold"]), list(row["predicted"])) == ([], [0, 1])
    assert (row["precision"], row["recall"], row["f1"], row["chance"]) == (0, 0, 0, 0)
    unreadable = results.query("SELECT problem, f1 FROM recovery WHERE problem IS NOT NULL")
    assert unreadable.to_numpy().tolist() == [["it said nothing", 0.0]] * 2
    rows = results.query("SELECT * FROM explanation ORDER BY rowid")
    assert rows[["precision", "recall", "f1"]].to_numpy().tolist() == [[2 / 3, 1, 4 / 5], [1 / 2, 1, 2 / 3]]
    assert rows["cited"].tolist() == ["[[1], [2], []]", "[[2], []]"]
    assert rows["sources"].iloc[0] == "[[1], [3], []]"
    assert pd.isna(rows["sources"].iloc[1])


def test_agreement_by_hand(results):
    rows = results.query("SELECT * FROM agreement WHERE masking = 'full' AND first = 'explainer' AND second = 'first'")
    # Distances in the five questions: 0, 1, 1, 1/2, 1. All answers: {0} six times, {} twice, {1}, {0, 1}.
    observed = 2 * (0 + 1 + 1 + 1 / 2 + 1) / 10
    expected = 2 * (6 * 2 + 6 * 1 + 6 * 1 / 2 + 2 * 1 + 2 * 1 + 1 / 2) / (10 * 9)
    assert rows["alpha"].iloc[0] == pytest.approx(1 - observed / expected)
    assert rows["n"].iloc[0] == 5


def people() -> pd.DataFrame:
    """Two questions about one explanation each; two people and a model answered both, the gold sets are {0} and {1}."""
    answers = (("x", [[0], [0, 2], [0, 1]], (0,)), ("y", [[1]] * 3, (1,)))
    given = [
        (name, 1, who, predicted, gold)
        for name, chosen, gold in answers
        for who, predicted in zip(("person:ada", "person:bo", "model"), chosen, strict=True)
    ]
    rows = pd.DataFrame(given, columns=["explanation_id", "passage", "annotator", "predicted", "gold"])
    sizes = {"chosen": rows["predicted"].map(len), "golds": 1, "sentences": 4, "passages": 1, "sampled": True}
    return rows.assign(
        claim_id=rows["explanation_id"], problem=None, precision=1.0, recall=1.0, f1=[1, 0.5, 0.5, 1, 1, 1], **sizes
    )


def test_people_count_together_and_against_others_with_one_common_label():
    rows = people().assign(chance=0.25)
    resamples = measures.resamples_of([("d", "x"), ("d", "y")])["d"]
    given = answers_of(rows)["sample"]
    pairs = {(row["first"], row["second"]): row for row in measures.agreement_rows({}, given, resamples)}
    assert set(pairs) == {("model", "people"), ("people", "people")}
    # All people together chose {0, 2}, the model {0, 1}: both {0, other}. So they agree.
    assert pairs["model", "people"]["alpha"] == 1
    # {0} against {0, 2} is 1/2; of the four answers {0}, {0, 2}, {1}, {1} the distances are 1/2, 1, 1, 1, 1, 0.
    assert pairs["people", "people"]["alpha"] == pytest.approx(1 - (2 * 0.5 / 4) / (2 * 4.5 / (4 * 3)))
    assert {name: len(own) for name, own in given.items()} == {"model": 2, "people": 4}
    # In x the people's mean F1 is 3/4: above the threshold.
    assert measured(given["people"])["transparent"] == [1, 1]


def measured(rows: pd.DataFrame) -> dict[str, list[float]]:
    """Measure ▶ what it is the mean of."""
    return {name: own[name].tolist() for own in measures.of_answers(rows, "full")[0] for name in own}


def test_what_people_answered_is_published_with_the_others(store, first):
    ran(store, line("a", "One [1].", "Two [2]."))
    before = published(store)
    name = before.query("SELECT explanation_id FROM explanation")["explanation_id"].iloc[0]
    passages = (Passage(1, "x"), Passage(2, "y"), Passage(3, "z"))
    shown = "question", name, "c", "v", passages
    items = [Item(*shown, number, ("One.", "Two."), frozenset({number - 1}), 2) for number in (1, 2)]
    people, _ = AnnotationStore.make(store, items)
    for person in ("ada", "bo"):
        people.sign_in(person)
        people.save(person, items[0].item_id, [0], 80, 5, f"{person} 1")
    people.save("ada", items[1].item_id, [0, 1], 40, 5, "ada 2")
    results = published(store)
    assert results.snapshot_id != before.snapshot_id
    rows = results.query("SELECT * FROM recovery WHERE starts_with(annotator, 'person:') ORDER BY passage, annotator")
    assert rows[["annotator", "passage", "f1", "helpfulness"]].to_numpy().tolist() == [
        ["person:ada", 1, 1.0, 80.0],
        ["person:bo", 1, 1.0, 80.0],
        ["person:ada", 2, 2 / 3, 40.0],
    ]
    sampled = results.query("SELECT sampled FROM explanation")["sampled"].iloc[0]
    expected = 1 if sampled == 1 else 2 / 3
    assert cell(results, "people", "f1", "sample")["value"] == pytest.approx(expected)


def test_the_chance_of_a_transparent_citation_is_what_random_choices_come_to_also_of_several_people():
    generator = np.random.default_rng(0)
    hits = [len(set(generator.permutation(5)[:2]) & {0, 1, 2}) for _ in range(4000)]
    assert measures._above(((2, 3, 5),)) == pytest.approx(np.mean([2 * one / 5 >= 0.6 for one in hits]), abs=0.03)
    # Each finds the one gold sentence of two with 1/2; the mean is above .6 only if both do.
    assert measures._above(((1, 1, 2),) * 2) == pytest.approx(1 / 4)
    # Of three, two must: 3 · 1/4 · 1/4 · 3/4 + 1/64.
    assert measures._above(((1, 1, 4),) * 3) == pytest.approx(10 / 64)


def test_what_several_people_answered_about_a_passage_counts_once():
    rows = people()[lambda own: own["annotator"] != "model"].assign(annotator="people", chance=0.25)
    more = pd.concat([rows, rows[rows["explanation_id"] == "x"]])
    # In x 1 and .5, each twice; in y 1, twice.
    assert measured(more)["f1"] == [0.75, 1]
    assert len(measured(more)["unreadable"]) == 2


def test_where_no_explanation_could_be_read_explainers_say_so(store, monkeypatch):
    nothing = Chooser("explainer", lambda _: Choice(frozenset(), problem="too long"), family="explainer", control=False)
    known(monkeypatch, nothing)
    ran(store, line("a", "One [1].", "Two [2]."), annotators=("explainer",))
    where = "WHERE annotator = 'explainer' AND masking = 'full'"
    cells = published(store).query(f"SELECT * FROM cell_recovery {where}")
    said = cells.set_index("measure")["unavailable"]
    assert {said[measure] for measure in OF_EXPLAINERS} == {"No explanation could be read."}


@pytest.mark.slow
def test_the_other_study_is_published_as_before_beside_citations_and_without_them(store, first):
    plant(store, marking(lambda *_: 0.5), regimes=("conflicting",), explainers=("fa",), count=30)
    before = published(store)
    assert before.query("SELECT * FROM claim").empty
    ran(store, line("a", "One [1].", "Two.", selected=[1]))
    after = published(store)
    stated = "finding WHERE study <> 'citations'"
    for table in ("instance", "attribution", "score", "cell_metric", "headline", stated, "pattern_share"):
        pd.testing.assert_frame_equal(before.query(f"FROM {table} ORDER BY ALL"), after.query(f"FROM {table} ORDER BY ALL"))
    assert len(after.query("SELECT * FROM recovery")) == 1
    assert before.snapshot_id != after.snapshot_id
