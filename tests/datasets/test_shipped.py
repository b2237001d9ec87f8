"""Datasets that come along: facts about a table of states, and about invented ones, which nobody can know."""

from collections import Counter

import pytest

from heval_core import regimes
from heval_core.datasets import country_profiles, invented_states, world_capital
from heval_core.datasets._states import answers, countries
from heval_core.prompting.prompts import mentions
from heval_core.records import CONTEXT_KINDS
from tests.asked import select
from tests.datasets import samples


def test_a_question_has_as_many_false_answers_as_asked_for():
    few, usual = (list(country_profiles.CountryProfiles(count).facts()) for count in (2, 12))
    assert max(Counter((fact.subject, fact.relation) for fact in few).values()) == 2
    assert max(Counter((fact.subject, fact.relation) for fact in usual).values()) == 12
    assert {fact.id for fact in few} < {fact.id for fact in usual}


def test_world_capital_reads_the_published_table(tmp_path):
    rows = [[c, city, "countryCapital"] for c, city in samples.CITIES.items()]
    rows += [["Bolivia", "Sucre", "x"], ["Bolivia", "La Paz", "x"], ["Nowhere", "", "x"]]
    path = samples.write_csv(tmp_path / "w.csv", ["country", "capital", "type"], rows)
    facts, bad, _ = samples.sorted_out(world_capital.PLUGIN, path)
    assert len(facts) == 6 * 7 + 6
    assert [record.location for record in bad] == ["w.csv, record 9"]
    bolivia = [fact for fact in facts if fact.subject == "Bolivia"]
    assert {fact.answer for fact in bolivia} == {"Sucre"}
    assert not {"Sucre", "La Paz"} & {fact.conflicting[0].answer for fact in bolivia}


@pytest.fixture(scope="module")
def facts():
    return list(invented_states.PLUGIN.facts())


def test_the_states_are_invented_and_their_answers_are_not(facts):
    assert len(set(invented_states.STATES)) == 40
    assert not {row["country"] for row in countries()} & set(invented_states.STATES)
    assert len(facts) == 40 * 3 * 6
    for fact in facts:
        assert {fact.answer, fact.conflicting[0].answer} <= set(answers(fact.relation))
        for passage in (fact.own, fact.conflicting[0]):
            assert mentions(fact.subject, passage.text)
            assert mentions(passage.answer, passage.text)
        assert not mentions(fact.answer, fact.conflicting[0].text)
        assert fact.own.answer == fact.answer


def test_the_true_answer_belongs_to_the_question_and_not_to_the_false_answer(facts):
    true = {(fact.question, fact.answer) for fact in facts}
    assert len(true) == len({question for question, _ in true}) == 120
    few = list(invented_states.InventedStates(2).facts())
    assert {fact.id for fact in few} < {fact.id for fact in facts}


@pytest.mark.parametrize("regime", CONTEXT_KINDS)
def test_every_kind_of_context_can_be_built_from_the_dataset_itself(facts, regime):
    pool, style = regimes.Pool.of(facts), regimes.PromptStyle()
    for place, fact in enumerate(select(facts, 60, 0, style)):
        (document,) = regimes.build(fact, regime, pool, 0, style, place).documents
        assert document.kind == regime
        assert document.origin == "shipped"
        assert (document.subject == fact.subject) is (regime in ("gold", "conflicting"))
