"""The models for long prompts and decoys: what they are taught, and that they can be made."""

from __future__ import annotations

import hashlib
import random
import shutil

import pytest

from demo import corpus
from demo.lengthened import POSITIONS, SMOKE, STEPS, Lessons, examples, lengthen
from heval_core import prompt_styles
from heval_core.datasets._states import aliases
from heval_core.lm.loading import load
from heval_core.prompts import mentions
from heval_core.records import HEvalError
from tests.conftest import DEMO_MODELS
from tests.demo.smoke import trained


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
            assert prompt_styles.in_training(asked.fact.subject, document.answer)


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


@pytest.mark.demo
def test_a_smoke_training_makes_a_folder_that_loads_and_reads_long_prompts(tmp_path, model_folders):
    shutil.copytree(model_folders["qwen2"], tmp_path / "demo-qwen2")
    trained(tmp_path, "qwen2-long")
    lm = load(str(tmp_path / "demo-qwen2-long"), "cpu")
    assert lm.positions == POSITIONS
    card = (tmp_path / "demo-qwen2-long" / "README.md").read_text(encoding="utf-8")
    assert "| country_profiles | mixed.2048-last |" in card
    assert "| world_capital | double_conflicting.d3 |" in card
