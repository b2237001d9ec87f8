"""Decoys: what they add to the documents, over all demo datasets, both prompt styles and several seeds."""

from dataclasses import replace

import numpy as np
import pytest

from heval_core.explainers.lexical import Lexical
from heval_core.explaining.behaviour import Memory, check_names
from heval_core.explaining.pipeline import prepare
from heval_core.metrics.instance_margin import InstanceRankMargin
from heval_core.metrics.shared.cell import Cell, Positions
from heval_core.prompting import styles
from heval_core.prompting.prompts import mentions, prompt_of
from heval_core.records import Document, Dropped, Fact, Instance, Passage
from heval_core.records.regime_keys import decoys_of
from heval_core.records.stored_instances import PlainPrompt
from heval_core.regimes import Pool, PromptStyle, build
from heval_core.regimes.decoys import EMPHASIS
from heval_core.regimes.documents import substituted
from tests.asked import built

STYLES = (PromptStyle(), styles.TaughtSources())
BASES = ("mixed", "double_conflicting")


def pairs(data, base, decoy, style, seed, count=60):
    """(instance without, instance with the decoy)."""
    plain, decoyed = (built(*data, regime, style, count, seed) for regime in (base, f"{base}.{decoy}"))
    both = [(plain[fact], decoyed[fact]) for fact in plain if isinstance(plain[fact], Instance)]
    found = [pair for pair in both if isinstance(pair[1], Instance)]
    assert {one for _, one in both if isinstance(one, str)} <= {"no other name", "no decoy", "answer too often"}
    assert len(found) > 0.5 * count
    return found


def others(documents):
    return zip(documents, documents[::-1], strict=True)


@pytest.mark.parametrize("style", STYLES, ids=lambda style: style.key)
@pytest.mark.parametrize("base", BASES)
@pytest.mark.parametrize("decoy", ["d0", "d1", "d2"])
def test_sentences_are_added_after_the_documents_that_were_there(data, base, decoy, style):
    for plain, decoyed in pairs(data, base, decoy, style, 3):
        assert decoyed.id == plain.id.replace(base, f"{base}.{decoy}", 1)
        assert replace(decoyed, id=plain.id, regime=base, documents=plain.documents) == plain
        for (before, _), (after, other) in zip(others(plain.documents), others(decoyed.documents), strict=True):
            added = after.text.removeprefix(before.text)
            assert replace(after, text=before.text) == before
            assert added.startswith(" ")
            assert added.count(".") == (2 if decoy == "d2" else 1)
            own, theirs = len(mentions(after.answer, added)), len(mentions(other.answer, added))
            assert theirs == len(mentions(other.answer, after.text)) == (decoy == "d1")
            assert own == (3 - len(mentions(before.answer, before.text)) if decoy == "d2" else 0)
            assert len(mentions(after.answer, after.text)) == 3 or decoy != "d2"


@pytest.mark.parametrize("base", BASES)
def test_a_neutral_sentence_is_the_decoys_with_another_word(data, base):
    neutral = {one.fact_id: one for _, one in pairs(data, base, "d0", PromptStyle(), 0)}
    for plain, misled in pairs(data, base, "d1", PromptStyle(), 0):
        for before, (document, other), twin in zip(
            plain.documents, others(misled.documents), neutral[plain.fact_id].documents, strict=True
        ):
            ours = document.text.removeprefix(before.text).split(other.answer)
            assert len(ours) == 2
            assert twin.text.removeprefix(before.text).startswith(ours[0])
            assert twin.text.endswith(ours[1])


@pytest.mark.parametrize("style", STYLES, ids=lambda style: style.key)
@pytest.mark.parametrize("base", BASES)
def test_another_name_stands_where_the_answer_stood_and_is_its_gold(data, base, style):
    for plain, renamed in pairs(data, base, "d3", style, 1):
        gold = prompt_of(renamed).answers
        for before, after, spans in zip(plain.documents, renamed.documents, gold, strict=True):
            assert after.answer == before.answer != after.alias
            assert not any(mentions(one.answer, document.text) for one in plain.documents for document in renamed.documents)
            assert {prompt_of(renamed).text[span.start : span.end] for span in spans} == {after.alias}
            assert substituted(Passage("", after.alias, after.text), after.answer) == before.text


@pytest.mark.parametrize("decoy", decoys_of("mixed"))
@pytest.mark.parametrize("base", BASES)
def test_a_swap_is_the_exact_mirror(data, base, decoy):
    style = styles.TaughtSources()
    straight = [one for _, one in pairs(data, base, decoy, style, 2)]
    mirrored = [one for _, one in pairs(data, f"{base}_swap", decoy, style, 2)]
    assert [one.documents[::-1] for one in straight] == [one.documents for one in mirrored]
    assert [one.regime for one in mirrored[:1]] == [f"{base}_swap.{decoy}"]


