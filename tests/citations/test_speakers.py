"""Local models as speakers, and the file of answers that keeps anything from being asked twice."""

from __future__ import annotations

import itertools
import json
from concurrent.futures import ThreadPoolExecutor

import pytest

from heval_core.citations.speaker import PORTION, CachedSpeaker, LocalSpeaker, Reply
from heval_core.lm.budget import NotEnoughMemory
from heval_core.lm.chat import user_turn
from heval_core.lm.loading import load
from tests.conftest import DEMO_MODELS

PROMPTS = ("What is the capital of Kenya?", "Name a river", "The capital of Peru is")


@pytest.fixture(scope="module")
def instruct():
    return load(str(DEMO_MODELS / "demo-instruct"), "cpu")


class Counting:
    """A speaker that says what it was asked, and fails where the prompt says so."""

    key, identity = "counting", "counting 1"

    def __init__(self):
        self.asked: list[str] = []

    def answer(self, prompts, tokens):
        self.asked += prompts
        return [
            Reply("", problem="refused") if "fail" in prompt else Reply(f"{prompt} in {tokens}\u2028\n", 2)
            for prompt in prompts
        ]


def test_a_local_model_continues_greedily_what_it_is_asked(lm):
    speaker = LocalSpeaker(lm)
    answers = speaker.answer(PROMPTS, 6)
    for prompt, answer in zip(PROMPTS, answers, strict=True):
        ids = tuple(lm.tokenizer(prompt).input_ids)
        (wanted,) = lm.generation.greedy([ids], 6)
        assert (answer.text, answer.tokens) == (lm.decode(list(wanted)).strip(), len(wanted))
    assert (speaker.key, speaker.chat) == (lm.key, False)


def test_a_chat_template_is_used_where_there_is_one(instruct):
    speaker = LocalSpeaker(instruct)
    (answer,) = speaker.answer(PROMPTS[:1], 8)
    text = user_turn(instruct.tokenizer, PROMPTS[0])
    ids = tuple(instruct.tokenizer(text, add_special_tokens=False).input_ids)
    assert answer.text == instruct.decode(list(instruct.generation.greedy([ids], 8)[0])).strip()
    assert speaker.chat
    assert "chat" in speaker.identity


def test_a_prompt_longer_than_the_positions_is_a_problem_and_the_others_are_answered(instruct):
    long, empty = "river " * 600, ""
    answers = LocalSpeaker(instruct).answer([PROMPTS[0], long, PROMPTS[1]], 4)
    assert answers[1].problem.startswith("the prompt has ")
    assert answers[1].problem.endswith(" tokens; demo-instruct reads at most 512")
    assert not answers[0].problem + answers[2].problem
    assert LocalSpeaker(instruct).answer([empty], 4)[0].problem == ""  # the template's own words


def test_an_answer_that_the_last_position_cuts_off_is_a_problem(language_models):
    lm = language_models["gpt2"]
    length = lm.positions - 2
    prompt = " river" * length
    while len(lm.tokenizer(prompt).input_ids) > length:
        prompt = prompt.removesuffix(" river")
    (answer,) = LocalSpeaker(lm).answer([prompt], 30)
    assert (answer.text, answer.tokens) == ("", 2)
    assert answer.problem.startswith("the answer was cut off after 2 tokens")


def test_a_prompt_that_the_memory_does_not_hold_leaves_the_others_their_answers(language_models, monkeypatch):
    lm = language_models["gpt2"]
    wanted = LocalSpeaker(lm).answer(PROMPTS, 3)
    greedy, heavy = lm.generation.greedy, tuple(lm.tokenizer(PROMPTS[1]).input_ids)

    def short_of_memory(prompts, tokens):
        if heavy in prompts:
            raise NotEnoughMemory("cpu does not have enough memory")
        return greedy(prompts, tokens)

    monkeypatch.setattr(lm.generation, "greedy", short_of_memory)
    first, second, third = LocalSpeaker(lm).answer(PROMPTS, 3)
    assert [first, third] == [wanted[0], wanted[2]]
    assert second.problem == "cpu does not have enough memory"


