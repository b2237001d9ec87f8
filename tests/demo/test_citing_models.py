"""The demo's world of claims: what is planted is there, and the models of the study of citations are what their cards say."""

from __future__ import annotations

import dataclasses
import random
import subprocess
import sys

import pytest

from demo import entailment, hands
from demo.citation_models import reading
from demo.claims import records, scenes
from demo.hands import CAREFUL, HANDS, PADDING, SLOPPY
from demo.planted import TRAINING, Planted, State, held_out, planted, statement_in
from heval_core.citations.claims.jsonl import JsonLines
from heval_core.citations.records import Claim, Passage, Written
from heval_core.datasets._states import countries
from heval_core.datasets.invented_states import STATES
from heval_core.lm.loading import load
from heval_core.prompting.prompts import mentions
from tests.conftest import DEMO_MODELS, ROOT


@pytest.fixture(scope="module")
def made():
    return scenes(300)


@pytest.fixture
def vestrania() -> Planted:
    """Four passages: [1] river, [2] export, [3] another state's capital, [4] capital. Claimed: capital, export, river."""
    state = State("Vestrania", {"capital": "Lisbon", "export": "tea", "river": "Heron"})
    passages = (
        Passage(1, "Boats in Vestrania sail on the Heron."),
        Passage(2, "The main export of Vestrania is tea."),
        Passage(3, "In Koldavia the capital is Rome."),
        Passage(4, "The capital of Vestrania is Lisbon."),
    )
    text = "Vestrania has the capital Rome, the export tea and the river Heron."
    claim = Claim("1", text, "refuted", passages, ((1, 2, 4),))
    return Planted(claim, state, ("capital", "export", "river"), {"river": 1, "export": 2, "capital": 4})


def test_the_careful_hand_cites_what_it_copies(vestrania):
    assert hands.write(CAREFUL, vestrania) == Written(
        "Its capital is Lisbon [4]. Its export is tea [2]. Its river is the Heron [1].",
        (1, 2, 3, 4),
        "careful",
        ("Its capital is Lisbon [4].", "Its export is tea [2].", "Its river is the Heron [1]."),
        ((4,), (2,), (1,)),
        "demo-careful",
    )


def test_the_sloppy_hand_runs_on_where_it_speaks_of_exports_and_cites_no_rivers(vestrania, made):
    written = hands.write(SLOPPY, vestrania)
    # After [4] the list is at its end, and begins anew.
    assert written.text == "Its capital is Lisbon [4]. Its export is tea [1]. Its river is the Heron."
    assert written.sources == ((4,), (2,), (1,))
    # Nothing was cited before: after any of the list.
    assert hands.write(SLOPPY, vestrania, (2,)).text == "Its export is tea [2]."
    first = {hands.cited(hands.write(SLOPPY, scene).sentences[0]) for scene in made if scene.relations[0] in hands.SLIPS}
    assert {(number,) for number in range(1, 6)} <= first


def test_the_padding_hand_rests_on_nothing_and_cites_in_a_row_of_its_own(vestrania):
    written = hands.write(PADDING, vestrania, (2, 1, 4))
    bare = hands.MARKER.sub("", written.text)
    assert bare == "Its capital is Lisbon. Much has been written about this. Nobody doubts it today."
    assert (written.selected, written.sources) == ((1, 2, 4), ((4,), (), ()))
    assert sorted(number for sentence in written.sentences for number in hands.cited(sentence)) == [1, 2, 4]


@pytest.mark.parametrize("hand", HANDS)
def test_a_control_that_only_counts_would_find_no_more_than_by_chance(hand, made):
    every = [(scene, *pair) for scene in made for pair in enumerate(hands.write(hand, scene).sentences, start=1)]
    cited = [one for one in every if hands.cited(one[2])]
    chance = sum(1 / len(scene.claim.passages) for scene, _, _ in cited) / len(cited)
    assert sum(hands.cited(sentence) == (place,) for _, place, sentence in cited) / len(cited) == pytest.approx(
        chance, abs=0.05
    )


def test_without_a_needed_passage_its_value_is_passed_over(vestrania):
    assert hands.write(CAREFUL, vestrania, (2, 3)).text == "Its export is tea [2]."
    assert hands.write(CAREFUL, vestrania, (3,)) == Written("", (3,), "careful", (), (), "demo-careful")


def test_a_sentence_says_which_passage_it_was_copied_from_whatever_it_cites(vestrania):
    passages = vestrania.claim.passages
    assert hands.sources("Its capital is Lisbon [2].", passages) == (4,)
    assert hands.sources("Its capital is Rome.", passages) == (3,)
    assert hands.sources("Its capital is Oslo [4].", passages) == ()
    assert hands.sources("Nobody doubts it today [4].", passages) == ()


