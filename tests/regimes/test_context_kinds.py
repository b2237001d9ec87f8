"""Gold and off-topic documents, beside the six regimes; what counts as their answer, and what the checks exempt."""

from __future__ import annotations

import hashlib
import json

import pytest

from heval_core import regimes
from heval_core.explaining import pipeline
from heval_core.explaining.behaviour import Memory, accepted_tokens, check_documents, check_labels, observe
from heval_core.plugins import catalogue
from heval_core.prompting import styles
from heval_core.prompting.prompts import mentions
from heval_core.records import EVERY_REGIME, REGIMES, Document, Dropped, Fact, HEvalError, Instance, Passage, vocabulary
from heval_core.regimes import Pool, PromptStyle, build
from precompute.grid import Grid
from tests.asked import built, select

STYLES = {"plain": PromptStyle(), "taught_sources": styles.TaughtSources()}


def passage(subject: str, answer: str) -> Passage:
    return Passage(subject, answer, f"The capital of {subject} is {answer}, yes {answer}.")


def fact(subject="Kenya", true="Nairobi", false="Lisbon", relation="capital", **more) -> Fact:
    given = {"conflicting": (passage(subject, false),), **more}
    return Fact(f"{subject}-{false}", "d", subject, relation, f"What of {subject}?", true, **given)


def made(one: Fact, regime: str, others=(), style=STYLES["plain"], place=0) -> Instance:
    return build(one, regime, Pool.of([one, *others]), 0, style, place)


@pytest.mark.slow
@pytest.mark.parametrize(("key", "style", "known"), [
    ("world_capital", "plain", "af2a65042f596508"), ("world_capital", "taught_sources", "538d5e0289ed6c5f"),
    ("country_profiles", "plain", "1896783ce09d29bc"), ("country_profiles", "taught_sources", "0c726f5acb389304"),
])  # fmt: skip
def test_the_six_regimes_make_what_they_made_before_there_were_others(key, style, known):
    """A hash of all texts, answers and sources, computed when there were six regimes; the demo's shards rest on them."""
    facts = list(catalogue.find("dataset", key).facts())
    pool, digest = Pool.of(facts), hashlib.blake2b(digest_size=8)
    for regime in REGIMES:
        for fact, one in built(facts, pool, regime, STYLES[style], 60, 3).items():
            said = [fact.id, one]
            if isinstance(one, Instance):
                documents = [[d.subject, d.answer, d.text, d.kind, d.origin, d.source] for d in one.documents]
                said = [one.id, one.expected_group, documents]
            digest.update(json.dumps(said).encode())
    assert digest.hexdigest() == known


def test_gold_is_the_datasets_own_passage_or_the_true_answer_in_the_place_of_the_false_one():
    own = passage("Kenya", "Nairobi City")
    shipped = made(fact(own=own, accepted=("Nairobi City",)), "gold")
    assert shipped.documents == (Document("Kenya", "Nairobi City", own.text, "gold"),)
    assert shipped.accepted == ("Nairobi City",)
    for other in (fact(), fact(own=own)):  # without `accepted`, the own passage's answer is not known to be true
        (document,) = made(other, "gold").documents
        assert document == Document("Kenya", "Nairobi", passage("Kenya", "Nairobi").text, "gold", "substituted")
    assert made(fact(own=own, accepted=("Nairobi City",)), "conflicting").accepted == ()


def test_what_has_no_gold_document_says_why():
    for one in (
        fact(true=""),
        fact(conflicting=(Passage("Kenya", "False", "It rains.", stated=False),)),
        fact(conflicting=()),
    ):
        with pytest.raises(Dropped, match="no gold document"):
            made(one, "gold")
    with pytest.raises(Dropped, match="answer not in document"):
        made(fact(own=Passage("Kenya", "Nairobi", "It rains.")), "gold")


def test_an_off_topic_document_is_of_another_relation_and_names_nothing_of_ours():
    def about(subject, answer, text):
        return fact(subject, answer, f"no {answer}", "currency", own=Passage(subject, answer, text))

    right = about("Peru", "sol", "Money in Peru is the sol.")
    wrong = (
        about("Peru", "sol", "Money in Peru is the sol, unlike in Kenya."),  # our subject
        about("Peru", "sol", "Money in Peru is the sol, as Nairobi knows."),  # our answer
        about("Peru", "sol", "Money in Peru is the sol, as Lisbon knows."),  # our false answer
        about("Peru", "sol", "Money in Peru is the sol. Its capital is Lima."),  # an answer of our relation
        about("Kenya", "shilling", "Money is the shilling."),  # our subject, unnamed
    )
    same_relation = fact("Peru", "Lima", "Quito", own=passage("Peru", "Lima"))
    (document,) = made(fact(), "off_topic", [right, same_relation]).documents
    assert (document.text, document.kind, document.origin) == ("Money in Peru is the sol.", "off_topic", "shipped")
    for other in wrong:
        assert made(fact(), "off_topic", [other, same_relation]).documents[0].origin == "written"


