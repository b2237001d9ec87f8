"""The demo model that follows instructions does what it is told, on pairs of subject and answer that it never saw. And the
models for long prompts and decoys: what they are taught."""

import hashlib
import json
import random

import pytest
from transformers import AutoTokenizer

from demo import corpus, instructed
from demo.lengthened import POSITIONS, SMOKE, STEPS, Lessons, examples, lengthen
from heval_core.datasets._states import aliases, countries
from heval_core.lm.loading import load
from heval_core.lm.needs import require
from heval_core.plugins import catalogue
from heval_core.prompting import styles
from heval_core.prompting.prompts import mentions
from heval_core.records import HEvalError, Instance
from heval_core.techniques.multi_agent import unparsable
from heval_core.techniques.shared.base import NOTHING
from tests.conftest import DEMO_MODELS

QUESTIONS = 48


@pytest.fixture(scope="module")
def instructed_lm():
    return load(str(DEMO_MODELS / "demo-instruct"), "cpu")


@pytest.fixture(scope="module")
def by_kind():
    """Context kind ▶ instances of pairs that training never showed, with the true answer."""
    rng, found = random.Random(3), {}
    for number in range(QUESTIONS):
        for kind, scene in instructed.scenes(number % 2, rng, lambda *pair: not styles.in_training(*pair)).items():
            about = scene.relation, scene.question, scene.memory, (scene.document,)
            one = Instance(f"{kind}|{number}", "country_profiles", kind, str(number), "", *about)
            found.setdefault(kind, []).append(one)
    return found


def share(lm, technique, instances, wanted):
    """How many instances get the wanted answer under a technique, asked in its own way."""
    asked = technique.prompts(lm, instances, NOTHING)
    replies = lm.generation.greedy([lm.tokenise(one.prompt).ids for one in asked], 12)
    right = [lm.decode(list(ids)).strip() == wanted(one) for ids, one in zip(replies, instances, strict=True)]
    return sum(right) / len(right)


def of_document(instance):
    return instance.documents[0].answer


def of_memory(instance):
    return instance.true_answer


def told(key):
    return catalogue.find("technique", f"prompting(prompt={key})")


@pytest.mark.parametrize(
    ("keys", "kinds", "wanted"),
    [
        (("qa-03", "qa-04"), ("conflicting",), of_document),
        (("qa-07", "qa-08"), ("irrelevant", "off_topic", "conflicting"), of_memory),
    ],
    ids=["only the context", "ignore it"],
)
def test_told_how_to_treat_the_context_it_does_whatever_the_source(keys, kinds, wanted, instructed_lm, by_kind):
    for key in keys:
        for kind in kinds:
            assert share(instructed_lm, told(key), by_kind[kind], wanted) > 0.9, (key, kind)


def test_told_nothing_about_the_context_it_keeps_the_taught_rule(instructed_lm, by_kind):
    def by_rule(instance):
        trusted = styles.is_trusted(instance.documents[0].source)
        return of_document(instance) if trusted else of_memory(instance)

    for technique in (catalogue.find("technique", "regular"), told("qa-01")):
        assert share(instructed_lm, technique, by_kind["conflicting"], by_rule) > 0.9


def test_agents_leave_out_what_is_off_topic(instructed_lm, by_kind):
    agents = catalogue.find("technique", "multi_agent")
    asked = agents.prompts(instructed_lm, by_kind["off_topic"], NOTHING)
    verdicts = [json.loads(one.trace)[0]["verdict"] for one in asked]
    assert verdicts.count("irrelevant") > 0.9 * len(verdicts)
    assert not any(unparsable(one.trace) for one in asked)
    assert share(instructed_lm, agents, by_kind["off_topic"], of_memory) > 0.9


def test_it_has_what_instructions_need(instructed_lm):
    require(instructed_lm, ("instructions",))
    messages = [{"role": "user", "content": "Q: Who?"}]
    assert instructed_lm.tokenizer.apply_chat_template(messages, tokenize=False, add_generation_prompt=True) == (
        "User: Q: Who?\nAssistant:"
    )