@pytest.mark.parametrize(
    ("text", "said"),
    [("  7.\n", "7."), ("<think>a</think> b", "b"), ("unseen start</think>\nb", "b"), ("a <think> b", "a <think> b")],
)
def test_thoughts_and_white_space_are_no_part_of_an_answer(text, said):
    assert Reply.of_text(text, 3) == Reply(said, 3)


def test_nothing_is_asked_twice_not_even_after_a_new_start(tmp_path):
    file, speaker = tmp_path / "answers.jsonl", Counting()
    first = CachedSpeaker(speaker, file)
    answers = first.answer(["a", "b", "a"], 5)
    assert [answer.text for answer in answers] == [f"{name} in 5\u2028\n" for name in "aba"]
    assert first.answer(["b"], 5) == answers[1:2]
    again = CachedSpeaker(speaker, file)
    assert again.answer(["a", "b"], 5) == answers[:2]
    assert (speaker.asked, first.requests, again.requests) == (["a", "b"], 2, 0)
    assert (again.key, again.identity) == ("counting", "counting 1")


def test_another_cap_prompt_or_identity_is_another_question(tmp_path):
    file, speaker = tmp_path / "answers.jsonl", Counting()
    CachedSpeaker(speaker, file).answer(["a"], 5)
    CachedSpeaker(speaker, file).answer(["a"], 6)
    speaker.identity = "counting 2"
    CachedSpeaker(speaker, file).answer(["a"], 5)
    assert speaker.asked == ["a", "a", "a"]


def test_problems_are_asked_again(tmp_path):
    speaker = Counting()
    remembering = CachedSpeaker(speaker, tmp_path / "answers.jsonl")
    for _ in range(2):
        good, bad = remembering.answer(["a", "fail"], 5)
        assert (good.problem, bad.problem) == ("", "refused")
    assert speaker.asked == ["a", "fail", "fail"]


def test_a_crash_in_the_middle_of_a_line_costs_that_line_only(tmp_path):
    file, speaker = tmp_path / "answers.jsonl", Counting()
    CachedSpeaker(speaker, file).answer(["a", "b"], 5)
    file.write_bytes(file.read_bytes()[:-20])
    with file.open("ab") as broken:
        broken.write(b"\xff\xfe no json")
    CachedSpeaker(speaker, file).answer(["a", "b"], 5)
    assert speaker.asked == ["a", "b", "b"]
    CachedSpeaker(speaker, file).answer(["a", "b"], 5)
    assert speaker.asked == ["a", "b", "b"]
    foreign = [b"[]", b"7", b'{"speaker": "counting"}', json.dumps({"asked": "x", "speaker": "counting", "text": 7}).encode()]
    file.write_bytes(b"\n".join(foreign) + b"\n" + file.read_bytes())
    assert len(CachedSpeaker(speaker, file).answer(["a", "b"], 5)) == 2
    assert speaker.asked == ["a", "b", "b"]


def test_a_killed_run_loses_one_portion_at_most(tmp_path):
    class Killed(Counting):
        def answer(self, prompts, tokens):
            if self.asked:
                raise KeyboardInterrupt
            return super().answer(prompts, tokens)

    file, prompts = tmp_path / "answers.jsonl", [str(number) for number in range(PORTION + 5)]
    with pytest.raises(KeyboardInterrupt):
        CachedSpeaker(Killed(), file).answer(prompts, 5)
    speaker = Counting()
    CachedSpeaker(speaker, file).answer(prompts, 5)
    assert speaker.asked == prompts[PORTION:]


def test_threads_and_several_speakers_share_a_file(tmp_path):
    file, speaker, other = tmp_path / "answers.jsonl", Counting(), Counting()
    other.key, other.identity = "other", "other 1"
    shared = [CachedSpeaker(speaker, file), CachedSpeaker(other, file)]
    prompts = [str(number) for number in range(30)]
    with ThreadPoolExecutor(20) as threads:
        list(threads.map(lambda asked: asked[0].answer([asked[1]], 5), itertools.product(shared, prompts * 2)))
    assert sorted(speaker.asked) == sorted(other.asked) == sorted(prompts)
    assert len([json.loads(line) for line in file.read_bytes().splitlines()]) == 60
