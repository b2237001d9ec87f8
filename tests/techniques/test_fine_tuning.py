"""Fine-tuning: what is taught, the loss, the adapter as it is merged, and one clear line for whatever is missing."""

from __future__ import annotations

import dataclasses
import json
import sys
from collections import Counter

import pytest
import torch

from heval_core.lm.adapting import Adapter, adapted, linear_layers
from heval_core.lm.loading import load
from heval_core.lm.training import IGNORED, Example, Recipe, best_epoch, loss, padded, rate, stops, train
from heval_core.plugins import catalogue
from heval_core.prompting.prompts import assemble
from heval_core.records import Document, HEvalError, NotHere
from heval_core.techniques.shared import lessons
from heval_core.techniques.shared.base import Answerable, Development, Setting
from heval_core.techniques.shared.lessons import Lesson
from tests.conftest import DEMO_MODELS
from tests.techniques.questions import instance

PER_BLOCK = {"gpt2": 4, "gpt_neox": 4, "qwen2": 7}
EXAMPLES = [Example(tuple(range(10 + n, 16 + n)), 1 + n % 2) for n in range(12)]
QUICK = Recipe(learning_rate=0.01, epochs=2, rank=4, batch=4)


def quickly(lm, seed=0, **recipe):
    return train(lm, EXAMPLES, EXAMPLES[:3], dataclasses.replace(QUICK, **recipe), seed)


def ids_of(lm):
    prompt = assemble(("The capital of Kenya is Lisbon.",), ("Lisbon",), "What is the capital of Kenya?")
    return lm.ids(lm.tokenise(prompt).ids)


def some_adapter(lm, rank=3, scale=2.0) -> Adapter:
    """Random, for every layer; rounded as the file rounds."""
    drawn, pairs = torch.Generator().manual_seed(1), {}
    for name, layer in linear_layers(lm).items():
        first, second = layer.weight.shape
        inputs, outputs = (first, second) if type(layer).__name__ == "Conv1D" else (second, first)
        a, b = (torch.randn(*shape, generator=drawn) * 0.3 for shape in ((rank, inputs), (outputs, rank)))
        pairs[name] = (a.half(), b.half())
    return Adapter(lm.key, lm.revision, scale, pairs)


@torch.no_grad()
def by_hand(lm, adapter, ids):
    """Last logits of the plain model, whose layers add scale x B A x to what they give."""

    def adding(a, b):
        return lambda _, inputs, given: given + adapter.scale * inputs[0] @ a.float().T @ b.float().T

    layers = dict(lm.model.named_modules())
    handles = [layers[name].register_forward_hook(adding(*pair)) for name, pair in adapter.pairs.items()]
    try:
        return lm.model(ids).logits[:, -1]
    finally:
        for handle in handles:
            handle.remove()


def test_merged_logits_are_those_of_the_layers_plus_b_a_x(lm):
    adapter, ids = some_adapter(lm), ids_of(lm)
    assert len(adapter.pairs) == lm.layers * PER_BLOCK[lm.model.config.model_type]
    expected, plain = by_hand(lm, adapter, ids), lm.forward.logits(ids)
    assert not torch.allclose(expected, plain, atol=0.1)
    changed = adapted(lm, Adapter.read(adapter.as_bytes()))
    torch.testing.assert_close(changed.forward.logits(ids), expected, rtol=1e-3, atol=1e-3)


def test_whatever_looks_into_the_model_sees_the_merged_weights(lm):
    lm.heads.read(ids_of(lm), lm.forward.clean(ids_of(lm))[1])  # what is kept of the model as it was must not be used
    changed, ids = adapted(lm, some_adapter(lm)), ids_of(lm)
    reading = changed.heads.read(ids, changed.forward.clean(ids)[1])  # refuses hooks that show another model
    assert not torch.allclose(reading.outputs, lm.heads.read(ids, lm.forward.clean(ids)[1]).outputs, atol=1e-2)
    assert not torch.equal(changed.heads.output_matrix(1), lm.heads.output_matrix(1))
    with changed.pruning.without([(0, 1)]):
        assert not torch.allclose(changed.forward.logits(ids), adapted(lm, some_adapter(lm)).forward.logits(ids), atol=1e-3)