def test_a_dataset_of_one_relation_gets_a_sentence_about_another_one_of_its_own_length():
    short, long = made(fact(), "off_topic"), passage("Kenya", "Lisbon " + "x" * 400)
    for one in (short, made(fact(conflicting=(long,)), "off_topic")):
        (document,) = one.documents
        assert document.origin == "written"
        assert mentions(document.answer, document.text)
        assert mentions(document.subject, document.text)
        assert not any(mentions(name, document.text) for name in ("Kenya", "Nairobi", "Lisbon"))
    assert 300 < len(document.text) <= len(long.text)
    assert len(short.documents[0].text) < 90


def test_a_shipped_off_topic_document_is_used_unless_it_names_something_of_ours():
    shipped = Passage("", "bread", "The baker sells bread.")
    assert made(fact(off_topic=shipped), "off_topic").documents[0].text == shipped.text
    leaking = Passage("", "bread", "The baker of Nairobi sells bread.")
    assert made(fact(off_topic=leaking), "off_topic").documents[0].text != leaking.text
    label = Passage("", "None", "True bread.", stated=False)
    assert made(fact(off_topic=label), "off_topic").documents == (
        Document("", "None", "True bread.", "off_topic", stated=False),
    )


def test_nothing_off_topic_is_left_where_a_style_admits_nothing():
    class Strict(PromptStyle):
        def admits(self, subject, answer):
            return False

    with pytest.raises(Dropped, match="no off-topic document"):
        made(fact(), "off_topic", style=Strict())


def test_the_seed_decides_and_the_records_order_does_not():
    facts = list(catalogue.find("dataset", "invented_states").facts())
    asked, style = select(facts, 20, 0, PromptStyle()), PromptStyle()
    for regime in ("gold", "off_topic"):
        texts = [[build(f, regime, Pool.of(some), seed, style, 0).documents[0].text for f in asked]
                 for some, seed in ((facts, 0), (facts[::-1], 0), (facts, 1))]  # fmt: skip
        assert texts[0] == texts[1]
        assert (texts[0] == texts[2]) is (regime == "gold")


def test_labels_are_not_searched_for_and_another_questions_evidence_is_not_taken():
    evidence = Passage("Kenya", "False", "True, it rains.", stated=False)
    one = fact(true="True", conflicting=(evidence,), irrelevant=Passage("", "None", "Dogs bark.", stated=False))
    other = fact("Peru", "False", own=Passage("Peru", "False", "False as it is.", stated=False), conflicting=())
    assert made(one, "conflicting").documents[0].stated is False
    assert made(one, "irrelevant", [other]).documents[0].text == "Dogs bark."
    with pytest.raises(Dropped, match="no irrelevant document"):
        made(fact(true="True", conflicting=(evidence,)), "irrelevant", [other])
    with pytest.raises(Dropped, match="no second conflicting document"):
        made(one, "double_conflicting", [other])
    with pytest.raises(Dropped, match="no conflicting document"):
        made(other, "conflicting")
    assert select([one, other, fact(conflicting=())], None, 0, PromptStyle()) == regimes.first([one, other], None, 0)


def instance(kind: str, text: str, answer: str, accepted=(), stated=True) -> Instance:
    document = Document("Kenya" if kind == "gold" else "Peru", answer, text, kind, stated=stated)
    return Instance("i", "d", kind, "f", "Kenya", "capital", "What is it?", "Nairobi", (document,), "M", accepted)


def test_the_leak_check_exempts_gold_and_labels_and_nothing_else():
    memory = Memory("Nairobi", (5,))
    check_documents(instance("gold", "Nairobi is Nairobi.", "Nairobi"), memory)
    check_documents(instance("gold", "Lagos, not Nairobi.", "Lagos"), memory)
    check_documents(instance("conflicting", "Nairobi is a city.", "False", stated=False), memory)
    for kind in ("conflicting", "irrelevant", "off_topic"):
        with pytest.raises(Dropped, match="memory answer in document"):
            check_documents(instance(kind, "Lima, not Nairobi.", "Lima"), memory)
    with pytest.raises(Dropped, match="memory answer in document"):  # no label, but a passage that answers nothing
        check_documents(instance("irrelevant", "Nairobi is a city.", "", stated=False), memory)
    with pytest.raises(Dropped, match="answer is the memory answer"):
        check_documents(instance("conflicting", "It rains.", "False", stated=False), Memory("False", (5,)))
    with pytest.raises(Dropped, match="answer not in document"):
        check_documents(instance("gold", "It rains.", "Nairobi"), memory)


