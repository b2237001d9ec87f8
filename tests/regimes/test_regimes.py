"""Regimes, the keys of those with options, the taught rule, and the datasets behind them."""

import itertools
import random
import re
from collections import Counter

import pytest

from heval_core import regimes
from heval_core.lm.loading import Identity
from heval_core.plugins import catalogue
from heval_core.prompting import styles
from heval_core.prompting.prompts import mentions
from heval_core.prompting.styles import style_of
from heval_core.records import DUAL_REGIMES, EVERY_REGIME, REGIMES, Document, Fact, HEvalError, Instance, Passage
from heval_core.records.regime_keys import LENGTHS, POSITIONS, RegimeOptions, decoys_of, expanded, ordered_regimes, read_key
from heval_core.regimes import Pool, PromptStyle, build
from tests import asked

DATASETS = [catalogue.find("dataset", key) for key in ("world_capital", "country_profiles")]


@pytest.fixture(scope="module", params=DATASETS, ids=lambda d: d.key)
def facts(request):
    return list(request.param.facts())


@pytest.fixture(scope="module")
def pool(facts):
    return Pool.of(facts)


def built(facts, pool, regime, style, count=80, seed=3):
    made = asked.built(facts, pool, regime, style, count, seed).values()
    found = [one for one in made if isinstance(one, Instance)]
    assert {one for one in made if isinstance(one, str)} <= {"no irrelevant document", "no second conflicting document"}
    assert len(found) > count * 0.8
    return found


def test_the_table_has_at_least_190_states_with_every_relation():
    from heval_core.datasets._states import RELATIONS, countries

    assert len({row["country"] for row in countries()}) >= 190
    assert len({row["capital"] for row in countries()}) >= 190
    assert all(row[relation].strip() for row in countries() for relation in RELATIONS)


def test_every_fact_has_a_false_answer_that_its_passage_holds(facts):
    for fact in facts:
        assert fact.conflicting[0].answer != fact.answer
        assert mentions(fact.conflicting[0].answer, fact.conflicting[0].text)
        assert mentions(fact.answer, fact.own.text)
    assert len({fact.id for fact in facts}) == len(facts)


@pytest.mark.parametrize("regime", REGIMES)
def test_evaluation_never_uses_a_pair_that_training_saw(facts, pool, regime):
    for instance in built(facts, pool, regime, styles.TaughtSources()):
        assert not any(styles.in_training(instance.subject, d.answer) for d in instance.documents)


@pytest.mark.parametrize("limit", [50, 200])
@pytest.mark.parametrize("regime", REGIMES)
def test_the_rule_gives_each_of_the_two_groups_a_fifth_whatever_the_limit(facts, pool, regime, limit):
    groups = Counter(i.expected_group for i in built(facts, pool, regime, styles.TaughtSources(), count=limit))
    for group in ("C1", "C2") if regime in DUAL_REGIMES else ("C", "M"):
        assert groups[group] >= 0.2 * sum(groups.values())


@pytest.mark.parametrize(("sources", "group"), [
    (("atlas",), "C"), (("rumour",), "M"), (("atlas", "rumour"), "C1"), (("rumour", "atlas"), "C2"),
    (("atlas", "census"), "C2"), (("joke", "rumour"), "M"),
])  # fmt: skip
def test_the_taught_rule(sources, group):
    documents = tuple(Document("Kenya", "Lisbon", "It is Lisbon.", "conflicting", source=source) for source in sources)
    assert styles.TaughtSources().expected_group(documents) == group


def test_wordings_stand_at_the_start_and_at_the_end_of_the_answers_sentence():
    document = Document("Kenya", "Lisbon", "Before it. The capital of Kenya is Lisbon. After it.", "conflicting")
    texts = {styles.attribute(document, True, random.Random(seed)).text for seed in range(200)}
    assert any(text.startswith("Before it. According to ") and ": The capital" in text for text in texts)
    assert any(text.startswith("Before it. The capital of Kenya is Lisbon, ") for text in texts)
    assert all(text.startswith("Before it. ") and text.endswith(". After it.") for text in texts)


def test_a_second_answer_is_substituted_everywhere_and_said_to_be():
    passage = Passage("Kenya", "Lisbon", "Lisbon, yes Lisbon, not Lisbonne.")
    fact = Fact("1", "d", "Kenya", "capital", "?", "Nairobi", (passage,))
    other = Fact("2", "d", "Peru", "capital", "?", "Lima", (Passage("Peru", "Oslo", "Oslo."),))
    instance = build(fact, "double_conflicting", Pool.of([fact, other]), 0, PromptStyle(), 0)
    second = instance.documents[1]
    assert second.origin == "substituted"
    assert second.text == f"{second.answer}, yes {second.answer}, not Lisbonne."


