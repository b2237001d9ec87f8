"""What an answer depends on: planted copiers, plain transformers, bad input by table, and the stage of the batch job."""

import dataclasses
import functools

import numpy as np
import pytest
import torch
from transformers import AutoModelForCausalLM, AutoTokenizer

from heval_core.explaining import pipeline, sources
from heval_core.explaining.behaviour import Named
from heval_core.explaining.pipeline import Prepared
from heval_core.explaining.sources import fresh_pool, sources_of
from heval_core.lm.loading import as_language_model
from heval_core.prompting.prompts import prompt_of
from heval_core.records import Document, Instance
from heval_core.records.sources import MentionOutcome, verdict
from heval_core.store.shards import ShardStore
from tests.citations.copier import POSITIONS, WORDS, copier
from tests.conftest import DEMO_MODELS, reader_of

LAYOUT = "{documents} {question}"
# The first token has none before it, and notes itself.
TWO = ("the thing1 Value1 . thing2 Value2 .", "thing3 Value3 . thing1 Value1 . thing1 Value1 .")
POOL = ("Value1", "Value2", "value7", "Value77", "Value8 thing8", "Value0", "Value7", "Value8", "Value9")
# How much more a copier reads what stands later; one that reads nothing always says Value1.
READS = {"last": 4.0, "first": -4.0, "alike": 0.0, "ignores": 0.0}


@pytest.fixture(scope="module")
def copiers(tmp_path_factory):
    """What it reads ▶ a model made by hand that copies what follows a word from there."""
    folder, models = copier(tmp_path_factory.mktemp("copier"), noise=0.0), {}
    for reads, slope in READS.items():
        model = AutoModelForCausalLM.from_pretrained(folder).eval()
        width, attention = model.config.n_embd, model.transformer.h[1].attn
        with torch.no_grad():  # a constant query of the last dimension, in which keys have their position
            attention.c_attn.bias[width - 1] = 64.0
            attention.c_attn.weight[width - POSITIONS : width, 2 * width - 1] = slope * torch.arange(POSITIONS) / POSITIONS
            model.transformer.ln_f.bias[WORDS.index("Value1")] += 100.0 * (reads == "ignores")
        models[reads] = as_language_model(reads, model, AutoTokenizer.from_pretrained(folder), template=LAYOUT)
    return models


def prepared(lm, texts=TWO, answers=("Value1", "Value3"), question="thing1", **changed):
    """Documents with their answers, asked of a copier. changed: fields of the instance, or of its first document."""
    of_document = {name: changed.pop(name) for name in ("alias", "stated") if name in changed}
    documents = [Document("s", answer, text, "own") for answer, text in zip(answers, texts, strict=True)]
    documents[0] = dataclasses.replace(documents[0], **of_document)
    instance = Instance("i", "made", "mixed", "f", "s", "value", question, "Value0", tuple(documents))
    instance = dataclasses.replace(instance, **changed)
    groups = ("C1", "C2") if len(texts) > 1 else ("C",)
    names = tuple(Named(group, answer, lm.first_tokens(answer)) for group, answer in zip(groups, answers, strict=True))
    return Prepared(instance, lm.tokenise(prompt_of(instance, lm.template)), "", names)


def of(lm, *asked, pool=POOL):
    return sources_of(pipeline.answer(lm, asked), [pool] * len(asked))


@pytest.mark.parametrize("budget", [1, 4096])
@pytest.mark.parametrize(("reads", "source", "which", "together"), [
    ("last", "one", [False, False, True], "follows"),
    ("first", "one", [True, False, False], "follows"),
    ("alike", "either", [False, False, False], "follows"),
    ("ignores", "none", [False, False, False], "stays"),
])  # fmt: skip
def test_the_source_is_what_the_model_reads(copiers, reads, source, which, together, budget, monkeypatch):
    lm = copiers[reads]
    monkeypatch.setattr(lm.budget, "tokens", budget)
    (found,) = of(lm, prepared(lm))
    assert (found.source, found.together, found.fresh) == (source, together, ("Value7", "Value8"))
    assert [mention.is_source for mention in found.mentions] == which
    assert [(mention.document, mention.start, mention.end) for mention in found.mentions] == [
        (0, 2, 3),
        (1, 11, 12),
        (1, 14, 15),
    ]
    assert [mention.outcomes for mention in found.mentions] == [("follows",) * 2 if own else ("stays",) * 2 for own in which]
    assert not any(mention.route.changes for mention in found.mentions)  # the others, which it reads then, say the same
    assert all(mention.lost > 1 for mention in found.mentions if mention.is_source)


