"""Prompting: twelve prompts per family, right spans under each of them, and the best of them by mean BCU. And agents: what
they are asked, how replies are read, and what the trace keeps; with a model whose replies are written here."""

from __future__ import annotations

import json
from types import SimpleNamespace

import pytest

from heval_core.lm.needs import require
from heval_core.plugins import catalogue
from heval_core.prompting.prompts import TEMPLATE
from heval_core.records import Document, HEvalError, Instance
from heval_core.techniques.multi_agent import UNPARSABLE, unparsable, verdict
from heval_core.techniques.shared.base import NOTHING, Answerable, Development, Setting, Trial
from heval_core.techniques.shared.instructions import (
    DEMONSTRATIONS,
    FAITHFULNESS,
    PROMPTS,
    REFINING,
    RELEVANCE,
    family_of,
    prompt_ids,
)

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
    (asked,) = TECHNIQUE.prompts(lm, [INSTANCE], setting)
    (alone,) = TECHNIQUE.prompts_alone(lm, [INSTANCE], setting)
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


def test_one_prompt_may_be_named_and_bad_ones_are_refused(lm):
    chosen = catalogue.find("technique", "prompting(prompt=qa-07)")
    assert chosen.settings(None) == (NOTHING,)
    (asked,) = chosen.prompts(lm, [INSTANCE], NOTHING)
    assert asked.prompt.text.startswith("Ignore the context. ")
    with pytest.raises(HEvalError, match="no prompt 'qa-99'; there are: qa-01"):
        catalogue.find("technique", "prompting(prompt=qa-99)")
    with pytest.raises(HEvalError, match=r"prompting\(prompt=qa-03\)"):
        TECHNIQUE.prompts(lm, [INSTANCE], NOTHING)


AGENTS = catalogue.find("technique", "multi_agent")
PLAIN = f"{INSTANCE.documents[0].text} Q: {INSTANCE.question} A:"


class Scripted:
    """Stands for a model: `replies` gives the reply to each prompt that begins with its key."""

    template = TEMPLATE

    def __init__(self, replies: dict[str, str]):
        self.replies, self.texts = replies, []
        self.generation = SimpleNamespace(greedy=self._greedy)

    def tokenise(self, prompt, check_length=True):
        self.texts.append(prompt.text)
        return SimpleNamespace(ids=(len(self.texts) - 1,))

    def _greedy(self, prompts, tokens):
        asked = [self.texts[number] for (number,) in prompts]
        return [(sorted(self.replies).index(self._key(text)),) for text in asked]

    def _key(self, text):
        return max((key for key in self.replies if text.startswith(key)), key=len)

    def decode(self, ids):
        return self.replies[sorted(self.replies)[ids[0]]]


def asked_of(relevance="relevant", answer=" Nairobi", faithfulness="faithful", instances=(INSTANCE,)):
    lm = Scripted({RELEVANCE: relevance, FAITHFULNESS: faithfulness, "": answer})
    return lm, AGENTS.prompts(lm, instances, NOTHING)


@pytest.mark.parametrize(("reply", "expected"), [
    ("irrelevant", "irrelevant"), ("Irrelevant.", "irrelevant"), ("The context is IRRELEVANT, not relevant", "irrelevant"),
    ("It is not relevant", "irrelevant"), ("Relevant", "relevant"), ("yes, it is relevant", "relevant"), ("yes", UNPARSABLE),
    ("", UNPARSABLE),
])  # fmt: skip
def test_replies_are_read_with_the_longer_word_first(reply, expected):
    assert verdict(reply, "relevant", "irrelevant") == expected


def test_irrelevant_is_answered_without_the_context():
    lm, (asked,) = asked_of(relevance="irrelevant")
    assert asked.prompt.text == f"Q: {INSTANCE.question} A:"
    assert json.loads(asked.trace) == [{"agent": "relevance", "reply": "irrelevant", "verdict": "irrelevant"}]
    assert lm.texts == [f"{RELEVANCE} {PLAIN}"]


def test_a_faithful_answer_stays():
    lm, (asked,) = asked_of(answer=" Lisbon.\nQ: and")
    assert asked.prompt.text == PLAIN
    assert lm.texts[2] == f"{FAITHFULNESS} {PLAIN[:-2]}Answer: Lisbon. A:"
    assert json.loads(asked.trace)[1:] == [
        {"agent": "answer", "reply": "Lisbon."},
        {"agent": "faithfulness", "reply": "faithful", "verdict": "faithful"},
    ]


def test_an_unfaithful_answer_is_refined_after_two_demonstrations():
    _, (asked,) = asked_of(faithfulness="That is unfaithful")
    prompt = asked.prompt
    assert prompt.text == f"{REFINING} {' '.join(DEMONSTRATIONS['qa'])} {PLAIN}"
    (span,), ((mention,),) = prompt.documents, prompt.answers
    assert prompt.text[span.start : span.end] == INSTANCE.documents[0].text
    assert prompt.text[mention.start : mention.end] == "Lisbon"
    assert json.loads(asked.trace)[-1]["verdict"] == "unfaithful"


def test_what_cannot_be_parsed_counts_as_relevant_and_is_counted():
    _, (asked,) = asked_of(relevance="hm", faithfulness="who knows")
    assert asked.prompt.text == PLAIN
    assert [call.get("verdict") for call in json.loads(asked.trace)] == [UNPARSABLE, None, UNPARSABLE]
    assert unparsable(asked.trace) == 2
    _, (parsed,) = asked_of()
    assert unparsable(parsed.trace) == 0


@pytest.mark.parametrize(("relevance", "faithfulness", "usable"), [
    ("hm", "who knows", False), ("yes", "", False), ("hm", "faithful", True), ("irrelevant", "hm", True),
    ("relevant", "hm", True),
])  # fmt: skip
def test_a_model_has_agents_where_verdicts_of_one_kind_can_be_read(relevance, faithfulness, usable):
    lm = Scripted({RELEVANCE: relevance, FAITHFULNESS: faithfulness, "": "Nairobi"})
    lm.key = "smol"
    given = Development(lm, "world_capital", {kind: (Answerable(INSTANCE, (1,), 2),) * 12 for kind in ("gold", "off_topic")})
    if usable:
        assert AGENTS.settings(given) == (NOTHING,)
    else:
        with pytest.raises(HEvalError, match="smol gives no verdicts: 0 of 40 replies"):
            AGENTS.settings(given)


def test_an_answer_with_braces_is_text_like_any_other():
    lm, _ = asked_of(answer="{question} {documents}")
    assert "Answer: {question} {documents}. A:" in lm.texts[2]


def test_each_instance_of_a_batch_has_its_own_calls():
    from dataclasses import replace

    other = replace(INSTANCE, documents=(Document("x", "Rome", "Rome it is.", "irrelevant"),))
    lm = Scripted({RELEVANCE: "relevant", f"{RELEVANCE} Rome": "irrelevant", FAITHFULNESS: "unfaithful", "": "Nairobi"})
    first, second, third = AGENTS.prompts(lm, [other, INSTANCE, other], NOTHING)
    assert [len(json.loads(one.trace)) for one in (first, second, third)] == [1, 3, 1]
    assert second.prompt.text.startswith(REFINING)
    assert first.prompt == third.prompt == AGENTS.prompts_alone(lm, [other], NOTHING)[0]


@pytest.mark.parametrize("key", ["prompting", "multi_agent"])
def test_a_model_without_a_chat_template_is_told_so(key, lm):
    with pytest.raises(HEvalError, match="follows no instructions: its tokenizer has no chat template"):
        require(lm, catalogue.find("technique", key).needs)
