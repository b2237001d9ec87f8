"""A model behind a server: what it is asked, and that nothing the server does stops a run."""

from __future__ import annotations

import sys
import threading

import pytest

from heval_core.citations.server import IN_A_ROW, Server
from heval_core.records import HEvalError
from tests.citations.servers import no_waiting, serving


@pytest.fixture(autouse=True)
def waits(monkeypatch):
    """Seconds the client would have waited between retries."""
    return no_waiting(monkeypatch)


@pytest.fixture
def server():
    with serving(lambda prompt, tokens: prompt.upper()) as running:
        yield running


def speaker(server, **options) -> Server:
    return Server(server.url, "demo", **{"retries": 2, "seconds": 300} | options)


def test_a_server_is_asked_greedily_within_a_cap_and_with_a_seed(server):
    (answer,) = speaker(server, seed=7).answer(["why?"], 40)
    assert (answer.text, answer.tokens, answer.problem) == ("WHY?", 3, "")
    (asked,) = server.asked
    assert asked == {
        "model": "demo",
        "messages": [{"role": "user", "content": "why?"}],
        "temperature": 0,
        "seed": 7,
        "max_tokens": 40,
    }


def test_several_requests_are_under_way_at_once_but_no_more_than_allowed(server):
    together = threading.Barrier(3, timeout=300)  # passed only by three requests at once

    def answers(prompt, tokens):
        together.wait()
        return prompt

    server.answers = answers
    prompts = [str(number) for number in range(9)]
    assert [answer.text for answer in speaker(server, at_once=3).answer(prompts, 5)] == prompts
    assert server.together == 3


@pytest.mark.parametrize(("set_to", "sent"), [
    ({}, "Bearer none"), ({"OPENAI_API_KEY": "theirs"}, "Bearer theirs"),
    ({"OPENAI_API_KEY": "theirs", "HEVAL_LLM_KEY": " ours\n"}, "Bearer ours"),
    ({"OPENAI_API_KEY": "theirs", "HEVAL_LLM_KEY": " "}, "Bearer theirs"),
])  # fmt: skip
def test_the_key_comes_from_the_environment(server, monkeypatch, set_to, sent):
    for name, value in set_to.items():
        monkeypatch.setenv(name, value)
    speaker(server).answer(["why?"], 5)
    assert server.keys == [sent]


@pytest.mark.parametrize(("mode", "problem"), [
    ("page", "the server answered something that is no chat completion"),
    ("other", "the server answered something that is no chat completion"),
    ("textless", "the server answered without a text"),
    ("401", "the server refuses the key (401); set HEVAL_LLM_KEY: no, and"),
    ("404", "the server does not know the address or the model (404): no, and"),
    ("400", "the server refuses this (400): no, and"), ("429", "the server takes no more requests (429): no, and"),
    ("500", "the server failed (500): no, and"), ("hangs_up", "cannot be reached: "), ("breaks_off", "cannot be reached: "),
])  # fmt: skip
def test_one_bad_answer_is_a_problem_in_one_line_and_the_others_go_on(server, mode, problem):
    server.turns = ["right", mode, "right"]
    first, bad, last = speaker(server, at_once=1, retries=0).answer(["a", "b", "c"], 5)
    assert (first.text, bad.text, last.text) == ("A", "", "C")
    assert problem in bad.problem
    assert "\n" not in bad.problem
    assert not first.problem + last.problem


def test_a_server_that_says_nothing_is_a_problem_once_the_time_that_was_said_is_over(server):
    server.turns = ["slow"]
    (bad,) = speaker(server, retries=0, seconds=0.2).answer(["b"], 5)
    assert bad.problem == "the server did not answer within 0.2 s"
    assert speaker(server).answer(["c"], 5)[0].text == "C"


def test_the_key_is_in_no_problem_though_a_server_repeats_it(server, monkeypatch):
    monkeypatch.setenv("HEVAL_LLM_KEY", "sk-very-secret")
    server.mode = "401"
    (answer,) = speaker(server).answer(["why?"], 5)
    assert answer.problem.endswith("by the way: your key is Bearer …")


@pytest.mark.parametrize("key", ["sk secret", "sk\nsecret", "sk-sécret"])
def test_a_key_that_cannot_be_sent_is_told_without_the_key(monkeypatch, key):
    monkeypatch.setenv("HEVAL_LLM_KEY", key)
    with pytest.raises(
        HEvalError, match="^HEVAL_LLM_KEY has a space or a character that no key has; set it to the key alone.$"
    ):
        Server("http://localhost:1", "demo")


