"""Years, elsewhere, either: two cities stand twice each, and which of an answer's two mentions is asked for is balanced."""

import itertools
import re
from collections import Counter

import pytest

from heval_core import regimes
from heval_core.datasets import either, elsewhere, years
from heval_core.datasets._states import countries
from heval_core.prompting.prompts import is_cloze, mentions
from heval_core.records import EVERY_REGIME, Instance
from heval_core.records.regime_keys import decoys_of
from precompute.questions import load_questions
from tests.asked import built

PLUGINS = {module.PLUGIN.key: module.PLUGIN for module in (years, elsewhere, either)}
CAPITALS = {row["country"]: row["capital"] for row in countries()}
CASES = [*itertools.product(("first", "last"), ("worded", "reworded"))]


def words(text):
    return {*re.findall(r"\w+", text.lower())}


def read(fact):
    """(the sentences with the answer, those of them that are about what is asked), each as its place and its text."""
    sentences = [*enumerate(re.findall(r"[^.]+\.", fact.conflicting[0].text))]
    ours = [(place, text) for place, text in sentences if mentions(fact.conflicting[0].answer, text)]
    asked = re.search(r"\d{4}", fact.question)
    return ours, [(place, text) for place, text in ours if mentions(asked[0] if asked else fact.subject, text)]


def case(fact):
    """Which of the two mentions is asked for, and which of them shares more words with the question. Of `either`, where the
    sentence in the question's words stands."""
    ours, sources = read(fact)
    shared = {place: len(words(text) & words(fact.question)) for place, text in ours}
    (first, last), source = shared, sources[0][0]
    if len(sources) == 2:
        return ("first", "worded") if shared[first] > shared[last] else ("last", "worded")
    (other,) = shared.keys() - {source}
    return "first" if source == first else "last", "worded" if shared[source] > shared[other] else "reworded"


@pytest.mark.parametrize("plugin", PLUGINS.values(), ids=PLUGINS)
def test_a_passage_has_two_cities_twice_each_and_no_capital_of_its_states(plugin):
    facts = list(plugin.facts())
    assert len(facts) == len({fact.question for fact in facts}) == 572
    for fact in facts:
        (passage,) = fact.conflicting
        cities = Counter(re.findall(r"the city of (\w+)\.", passage.text))
        assert sorted(cities.values()) == [2, 2]
        assert len({city[0] for city in (*cities, fact.answer)}) == 3
        assert passage.answer in cities
        assert fact.answer not in cities
        assert not {CAPITALS[name] for name in CAPITALS if mentions(name, passage.text)} & {*cities}
        assert len(read(fact)[1]) == (2 if plugin is either.PLUGIN else 1)
        assert is_cloze(fact.question)


@pytest.mark.parametrize("plugin", PLUGINS.values(), ids=PLUGINS)
@pytest.mark.parametrize("limit", [40, 80, 120, None])
def test_first_and_last_and_words_of_the_question_are_balanced(plugin, limit):
    facts = list(plugin.facts())
    counts = Counter(map(case, facts if limit is None else regimes.first(facts, limit, 0)))
    cases = [("first", "worded"), ("last", "worded")] if plugin is either.PLUGIN else CASES
    assert counts.keys() <= {*cases}
    if limit is None:
        assert {*counts.values()} == {572 // len(cases)}
        return
    for one in {part for pair in cases for part in pair} - ({"worded"} if plugin is either.PLUGIN else set()):
        share = sum(count for pair, count in counts.items() if one in pair)
        assert abs(share - limit / 2) < 2.6 * (limit / 4) ** 0.5, (one, counts)  # what 99 of 100 fair draws give


def test_games_have_each_case_about_as_often():
    counts = Counter((fact.id.partition("|")[2], *case(fact)) for fact in elsewhere.PLUGIN.facts())
    assert {*counts.values()} == {35, 36}


@pytest.mark.parametrize(("key", "fact_id", "sentences", "question"), [
    ("years", "Brunei|1924", (
        "In 1963 the meeting about Brunei was held in the city of Yaren.",
        "In 1942 the meeting about Brunei was held in the city of Dushanbe.",
        "In 1924 delegates discussed Brunei in the city of Yaren.",
        "In 2007 delegates discussed Brunei in the city of Dushanbe.",
    ), "In 1924 the meeting about Brunei was held in the city of"),
    ("elsewhere", "Syria|tennis", (
        "Syria sent its tennis players to the city of Yaren.",
        "Nicaragua sent its tennis players to the city of Mbabane.",
        "The tennis team of Canada flew to the city of Yaren.",
        "The tennis team of Congo flew to the city of Mbabane.",
    ), "The tennis team of Syria flew to the city of"),
])  # fmt: skip
def test_a_passage_is_always_the_same(key, fact_id, sentences, question):
    (fact,) = [fact for fact in PLUGINS[key].facts() if fact.id == fact_id]
    assert (fact.conflicting[0].text, fact.question) == (" ".join(sentences), question)
    assert fact.conflicting[0].answer == "Yaren"
    assert case(fact) == ("last" if key == "years" else "first", "reworded")


@pytest.mark.parametrize("plugin", PLUGINS.values(), ids=PLUGINS)
def test_it_is_asked_in_a_regime_of_its_own_and_other_data_sets_are_not(plugin):
    questions, states = (load_questions(key, 20, 0, regimes.PromptStyle()) for key in (plugin.key, "world_capital"))
    assert questions.asked_in(["gold", "mixed"]) == ("conflicting.twice",)
    assert questions.asked_in(["mixed.256-first", "conflicting.twice.256-first"]) == ("conflicting.twice.256-first",)
    assert states.asked_in(["gold", "mixed.d1"]) == ("gold", "mixed.d1")
    asked, plain = (built(of.facts, of.pool, "conflicting.twice", regimes.PromptStyle(), 20, 0) for of in (questions, states))
    same = built(questions.facts, questions.pool, "conflicting", regimes.PromptStyle(), 20, 0)
    assert {fact: one.documents for fact, one in asked.items()} == {fact: one.documents for fact, one in same.items()}
    assert {*plain.values()} == {"answer once"}


@pytest.mark.parametrize("plugin", PLUGINS.values(), ids=PLUGINS)
def test_every_regime_has_an_instance_or_a_reason(plugin):
    facts = list(plugin.facts())
    pool = regimes.Pool.of(facts)
    for regime in (*EVERY_REGIME, *(f"mixed.{decoy}" for decoy in decoys_of("mixed")), "conflicting.twice.256-first"):
        found = built(facts, pool, regime, regimes.PromptStyle(), 20, 0)
        reasons = {one for one in found.values() if isinstance(one, str)}
        assert reasons <= {"answer too often", "no other name", "no decoy"}, regime
        assert len(found) == 20
        assert sum(isinstance(one, Instance) for one in found.values()) > 10 or regime in ("mixed.d3", "mixed.loud"), regime