def test_a_single_mention_is_replaced_twice_and_nothing_is_hidden(copiers):
    (found,) = of(copiers["alike"], prepared(copiers["alike"], ("the thing1 Value1 . thing2 Value2 .",), ("Value1",)))
    (mention,) = found.mentions
    assert (found.source, found.together, mention.outcomes) == ("one", "follows", ("follows", "follows"))
    assert (mention.hidden, mention.route) == (None, None)


@pytest.mark.parametrize(("reads", "outcome"), [("ignores", "stays"), ("last", "follows")])
def test_of_an_answer_from_memory_the_documents_answer_is_replaced(copiers, reads, outcome):
    lm = copiers[reads]
    beside = prepared(lm, ("the thing1 Value3 .",), ("Value3",))
    beside = dataclasses.replace(beside, names=(*beside.names, Named("M", "Value1", lm.first_tokens("Value1"))))
    answered = pipeline.answer(lm, [beside])
    behaviour = dataclasses.replace(answered.behaviours[0], group="M")
    (found,) = sources_of(dataclasses.replace(answered, behaviours=(behaviour,)), [POOL])
    ((mention,), source) = found.mentions, "none" if outcome == "stays" else "one"
    assert (mention.start, mention.end, found.source, found.together) == (2, 3, source, outcome)


def test_padding_another_name_and_what_the_model_said_before_its_answer_are_replaced_where_they_stand(copiers):
    lm = copiers["last"]
    padding = ("the thing1 Value1 .", "thing5 Value5 .")
    (padded,) = of(lm, prepared(lm, ("thing1 Value1 .",), ("Value1",), regime="conflicting.256-middle", padding=padding))
    assert [(mention.document, mention.is_source) for mention in padded.mentions] == [(-1, False), (0, True)]
    # The document calls it Value3; the model, which copies that, is taken to have answered Value1.
    answered = pipeline.answer(lm, [prepared(lm, ("the thing1 Value3 .",), ("Value1",), alias="Value3")])
    answered = dataclasses.replace(answered, behaviours=(dataclasses.replace(answered.behaviours[0], group="C"),))
    (renamed,) = sources_of(answered, [POOL])
    assert [(mention.start, mention.end, mention.outcomes) for mention in renamed.mentions] == [(2, 3, ("follows", "follows"))]
    short = prepared(lm, question="thing9")
    (begun,) = of(lm, dataclasses.replace(short, prompt=short.prompt.followed_by(lm.encode("thing1"), (" thing1",))))
    assert [mention.is_source for mention in begun.mentions] == [False, False, True]


@pytest.mark.parametrize(("answer_text", "found"), [(None, True), ("Value2 .", True), ("thing1", False)])
def test_an_answer_of_no_candidate_is_replaced_where_a_document_gives_it(copiers, answer_text, found):
    lm = copiers["last"]
    texts = ("the thing1 Value1 . thing2 Value2 .", "thing2 Value2 . thing1 Value1 .")
    asked = prepared(lm, texts, ("Value1", "Value3"), "thing2")
    answered = pipeline.answer(lm, [asked])
    assert answered.behaviours[0].group == "other"
    behaviour = dataclasses.replace(answered.behaviours[0], answer_text=answer_text)
    (source,) = sources_of(dataclasses.replace(answered, behaviours=(behaviour,)), [POOL])
    if not found:
        assert source == sources.NO_DOCUMENT
        return
    assert (source.source, source.together, source.fresh) == ("one", "follows", ("Value7", "Value8"))
    assert [(one.document, one.start, one.is_source) for one in source.mentions] == [(0, 5, False), (1, 8, True)]
    # A candidate that begins as it does would be taken for it.
    alike = Named("C2", "Value2 Value3", lm.first_tokens("Value2"))
    answered = pipeline.answer(lm, [dataclasses.replace(asked, names=(asked.names[0], alike))])
    behaviour = dataclasses.replace(answered.behaviours[0], group="other", text_group="other", answer_text="Value2 Value6")
    assert sources_of(dataclasses.replace(answered, behaviours=(behaviour,)), [POOL]) == [sources.BEGINS_ALIKE]


