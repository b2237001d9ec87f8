"""What must hold of any data whatever: spans, swaps, irrelevant documents, seeds."""

from __future__ import annotations

import random
from unicodedata import normalize

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from transformers import AutoTokenizer

from heval_core.lm.spans import tokenise, tokenise_all
from heval_core.prompting.prompts import assemble, mentions, prompt_of
from heval_core.records import REGIMES, Dropped, Fact, Passage
from heval_core.regimes import POOLED, Pool, PromptStyle, build, sample
from tests.asked import select
from tests.conftest import DEMO_MODELS

TOKENIZERS = {name: AutoTokenizer.from_pretrained(DEMO_MODELS / name) for name in ("demo-gpt2", "demo-qwen2")}

NAMES = ["Rome", "Romeo", "São Tomé", "São\u00a0Tomé", "e\u0301clair", "Port", "Port Vila", "😀", "👩\u200d🚀"]
NAMES += ["N'Djamena", "D.C.", "東京"]
SUBJECTS = ["Kenya", "Peru", "Chad", "Fiji", "New Port", "Port Islands", "東京都"]
words = st.sampled_from([*NAMES, *SUBJECTS, "the", "capital", "of", "is", "and", ".", "(", "\u202e", "x"])
texts = st.lists(words, min_size=0, max_size=6).map(" ".join)


@st.composite
def facts(draw):
    subject, relation = draw(st.sampled_from(SUBJECTS)), draw(st.sampled_from(["r1", "r2"]))
    true, *false = draw(st.lists(st.sampled_from(NAMES), min_size=2, max_size=4, unique=True))
    shipped = tuple(Passage(subject, a, f"{draw(texts)} {subject} {a} {draw(texts)}".strip()) for a in false)
    own = draw(st.one_of(st.none(), st.just(Passage(subject, true, f"{subject} {true}"))))
    return Fact("", "d", subject, relation, f"Where is {subject}?", true, shipped, own)


@st.composite
def datasets(draw):
    found = draw(st.lists(facts(), min_size=1, max_size=8))
    return [Fact(str(n), *(getattr(f, name) for name in f.__slots__[1:])) for n, f in enumerate(found)]


def instances(data: list[Fact], seed: int):
    pool = Pool.of(data)
    for place, fact in enumerate(select(data, None, seed, PromptStyle())):
        for regime in REGIMES:
            try:
                yield build(fact, regime, pool, seed, PromptStyle(), place)
            except Dropped:
                continue


@settings(deadline=None, max_examples=60)
@given(datasets(), st.integers(0, 3))
def test_documents_swaps_and_irrelevant_ones(data, seed):
    found = {(i.fact_id, i.regime): i for i in instances(data, seed)}
    for (fact_id, regime), instance in found.items():
        assert all(mentions(d.answer, d.text) for d in instance.documents)
        for document in instance.documents:
            if document.kind == "irrelevant":
                assert document.subject != instance.subject
                assert not mentions(instance.subject, document.text)
                assert not mentions(instance.true_answer, document.text)
        if f"{regime}_swap" in REGIMES:
            swapped = found[fact_id, f"{regime}_swap"]
            assert swapped.documents == instance.documents[::-1]
            assert swapped.documents[::-1] == instance.documents  # a swap of a swap is the original
            assert swapped.question == instance.question


@settings(deadline=None, max_examples=60)
@given(datasets(), st.integers(0, 3), st.randoms())
def test_the_same_seed_gives_the_same_bytes_whatever_the_order_of_the_records(data, seed, chance):
    shuffled = data[:]
    chance.shuffle(shuffled)
    assert repr(list(instances(data, seed))).encode() == repr(list(instances(shuffled, seed))).encode()


@pytest.mark.parametrize("tokenizer", TOKENIZERS.values(), ids=TOKENIZERS)
@settings(deadline=None, max_examples=60)
@given(data=datasets())
def test_gold_tokens_overlap_their_answer_and_spans_decode_to_their_documents(tokenizer, data):
    for instance in list(instances(data, 0))[:6]:
        prompt = prompt_of(instance)
        tokenised = tokenise(prompt, tokenizer)
        ends = [sum(map(len, tokenised.tokens[: i + 1])) for i in range(len(tokenised.tokens))]
        for document, span, gold, spans in zip(
            instance.documents, tokenised.documents, tokenised.answer_tokens, prompt.answers, strict=True
        ):
            decoded = tokenizer.decode(tokenised.ids[span.start : span.end], clean_up_tokenization_spaces=False)
            # Qwen's tokenizer composes accents before it looks: the text comes back in that form.
            assert normalize("NFC", document.text.strip()) in normalize("NFC", decoded)
            assert gold
            assert all(span.start <= token < span.end for token in gold)
            for token in gold:
                # A token that covers a part of a character's bytes shows the character only once: look at its end.
                start = ends[token] - len(tokenised.tokens[token])
                assert any(start <= s.end and s.start <= ends[token] for s in spans)
            for mention in spans:
                covered = "".join(tokenised.tokens[t] for t in gold)
                assert document.answer.replace(" ", "") in covered.replace(" ", "")
                assert prompt.text[mention.start : mention.end] == document.answer


@settings(deadline=None, max_examples=30)
@given(datasets())
def test_many_prompts_at_once_are_tokenised_as_one_by_one(data):
    prompts = [prompt_of(instance) for instance in instances(data, 0)]
    tokenizer = TOKENIZERS["demo-gpt2"]
    assert list(tokenise_all(prompts, tokenizer, batch=3)) == [tokenise(prompt, tokenizer) for prompt in prompts]