def test_the_model_is_bit_by_bit_as_before_also_after_an_error(lm):
    technique, setting = catalogue.find("technique", "fine_tuning"), Setting("{}", some_adapter(lm).as_bytes())
    before, plain = {name: own.clone() for name, own in lm.model.state_dict().items()}, lm.forward.logits(ids_of(lm))
    used = []

    def fails():
        with technique.applied(lm, setting) as changed:
            used.append(changed)
            assert not torch.equal(changed.forward.logits(ids_of(lm)), plain)
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        fails()
    assert torch.equal(lm.forward.logits(ids_of(lm)), plain)
    assert all(torch.equal(own, before[name]) for name, own in lm.model.state_dict().items())
    # Everything that is not adapted is shared, so that a second model costs no more than its linear layers.
    assert used[0].model.get_input_embeddings().weight is lm.model.get_input_embeddings().weight


def test_an_adapter_of_another_model_is_one_clear_line(language_models):
    lm = language_models["qwen2"]
    adapter = some_adapter(lm)
    name, (a, b) = next(iter(adapter.pairs.items()))
    cases = {
        "was trained for other .* cannot be used with random-qwen2": {"model": "other"},
        "was trained for random-qwen2 .revision abc.": {"revision": "abc"},
        "does not fit random-qwen2: its layer model.layers.9.up .* has no place in": {"pairs": {"model.layers.9.up": (a, b)}},
        f"its layer {name} .31 inputs.* has another size in the model": {"pairs": {name: (a[:, 1:], b)}},
    }
    for said, change in cases.items():
        with pytest.raises(HEvalError, match=said):
            adapted(lm, dataclasses.replace(adapter, **change))
    for file in (b"", b"nonsense that is no file", Adapter("m", "1", 1.0, {}).as_bytes()[:-3]):
        with pytest.raises(HEvalError, match="not an adapter of fine_tuning"):
            Adapter.read(file)


def test_the_loss_is_of_the_answers_tokens_only(lm):
    examples = [Example((5, 6, 7, 8), 1), Example((9, 10, 11, 12, 13, 14), 2)]
    expected = 0.0
    for example in examples:
        with torch.no_grad():
            logs = lm.model(lm.ids(example.ids)).logits[0].log_softmax(-1)
        for place in range(len(example.ids) - example.answer, len(example.ids)):
            expected -= float(logs[place - 1, example.ids[place]])
    assert float(loss(lm.model, examples, lm.device)) == pytest.approx(expected, rel=1e-4)
    _, attended, labels = padded(examples)
    assert labels.tolist() == [[IGNORED] * 3 + [8, IGNORED, IGNORED], [IGNORED] * 4 + [13, 14]]
    assert attended.sum(1).tolist() == [4, 6]


def test_training_lowers_the_loss_the_same_way_for_the_same_seed_and_leaves_the_model_alone(lm):
    before = {name: own.clone() for name, own in lm.model.state_dict().items()}
    torch.manual_seed(5)
    follows = torch.rand(1)
    torch.manual_seed(5)
    first = quickly(lm)
    assert torch.equal(torch.rand(1), follows), "random numbers outside go on as if nothing had been drawn"
    assert all(torch.equal(own, before[name]) for name, own in lm.model.state_dict().items())
    again, other = quickly(lm), quickly(lm, seed=1)
    assert first.adapter.as_bytes() == again.adapter.as_bytes()
    assert first.losses == again.losses
    assert first.adapter.as_bytes() != other.adapter.as_bytes()
    assert first.losses[1] < first.losses[0]
    # The stored adapter is the one that was measured: its loss is the held-out one, up to the rounding of the file.
    merged = adapted(lm, Adapter.read(first.adapter.as_bytes()))
    tokens = sum(example.answer for example in EXAMPLES[:3])
    measured = float(loss(merged.model, EXAMPLES[:3], lm.device)) / tokens
    assert measured == pytest.approx(first.held_out[first.best - 1], rel=0.01)


