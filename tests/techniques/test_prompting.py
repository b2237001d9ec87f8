"""Prompting: twelve prompts per family, right spans under each of them, and the best of them by mean BCU."""

from __future__ import annotations

import json

import pytest

from heval_core import catalogue
from heval_core.records import Document, HEvalError, Instance
from heval_core.techniques.shared.base import NOTHING, Development, Setting, Trial
from heval_core.techniques.shared.instructions import DEMONSTRATIONS, PROMPTS, family_of, prompt_ids

TECHNIQUE = catalogue.find("technique", "prompting")
TEXT, QUESTION = "As a joke has it: The capital of Kenya is Lisbon.", "What is the capital of Kenya?"
DOCUMENT = Document("Kenya", "Lisbon", TEXT, "conflicting")
INSTANCE = Instance("i", "world_capital", "conflicting", "f", "Kenya", "capital", QUESTION, "Nairobi", (DOCUMENT,))


@pytest.mark.parametrize("dataset", ["world_capital", "nq", "druid=/some/file.jsonl", "nq(limit=3)", "counterfact"])
def test_every_dataset_has_twelve_prompts_of_its_family(dataset):
    family = family_of(dataset)
    assert prompt_ids(dataset) == tuple(f"{family}-{number:02}" for number in range(1, 13))
    assert len(DEMONSTRATIONS[family]) == 2
    settings = TECHNIQUE.settings(Development(None, dataset, {}))
    assert [json.loads(one.text)["prompt"] for one in settings] == list(prompt_ids(dataset))


def test_no_two_prompts_say_the_same_and_families_are_told_apart():
    assert len(set(PROMPTS.values())) == len(PROMPTS) == 36
    families = {"nq": "nq", "druid": "druid", "nqa": "qa", "mine.jsonl": "qa", "country_profiles": "qa"}
    assert {name: family_of(name) for name in families} == families


@pytest.mark.parametrize("key", ["qa-01", "nq-12", "druid-06"])
def test_spans_stay_right_under_every_prompt(key, language_models):
    lm = language_models["gpt2"]
    setting = Setting(json.dumps({"prompt": key}))
    (asked,) = TECHNIQUE.asked(lm, [INSTANCE], setting)
    (alone,) = TECHNIQUE.alone(lm, [INSTANCE], setting)
    prompt, document = asked.prompt, INSTANCE.documents[0]
    assert prompt.text == f"{PROMPTS[key]} {document.text} Q: {INSTANCE.question} A:"
    assert alone.text == f"{PROMPTS[key]} Q: {INSTANCE.question} A:"
    assert asked.trace is None
    (span,), ((mention,),) = prompt.documents, prompt.answers
    assert prompt.text[span.start : span.end] == document.text
    assert prompt.text[mention.start : mention.end] == "Lisbon"
    for one in (prompt, alone):
        assert one.text[one.question.start : one.question.end] == INSTANCE.question
    tokenised = lm.tokenise(prompt)
    (tokens,) = tokenised.documents
    assert "".join(tokenised.tokens[tokens.start : tokens.end]).strip() == document.text


def test_the_best_prompt_has_the_highest_mean_over_kinds_and_the_first_of_ties_is_used():
    settings = TECHNIQUE.settings(Development(None, "nq", {}))
    trials = [Trial(one, {"gold": 1.0, "irrelevant": 0.0}, {"gold": 9, "irrelevant": 1}) for one in settings]
    assert TECHNIQUE.best(trials) == tuple(range(12))
    trials[4] = Trial(settings[4], {"gold": 0.5, "irrelevant": 0.75}, {"gold": 9, "irrelevant": 1})
    assert TECHNIQUE.best(trials) == (4,)


def test_one_prompt_may_be_named(lm):
    chosen = catalogue.find("technique", "prompting(prompt=qa-07)")
    assert chosen.settings(None) == (NOTHING,)
    (asked,) = chosen.asked(lm, [INSTANCE], NOTHING)
    assert asked.prompt.text.startswith("Ignore the context. ")


def test_bad_prompts_are_refused(lm):
    with pytest.raises(HEvalError, match="no prompt 'qa-99'; there are: qa-01"):
        catalogue.find("technique", "prompting(prompt=qa-99)")
    with pytest.raises(HEvalError, match=r"prompting\(prompt=qa-03\)"):
        TECHNIQUE.asked(lm, [INSTANCE], NOTHING)
