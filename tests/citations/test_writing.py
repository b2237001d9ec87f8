"""Explanations by a model and as they came: what is asked, what is kept, and what is told where there is none."""

from __future__ import annotations

import hashlib

import pytest

from heval_core.citations.reading import FOLDER
from heval_core.citations.records import Written
from heval_core.citations.speaker import Answer, LocalSpeaker, Selection
from heval_core.citations.writing import SHIPPED, Writer, shipped, write, writer_of
from heval_core.records import HEvalError
from tests.citations.claims import Scripted, claim

# What was asked under an id may never change: stored explanations name it. Another wording is another file.
ASKED = {"selecting-1": "a978939c44b7bf0b", "writing-1": "1b04e4fed4c92558", "writing-2": "2988e72d3544e2e9"}

WRITER = Writer("scripted")


@pytest.mark.parametrize("name", ASKED)
def test_a_prompt_stays_as_it_was_when_results_were_stored(name):
    assert hashlib.sha256((FOLDER / f"{name}.txt").read_bytes()).hexdigest()[:16] == ASKED[name]


def test_the_model_sees_the_selected_passages_only_in_the_claims_order():
    speaker = Scripted("Skaters crossed it [1]. It froze [0].")
    (found,) = write([claim()], [Selection((1, 0))], speaker, WRITER, "human")
    (prompt,) = speaker.asked
    assert "Claim: The lake of Orvale froze for nine days.\nVerdict: true\nPassages:\n[0] The lake of Orvale froze" in prompt
    assert "[1] Skaters crossed the frozen lake for nine days.\nExplain" in prompt
    assert "permits" not in prompt
    assert (found.writer, found.selector, found.selected, found.prompt) == ("scripted", "human", (0, 1), "writing-1")
    assert [sentence.cited for sentence in found.sentences] == [(1,), (0,)]
    assert found.problems == ()


def test_another_prompt_is_another_writer():
    speaker = Scripted("A [0]. B [1].")
    (found,) = write([claim()], [Selection((0, 1))], speaker, Writer("scripted", "writing-2"), "human", tokens=50)
    assert (found.writer, found.prompt, speaker.caps) == ("scripted(prompt=writing-2)", "writing-2", [50])
    assert "Cite every passage exactly once" in speaker.asked[0]


def test_what_cannot_be_written_has_the_reason_and_the_rest_is_written():
    nothing, empty, lost, good = Selection((), "nobody selected"), Selection(()), Selection((2,)), Selection((0,))
    speaker = Scripted(Answer("", problem="the server failed (500)"), "It froze [0]. It did.")
    found = write([claim()] * 4, [nothing, empty, lost, good], speaker, WRITER, "human")
    assert [own.problems for own in found] == [
        ("No passage was selected: nobody selected.",),
        ("No passage was selected: the selection is empty.",),
        ("The model gave no explanation: the server failed (500).",),
        (),
    ]
    assert [len(own.sentences) for own in found] == [0, 0, 0, 2]
    assert [own.selected for own in found] == [(), (), (2,), (0,)]
    assert len(speaker.asked) == 2


def test_an_explanation_that_reaches_the_cap_is_used_and_told():
    (found,) = write([claim()], [Selection((0,))], Scripted(Answer("It froze [0]. And the", 7)), WRITER, "human", tokens=7)
    assert len(found.sentences) == 2
    assert found.problems == ("The explanation was cut off after 7 tokens.",)


def test_what_a_model_says_is_read_as_it_stands():
    hostile = "<script>x()</script> [0]. {claim} [9]. Also [sic]"
    (found,) = write([claim()], [Selection((0,))], Scripted(hostile), WRITER, "human")
    assert [sentence.cited for sentence in found.sentences][0] == (0,)
    assert "<script>x()</script>" in found.sentences[0].text
    assert found.problems == ("The text cites passage 9, which the claim does not have.",)
    (blank,) = write([claim()], [Selection((0,))], Scripted(""), WRITER, "human")
    assert blank.problems == ("The explanation is empty.",)


def test_a_model_in_memory_writes(language_models):
    speaker = LocalSpeaker(language_models["gpt2"])
    two = claim(), claim(("A river.", "word " * 600), said="Another")
    one, long = write(two, [Selection((0, 1)), Selection((0, 1))], speaker, WRITER, "human", tokens=12)
    assert one.sentences
    assert "The explanation was cut off after 12 tokens." in one.problems
    assert long.problems[0].startswith("The model gave no explanation: the prompt has ")


def test_shipped_explanations_keep_their_writers_sentences_and_truth():
    careful = Written(
        "It froze. [0] It did [1].", (0, 1), "careful", ("It froze. [0]", "It did [1]."), ((0,), ()), "demo-careful"
    )
    found = shipped(claim(written=(careful, Written("So [3]. Or not.", (3,)), Written("Again [1].", (1,), "careful"))))
    assert [(own.writer, own.selector, own.selected, own.prompt) for own in found] == [
        ("careful", SHIPPED, (0, 1), "demo-careful"),
        (SHIPPED, SHIPPED, (3,), ""),
    ]
    assert [sentence.text for sentence in found[0].sentences] == list(careful.sentences)
    assert found[0].sources == ((0,), ())
    assert found[0].problems == ("The claim came with another explanation by this writer; the first one is used.",)
    assert shipped(claim()) == []


@pytest.mark.parametrize(("text", "writer", "key"), [
    ("shipped", Writer("shipped"), "shipped"), ("gpt2", Writer("gpt2"), "gpt2"),
    (" org/name@main ", Writer("org/name@main"), "org/name"),
    ("llama3:8b(prompt=writing-2)", Writer("llama3:8b", "writing-2"), "llama3:8b(prompt=writing-2)"),
    ("gpt2( prompt = writing-1 )", Writer("gpt2"), "gpt2"),
])  # fmt: skip
def test_a_writer_is_read_from_the_command_line(text, writer, key):
    assert writer_of(text) == writer
    assert writer_of(text).key == key


def test_a_folder_is_called_by_its_name(tmp_path):
    folder = tmp_path / "mine (old)"
    folder.mkdir()
    assert writer_of(str(folder)).key == "mine (old)"
    assert writer_of(f"{folder.parent / '.' / folder.name}/").key == "mine (old)"


@pytest.mark.parametrize(("text", "told"), [
    ("", "'' names no writer; give shipped, a model, or MODEL"), ("(prompt=writing-1)", "names no writer"),
    ("gpt2(prompt=writing-1", "need a closing bracket"),
    ("gpt2(writing-1)", "A writer's only option is its prompt, as in gpt2"),
    ("gpt2(prompt=)", "A writer's only option is its prompt"),
    ("gpt2(temperature=1)", "A writer's only option is its prompt"),
    ("gpt2(prompt=writing1)", "There is no prompt 'writing1'; did you mean writing-"),
    ("gpt2(prompt=zzz)", "There is no prompt 'zzz'; there are: .*writing-1, writing-2"),
    ("gpt2(prompt=selecting-1)", "The prompt 'selecting-1' asks for passages"),
    ("gpt2(prompt=../writing-1)", "There is no prompt '../writing-1'; did you mean writing-"),
    ("shipped(prompt=writing-1)", "they have no prompt"),
])  # fmt: skip
def test_what_is_no_writer_is_told_in_one_line(text, told):
    with pytest.raises(HEvalError, match=told):
        writer_of(text)
