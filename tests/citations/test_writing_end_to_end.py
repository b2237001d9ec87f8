"""From claims to explanations through a local server with a demo model behind it: the same as with the model in memory."""

from __future__ import annotations

import dataclasses

import pytest

from heval_core import catalogue
from heval_core.citations import questions
from heval_core.citations.local_speaker import LocalSpeaker
from heval_core.citations.remembering import FILE, Remembering
from heval_core.citations.server import Server
from heval_core.citations.writing import write
from heval_core.lm.loading import load
from tests.citations.claims import TEXTS, claim
from tests.citations.servers import by, no_waiting, serving
from tests.conftest import DEMO_MODELS

SAID = ("The lake of Orvale froze.", "Permits were sold out.", "Skaters crossed the lake.")
CLAIMS = [dataclasses.replace(claim(said=said), id=said) for said in SAID]


@pytest.fixture(scope="module")
def demo():
    return LocalSpeaker(load(str(DEMO_MODELS / "demo-qwen2"), "cpu"))


@pytest.fixture
def rambling(language_models):
    """A random model says something else to every prompt; the demo model says the same to prompts of this kind."""
    return LocalSpeaker(language_models["qwen2"])


@pytest.fixture
def server(monkeypatch):
    """Its model is set by `answering`."""
    no_waiting(monkeypatch)
    with serving(lambda prompt, tokens: "", ("m",)) as running:
        yield running


def answering(server, local):
    """It selects like somebody who can, because no model of this size does, and writes like a local model."""
    model = by(local)
    server.answers = lambda prompt, tokens: "0, 1" if prompt.endswith("Numbers:") else model(prompt, tokens)


def selected_and_written(speaker):
    selections = catalogue.find("selector", "llm").select(CLAIMS, speaker)
    return write(CLAIMS, selections, speaker, selector="llm", tokens=24)


@pytest.mark.parametrize("model", ["demo", "rambling"])
def test_a_server_writes_what_the_model_behind_it_writes_in_memory(server, model, request, tmp_path):
    local = request.getfixturevalue(model)
    answering(server, local)
    speaker = Remembering(Server(server.url, "m", retries=0), tmp_path / FILE)
    found = selected_and_written(speaker)
    assert [own.selected for own in found] == [(0, 1)] * 3
    chosen = catalogue.find("selector", "all").select([claim(TEXTS[:2])], None) * 3
    in_memory = write(CLAIMS, chosen, local, selector="llm", tokens=24)
    assert [own.sentences for own in found] == [own.sentences for own in in_memory]
    assert len({own.sentences for own in found} - {()}) == 3 or model == "demo"
    assert any(own.sentences for own in found)
    assert all(len(questions.questions(own)) == 2 for own in found)


def test_what_a_failing_server_left_out_is_all_that_the_next_run_asks(server, rambling, tmp_path):
    answering(server, rambling)

    def speaker():
        return Remembering(Server(server.url, "m", at_once=1, retries=0), tmp_path / FILE)

    server.turns = ["right", "500", "right", "right", "hangs_up"]  # three selections, then two texts
    first = selected_and_written(speaker())
    assert [bool(own.sentences) for own in first] == [True, False, False]
    assert first[1].problems[0].startswith("No passage was selected: the server failed (500): no, and by the way")
    assert first[2].problems[0].startswith("The model gave no explanation: the server at http://127.0.0.1:")
    server.asked.clear()
    second = selected_and_written(speaker())
    assert all(own.sentences for own in second)
    assert second[0] == first[0]
    assert len(server.asked) == 3  # a selection and two texts
    server.asked.clear()
    assert selected_and_written(speaker()) == second
    assert server.asked == []


def test_nothing_stops_where_every_answer_is_nonsense(server, tmp_path):
    server.mode = "page"
    found = selected_and_written(Remembering(Server(server.url, "m", retries=0), tmp_path / FILE))
    reason = "No passage was selected: the server answered something that is no chat completion."
    assert [own.problems for own in found] == [(reason,)] * 3
    assert not (tmp_path / FILE).exists()