def test_dropout_is_on_while_the_adapter_is_trained(language_models):
    with_it, without = (quickly(language_models["gpt2"], dropout=share, epochs=1) for share in (0.5, 0.0))
    assert with_it.losses != without.losses


def test_training_in_bfloat16_keeps_the_adapter_in_float32(model_folders):
    lm = load(str(model_folders["qwen2"]), "cpu", "bfloat16")
    trained = quickly(lm)
    assert trained.losses[1] < trained.losses[0]
    assert {tensor.dtype for pair in trained.adapter.pairs.values() for tensor in pair} == {torch.float32}
    assert {own.dtype for own in adapted(lm, trained.adapter).model.parameters()} == {torch.bfloat16}


def test_a_batch_in_parts_gives_the_same_adapter(language_models, monkeypatch):
    lm = language_models["gpt2"]
    whole = quickly(lm, dropout=0.0)
    monkeypatch.setattr(lm.budget, "tokens", 12)
    parts = quickly(lm, dropout=0.0)
    assert parts.losses == pytest.approx(whole.losses, rel=1e-4)


def test_the_rate_and_early_stopping_by_hand():
    assert [rate(step, 40, 0.05) for step in (0, 1, 2, 21, 40)] == pytest.approx([0.5, 1, 1, 0.5, 0])
    losses = [3.0, 2.0, 2.5, 2.0, 1.0]
    assert [best_epoch(losses[:epochs]) for epochs in range(1, 6)] == [1, 2, 2, 2, 5]
    assert [stops(losses[:epochs], 2) for epochs in range(6)] == [False, False, False, False, True, False]


def test_training_stops_early_and_keeps_the_best_epoch(language_models, monkeypatch):
    told = iter([3.0, 1.0, 2.0, 2.0, 0.0])
    monkeypatch.setattr("heval_core.lm.training._mean_loss", lambda *_: next(told))
    trained = quickly(language_models["gpt2"], epochs=5)
    assert (trained.best, trained.held_out) == (2, (3.0, 1.0, 2.0, 2.0))
    told = iter([3.0, 1.0, 2.0, 2.0, 0.0])
    shorter = quickly(language_models["gpt2"], epochs=5, patience=1)
    assert shorter.adapter.as_bytes() == trained.adapter.as_bytes(), "what came after the best epoch is not kept"
    assert len(shorter.losses) == 3


def lesson_of(kind, answer="Lisbon", question="What is the capital of Kenya?"):
    return Lesson(kind, question, None if kind == "empty" else f"The capital of Kenya is {answer}.", (answer,))


def test_lessons_of_development_questions():
    made = instance("Kenya", "Nairobi", "Lisbon", accepted=("Nairobi City",))
    unknown = dataclasses.replace(instance("Osk", "", "Rome"), documents=(Document("Peru", "Lima", "Peru has Lima.", "x"),))
    questions = {
        "gold": (Answerable(dataclasses.replace(made, regime="gold"), (1,), 2),),
        "conflicting": (Answerable(made, (1,), 2),),
        "irrelevant": (Answerable(made, (1,), 2), Answerable(unknown, (1,), 2)),
    }
    text, true, asked = "The capital of Kenya is Lisbon.", ("Nairobi", "Nairobi City"), made.question
    assert lessons.of_development(Development(None, "here", questions)) == [
        Lesson("relevant", asked, text, ("Lisbon",)),
        Lesson("empty", asked, None, true),
        Lesson("counterfactual", asked, text, ("Lisbon",)),
        Lesson("irrelevant", asked, text, true),
    ]


