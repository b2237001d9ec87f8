"""The worker's side of the explorer: waiting, cancelling, which model is asked, and what a bad form or file does."""

from __future__ import annotations

import json
import os
import shutil
import threading
import time
from dataclasses import asdict
from types import SimpleNamespace

import pytest

from heval_core.lm.installed import installed, installed_models
from heval_core.prompt_service import client
from heval_core.prompt_service.client import PromptWorker, asked_as_stored
from heval_core.records import HEvalError, whole_answers
from heval_core.store.filters import Filter, expression
from heval_core.ui.heads import picked_row
from heval_core.ui.prompt_size import count_tokens
from tests.pages.whole_answers import made_up

PATIENCE = 300  # seconds, of what never takes long


def held(monkeypatch, worker):
    """The worker's process answers once it is told to."""
    begun, told = threading.Event(), threading.Event()

    def said(process, request):
        yield {"progress": "starting"}
        begun.set()
        told.wait(PATIENCE)
        yield {"result": f"of {request['model']}"}

    monkeypatch.setattr(worker, "_running", lambda: None)
    monkeypatch.setattr(client, "_messages", said)
    return begun, told


def test_a_request_that_waits_is_over_as_soon_as_it_is_cancelled(monkeypatch):
    own = PromptWorker()
    begun, told = held(monkeypatch, own)
    first, second, third = (own.begin({"model": name}) for name in ("first", "second", "third"))
    assert begun.wait(PATIENCE)
    assert [ticket.ahead for ticket in (first, second, third)] == [[], [first], [first, second]]
    own.cancel(second)
    assert (second.over.is_set(), second.error, third.ahead) == (True, "Cancelled.", [first])
    told.set()
    assert third.over.wait(PATIENCE)
    assert [ticket.result for ticket in (first, second, third)] == ["of first", None, "of third"]


def test_a_request_cancelled_while_it_runs_says_cancelled_whatever_comes(monkeypatch):
    own = PromptWorker()
    begun, told = held(monkeypatch, own)
    ticket = own.begin({"model": "somewhere"})
    assert begun.wait(PATIENCE)
    own.cancel(ticket)
    told.set()
    assert ticket.over.wait(PATIENCE)
    assert (ticket.error, ticket.result, ticket.progress) == ("Cancelled.", None, ["starting"])


@pytest.mark.parametrize(("seen", "steps", "error"), [
    (client.UNSEEN + 1, ["token done", client.LAST_CHEAP], client.UNWATCHED), (client.UNSEEN + 1, ["token done"], ""),
    (0.0, ["token done", client.LAST_CHEAP], ""), (None, ["token done", client.LAST_CHEAP], ""),
])  # fmt: skip
def test_what_takes_long_is_not_computed_where_nobody_waits_and_what_is_known_is_kept(monkeypatch, seen, steps, error):
    own, kept = PromptWorker(), []
    monkeypatch.setattr(own, "_running", lambda: None)
    monkeypatch.setattr(client, "_messages", lambda *_: ({"progress": step} for step in [*steps, "cgim done", "now fa"]))
    ticket = client.Ticket({"model": "somewhere"}, own, kept.append, None if seen is None else time.monotonic() - seen)
    monkeypatch.setattr(client, "Ticket", lambda *_: ticket)
    own.begin({"model": "somewhere"})
    assert ticket.over.wait(PATIENCE)
    assert (ticket.error == error) is bool(error)
    assert "cgim done" in ticket.progress  # what was done is heard
    assert ("now fa" in ticket.progress) is not bool(error)
    assert kept == [ticket]


def test_a_process_that_died_unheard_is_replaced_and_one_that_dies_of_a_request_is_not(monkeypatch):
    """Unheard: killed while it was idle, and not known to be gone when the next request came."""
    own, asked = PromptWorker(), []

    def said(process, request):
        asked.append(request)
        if request == "deadly":
            yield {"progress": "starting"}
        elif len(asked) == 2:
            yield {"result": "told"}

    monkeypatch.setattr(own, "_running", lambda: None)
    monkeypatch.setattr(client, "_messages", said)
    assert own.begin("harmless").wait() == "told"
    assert asked == ["harmless", "harmless"]
    asked.clear()
    with pytest.raises(HEvalError, match="ended before it answered"):
        own.begin("deadly").wait()
    assert asked == ["deadly"]


def test_a_worker_asks_no_hub_even_for_a_model_of_its_cache(monkeypatch):
    monkeypatch.delenv("HF_HUB_OFFLINE", raising=False)
    monkeypatch.setattr(client.subprocess, "Popen", lambda command, **how: SimpleNamespace(env=how["env"]))
    assert PromptWorker()._running().env["HF_HUB_OFFLINE"] == "1"


def test_a_worker_that_is_at_work_is_not_stopped_for_others(monkeypatch):
    known: dict[str, PromptWorker] = {}
    monkeypatch.setattr(client, "_workers", known)
    told = threading.Event()

    def converse(worker, ticket):
        assert ticket.request["model"] != "first" or told.wait(PATIENCE)

    monkeypatch.setattr(PromptWorker, "_converse", converse)
    first = client.begin({"model": "first"})
    for name in ("second", "third", "fourth"):
        client.ask({"model": name})
    assert known["first"] is first.worker
    told.set()
    assert first.over.wait(PATIENCE)
    client.ask({"model": "fifth"})
    assert "first" not in known
    assert len(known) == client.MOST_WORKERS