def test_a_memory_that_agrees_with_a_gold_document_is_no_candidate_of_its_own(lm):
    import torch

    asked = instance("gold", "It is Nairobi.", "Nairobi")
    alike = pipeline.prepare(lm, asked, Memory("Nairobi", lm.first_tokens("Nairobi")))
    assert [name.group for name in alike.names] == ["C"]
    assert alike.dropped_because is None
    assert alike.instance.expected_group == "C"
    logits = torch.zeros(10_000)
    logits[lm.first_tokens("Nairobi")[0]] = 9.0
    assert observe(lm, logits, alike.names, "Nairobi").group == "C"
    apart = pipeline.prepare(lm, asked, Memory("Lima", lm.first_tokens("Lima")))
    assert [name.group for name in apart.names] == ["C", "M"]
    assert apart.instance.expected_group == "M"
    ordinary = instance("off_topic", "It is Lima.", "Lima")
    same = pipeline.prepare(lm, ordinary, Memory("Lima", lm.first_tokens("Lima")))
    assert same.dropped_because == "same first token"


def test_any_token_of_an_accepted_answer_counts_where_there_are_several(lm):
    def first(text):
        return lm.first_tokens(text)

    one = instance("gold", "It is Lima.", "Lima")
    assert accepted_tokens(lm, one) == first("Lima")
    several = accepted_tokens(lm, instance("gold", "It is Lima.", "Lima", ("Lisbon, Quito", "Oslo")))
    assert several[: len(first("Lima"))] == first("Lima")
    for part in (" Lisbon", " Quito", " Oslo"):
        assert lm.encode(part)[0] in several
    (comma,) = lm.encode(",")
    assert comma not in several
    assert len(set(several)) == len(several)
    asked = instance("gold", "It is Lima.", "Lima", ("Quito",))
    agreeing = pipeline.prepare(lm, asked, Memory("Quito", first("Quito")))
    assert [name.group for name in agreeing.names] == ["C"]
    assert agreeing.names[0].first_tokens == accepted_tokens(lm, asked)
    with pytest.raises(Dropped, match="answer has no token"):
        accepted_tokens(lm, instance("irrelevant", "It rains.", "", stated=False))


def test_a_document_without_an_answer_leaves_memory_as_the_only_candidate(lm):
    asked = instance("irrelevant", "It rains.", "", stated=False)
    prepared = pipeline.prepare(lm, asked, Memory("Lima", lm.first_tokens("Lima")))
    assert [(name.group, name.text) for name in prepared.names] == [("M", "Lima")]


def test_labels_that_begin_alike_are_refused_by_name(lm):
    check_labels(lm, ["Lima", "Oslo", "Lima"])
    with pytest.raises(HEvalError, match="'Lima' and 'Lima City' begin with the same token") as error:
        check_labels(lm, ["Lima", "Oslo", "Lima City"])
    assert "\n" not in str(error.value)
    with pytest.raises(HEvalError, match="no token for the label ' '"):
        check_labels(lm, ["Lima", " "])


def test_a_text_that_does_not_state_its_answer_is_attributed_too():
    style = styles.TaughtSources()
    one = fact(own=Passage("Kenya", "True", "It rains. It pours.", stated=False), true="True", conflicting=())
    for place, (trusted, expected) in enumerate(((True, "C"), (False, "M"))):
        attributed = made(one, "gold", style=style, place=place)
        (document,) = attributed.documents
        assert styles.is_trusted(document.source) is trusted
        assert document.text.endswith(" It pours.")
        assert len(document.text) > len("It rains. It pours.")
        assert attributed.expected_group == expected


def test_commands_accept_every_regime_and_name_them_all():
    Grid((), (), EVERY_REGIME).check()
    with pytest.raises(HEvalError, match="no regime 'sideways'; there are: .*gold, off_topic"):
        Grid((), (), ("sideways",)).check()


def test_no_page_shows_the_key_of_a_regime():
    assert set(vocabulary.REGIMES) == set(EVERY_REGIME)
    assert not [word for word in vocabulary.REGIMES.values() if "_" in word.title or not word.meaning]
