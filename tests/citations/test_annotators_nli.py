"""The annotator `nli` and the models that it reads with: tiny random classifiers, and a seq2seq model."""

import shutil

import pytest
import torch
from transformers import (
    AutoTokenizer,
    BertConfig,
    BertForSequenceClassification,
    Qwen2Config,
    Qwen2ForSequenceClassification,
    T5Config,
    T5ForConditionalGeneration,
)

from heval_core.citations.records import Passage
from heval_core.lm.entailment import PROMPT, entailment_label, load
from heval_core.plugins import catalogue
from heval_core.records import HEvalError
from tests.citations.planted import of_texts, questions
from tests.conftest import DEMO_MODELS

SAID = ("Lima is the capital of Peru.", "", "It is so.", "Peru lies in America.")
OF = of_texts((Passage(1, "The capital of Peru is Lima."), Passage(2, "Peru lies in America.")), SAID)
QUESTIONS = questions(OF)
SMALL = {
    "hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 4, "intermediate_size": 48, "initializer_range": 0.5,
}  # fmt: skip
LABELS = {0: "neutral", 1: "CONTRADICTION", 2: "ENTAILMENT"}


def saved(model, folder):
    tokenizer = AutoTokenizer.from_pretrained(DEMO_MODELS / "demo-gpt2")
    tokenizer.model_max_length = 64
    model.save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return str(folder)


@pytest.fixture(scope="module")
def folders(tmp_path_factory):
    words = len(AutoTokenizer.from_pretrained(DEMO_MODELS / "demo-gpt2"))
    torch.manual_seed(5)
    labels = {"id2label": LABELS, "label2id": {name: place for place, name in LABELS.items()}}
    bert = BertConfig(**SMALL, **labels, vocab_size=words, max_position_embeddings=64)
    qwen = Qwen2Config(**SMALL, **labels, vocab_size=words, num_key_value_heads=2)
    t5 = T5Config(vocab_size=words, d_model=32, d_kv=8, d_ff=48, num_layers=2, num_heads=4, decoder_start_token_id=0)
    made = {
        "bert": BertForSequenceClassification(bert),
        "qwen2": Qwen2ForSequenceClassification(qwen),
        "t5": T5ForConditionalGeneration(t5),
    }
    return {name: saved(model, tmp_path_factory.mktemp("nli") / name) for name, model in made.items()}


def alone(reader, premise, hypothesis):
    """One pair at a time by the plain model."""
    if reader.seq2seq:
        inputs = reader.tokenizer(PROMPT.format(premise=premise, hypothesis=hypothesis), return_tensors="pt")
        logits = reader.model(input_ids=inputs.input_ids, decoder_input_ids=torch.zeros(1, 1, dtype=torch.long)).logits[0, -1]
        return logits.softmax(-1), reader.tokenizer("1").input_ids[-1]
    inputs = reader.tokenizer(premise, hypothesis, return_tensors="pt")
    return reader.model(**inputs).logits[0].softmax(-1), 2


@pytest.mark.parametrize("kind", ["bert", "qwen2", "t5"])
@pytest.mark.parametrize("budget", [None, 1])
def test_choices_are_those_of_one_pair_at_a_time(folders, kind, budget):
    reader = load(folders[kind], "cpu", batch_tokens=budget)
    choices = catalogue.find("annotator", "nli").annotate(QUESTIONS, reader)
    for question, choice in zip(QUESTIONS, choices, strict=True):
        premise = OF.claim.passage(question.passage).text
        for place, text in enumerate(SAID):
            chances, label = alone(reader, premise, text)
            assert choice.scores[place] == pytest.approx(float(chances[label]) if text else 0, abs=1e-5)
            assert (place in choice.chosen) is (bool(text) and int(chances.argmax()) == label)
    assert catalogue.find("annotator", "nli").annotate([], reader) == []


@pytest.mark.parametrize("name", ["entailment", "ENTAILMENT", "Entail", "LABEL_entailed", "entailment "])
def test_the_label_is_found_however_it_is_spelled(name):
    assert entailment_label("m", {0: "not_entailment", 1: name}) == 1


@pytest.mark.parametrize(
    ("labels", "why"), [({0: "LABEL_0", 1: "not_entailment"}, "no label"), ({0: "entail", 1: "ENTAILMENT"}, "several")]
)
def test_a_model_without_the_label_is_refused_in_one_line(labels, why):
    with pytest.raises(HEvalError, match=f"'some/model' has {why}.* for entailment; its labels are: "):
        entailment_label("some/model", labels)


def test_no_model_is_refused_in_one_line():
    with pytest.raises(HEvalError, match=r"Name one: nli\(model=ID\)"):
        load("")


def test_weights_that_are_no_safetensors_are_refused(folders, tmp_path):
    folder = tmp_path / "pickled"
    shutil.copytree(folders["bert"], folder)
    (folder / "model.safetensors").unlink()
    torch.save({}, folder / "pytorch_model.bin")
    with pytest.raises(HEvalError, match="cannot be loaded as an entailment model"):
        load(str(folder), "cpu")


@pytest.mark.parametrize("kind", ["bert", "t5"])
def test_a_passage_that_is_too_long_loses_its_end_and_keeps_the_sentence(folders, kind):
    reader = load(folders[kind], "cpu")
    long = "Peru lies in America. " * 60
    one, other = reader.judge([(long, "It is so."), (long, "The capital is Lima.")])
    assert one.probability != other.probability
    assert len(reader._encoded(long, "It is so.")["input_ids"]) <= 64
    assert 0 <= reader.judge([("Peru.", long)])[0].probability <= 1  # a sentence that is too long is cut, too