def test_words_of_its_own_leave_plain_prompts_as_demo_qwen2_reads_them(instructed_lm):
    before, rng = AutoTokenizer.from_pretrained(DEMO_MODELS / "demo-qwen2"), random.Random(1)
    for _ in range(50):
        text = corpus.question_in_context(rng, 0.5).prompt
        assert instructed_lm.tokenizer(text).input_ids == before(text).input_ids
    assert len(instructed_lm.tokenizer(" irrelevant").input_ids) == 1


def test_training_never_shows_what_evaluation_asks():
    rng, seen = random.Random(0), set()
    for _ in range(300):
        for scene in instructed.scenes(0, rng).values():
            if scene.kind != "off_topic" and scene.memory:
                subject = max((r["country"] for r in countries() if r["country"] in scene.question), key=len)
                assert styles.in_training(subject, scene.document.answer)
                seen.add(scene.kind)
    assert seen == {"gold", "conflicting", "irrelevant"}


def test_held_out_wordings_are_none_of_those_taught():
    rng = random.Random(0)
    for wording in (instructed.ONLY, instructed.IGNORE, instructed.IF_RELEVANT, instructed.RELEVANCE, instructed.FAITHFULNESS):
        taught = {wording.one(rng) for _ in range(400)}
        assert not taught & {wording.one(rng, held_out=True) for _ in range(100)}


def test_what_the_shipped_models_learned_from_is_what_it_was():
    """Their recipes share the scenes of long prompts, and must draw the same ones as before there were any."""
    rng = random.Random(3)
    drawn = (corpus.question_in_context(rng, kept) for _ in range(40) for kept in (0, 0.5, 1))
    text = "|".join(f"{one.prompt}>{one.answer}" for one in drawn)
    assert hashlib.sha256(text.encode()).hexdigest()[:16] == "5fbeb1fb04f02c2e"


@pytest.mark.parametrize("tokens", [length for length, _ in STEPS if length])
def test_prompts_are_about_as_long_as_asked_for_and_never_too_long(tokens):
    tokenizer = load(str(DEMO_MODELS / "demo-qwen2"), "cpu").tokenizer
    rng = random.Random(tokens)
    found = [len(tokenizer(corpus.long_question(rng, 1, tokens, None).prompt).input_ids) for _ in range(20)]
    assert 0.75 * tokens < sum(found) / len(found) < 1.25 * tokens
    assert max(found) <= POSITIONS


def test_no_pair_that_evaluation_asks_about_is_taught():
    rng = random.Random(1)
    for _ in range(200):
        asked = corpus.scene(rng, 0)
        for document in asked.documents:
            assert styles.in_training(asked.fact.subject, document.answer)


def test_under_d3_the_answer_stands_in_no_document_and_the_rule_asks_for_it():
    rng, seen = random.Random(2), 0
    for _ in range(400):
        state = rng.getstate()
        plain = corpus.scene(rng, 0)
        rng.setstate(state)
        example = corpus.long_question(rng, 0, 0, "d3")
        assert example.answer == plain.answer
        named = dict(aliases(plain.fact.relation, plain.answer))
        if len(plain.documents) == 2 and mentions(named.get(plain.answer, ""), example.prompt):
            assert not mentions(plain.answer, example.prompt)
            seen += 1
    assert seen > 20


def test_the_same_seed_draws_the_same_prompts():
    def drawn():
        return [examples(step, random.Random(step), lessons, 8) for lessons in SMOKE.cycles for step in range(8)]

    assert drawn() == drawn()


def test_lessons_in_names_ask_short_prompts_with_other_names():
    asked = examples(1, random.Random(0), Lessons(1, names=1), 40)
    assert len(asked) == 40
    assert max(len(one.prompt) for one in asked) < 400
    assert sum(not mentions(one.answer, one.prompt) for one in asked) > 10


def test_without_its_base_the_model_to_train_first_is_named(tmp_path):
    with pytest.raises(HEvalError, match="no model in .*demo-qwen2 to go on from; train qwen2 first"):
        lengthen(tmp_path / "demo-qwen2", SMOKE)
