"""Agents: what they are asked, how replies are read, and what the trace keeps; with a model whose replies are written here."""

from __future__ import annotations

import json
from types import SimpleNamespace

import pytest

from heval_core import catalogue
from heval_core.lm.needs import require
from heval_core.prompts import TEMPLATE
from heval_core.records import Document, HEvalError
from heval_core.techniques.multi_agent import UNPARSABLE, unparsable, verdict
from heval_core.techniques.shared.base import NOTHING, Development, Question
from heval_core.techniques.shared.instructions import DEMONSTRATIONS, FAITHFULNESS, REFINING, RELEVANCE
from tests.techniques.test_prompting import INSTANCE

TECHNIQUE = catalogue.find("technique", "multi_agent")
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
    return lm, TECHNIQUE.asked(lm, instances, NOTHING)


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


def _development(lm):
    lm.key = "smol"
    return Development(lm, "world_capital", {kind: (Question(INSTANCE, (1,), 2),) * 12 for kind in ("gold", "off_topic")})


@pytest.mark.parametrize(("relevance", "faithfulness"), [("hm", "who knows"), ("yes", "")])
def test_a_model_whose_verdicts_cannot_be_read_has_no_agents(relevance, faithfulness):
    lm = Scripted({RELEVANCE: relevance, FAITHFULNESS: faithfulness, "": "Nairobi"})
    with pytest.raises(HEvalError, match="smol gives no verdicts: 0 of 40 replies"):
        TECHNIQUE.settings(_development(lm))


@pytest.mark.parametrize(("relevance", "faithfulness"), [("hm", "faithful"), ("irrelevant", "hm"), ("relevant", "hm")])
def test_a_model_with_verdicts_of_one_kind_has_agents(relevance, faithfulness):
    lm = Scripted({RELEVANCE: relevance, FAITHFULNESS: faithfulness, "": "Nairobi"})
    assert TECHNIQUE.settings(_development(lm)) == (NOTHING,)


def test_an_answer_with_braces_is_text_like_any_other():
    lm, _ = asked_of(answer="{question} {documents}")
    assert "Answer: {question} {documents}. A:" in lm.texts[2]


def test_each_instance_of_a_batch_has_its_own_calls():
    from dataclasses import replace

    other = replace(INSTANCE, documents=(Document("x", "Rome", "Rome it is.", "irrelevant"),))
    lm = Scripted({RELEVANCE: "relevant", f"{RELEVANCE} Rome": "irrelevant", FAITHFULNESS: "unfaithful", "": "Nairobi"})
    first, second, third = TECHNIQUE.asked(lm, [other, INSTANCE, other], NOTHING)
    assert [len(json.loads(one.trace)) for one in (first, second, third)] == [1, 3, 1]
    assert second.prompt.text.startswith(REFINING)
    assert first.prompt == third.prompt == TECHNIQUE.alone(lm, [other], NOTHING)[0]


@pytest.mark.parametrize("key", ["prompting", "multi_agent"])
def test_a_model_without_a_chat_template_is_told_so(key, lm):
    with pytest.raises(HEvalError, match="follows no instructions: its tokenizer has no chat template"):
        require(lm, catalogue.find("technique", key).needs)
