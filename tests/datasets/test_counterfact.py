"""CounterFact in every form that is in use: clozes, and statements that answer them."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import pytest

from heval_core import regimes
from heval_core.datasets import counterfact
from heval_core.plugins.protocols import Dataset
from heval_core.records import CONTEXT_KINDS, HEvalError
from tests.datasets import samples


def rome() -> list[dict[str, Any]]:
    return [
        {
            "case_id": number,
            "requested_rewrite": {
                "prompt": "The capital of {} is", "relation_id": "P36", "subject": country,
                "target_true": {"str": true, "id": "Q1"}, "target_new": {"str": samples.FALSE[number % 3], "id": "Q2"},
            },
        }
        for number, (country, true) in enumerate(samples.CITIES.items())
    ]  # fmt: skip


def known() -> list[dict[str, Any]]:
    return [
        {"known_id": n, "subject": country, "attribute": true, "relation_id": "P36", "template": "The capital of {} is",
         "prompt": f"The capital of {country} is"}
        for n, (country, true) in enumerate(samples.CITIES.items())
    ]  # fmt: skip


def comp_mech() -> list[dict[str, Any]]:
    """The last one is a leak: its true answer stands in its subject."""
    pairs = [*samples.CITIES.items(), ("Quito Province", "Quito")]
    return [
        {"base_prompt": f"The capital of {country} is", "subject": country, "target_true": f" {true}",
         "target_new": f" {samples.FALSE[n % 2]}", "template": "…", "prompt": "…"}
        for n, (country, true) in enumerate(pairs)
    ]  # fmt: skip


def write_pararel(folder: Path) -> Path:
    """One relation of LAMA facts, among them a leak and a subject with two true answers."""
    facts = [{"sub_label": country, "obj_label": true} for country, true in samples.CITIES.items()]
    facts += [{"sub_label": "Quito Province", "obj_label": "Quito"}]
    facts += [{"sub_label": "Bolivia", "obj_label": "Sucre"}, {"sub_label": "Bolivia", "obj_label": "La Paz"}]
    patterns = [{"pattern": "[Y] is the capital of [X]."}, {"pattern": "The capital of [X] is [Y] ."}]
    samples.write_lines(folder / "facts" / "P36.jsonl", facts)
    samples.write_lines(folder / "patterns" / "P36.jsonl", patterns)
    return folder


def sample(data: Path) -> Dataset:
    samples.write_json(data / "counterfact" / "counterfact.json", rome())
    return counterfact.PLUGIN


FORMS = {"rome": rome, "known": known, "comp_mech": comp_mech, "spaced": lambda: [r | {"relation_id": " P "} for r in known()]}


@pytest.mark.parametrize("form", FORMS)
def test_counterfact_is_a_cloze_and_a_fact_in_every_form(form, tmp_path):
    facts, bad, _ = samples.sorted_out(counterfact.PLUGIN, samples.write_json(tmp_path / "c.json", FORMS[form]()))
    assert len(facts) == 6
    assert not bad
    for fact in facts:
        (passage,) = fact.conflicting
        assert fact.question == f"The capital of {fact.subject} is"
        assert passage.text == f"Fact: {fact.question} {passage.answer}."
        assert fact.own.text == f"Fact: {fact.question} {samples.CITIES[fact.subject]}."
        assert passage.answer != fact.answer


@pytest.mark.parametrize(
    ("records", "left_out"),
    [(comp_mech(), ("answer in subject", "c.json, record 7")), (known()[:1], ("no conflicting document", "c.json, record 1"))],
)
def test_what_its_subject_gives_away_and_what_has_no_false_answer_is_left_out(records, left_out, tmp_path):
    path = samples.write_json(tmp_path / "c.json", records)
    *_, unusable = samples.sorted_out(counterfact.PLUGIN, path)
    assert [(record.reason, record.location) for record in unusable] == [left_out]


def test_the_false_answer_of_known_facts_is_of_the_relation_and_does_not_depend_on_the_order(tmp_path):
    records = known()
    one = samples.sorted_out(counterfact.PLUGIN, samples.write_json(tmp_path / "a.json", records))[0]
    random.Random(0).shuffle(records)
    other = samples.sorted_out(counterfact.PLUGIN, samples.write_json(tmp_path / "b.json", records))[0]
    assert sorted(one, key=lambda f: f.id) == sorted(other, key=lambda f: f.id)
    assert {fact.conflicting[0].answer for fact in one} <= set(samples.CITIES.values())


def test_pararel_takes_the_first_pattern_that_ends_with_the_object_and_subjects_with_one_answer(tmp_path):
    facts, bad, unusable = samples.sorted_out(counterfact.PLUGIN, write_pararel(tmp_path))
    assert {fact.question for fact in facts} == {f"The capital of {country} is" for country in samples.CITIES}
    assert [record.reason for record in unusable] == ["answer in subject"]
    assert not bad


def test_pararel_gives_802_questions_in_equal_shares(tmp_path):
    for relation, count in (("P36", 100), ("P1376", 30), ("P495", 400), ("P740", 400), ("P101", 400), ("P27", 400)):
        rows = [{"sub_label": f"{relation} subject {n}", "obj_label": f"answer{n % 7}"} for n in range(count)]
        samples.write_lines(tmp_path / "facts" / f"{relation}.jsonl", rows)
        samples.write_lines(tmp_path / "patterns" / f"{relation}.jsonl", [{"pattern": "[X] is of [Y]."}])
    facts = samples.sorted_out(counterfact.PLUGIN, tmp_path)[0]
    count = {p: sum(fact.relation == p for fact in facts) for p in counterfact.PARAREL_RELATIONS}
    assert count["P36"] + count["P1376"] == 130  # all that the smallest has
    assert [count[p] for p in ("P495", "P740", "P101", "P27")] == [168] * 4
    assert len(facts) == counterfact.PARAREL_QUESTIONS == 802


def test_a_list_of_another_form_is_refused_with_the_fields_seen(tmp_path):
    path = samples.write_json(tmp_path / "c.json", [{"apple": 1}])
    with pytest.raises(HEvalError, match="none of CounterFact's formats.*its first record has apple"):
        list(counterfact.CounterFact(str(path)).facts())


def test_the_kinds_of_context_are_cubs(tmp_path):
    """Each document is one sentence: of the true object, of the false one, of another subject."""
    records = rome()
    for number, country in enumerate(samples.CITIES):
        rewrite = {"prompt": "{} is known for", "relation_id": "P1", "subject": country}
        rewrite |= {"target_true": {"str": f"thing {number}"}, "target_new": {"str": f"thing {number + 10}"}}
        records.append({"requested_rewrite": rewrite})
    facts = list(counterfact.CounterFact(str(samples.write_json(tmp_path / "c.json", records))).facts())
    pool, (kenya, *_) = regimes.Pool.of(facts), facts
    built = {kind: regimes.build(kenya, kind, pool, 0, regimes.PromptStyle(), 0).documents[0] for kind in CONTEXT_KINDS}
    assert built["gold"].text == "Fact: The capital of Kenya is Nairobi."
    assert built["conflicting"].text == "Fact: The capital of Kenya is Lisbon."
    other = built["irrelevant"]
    assert other.subject != "Kenya"
    assert other.text == f"Fact: The capital of {other.subject} is {samples.CITIES[other.subject]}."
    off = built["off_topic"]
    assert off.subject != "Kenya"
    assert off.text == f"Fact: {off.subject} is known for {off.answer}."
    assert {document.origin for document in built.values()} == {"shipped"}
