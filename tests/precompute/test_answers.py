"""Whole answers of a batch: stored, gone on with, read back, and shown on Instances as Your prompt shows them."""

import dataclasses
import json
from dataclasses import asdict
from itertools import islice

import numpy as np
import pytest

from heval_core.evaluation.publishing import publish
from heval_core.explaining.answer import explained_answer, record_of
from heval_core.explaining.api import methods_of
from heval_core.explaining.pipeline import Request
from heval_core.explaining.whole_answer import SENTENCE, Wanted
from heval_core.prompting.styles import PromptStyle
from heval_core.records import HEvalError
from heval_core.records.whole_answers import read
from heval_core.regimes import build
from heval_core.regimes.padding import unrelated_texts
from heval_core.store.filters import Filter
from heval_core.store.reader import Reader
from heval_core.store.shards import ShardStore
from heval_core.ui import own_answer
from precompute.plan import plan
from precompute.questions import load_questions
from precompute.run import run
from tests.pages.opening import open_page, text_of


@pytest.fixture(scope="module")
def grid(small_grid):
    few = {"models": small_grid.models[:1], "regimes": ("gold", "irrelevant"), "limit": 3, "explainers": ("attn", "cgim")}
    return dataclasses.replace(small_grid, keep_heads=0, answers=True, **few)


@pytest.fixture(scope="module")
def store(grid, tmp_path_factory):
    folder = tmp_path_factory.mktemp("answers")
    assert run(grid, folder).failed == 0
    publish(folder)
    return folder


@pytest.fixture(scope="module")
def results(store):
    return Reader(next(store.glob("results-*.duckdb")))


@pytest.mark.slow
def test_a_stored_answer_is_what_explaining_its_prompt_gives(grid, results, language_models):
    """Its random level is that of 20 of the data set's other texts, also of those that are not asked."""
    (one, *_) = results.instance_ids(Filter(regime=("gold",)))
    instance, (stored, why) = results.instance(one), results.whole_answer(one)
    questions, style = load_questions(grid.datasets[0], None, grid.seed, PromptStyle()), PromptStyle()
    fact, pool = questions.facts[0], questions.pool
    documents = build(fact, "gold", pool, grid.seed, style, 0).documents
    texts = unrelated_texts(fact, documents, pool, style, f"{grid.seed}|{fact.id}|gold")
    asked = Request(tuple(document.text for document in documents), instance.question)
    wanted = Wanted(texts=tuple(islice(texts, 20)))
    now = explained_answer(language_models["gpt2"], asked, methods_of(["attn", "cgim"]), wanted)
    assert now.generated.written.prompt.tokens == instance.tokens
    expected = json.loads(json.dumps(asdict(record_of(now.generated))))
    assert why == ""
    assert [stored[name] for name in ("text", "words", "sentences", "verdicts")] == [
        expected[name] for name in ("text", "words", "sentences", "verdicts")
    ]
    assert set(stored["matrix"]) == {"document", SENTENCE, "attn", "cgim"}
    sentences = now.generated.matrices[SENTENCE].units
    for key in ("attn", "cgim"):
        whole, own = now.generated.matrices[key], stored["matrix"][key]
        sums = [whole.values[[unit.start in of.indices for unit in whole.units]].sum(0) for of in sentences]
        np.testing.assert_allclose(own["values"], sums, rtol=1e-3, atol=1e-6)
        assert (own["unit"], own["columns"], own["seconds"] > 0) == ("sentence", whole.columns, True)


@pytest.mark.slow
def test_only_gold_and_conflicting_documents_are_answered_and_a_run_goes_on(results, store, grid):
    (other, *_) = results.instance_ids(Filter(regime=("irrelevant",)))
    assert results.whole_answer(other) == (None, "")
    kept = ShardStore(store)
    written = [entry for entry in kept.entries().values() if entry.kind == "answer"]
    assert [(entry.regime, entry.rows) for entry in written] == [("gold", 3)]
    assert kept.intact(written[0])
    (store / written[0].path).unlink()
    assert run(grid, store).computed == 1
    assert kept.entries()[written[0].key].content == written[0].content
    assert run(grid, store).computed == 0


def test_a_plan_counts_what_answers_cost(grid, tmp_path):
    with_answers, without = (plan(dataclasses.replace(grid, answers=own), tmp_path, False) for own in (True, False))
    gold, other = (one.passes - another.passes for one, another in zip(with_answers.lines, without.lines, strict=True))
    assert (gold > 3 * 60, other) == (True, 0)


@pytest.mark.parametrize(("changed", "message"), [
    ({"match": "within"}, "does not go with --match within"), ({"explainers": ()}, "name --explainers too"),
    ({"regimes": ("mixed", "gold.256-first")}, "in the regimes gold and conflicting: name one"),
])  # fmt: skip
def test_what_answers_do_not_go_with_is_said_before_anything_is_loaded(grid, changed, message, capsys):
    with pytest.raises(HEvalError, match=message):
        dataclasses.replace(grid, **changed).check()


def test_the_command_asks_gold_and_conflicting_documents(model_folders, tmp_path, prints):
    command = ["plan", "--models", str(model_folders["gpt2"]), "--datasets", "world_capital", "--limit", "2", "--answers"]
    said = prints(*command, "--no-calibrate", "--store", tmp_path).out
    assert "gold" in said
    assert "conflicting" in said
    assert "mixed" not in said


@pytest.mark.slow
def test_instances_shows_the_answer_that_is_stored(results, store, monkeypatch):
    monkeypatch.setenv("HEVAL_STORE", str(store))
    (one, *_), (other, *_) = (results.instance_ids(Filter(regime=(regime,))) for regime in ("gold", "irrelevant"))
    shown = {}
    usual = own_answer.component
    monkeypatch.setattr(
        own_answer, "component", lambda name, key, data, **heard: shown.update(data=data) or usual(name, key, data, **heard)
    )
    app = open_page("instances", instance=one, words="0-1", by="attn")
    assert "The whole answer, word by word" in text_of(app)
    data, stored = shown["data"], results.whole_answer(one)[0]
    assert [word["text"] for word in data["words"]] == [word["text"] for word in stored["words"]]
    assert [method["key"] for method in data["methods"]] == [SENTENCE, "attn", "cgim"]
    assert (data["view"], data["static"]) == ({"chosen": [0, 1], "method": "attn"}, True)
    shown.clear()
    assert "word by word" not in text_of(open_page("instances", instance=other))
    assert not shown


@pytest.mark.slow
def test_an_answer_that_the_model_did_not_write_says_why(results, store, monkeypatch):
    monkeypatch.setenv("HEVAL_STORE", str(store))
    (one, *_) = results.instance_ids(Filter(regime=("gold",)))
    monkeypatch.setattr(Reader, "whole_answer", lambda self, instance: (None, "It writes <b>nothing</b>."))
    app = open_page("instances", instance=one)
    assert [own.value for own in app.info] == ["It writes &lt;b&gt;nothing&lt;/b&gt;\\."]


@pytest.mark.slow
def test_a_stored_answer_that_is_broken_is_one_line(results):
    (one, *_) = results.instance_ids(Filter(regime=("gold",)))
    generated, _ = results.whole_answer(one)
    with pytest.raises(HEvalError, match="The saved answer is broken"):
        read({"model": "m", "tokens": [], "documents": [], "generated": {**generated, "words": [{}]}})