def test_a_folder_of_models_offers_each_of_them(tmp_path, monkeypatch):
    for name in ("models/one", "models/two", "models/notes", "three"):
        (tmp_path / name).mkdir(parents=True)
        if "notes" not in name:
            (tmp_path / name / "config.json").write_text("{}")
    demo = set(installed_models())
    monkeypatch.setenv("HEVAL_MODELS", f"{tmp_path / 'models'}{os.pathsep}{tmp_path / 'three'}")
    offered = installed_models()
    assert {name: offered[name].path for name in set(offered) - demo} == {
        "one": tmp_path / "models" / "one", "two": tmp_path / "models" / "two", "three": tmp_path / "three",
    }  # fmt: skip


def test_the_very_model_of_the_results_is_asked_and_no_other_of_its_name(demo, tmp_path, monkeypatch):
    row = demo.models().set_index("model").loc["demo-gpt2"]
    assert installed("demo-gpt2", row["revision"]) == installed_models()["demo-gpt2"].path
    shutil.copytree(installed_models()["demo-qwen2"].path, tmp_path / "demo-gpt2")
    monkeypatch.setenv("HEVAL_MODELS", str(tmp_path / "demo-gpt2"))
    with pytest.raises(HEvalError, match=f"has revision .*; these results used {row['revision']}"):
        installed("demo-gpt2", row["revision"])
    with pytest.raises(HEvalError, match="not installed here"):
        installed("somebody/something", "0" * 40)
    assert installed("somebody/demo-gpt2", "0" * 40) == tmp_path / "demo-gpt2"
    instance = demo.instance_ids(Filter(("demo-gpt2",)))[0]
    there = demo.instance(instance)
    told = picked_row(SimpleNamespace(head_attention=lambda *asked: None), there, "L0H0")
    assert "these results used" in told
    assert "--keep-heads" in told


@pytest.mark.slow
def test_the_worker_refuses_a_model_that_answers_otherwise(demo):
    instance = demo.instance(demo.instance_ids(Filter(("demo-gpt2",), ("world_capital",), explained=True))[0])
    asked = {"op": "heads", "prompt": instance.prompt, "expected": asked_as_stored(instance)}
    own = PromptWorker()
    try:
        heads = own.begin({**asked, "model": str(installed_models()["demo-gpt2"].path)}).wait()
        assert len(heads[0][0]) == len(instance.tokens)
        with pytest.raises(HEvalError, match="not the one that these results are of|into other tokens"):
            own.begin({**asked, "model": str(installed_models()["demo-qwen2"].path)}).wait()
        shifted = {**asked["expected"], "logits": [0.0, *(3.0 for _ in instance.candidates[1:])]}
        with pytest.raises(HEvalError, match="its logits differ by"):
            own.begin({**asked, "expected": shifted, "model": str(installed_models()["demo-gpt2"].path)}).wait()
    finally:
        own.stop()


@pytest.mark.parametrize("damage", ["tokenizer.json", "heval.json"])
def test_a_damaged_model_folder_is_counted_later_and_breaks_no_page(demo, tmp_path, damage):
    folder = tmp_path / "model"
    shutil.copytree(installed_models()["demo-gpt2"].path, folder)
    assert count_tokens(folder, ("Kenya.",), "Where?")
    whole = (folder / damage).read_bytes()
    (folder / damage).write_bytes(whole[: len(whole) // 2])
    assert (count_tokens(folder, ("Kenya.",), "Where?") is None) == (damage == "tokenizer.json")


@pytest.mark.parametrize("search", ["(?:.?){1000}x", "(?:(?:.?){50}){20}x", "a" * 400, "(a{,100}){100}"])
def test_a_search_that_would_keep_the_database_busy_is_refused(demo, search):
    with pytest.raises(HEvalError, match="search is too large"):
        demo.instance_ids(Filter(search=search))


@pytest.mark.parametrize("search", ["[A-Z]{2,9}", "(?:.?){60}x", "{", "a{2}{,}", "Kenya"])
def test_a_search_with_a_few_repetitions_is_asked_as_it_is(search):
    assert expression(search) == search


GROWING = [
    made_up(words=(), sentences=(), matrix={}, refused={}).result,
    made_up(matrix={}, refused={}).result,
    made_up(refused={}).result,
    made_up(words=made_up().result.generated.words[:1]).result,
]


def test_of_an_answer_that_grows_only_what_is_new_is_sent():
    known, before = None, None
    for now in GROWING:
        known = whole_answers.applied(known, json.loads(json.dumps(whole_answers.changes(before, now), default=asdict)))
        assert known == json.loads(json.dumps(asdict(now)))
        before = now
    assert whole_answers.changes(*GROWING[1:3])["generated"].keys() == {"matrix"}
    assert whole_answers.changes({"a": (1, 2), "b": {"c": 0}}, {"a": (1, 3, 4), "b": {"d": 1}}) == {
        "a": {"1": [3], "2": [4]}, "b": [{"d": 1}],  # no change has a word for what is gone
    }  # fmt: skip
    assert whole_answers.changes(now, now) == {}