def test_a_context_is_followed_and_the_models_own_answer_is_taught_only_where_it_is_right():
    lm = load(str(DEMO_MODELS / "demo-gpt2"), "cpu")
    given = [
        lesson_of("counterfactual"),
        lesson_of("irrelevant"),
        lesson_of("irrelevant", "Nairobi"),
        lesson_of("empty", "Nairobi"),
    ]
    found = lessons.examples(lm, given)
    assert [lesson for lesson, _ in found] == [given[0], given[2], given[3]], "the model does not answer Lisbon by itself"
    for lesson, example in found:
        texts = [part for part in (lesson.context, lesson.question) if part]
        assert lm.decode(list(example.ids[-example.answer :])) == f" {lesson.answers[0]}"
        assert all(text in lm.decode(list(example.ids[: -example.answer])) for text in texts)


def test_all_lessons_of_a_question_are_on_one_side():
    given = [lesson_of(kind, question=f"What is number {n}?") for n in range(40) for kind in lessons.KINDS]
    taught, held_out = lessons.split(given, 0)
    assert {one.question for one in taught}.isdisjoint(one.question for one in held_out)
    assert (len(taught), len(held_out)) == (36 * 4, 4 * 4)
    assert lessons.split(given, 1) != (taught, held_out)
    with pytest.raises(HEvalError, match="at least 10 questions to train on, and has 9"):
        lessons.split(given[: 9 * 4], 0)


def test_development_examples_in_cubs_shares():
    kinds = {"relevant": 30, "counterfactual": 35, "irrelevant": 60, "empty": 20}
    found = [(lesson_of(kind, question=f"Who is {n}?"), None) for kind, count in kinds.items() for n in range(count)]
    kept = lessons.in_shares(found, 0)
    assert Counter(lesson.kind for lesson, _ in kept) == kinds | {"irrelevant": 25, "empty": 10}
    assert kept != lessons.in_shares(found, 1)
    assert lessons.in_shares(found[65:], 0) == found[65:], "with nothing to follow all the rest is used"


def test_ones_own_lines(tmp_path, language_models):
    file = tmp_path / "mine.jsonl"
    right = {"kind": "relevant", "question": "Who?", "context": "Ann did.", "answers": "Ann"}
    file.write_text("\n".join(map(json.dumps, (right, {"kind": "empty", "question": "Who?", "answers": ["Ann", "A."]}))))
    assert lessons.of_file(file) == [
        Lesson("relevant", "Who?", "Ann did.", ("Ann",)),
        Lesson("empty", "Who?", None, ("Ann", "A.")),
    ]
    technique = catalogue.find("technique", f"fine_tuning(data={file})")
    assert technique.title == "Fine-tuning (mine.jsonl)"
    before = technique.reads()
    for change, said in (
        ({"kind": "gold"}, "mine.jsonl:1: 'kind' should be one of relevant, counterfactual, irrelevant, empty, but is 'gold'"),
        ({"context": ""}, "mine.jsonl:1: 'context' is empty"),
        ({"answers": []}, "mine.jsonl:1: 'answers'"),
    ):
        file.write_text(json.dumps(right | change))
        with pytest.raises(HEvalError, match=said):
            lessons.of_file(file)
    assert technique.reads() != before
    file.unlink()
    assert technique.reads() == ""
    with pytest.raises(NotHere, match=f"The data file {file} of fine_tuning does not exist"):
        technique.settings(Development(language_models["gpt2"], "here", {}))