@pytest.mark.parametrize("mode", ["429", "500", "hangs_up", "breaks_off"])
def test_what_may_pass_is_asked_again_after_growing_waits(server, waits, mode):
    server.turns = [mode, mode]
    (answer,) = speaker(server).answer(["why?"], 5)
    assert (answer.text, len(server.asked)) == ("WHY?", 3)
    assert len(waits) == 2
    assert 0.3 < waits[0] <= 0.5 < 0.7 < waits[1] <= 1.0  # half a second, then one, less up to a quarter


def test_a_server_that_goes_away_in_the_middle_costs_the_rest_and_not_the_time(server, waits):
    server.turns = ["right", "right", "leaves"]
    model = speaker(server, at_once=1)
    answers = model.answer([str(number) for number in range(100)], 5)
    assert [answer.text for answer in answers[:2]] == ["0", "1"]
    told = [answer.problem for answer in answers[2:]]
    assert all(f"the server at {server.url} cannot be reached: " in problem for problem in told[:IN_A_ROW])
    assert set(told[IN_A_ROW:]) == {f"not asked: the server at {server.url} failed {IN_A_ROW} times in a row"}
    assert len(waits) == 2 * IN_A_ROW
    again = model.answer(["a", "b", "c"], 5)  # one failure tells that it is still gone
    assert ["not asked" in answer.problem for answer in again] == [False, True, True]


def test_a_server_that_comes_back_is_asked_on_and_refusals_of_single_prompts_do_not_count(server):
    model = speaker(server, at_once=1, retries=0)
    server.turns = ["500"] * IN_A_ROW
    assert "not asked" in model.answer(["x"] * (IN_A_ROW + 1), 5)[-1].problem
    assert [answer.text for answer in model.answer(["a", "b"], 5)] == ["A", "B"]
    server.turns = ["500"] * (IN_A_ROW - 1)  # counted from the start again
    assert model.answer(["x"] * IN_A_ROW, 5)[-1].text == "X"
    server.turns = ["400"] * (IN_A_ROW + 2)
    assert speaker(server, at_once=1).answer(["x"] * (IN_A_ROW + 3), 5)[-1].text == "X"


def test_thoughts_are_no_part_of_an_answer_and_what_was_cut_off_has_all_its_tokens(server):
    server.turns = ["thinking", "cut"]
    thought, cut = speaker(server, at_once=1).answer(["a", "b"], 5)
    assert (thought.text, cut.text, cut.tokens) == ("A", "B", 5)
    server.answers = lambda prompt, tokens: "<think>It may be 7, or"
    assert "thought aloud until its tokens were used up" in speaker(server).answer(["a"], 5)[0].problem


def test_text_that_no_file_can_hold_is_mended_both_ways(server):
    server.answers = lambda prompt, tokens: "half a pair: \ud83d <b>[1]</b>\u2028"
    (answer,) = speaker(server).answer(["\udc00"], 5)
    assert (server.asked[0]["messages"][0]["content"], answer.text) == ("?", "half a pair: ? <b>[1]</b>")


@pytest.mark.parametrize("url", ["", "localhost:8000", "ftp://x/v1", "http://", "http://x:99999/v1", "http://[x/v1", "x y"])
def test_an_address_that_is_none_is_told_in_one_line(url):
    with pytest.raises(HEvalError, match="is not the address of a server; give .* http://localhost:8000/v1"):
        Server(url, "demo")


def test_the_usual_path_is_added_passwords_are_not_shown_and_identities_tell_servers_models_and_seeds_apart():
    assert Server("http://localhost:11434", "demo").address == "http://localhost:11434/v1"
    assert Server("http://me:word@host:1/own/", "demo").address == "http://host:1/own"
    assert "word" not in Server("http://me:word@host:1/own/", "demo").identity
    made = [("http://a", "m", 0), ("http://b", "m", 0), ("http://a", "n", 0), ("http://a", "m", 1)]
    assert len({Server(url, model, seed=seed).identity for url, model, seed in made}) == 4


def test_without_the_client_one_line_says_how_to_get_it(monkeypatch):
    monkeypatch.setitem(sys.modules, "openai", None)
    with pytest.raises(HEvalError, match=r"openai.* is not installed; run: pip install -r requirements-llm\.txt"):
        Server("http://localhost:1", "demo")