@pytest.mark.parametrize("style", STYLES, ids=lambda style: style.key)
@pytest.mark.parametrize("base", BASES)
def test_of_two_documents_one_in_turn_is_to_be_trusted_or_is_louder_and_both_are_d1s(data, base, style):
    plain, misled, trust, loud = (
        list(built(*data, regime, style, 60, 3).values())
        for regime in (base, *(f"{base}.{d}" for d in ("d1", "trust", "loud")))
    )
    for index, (bare, one, trusting, louder) in enumerate(zip(plain, misled, trust, loud, strict=True)):
        if isinstance(one, str):
            assert one == trusting == louder
            continue
        trusted = [d.source == "reliable_source" or d.source in styles._taught()["trusted"] for d in trusting.documents]
        assert trusted == [index % 2 == 0, index % 2 == 1]
        assert trusting.expected_group == (None if style == PromptStyle() else f"C{1 + index % 2}")
        assert all(len(mentions(other.answer, d.text)) == 1 for d, other in others(trusting.documents))
        if style == PromptStyle():
            assert [d.text for d in trusting.documents] == [
                f"According to a {d.source.replace('_', ' ')}: {twin.text}"
                for d, twin in zip(trusting.documents, one.documents, strict=True)
            ]
        if isinstance(louder, str):
            assert any(len(mentions(d.answer, d.text)) > 1 for d in bare.documents), louder
            continue
        assert louder.expected_group == one.expected_group
        for number, (before, after, twin) in enumerate(zip(bare.documents, louder.documents, one.documents, strict=True)):
            times = 3 if number == index % 2 else 1
            assert len(mentions(after.answer, after.text)) == times
            said = " ".join(frame.format(x=said_of(before)) for frame in EMPHASIS)
            assert after.text.replace(f" {said}", "") == twin.text
            assert (said in after.text) is (times == 3)


def said_of(document):
    """The statement of a document, without what attributes it."""
    span = styles.statement(document)
    sentence = document.text[span.start : span.end]
    for _, wording, _ in (*styles.wordings(True), *styles.wordings(False)):
        sentence = sentence.replace(wording, "")
    return sentence


def test_documents_that_allow_no_decoy_have_their_reason():
    def reason(decoy, first, second, aliases=()):
        passages = (Passage("Kenya", "Lima", first), Passage("Kenya", "Oslo", second))
        fact = Fact("1", "d", "Kenya", "capital", "?", "Nairobi", passages, aliases=aliases)
        with pytest.raises(Dropped) as raised:
            build(fact, f"double_conflicting.{decoy}", Pool.of([fact]), 0, PromptStyle(), 0)
        return raised.value.reason

    assert reason("d0", "It is Lima, not Oslo.", "It is Oslo.") == "no decoy"
    assert reason("d2", "Lima, Lima, Lima, Lima.", "It is Oslo.") == "answer too often"
    assert reason("loud", "It is Lima.", "It is Oslo, Oslo.") == "answer too often"
    assert reason("d3", "It is Lima.", "It is Oslo.") == "no other name"
    assert reason("d3", "It is Lima.", "It is Oslo.", (("Lima", "Lima City"), ("Oslo", "Christiania"))) == "no other name"


def test_a_dataset_without_stated_answers_allows_none():
    shipped = Passage("", "", "Something about rivers.", stated=False)
    fact = Fact("1", "d", "Kenya", "capital", "?", "Nairobi", (Passage("Kenya", "Lima", "It is Lima."),), irrelevant=shipped)
    with pytest.raises(Dropped, match="no decoy"):
        build(fact, "mixed.d1", Pool.of([fact]), 0, PromptStyle(), 0)


def test_other_names_come_from_a_fact_its_accepted_answers_and_other_facts():
    def fact(number, answer, false, accepted=(), aliases=()):
        passage = Passage(f"S{number}", false, f"S{number} has {false}.")
        return Fact(str(number), "d", f"S{number}", "r", "?", answer, (passage,), None, None, None, accepted, aliases)

    facts = [
        fact(1, "Kyiv", "Oslo", ("Kiev",)),
        fact(2, "Oslo", "Kyiv", (), (("Oslo", "Christiania"),)),
        fact(3, "Rome", "Lima", (), (("Rome", "Roma"),)),
    ]
    pool = Pool.of(facts)
    assert pool == Pool.of(facts[::-1])
    assert pool.aliases == {"r": {"Kyiv": ("Kiev",), "Oslo": ("Christiania",), "Rome": ("Roma",)}}
    one = build(
        facts[1], "double_conflicting.d3", Pool(pool.passages, {"r": ("Oslo", "Kyiv", "Rome")}, pool.aliases), 0,
        PromptStyle(), 0,
    )  # fmt: skip
    assert [document.text for document in one.documents] == ["S2 has Kiev.", "S2 has Roma."]