BAD = {
    sources.NO_DOCUMENT: {"question": "thing2", "pool": ("Value1", "Value8", "Value9")},
    sources.NOT_STATED: {"stated": False},
    sources.NO_MENTION: {"alias": "Value60"},
    sources.INSIDE: {"alias": "alue3"},
    sources.TOO_FEW: {"pool": ("Value1", "Value2", "Value0", "value7", "Value77", "Value8 thing8", "Value8")},
    sources.SHARED: {"pool": ("Value4 the", "Value4 is"), "alias": "Value3 ."},
    sources.OTHER_PROMPT: {"prompt": ("thing1 Value1 .",)},
    sources.TOO_LONG: {"positions": 8},
}


@pytest.mark.parametrize("reason", BAD)
def test_what_has_no_source_says_why_and_stops_no_other(copiers, reason, monkeypatch):
    lm, bad = copiers["last"], dict(BAD[reason])
    pool, other, positions = bad.pop("pool", POOL), bad.pop("prompt", None), bad.pop("positions", None)
    wrong = prepared(lm, **bad)
    if reason == sources.SHARED:  # two words, of which the first is a candidate's
        wrong = dataclasses.replace(wrong, names=(*wrong.names, Named("M", "Value4", lm.first_tokens("Value4"))))
    if other:
        prompt = prepared(lm, other, ("Value1",)).prompt
        padded = prompt.ids + prompt.ids * 9
        wrong = dataclasses.replace(wrong, prompt=dataclasses.replace(prompt, ids=padded[: len(wrong.prompt.ids)]))
    good = prepared(lm)
    answered = pipeline.answer(lm, [wrong, good])
    group = "other" if reason == sources.NO_DOCUMENT else "C1"
    behaviours = tuple(
        dataclasses.replace(own, group=which) for own, which in zip(answered.behaviours, (group, "C1"), strict=True)
    )
    monkeypatch.setattr(lm, "positions", positions or lm.positions)
    found, beside = sources_of(dataclasses.replace(answered, behaviours=behaviours), [pool, POOL])
    assert found == reason
    assert positions or beside.source == "one"


@pytest.mark.parametrize(("outcomes", "together", "expected"), [
    ([("follows", "follows"), ("stays", "stays")], "follows", "one"), ([("moves", "follows")], "moves", "one"),
    ([("moves", "moves"), ("follows", "moves")], "stays", "several"), ([("stays", "follows")] * 2, "moves", "either"),
    ([("stays", "follows")], "stays", "none"), ([("moves", "stays")], "follows", "none"),
])  # fmt: skip
def test_a_source_moves_the_answer_with_both_fresh_answers(outcomes, together, expected):
    assert verdict([MentionOutcome(0, 0, 1, pair, 0.0) for pair in outcomes], together) == expected


def test_fresh_answers_have_an_order_by_seed_and_question():
    answers = [f"Value{number}" for number in range(9)]
    first = fresh_pool(answers, 0, "f")
    assert sorted(first) == answers
    assert first == fresh_pool(answers[::-1], 0, "f")
    assert len({first, fresh_pool(answers, 1, "f"), fresh_pool(answers, 0, "g")}) == 3


LONG = DEMO_MODELS / "demo-qwen2-long"
RUN = f"run --models {LONG} --datasets world_capital --regimes mixed.d1,conflicting --limit 12"


@pytest.fixture(scope="module")
def store(tmp_path_factory):
    """A run of the batch with sources."""
    from precompute.cli import main

    folder = tmp_path_factory.mktemp("sources")
    assert main([*RUN.split(), "--explainers", "attn", "--sources", "--device", "cpu", "--store", str(folder)]) == 0
    return folder


@pytest.fixture(scope="module")
def rows(store):
    """Instance ▶ its rows; and instance ▶ itself."""
    shards, kinds = ShardStore(store), {"source": [], "instance": []}
    for entry in shards.entries().values():
        kinds.get(entry.kind, []).extend(shards.read(entry).to_pylist())
    by_instance = {}
    for row in kinds["source"]:
        by_instance.setdefault(row["instance_id"], []).append(row)
    return by_instance, {row["instance_id"]: row for row in kinds["instance"]}


def log_probabilities(model, tokenizer, text, mask=None):
    """Of the next token, by one full pass."""
    with torch.no_grad():
        ids = tokenizer(text, return_tensors="pt").input_ids
        return model(ids, attention_mask=mask).logits[0, -1].double().log_softmax(-1)


def masked(length, start, end, since):
    mask = torch.full((length, length), float("-inf")).triu(1)
    mask[since:, start:end] = float("-inf")
    return mask[None, None]


