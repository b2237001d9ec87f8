"""Lengths: padding that fills a prompt up to the tokens that are asked for, and says nothing about the question."""

from dataclasses import replace

import pytest

from heval_core.explainers.shared.left_out import units
from heval_core.explaining.behaviour import Memory
from heval_core.explaining.pipeline import prepare
from heval_core.prompting import styles
from heval_core.prompting.prompts import mentions, prompt_of
from heval_core.records import Document, Dropped, Fact, Instance, Passage
from heval_core.regimes import Pool, PromptStyle, build
from heval_core.regimes.padding import fitted
from tests import asked


@pytest.fixture(params=[PromptStyle(), styles.TaughtSources()], ids=lambda style: style.key)
def style(request):
    return request.param


def built(data, regime, style, count=12, seed=5):
    made = asked.built(*data, regime, style, count, seed)
    return [(fact, one) for fact, one in made.items() if isinstance(one, Instance)]


def names_of(fact, instance):
    documents = (name for document in instance.documents for name in (document.subject, document.answer))
    return {fact.subject, fact.answer, *fact.accepted, *documents}


@pytest.mark.parametrize("regime", ["conflicting", "mixed.d1", "double_conflicting_swap"])
def test_padding_names_neither_a_subject_nor_an_answer_and_leaves_the_documents_as_they_were(data, style, regime):
    short = dict(built(data, regime, style))
    assert short
    for fact, padded in built(data, f"{regime}.256-middle", style):
        assert padded.documents == short[fact].documents
        assert padded.expected_group == short[fact].expected_group
        assert len(set(padded.padding)) == len(padded.padding) > 5
        assert not any(mentions(name, text) for name in names_of(fact, padded) for text in padded.padding)


def test_a_longer_prompt_and_another_place_have_the_same_passages(data, style):
    longer = [one.padding for _, one in built(data, "mixed.512-first", style)]
    for length in ("256-first", "256-last"):
        for short, more in zip(built(data, f"mixed.{length}", style), longer, strict=True):
            assert more[: len(short[1].padding)] == short[1].padding


def test_the_mirror_has_the_same_padding(data, style):
    for (_, one), (_, other) in zip(
        built(data, "mixed.d2.256-last", style), built(data, "mixed_swap.d2.256-last", style), strict=True
    ):
        assert (one.padding, one.documents) == (other.padding, other.documents[::-1])


@pytest.mark.parametrize("place", ["first", "middle", "last"])
def test_a_prompt_lacks_less_than_a_passage_of_its_length(data, language_models, place):
    lm = language_models["qwen2"]
    for fact, instance in built(data, f"mixed.256-{place}", styles.TaughtSources()):
        prepared = prepare(lm, instance, Memory(fact.answer, (0,)))
        if prepared.dropped_because:
            assert prepared.dropped_because == "same first token"
            continue
        taken, tokens = prepared.instance.padding, len(prepared.prompt.ids)
        assert taken == instance.padding[: len(taken)]
        assert taken
        more = prompt_of(replace(instance, padding=instance.padding[: len(taken) + 1]), lm.template)
        assert tokens <= 256 < len(lm.tokenise(more).ids)
        text = prepared.prompt.text
        beside = [text.find(passage) for passage in taken]
        documents = " ".join(document.text for document in instance.documents)
        before = sum(start < text.find(documents) for start in beside)
        assert documents in text
        assert -1 not in beside
        assert before == {"first": 0, "middle": len(taken) // 2, "last": len(taken)}[place]
        for span, document in zip(prepared.prompt.documents, instance.documents, strict=True):
            assert span.text(prepared.prompt.tokens).strip() == document.text


def padded(*passages, regime="mixed.256-first"):
    documents = (
        Document("Peru", "Lima", "Lima it is.", "irrelevant"),
        Document("Kenya", "Oslo", "Oslo it is.", "conflicting"),
    )
    return Instance("i", "d", regime, "f", "Kenya", "capital", "Where?", "Nairobi", documents, padding=passages)


def words(instance):
    return len(prompt_of(instance).text.split())


def test_where_passages_stand_by_hand():
    def text(place):
        return prompt_of(padded("one.", "two.", "three.", regime=f"mixed.256-{place}")).text

    assert text("first") == "Lima it is. Oslo it is. one. two. three. Q: Where? A:"
    assert text("middle") == "one. Lima it is. Oslo it is. two. three. Q: Where? A:"
    assert text("last") == "one. two. three. Lima it is. Oslo it is. Q: Where? A:"


def test_what_fits_by_hand():
    hundred = " ".join(["word"] * 100)
    # Nine words without padding: two passages make 209, three 309.
    assert fitted(padded(*[hundred] * 5), "Nairobi", words).padding == (hundred,) * 2
    assert fitted(padded(f"Nairobi {hundred}", *[hundred] * 5), "Nairobi", words).padding == (hundred,) * 2
    assert fitted(padded(hundred, regime="mixed"), "", words).padding == (hundred,)


@pytest.mark.parametrize(("passages", "counted", "reason"), [
    (("x",) * 3, words, "too little padding"), ((), words, "too little padding"),
    (("x",), lambda instance: 257 + len(instance.padding), "documents too long"),
])  # fmt: skip
def test_what_does_not_fit_has_its_reason(passages, counted, reason):
    with pytest.raises(Dropped, match=reason):
        fitted(padded(*passages), "", counted)


def test_a_length_beyond_the_models_positions_drops_the_instance_and_says_so(data, language_models):
    fact, instance = built(data, "mixed.8192-first", PromptStyle())[0]
    assert language_models["gpt2"].positions < 8192
    assert prepare(language_models["gpt2"], instance, Memory(fact.answer, (0,))).dropped_because == "prompt too long"


def test_where_no_subject_is_named_padding_is_still_none_of_the_documents():
    def fact(number, text):
        return Fact(str(number), "d", "", "r", f"{number}?", "True", (Passage("", "True", text, stated=False),))

    facts = [fact(1, "Rivers are wet."), fact(2, "Hills are high.")]
    one = build(
        facts[0], "conflicting.256-first", Pool({"r": tuple(f.conflicting[0] for f in facts)}, {}), 0, PromptStyle(), 0
    )
    assert one.documents[0].text == "Rivers are wet."
    assert one.padding == ("Hills are high.",)


@pytest.mark.parametrize("place", ["first", "middle", "last"])
def test_explainers_are_not_told_which_passages_are_the_documents(data, language_models, place):
    """Whoever leaves documents out has all passages to choose from, the padding's too, in the order of the text."""
    lm = language_models["qwen2"]
    every = (prepare(lm, one, Memory(fact.answer, (0,))) for fact, one in built(data, f"mixed.256-{place}", PromptStyle()))
    for prepared in (one for one in every if not one.dropped_because):
        prompt, instance = prepared.prompt, prepared.instance
        found = units(prompt)
        assert len(found) == len(instance.documents) + len(instance.padding) > 2
        texts = [unit.text(prompt.tokens).strip() for unit in found]
        assert sorted(texts) == sorted([*instance.padding, *(document.text for document in instance.documents)])
        starts = [unit.start for unit in found]
        assert starts == sorted(starts)
        assert {span.start for span in prompt.documents} < set(starts)