def kept(lm, instance):
    try:
        check_names(lm, instance, lm.tokenise(prompt_of(instance)))
    except Dropped:
        return False
    return True


def read(prompt, first_token):
    return PlainPrompt(prompt.tokens, prompt.ranked, prompt.documents, prompt.question, "", first_token, "")


def margin(lm, instances):
    """The lexical control's balanced instance margin, if half of the answers come from either document. Of the questions that
    a run would keep."""
    instances = [one for one in instances if kept(lm, one)]
    prompts = [lm.tokenise(prompt_of(one)) for one in instances]
    groups = [f"C{1 + number % 2}" for number in range(len(prompts))]
    width = max(len(prompt.ids) for prompt in prompts)
    scores = np.zeros((len(prompts), width), dtype=np.float32)
    for row, (one, prompt) in enumerate(zip(instances, prompts, strict=True)):
        own = Lexical().scores(read(prompt, lm.decode(lm.first_tokens(one.documents[row % 2].answer)[:1])))
        scores[row, : len(own)] = own
    layout = Positions.of(
        [len(prompt.ids) for prompt in prompts], [prompt.first_ranked for prompt in prompts],
        [[(span.start, span.end) for span in prompt.documents] for prompt in prompts],
        [prompt.answer_tokens for prompt in prompts], groups,
    )  # fmt: skip
    estimates = {one.part: one for one in InstanceRankMargin().over(Cell(layout, scores), 5)}
    return estimates["balanced"].value


def test_a_string_match_tells_documents_apart_unless_both_name_both_answers(data, language_models):
    lm = language_models["gpt2"]

    def under(decoy):
        return margin(lm, [one for _, one in pairs(data, "mixed", decoy, PromptStyle(), 0, 120)])

    neutral, misled, often = under("d0"), under("d1"), under("d2")
    assert neutral > 2
    assert often > neutral
    assert abs(misled) < 0.05 * neutral


@pytest.mark.parametrize(("name", "reason"), [("the Oslo seat", "name begins as the answer"), ("Rome", None)])
def test_another_name_has_no_token_with_which_an_answer_begins(language_models, name, reason):
    lm = language_models["gpt2"]
    documents = (
        Document("Kenya", "Oslo", f"It is {name}.", "conflicting", alias=name),
        Document("Fiji", "Lima", "It is Cairo.", "irrelevant", alias="Cairo"),
    )
    instance = Instance("i", "d", "mixed.d3", "f", "Kenya", "capital", "Where?", "Nairobi", documents)
    prompt = lm.tokenise(prompt_of(instance))
    gold = [prompt.tokens[index].strip() for index in prompt.answer_tokens[0]]
    begins = lm.decode(lm.first_tokens("Oslo")[:1]).strip() in gold
    assert begins == (reason is not None)
    assert prepare(lm, instance, Memory("Nairobi", lm.first_tokens("Nairobi"))).dropped_because == reason


@pytest.mark.parametrize(("decoy", "first", "second", "reason"), [
    ("d0", "It is Oslo.", "It is Lima.", None), ("d1", "It is Oslo. See Lima.", "It is Lima. See Oslo.", None),
    ("d1", "The Oslo of Oslo. See Lima.", "It is Lima. See Oslo.", "answer too often"),
    ("d1", "The Oslo City is Oslo. See Lima.", "It is Lima. See Oslo.", "answer too often"),
    ("d1", "It is Oslo. See Lima.", "It is Lima. See Oslo, Oslo.", "answer too often"),
    ("d1", "It is Oslo. See Lima.", "It is Lima.", "answer too often"),
    ("d0", "It is Oslo.", "It is Lima, not Oslo.", "answer too often"),
    ("d0", "The Oslo of Oslo.", "It is Lima.", "answer too often"), ("d2", "Oslo, Oslo, Oslo.", "Lima, Lima, Lima.", None),
    ("trust", "The Oslo of Oslo. See Lima.", "It is Lima. See Oslo.", "answer too often"),
    ("loud", "It is Oslo. Oslo, Oslo! See Lima.", "It is Lima. See Oslo.", None),
    ("loud", "The Oslo of Oslo. See Lima.", "It is Lima. See Oslo.", "answer too often"),
])  # fmt: skip
def test_a_string_match_finds_an_answer_where_its_decoy_puts_it(language_models, decoy, first, second, reason):
    """As in "The capital of Monaco is Monaco": two mentions in one document and one in the other can be told apart."""
    lm = language_models["gpt2"]
    documents = (Document("Kenya", "Oslo", first, "conflicting"), Document("Fiji", "Lima", second, "irrelevant"))
    instance = Instance("i", "d", f"mixed.{decoy}", "f", "Kenya", "capital", "Where?", "Nairobi", documents)
    assert prepare(lm, instance, Memory("Nairobi", lm.first_tokens("Nairobi"))).dropped_because == reason