def given_and_replaced(instance):
    """The answer given, and the one that is replaced: of an answer from memory, the only document's."""
    of_document = instance["document_answers"][int(instance["group"][1:] or 1) - 1]
    return (instance["memory_answer"] if instance["group"] == "M" else of_document), of_document


def places_of(answer, instance, size):
    """Where the first of an answer's tokens stand before the question."""
    tokens = instance["tokens"]
    return [at for at in range(instance["question_start"]) if "".join(tokens[at : at + size]).strip() == answer]


def with_fresh(tokens, answer, size, fresh, places):
    """The prompt with another answer at some places, each of so many tokens."""
    text = list(tokens)
    for at in places:
        joined = "".join(tokens[at : at + size])
        text[at : at + size] = [joined.replace(answer, fresh), *[""] * (size - 1)]
    return "".join(text)


def test_stored_sources_equal_full_passes_of_the_plain_model(rows):
    """Each prompt's text is changed as text; hidden attention is an additive mask over the whole prompt."""
    (by_instance, instances), checked, tokenizer = rows, 0, AutoTokenizer.from_pretrained(LONG)
    model = AutoModelForCausalLM.from_pretrained(LONG, dtype=torch.float32, attn_implementation="eager").eval()
    asked = functools.partial(log_probabilities, model, tokenizer)

    for instance_id, mentions in by_instance.items():
        instance = instances[instance_id]
        if mentions[0]["unavailable"]:
            assert instance["group"] in ("M", "other")
            continue
        tokens, (given, answer) = instance["tokens"], given_and_replaced(instance)
        forms = {tokenizer(space + given).input_ids[0] for space in (" ", "")}
        clean, size = asked(instance["prompt"])[instance["predicted_id"]], len(tokenizer(f" {answer}").input_ids)

        def written(fresh, *places, tokens=tokens, answer=answer, size=size):
            return asked(with_fresh(tokens, answer, size, fresh, places))

        def outcome(logprobs, fresh, forms=forms):
            likeliest = int(logprobs.argmax())
            follows = likeliest in {tokenizer(space + fresh).input_ids[0] for space in (" ", "")}
            return "stays" if likeliest in forms else "follows" if follows else "moves"

        where = places_of(answer, instance, size)
        assert [row["start"] for row in mentions] == where
        for row in mentions:
            single = [written(fresh, row["start"]) for fresh in row["fresh"]]
            assert row["outcomes"] == [outcome(logprobs, fresh) for logprobs, fresh in zip(single, row["fresh"], strict=True)]
            lost = np.mean([float(clean - logprobs[instance["predicted_id"]]) for logprobs in single])
            assert row["lost"] == pytest.approx(lost, abs=2e-3)
            assert row["is_source"] == ("stays" not in row["outcomes"])
            first = row["fresh"][0]
            assert row["together"] == outcome(written(first, *where), first)
            if len(where) == 1:
                assert row["hidden_lost"] is row["route_changes"] is None
                continue
            for kind, since in (("hidden", row["end"]), ("route", len(tokens) - 1)):
                logprobs = asked(instance["prompt"], masked(len(tokens), row["start"], row["end"], since))
                assert row[f"{kind}_changes"] == (int(logprobs.argmax()) not in forms)
                assert row[f"{kind}_lost"] == pytest.approx(float(clean - logprobs[instance["predicted_id"]]), abs=2e-3)
                checked += 1
    assert checked > 12


def test_the_batch_resumes_and_publishes_them_and_says_how_the_two_golds_agree(store, rows, prints):
    again = prints(*RUN.split(), "--explainers", "attn", "--sources", "--device", "cpu", "--store", store).out
    assert "0 shards computed, 6 were done already" in again
    told = prints("publish", "--store", store).err
    by_instance, instances = rows
    one = [own for own in by_instance.values() if own[0]["source"] == "one" and len(own) > 1]
    agree = sum(max(own, key=lambda row: row["hidden_lost"])["is_source"] for own in one)
    assert f"names the one source in {agree} of {len(one)} answers with several mentions" in told
    assert "chance 0.50" in told
    assert f"{sources.NO_DOCUMENT} {sum(own[0]['unavailable'] is not None for own in by_instance.values())}" in told
    with_rows = reader_of(store).query("SELECT * FROM source ORDER BY instance_id, mention")
    assert len(with_rows) == sum(map(len, by_instance.values()))
    assert {*with_rows["instance_id"]} == {key for key, row in instances.items() if row["dropped_because"] is None}
