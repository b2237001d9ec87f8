"""Explainers on models that were trained: the document that a demo model answers from, and a prompt in a chat template."""

from __future__ import annotations

import random

import numpy as np
import pytest

from heval_core import catalogue, source_trust
from heval_core.citations import reading as layouts
from heval_core.citations.annotators.shared import weights
from heval_core.citations.annotators.shared.tokens import tokens_of
from heval_core.citations.records import Claim, Explained, Passage, Question, Sentence
from heval_core.datasets._countries import countries
from heval_core.lm.loading import load
from heval_core.prompts import CHAT
from heval_core.records import Document
from tests.conftest import DEMO_MODELS

TURNS = "{% for m in messages %}<{{ m.role }}>\n{{ m.content }}\n{% endfor %}<assistant>{{ '\\n' }}"


def answered(seed: int) -> tuple[Explained, int]:
    """A question about a country, a document that the model believes and one that it does not, and the place of the first."""
    rng = random.Random(seed)
    country, values = rng.choice(countries())["country"], [row["capital"] for row in rng.sample(countries(), 2)]
    place = rng.randrange(2)
    documents = [Document(country, value, f"The capital of {country} is {value}.", "") for value in values]
    told = [source_trust.attribute(document, number == place, rng).text for number, document in enumerate(documents)]
    passages = tuple(Passage(number, text) for number, text in enumerate(told))
    claim = Claim(str(seed), f"What is the capital of {country}?", "", passages)
    said = Sentence(values[place], values[place], ())
    return Explained(claim, "demo", "all", (0, 1), (said,), prompt="question"), place


@pytest.fixture
def questions_layout(tmp_path, monkeypatch):
    """Prompts as the demo models were trained on them."""
    (tmp_path / "question.txt").write_text("passage: {text}\n{passages} Q: {claim} A:\n", encoding="utf-8")
    monkeypatch.setattr(layouts, "FOLDER", tmp_path)
    layouts.layout.cache_clear()
    yield
    layouts.layout.cache_clear()


def test_the_document_that_a_trained_model_answers_from_is_found(questions_layout):
    lm = load(str(DEMO_MODELS / "demo-gpt2"), "cpu")
    hits = {"loo": [], "gradient": [], "attention": []}
    for seed in range(16):
        of, place = answered(seed)
        hits["loo"].append(weights.left_one_out(lm, of).phi[:, 0].argmax() == place)
        hits["gradient"].append(weights.by_gradient(lm, of).phi[:, 0].argmax() == place)
        hits["attention"].append(weights.by_attention(lm, of).phi[:, 0].argmax() == place)
        choices = catalogue.find("annotator", "explainer(loo)").annotate(
            [Question(of, number, (of.sentences[0].bare,), frozenset()) for number in (0, 1)], lm
        )
        assert choices[1 - place].chosen == frozenset()
        hits["loo"].append(choices[place].chosen == {0})
    assert np.mean(hits["loo"]) == 1
    for way in ("gradient", "attention"):
        assert np.mean(hits[way]) > 0.5 + 1.64 * 0.5 / 16**0.5  # above the chance of two documents


def test_in_a_chat_the_explanation_follows_the_header_of_the_answer(model_folders):
    lm = load(str(model_folders["gpt2"]), "cpu")
    lm.tokenizer.chat_template = TURNS
    of = Explained(
        Claim("c", "Peru is a state.", "true", (Passage(1, "Lima leads."), Passage(2, "It lies in America."))),
        "w",
        "all",
        (1, 2),
        (Sentence("Lima leads it [1].", "Lima leads it.", (1,)), Sentence("So it is.", "So it is.", ())),
    )
    with lm.asked_in(CHAT):
        text = tokens_of(lm, layouts.reading(of, {1}))
    whole = lm.tokenizer.decode(text.ids)
    assert whole.endswith("Explanation:\n<assistant>\nLima leads it. So it is.")
    parts = [lm.tokenizer.decode(text.ids[span.start : span.end]).strip() for span in (*text.passages, *text.sentences)]
    assert parts == ["[2] It lies in America.", "Lima leads it.", "So it is."]