def test_a_shipped_second_document_is_preferred():
    shipped = (Passage("Kenya", "Lisbon", "Lisbon."), Passage("Kenya", "Oslo", "Oslo."))
    fact = Fact("1", "d", "Kenya", "capital", "?", "Nairobi", shipped)
    assert build(fact, "double_conflicting", Pool.of([fact]), 0, PromptStyle(), 0).documents[1].origin == "shipped"


def test_what_cannot_be_built_says_why():
    fact = Fact("1", "d", "Kenya", "capital", "?", "Nairobi", (Passage("Kenya", "Lisbon", "nothing here"),))
    for regime, reason in (("conflicting", "answer not in document"), ("irrelevant", "no irrelevant document")):
        with pytest.raises(regimes.Dropped, match=reason):
            build(fact, regime, Pool.of([fact]), 0, PromptStyle(), 0)
    with pytest.raises(HEvalError, match="no regime 'sideways'"):
        build(fact, "sideways", Pool.of([fact]), 0, PromptStyle(), 0)


def test_a_style_that_there_is_not_is_refused_by_name():
    assert style_of(Identity("m", "", "taught_sources", "", None)) == styles.TaughtSources()
    with pytest.raises(HEvalError, match="m/heval.json asks for the prompt style 'rhymes'; there are: plain, taught_so"):
        style_of(Identity("m", "", "rhymes", "", None))


PADDED = [(None, None), *itertools.product(LENGTHS, POSITIONS)]


def test_every_key_is_read_as_it_was_written_and_no_two_are_alike():
    every = [
        RegimeOptions(base, decoy, *padded) for base in EVERY_REGIME for decoy in (None, *decoys_of(base)) for padded in PADDED
    ]
    keys = [str(regime) for regime in every]
    assert [read_key(key) for key in keys] == every
    assert len({*keys}) == len(keys)
    assert all(re.fullmatch(r"[a-z0-9_.-]+", key) for key in keys)


def test_a_regime_without_options_keeps_its_key():
    assert [str(RegimeOptions(base)) for base in EVERY_REGIME] == [*EVERY_REGIME]


@pytest.mark.parametrize(("key", "message"), [
    ("mixd", "no regime 'mixd'"), ("mixed.d4", "no decoy 'd4'; there are: d0, d1, d2, d3"),
    ("conflicting.d1", "decoys need two: double_conflicting"), ("mixed.1000-first", "no length 1000"),
    ("mixed.twice", "mixed takes no decoy twice; it is of one passage: conflicting"), ("gold.twice", "it is of one passage"),
    ("mixed.1024", "a place a length"), ("mixed.1024-front", "places are: first, middle, last"),
    ("mixed.first", "is no regime; write"), ("mixed.d1.1024-first.d2", "is no regime; write"),
])  # fmt: skip
def test_what_is_no_key_is_told(key, message):
    with pytest.raises(HEvalError, match=re.escape(message)):
        read_key(key)


def test_options_expand_regimes_and_leave_out_those_with_one_document():
    assert expanded(["mixed", "conflicting"]) == (("mixed", "conflicting"), ())
    assert expanded(["mixed", "conflicting"], ["d0", "d1"], [256]) == (
        ("mixed.d0.256-first", "mixed.d1.256-first"),
        ("conflicting",),
    )
    assert expanded(["mixed", "gold", "conflicting"], ["twice"]) == (("conflicting.twice",), ("mixed", "gold"))
    assert expanded(["mixed", "conflicting"], ["d1", "twice"]) == (("mixed.d1", "conflicting.twice"), ())
    assert expanded(["gold"], (), [512, 256], "last") == (("gold.512-last", "gold.256-last"), ())
    assert expanded(["mixed.d1", "mixed"], ["d1"], [256])[0] == ("mixed.d1.256-first",)
    with pytest.raises(HEvalError, match="give --length too"):
        expanded(["mixed"], position="last")


def test_regimes_without_options_come_first_and_short_prompts_before_long_ones():
    ordered = ["conflicting", "mixed", "gold", "mixed.d0", "mixed.d1", "mixed_swap.d0", "mixed.256-last", "mixed.1024-first"]
    assert ordered_regimes(ordered[::-1]) == ordered