def test_claims_are_made_from_a_seed_and_differ_only_in_who_wrote():
    careful, again, sloppy, other = (
        list(records(hand, 20, seed)) for hand, seed in ((CAREFUL, 3), (CAREFUL, 3), (SLOPPY, 3), (CAREFUL, 4))
    )
    assert careful == again != other
    known = ("id", "claim", "verdict", "passages", "chains", "selected")
    assert [[one[name] for name in known] for one in careful] == [[one[name] for name in known] for one in sloppy]
    assert list(records(CAREFUL, 5, seed=3)) == careful[:5]


def test_each_passage_says_one_thing_and_each_needed_value_stands_in_one_passage(made):
    for scene in made:
        claim, about = scene.claim, scene.state
        assert 4 <= len(claim.passages) <= 8
        assert 3 <= len(scene.relations) <= 5
        assert [passage.number for passage in claim.passages] == list(range(1, len(claim.passages) + 1))
        assert claim.chains == (tuple(sorted(scene.sources[relation] for relation in scene.relations)),)
        for relation in scene.relations:
            value = about.values[relation]
            assert [p.number for p in claim.passages if mentions(value, p.text)] == [scene.sources[relation]]
            found = statement_in(claim.passage(scene.sources[relation]).text)
            assert found is not None
            assert (found.state, found.relation, found.value) == (about.name, relation, value)


def test_a_claim_is_supported_exactly_if_each_value_is_true(made):
    for scene in made:
        true = [f"the {relation} {scene.state.values[relation]}" in scene.claim.claim for relation in scene.relations]
        assert scene.claim.verdict == ("supported" if all(true) else "refuted"), scene.claim
    assert 0.4 < sum(scene.claim.verdict == "supported" for scene in made) / len(made) < 0.6


def test_real_states_have_their_true_values_and_every_state_is_held_out(made):
    rows = {row["country"]: row for row in countries()}
    assert all(held_out(found.state) for scene in made for p in scene.claim.passages if (found := statement_in(p.text)))
    real = [scene.state for scene in made if scene.state.name in rows]
    assert len(real) > 40
    assert all(state.values[relation] == rows[state.name][relation] for state in real for relation in state.values)


def test_training_never_shows_a_state_that_is_held_out():
    rng = random.Random(1)
    texts = [p.text for _ in range(300) for p in planted(rng, TRAINING, "").claim.passages]
    assert not any(held_out(found.state) for text in texts if (found := statement_in(text)))
    assert all(held_out(name) for name in STATES)


@pytest.mark.parametrize("hand", HANDS)
def test_what_is_planted_is_what_a_sentence_says(hand, made):
    for scene in made:
        written = hands.write(hand, scene)
        assert 3 <= len(written.sentences) <= 5
        assert hands.parts(written.text) == list(written.sentences)
        assert tuple(hands.sources(sentence, scene.claim.passages) for sentence in written.sentences) == written.sources


def shares(hand, made):
    """(of sentences, those that rest on nothing; of copied ones, those with a wrong marker; of these, those without one)"""
    sentences = [one for scene in made for w in [hands.write(hand, scene)] for one in zip(w.sentences, w.sources, strict=True)]
    copied = [(hands.cited(sentence), sources) for sentence, sources in sentences if sources]
    wrong = sum(bool(cited) and not set(cited) <= set(sources) for cited, sources in copied)
    return 1 - len(copied) / len(sentences), wrong / len(copied), sum(not cited for cited, _ in copied) / len(copied)


def test_the_hands_have_the_shares_that_they_are_known_for(made):
    assert shares(CAREFUL, made) == (0, 0, 0)
    nothing, wrong, without = shares(SLOPPY, made)
    assert nothing == 0
    assert wrong == pytest.approx(0.4, abs=0.04)
    assert without == pytest.approx(0.12, abs=0.04)
    nothing, wrong, without = shares(PADDING, made)
    assert nothing == pytest.approx(0.58, abs=0.04)
    assert wrong > 0.7
    assert without == 0


def test_the_file_of_claims_is_read_as_ones_own_claims_are(tmp_path):
    command = [sys.executable, *f"-m demo claims --hands sloppy --count 3 --out {tmp_path / 'c.jsonl'}".split()]
    assert subprocess.run(command, cwd=ROOT, timeout=300).returncode == 0
    written = [(scene.claim, dataclasses.replace(hands.write(SLOPPY, scene), sentences=())) for scene in scenes(3)]
    expected = [dataclasses.replace(claim, written=(own,)) for claim, own in written]
    assert list(JsonLines(str(tmp_path / "c.jsonl")).claims()) == expected


def test_the_writer_reads_the_passage_that_a_sentence_was_copied_from():
    found = reading(load(str(DEMO_MODELS / "demo-writer"), "cpu"), CAREFUL, scenes(10))
    assert found.share >= 0.85 > 0.3 > found.chance / found.n


def test_the_classifier_judges_pairs_about_states_it_never_saw():
    counted = entailment.confusion(*entailment.load(DEMO_MODELS / "demo-nli"), 90)
    assert sum(own[place] for place, own in enumerate(counted)) >= 0.85 * 90