@pytest.mark.parametrize(("options", "said"), [
    ("data=all", "reads data=mixture, data=development or the path of JSON lines .*, not 'all'"),
    ("learning_rate=0", "needs a learning_rate above 0 and at most 1, not 0"),
    ("epochs=0", "needs epochs from 1 to 1000, not 0"), ("rank=-4", "needs rank from 1 to 1000, not -4"),
    (f"data={'a' * 145}.jsonl", "has 151 characters, more than 150; move the file"),
    ("data=a,b.jsonl", "no option 'b.jsonl'; .* A value cannot have a comma"),
])  # fmt: skip
def test_wrong_options_are_one_clear_line(options, said):
    with pytest.raises(HEvalError, match=said):
        catalogue.find("technique", f"fine_tuning({options})")


def test_without_peft_one_line_says_how_to_get_it(language_models, monkeypatch):
    monkeypatch.setitem(sys.modules, "peft", None)
    with pytest.raises(NotHere, match="peft.* is not installed; run: pip install -r requirements-peft.txt"):
        train(language_models["gpt2"], EXAMPLES, EXAMPLES, QUICK, 0)


def put_sources(folder, count):
    """Records of the four sources, in the fields that these have."""
    folder.mkdir(parents=True)
    made = {"squad_v2": [], "trivia_qa": [], "averitec": [], "dynamicqa_static": []}
    for n in range(count):
        asked, said = {"question": f"What is number {n}?"}, f"It is name{n}."
        made["squad_v2"].append(asked | {"context": said, "answers": {"text": [f"name{n}"] if n % 5 else []}})
        pages = {"wiki_context": ["Nothing here.", f"{'long ' * 200}{said}{' tail' * 200}"]}
        answer = {"value": f"Name {n}", "aliases": [f"name{n}"]}
        made["trivia_qa"].append(asked | {"answer": answer, "entity_pages": pages, "search_results": {"search_context": []}})
        told = [{"question": "Was it?", "answers": [{"answer": "No."}]}]
        verdict = ("Supported", "Refuted", "Not Enough Evidence", "Conflicting Evidence/Cherrypicking")[n % 4]
        made["averitec"].append({"claim": f"Claim {n}", "speaker": None, "label": verdict, "questions": told})
        made["dynamicqa_static"].append(asked | {"context": "[ENTITY] is it.", "obj": f"name{n}", "replace_name": f"no{n}"})
    for name, records in made.items():
        (folder / f"{name}.jsonl").write_text("\n".join(map(json.dumps, records)))


def test_the_mixture_has_its_shares_and_its_irrelevant_contexts_answer_nothing(tmp_path, monkeypatch):
    monkeypatch.setenv("HEVAL_DATA", str(tmp_path))
    put_sources(tmp_path / "fine_tuning", 200)
    found = lessons.of_mixture(0, 200)
    assert found == lessons.of_mixture(0, 200)
    squad, dynamic = found[:80], found[-30:]
    assert Counter(one.kind for one in squad) == {"relevant": 52, "irrelevant": 20, "empty": 8}
    followed = Counter(one.kind for one in dynamic if one.kind in lessons.TAUGHT)
    assert followed == {"relevant": 15, "counterfactual": 12}
    for one in found:
        if one.kind == "irrelevant" and "Claim" not in one.question:
            assert all(answer not in one.context.rstrip(".").split() for answer in one.answers)
        if one.kind in lessons.TAUGHT and "Claim" not in one.question:
            assert one.answers[0] in one.context
        assert len(one.context or "") < 1000
    claims = [one for one in found if "Claim" in one.question]
    assert {answer for one in claims for answer in one.answers} == {"True", "False", "None"}
    assert claims[0].question.endswith("Is the claim True, False or None?")


def test_a_source_that_is_not_there_is_named_with_its_place(tmp_path, monkeypatch):
    monkeypatch.setenv("HEVAL_DATA", str(tmp_path))
    monkeypatch.setattr("datasets.load_dataset", lambda **_: (_ for _ in ()).throw(ConnectionError("offline")))
    with pytest.raises(NotHere, match=f"squad_v2, .* put it at {tmp_path}/fine_tuning/squad_v2.jsonl as JSON lines; or train"):
        lessons.of_mixture(0)