@pytest.mark.parametrize(
    ("answer", "document", "count"),
    [
        ("São\u00a0Tomé", "the city of São\u00a0Tomé it is", 1),
        ("Lisbon", "Lisbon is it", 1),  # at the very start
        ("Lisbon", "it is Lisbon", 1),  # at the very end
        ("Rome", "Romeo saw Rome", 1),  # inside a longer word
        ("Port", "Port Vila, Portland", 1),  # a prefix of another name, and of a word
        ("cafe", "cafe\u0301", 0),  # the accent belongs to the last letter
        ("naïve", "naive", 0),
        ("👩", "👩\u200d🚀", 0),  # a part of a joined emoji
        ("👍", "👍🏽", 0),  # with a skin tone
        ("👩\u200d🚀", "a 👩\u200d🚀!", 1),
        ("New\u00a0York", "New York", 0),  # the no-break space is another character
        ("New\u00a0York", "in New\u00a0York.", 1),
        ("東京", "首都は東京です", 1),  # no spaces to bound a word
        ("कर", "कर्म", 0),  # a vowel sign goes on
        ("a.b", "a.b axb", 1),  # no pattern
        ("Rome", "_Rome Rome_ Rome2", 0),
        ("rome", "Rome is Rome.", 0),  # case counts
        ("New", "New Delhi, New", 2),
        ("D.C.", "Washington, D.C. is", 1),  # signs of the answer are no pattern
        ("", "anything", 0),
    ],
)
@pytest.mark.parametrize("tokenizer", TOKENIZERS.values(), ids=TOKENIZERS)
def test_mentions_and_their_tokens(answer, document, count, tokenizer):
    found = mentions(answer, document)
    assert [document[span.start : span.end] for span in found] == [answer] * count
    tokenised = tokenise(assemble((document,), (answer,), "Why?"), tokenizer)
    gold = tokenised.answer_tokens[0]
    assert bool(gold) == bool(count)
    if gold:
        assert gold[: len(tokenised.first_mention[0])] == tokenised.first_mention[0]
        assert answer in "".join(tokenised.tokens[i] for i in tokenised.first_mention[0])
        assert answer in "".join(tokenised.tokens[i] for i in gold)
        decoded = tokenizer.decode([tokenised.ids[i] for i in gold], clean_up_tokenization_spaces=False)
        assert answer in decoded


@pytest.mark.parametrize(("answer", "text", "found"), [
    ("Málaga", "In Ma\u0301laga. Málagas", ["Ma\u0301laga"]), ("Ma\u0301laga", "Málaga, Malaga", ["Málaga"]),
    ("e", "e\u0301 e", ["e"]),
    ("Côte d'Ivoire", "Co\u0302te d’Ivoire, Côte dʼIvoire", ["Co\u0302te d’Ivoire", "Côte dʼIvoire"]),
    ("Ivoire", "dʼIvoire", ["Ivoire"]),
    ("한", "\u1112\u1161\u11ab \u1112\u1161", ["\u1112\u1161\u11ab"]), ("क़", "\u0958 क़", ["\u0958", "क़"]),
    ("x", "\u0301x \u0301", []),
])  # fmt: skip
def test_texts_are_searched_composed_and_with_apostrophes_alike_and_spans_are_the_texts_own(answer, text, found):
    assert [text[span.start : span.end] for span in mentions(answer, text)] == found
    (span,) = mentions("Lima", f"{text} Lima {text}")
    assert span.start == len(text) + 1
    if found:
        prompt = assemble((text,), (answer,), "Why?")
        assert prompt.text[prompt.answers[0][0].start : prompt.answers[0][0].end] == found[0]


groups = st.lists(st.sampled_from(["C1", "C2", "M", "other", "ambiguous"]), max_size=60)


@given(groups, st.integers(1, 40), st.integers(1, 15))
def test_the_sample_of_a_cell_keeps_the_cap_and_the_smaller_groups(found, cap, minority):
    chosen = sample(found, cap, minority)
    assert list(chosen) == sorted(set(chosen))
    assert len(chosen) == min(cap, len(found))
    present = {g for g in found if g not in ("other", "ambiguous")}
    for group in present:
        kept = sum(found[i] == group for i in chosen)
        assert kept >= min(found.count(group), minority, cap // len(present))
        assert [i for i in chosen if found[i] == group] == [i for i, g in enumerate(found) if g == group][:kept]
    if any(found[i] in ("other", "ambiguous") for i in chosen):
        assert all(i in chosen for i, g in enumerate(found) if g in present)


def test_the_papers_caps_by_hand():
    found = ["C"] * 9000 + ["M"] * 300
    chosen = sample(found, 2000)
    assert sum(found[i] == "M" for i in chosen) == 300
    found = ["C", "M"] * 5000
    assert chosen != sample(found, 2000) == tuple(range(2000))
    found = ["C"] * 5000 + ["M"] * 5000
    assert sum(found[i] == "M" for i in sample(found, 2000)) == 500


def test_a_large_relation_offers_a_sample_that_does_not_depend_on_the_order():
    data = [
        Fact(str(n), "d", f"s{n}", "r", "?", f"t{n}", (Passage(f"s{n}", f"a{n}", f"s{n} a{n}"),)) for n in range(5 * POOLED)
    ]
    shuffled = data[:]
    random.Random(0).shuffle(shuffled)
    pool = Pool.of(data)
    assert pool == Pool.of(shuffled)
    assert len(pool.passages["r"]) == len(pool.answers["r"]) == POOLED
