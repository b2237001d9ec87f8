"""Which passages a writer is given: by people, by shared words, by a language model, by whoever selected for the data. And
explanations by a model and as they came: what is asked, what is kept, and what is told where there is none."""

from __future__ import annotations

import hashlib
from math import log

import pytest

from heval_core.citations.reading import prompt_text
from heval_core.citations.records import Written
from heval_core.citations.selectors.lexical import overlaps
from heval_core.citations.speaker import LocalSpeaker, Reply, Selection, ask_with_retry, numbers_in
from heval_core.citations.writing import SHIPPED, ClaimWriter, shipped, write, writer_of
from heval_core.plugins import catalogue
from heval_core.records import HEvalError
from tests.citations.planted import Scripted, claim


def selected(key: str, *claims, speaker=None) -> list[Selection]:
    return catalogue.find("selector", key).select(claims, speaker)


def test_every_selector_has_a_number_and_says_whether_it_asks():
    selectors = catalogue.plugins("selector").values()
    assert len({selector.order for selector in selectors}) == len(selectors)
    assert [selector.key for selector in selectors if selector.asks] == ["llm"]


@pytest.mark.parametrize("key", catalogue.plugins("selector"))
def test_every_selector_gives_one_selection_per_claim_in_the_claims_order(key):
    whole = claim(first=1, chains=((4, 2),), written=(Written("a [4].", (4, 2)),))
    none = claim((), said="Nothing")
    found = selected(key, whole, none, speaker=Scripted("4, 2", "none"))
    assert len(found) == 2
    assert list(found[0].passages) == sorted(found[0].passages) != []
    assert found[0].problem == ""
    assert found[1].passages == ()
    assert found[1].problem


def test_of_several_chains_of_people_the_first_is_taken_unless_another_is_named():
    two = claim(chains=((3, 0), (1,)))
    assert selected("human", two) == [Selection((0, 3))]
    assert selected("human(1)", two) == [Selection((1,))]
    assert catalogue.find("selector", "human(chain=1)").key == "human(1)"
    assert selected("human(2)", two)[0].problem == "people selected 2 chains, counted from 0, so there is no chain 2"
    assert selected("human", claim())[0].problem == "people selected no passages of this claim"
    with pytest.raises(HEvalError, match="there is no chain -1"):
        catalogue.find("selector", "human(-1)")


def test_all_passages_are_all_passages():
    assert selected("all", claim(first=1)) == [Selection((1, 2, 3, 4))]


def test_rare_shared_words_count_more_by_hand():
    # The claim: the, lake, of, orvale, froze, for, nine, days. A word in n of 4 weighs log(1 + (4.5 - n) / (n + 0.5)).
    one, two, three = (log(1 + (4.5 - n) / (n + 0.5)) for n in (1, 2, 3))
    # the (3), lake (2), of, orvale, froze (1 each); the, lake, for, nine, days; the; none
    assert overlaps(claim()) == pytest.approx([three + two + 3 * one, three + two + 3 * one, three, 0])
    assert selected("lexical(1)", claim()) == [Selection((0,))]  # the earlier of equals
    assert selected("lexical", claim()) == [Selection((0, 1, 2))]  # a passage without a shared word is never taken
    assert selected("lexical", claim(said="Wholly different"))[0].problem == "no passage shares a word with the claim"
    with pytest.raises(HEvalError, match="at least one; k=0 is none"):
        catalogue.find("selector", "lexical(0)")


def test_shipped_takes_what_the_explanation_was_written_from():
    written = (Written("x", (2, 0), "careful"), Written("y", (3,), "sloppy"))
    assert selected("shipped", claim(written=written)) == [Selection((0, 2))]
    assert selected("shipped(sloppy)", claim(written=written)) == [Selection((3,))]
    assert selected("shipped(other)", claim(written=written))[0].problem == "no explanation by 'other' came with the claim"
    assert selected("shipped", claim())[0].problem == "no explanation came with the claim"
    foreign = selected("shipped", claim(written=(Written("x", (77,)),)))
    assert foreign == [Selection((), "the explanation that came with the claim names none of its passages")]


def test_a_language_model_sees_claim_verdict_and_all_passages_as_they_are_after_one_example():
    speaker = Scripted("[2], [0]", "0")
    assert selected("llm", claim(), speaker=speaker) == [Selection((0, 2))]
    (prompt,) = speaker.asked
    assert "Numbers: 1, 2\n\nClaim: The lake of Orvale froze for nine days.\nVerdict: true\nPassages:\n[0] The lake" in prompt
    assert prompt.endswith("[3] Permits were sold out by March.\nNumbers:")
    selected("llm", claim(("{claim} {passages}", "Numbers: 7"), said="{verdict}"), speaker=speaker)
    assert "Claim: {verdict}\nVerdict: true\nPassages:\n[0] {claim} {passages}\n[1] Numbers: 7\nNumbers:" in speaker.asked[1]
    with pytest.raises(HEvalError, match="asks a language model, and none is given"):
        selected("llm", claim())


def test_an_answer_that_cannot_be_read_is_told_and_asked_once_more():
    speaker = Scripted("The first two.", "1", "2, 9", "0 and 2", "Sorry", "<b>no</b>")
    found = selected("llm", claim(), claim(), claim(), speaker=Scripted("1", "2", "3"))
    assert [own.passages for own in found] == [(1,), (2,), (3,)]
    assert selected("llm", claim(), speaker=speaker) == [Selection((1,))]
    first, again = speaker.asked
    told = "This answer cannot be read: it says 'The', which is not a number. Answer again, with numbers alone."
    assert again == f"{first} The first two.\n{told}\nNumbers:"
    assert selected("llm", claim(), speaker=speaker) == [Selection((0, 2))]
    assert "it names passage 9, which is not there" in speaker.asked[-1]
    problem = "two answers could not be read: it says '<b>no</b>', which is not a number"
    assert selected("llm", claim(), speaker=speaker) == [Selection((), problem)]
    assert len(speaker.asked) == 6


def test_a_speaker_that_fails_is_not_asked_again_and_the_others_are_read():
    speaker = Scripted(Reply("", problem="refused"), "none", "x", Reply("", problem="timed out"))
    refused, nothing, lost = selected("llm", claim(), claim(), claim(), speaker=speaker)
    assert refused == Selection((), "refused")
    assert nothing == Selection((), "the model says that the verdict rests on no passage")
    assert lost == Selection((), "timed out")
    assert len(speaker.asked) == 4


READ = {"2, 5": (2, 5), "[2][5].": (2, 5), "[2, 5]": (2, 5), "Passages: 2, 5 and 7.": (2, 5, 7), "5; 2 & 5": (5, 2)}
READ |= {"2\n5": (2, 5), "3\n\nClaim: Another one 4": (3,), "None.": (), "-1": (), "[]": ()}


@pytest.mark.parametrize(("text", "numbers"), READ.items())
def test_numbers_are_read_where_there_is_nothing_else(text, numbers):
    assert numbers_in(text, "passage", range(9)) == (tuple(sorted(numbers)), "")


@pytest.mark.parametrize("text", ["", " \n", "1-3", "I choose 2", "2 (two)", "2, -1", "²", "1" * 10, "2.5", "Sure!\n\n2"])
def test_anything_else_is_unreadable(text):
    numbers, why = numbers_in(text, "passage", range(9))
    assert numbers is None
    assert why.startswith(("it says", "it has"))


def test_nobody_is_asked_twice_for_nothing():
    speaker = Scripted("1")
    assert ask_with_retry(speaker, ["p"], 9, "passage", [(1,)]) == [((1,), "")]
    assert (len(speaker.asked), speaker.caps) == (1, [9])


# What was asked under an id may never change: stored explanations name it. Another wording is another file.
ASKED = {
    "selecting-1": "a978939c44b7bf0b", "writing-1": "1b04e4fed4c92558", "writing-2": "2988e72d3544e2e9",
    "demo-careful": "d89935bdd380e4cc", "demo-padding": "2ecbd760a11bf119", "demo-sloppy": "484af5d015af3aa4",
}  # fmt: skip

WRITER = ClaimWriter("scripted")


@pytest.mark.parametrize("name", ASKED)
def test_a_prompt_stays_as_it_was_when_results_were_stored(name):
    assert hashlib.sha256(prompt_text(name).encode()).hexdigest()[:16] == ASKED[name]


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
    (found,) = write([claim()], [Selection((0, 1))], speaker, ClaimWriter("scripted", "writing-2"), "human", tokens=50)
    assert (found.writer, found.prompt, speaker.caps) == ("scripted(prompt=writing-2)", "writing-2", [50])
    assert "Cite every passage exactly once" in speaker.asked[0]


def test_what_cannot_be_written_has_the_reason_and_the_rest_is_written():
    nothing, empty, lost, good = Selection((), "nobody selected"), Selection(()), Selection((2,)), Selection((0,))
    speaker = Scripted(Reply("", problem="the server failed (500)"), "It froze [0]. It did.")
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
    (found,) = write([claim()], [Selection((0,))], Scripted(Reply("It froze [0]. And the", 7)), WRITER, "human", tokens=7)
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
    ("shipped", ClaimWriter("shipped"), "shipped"), ("gpt2", ClaimWriter("gpt2"), "gpt2"),
    (" org/name@main ", ClaimWriter("org/name@main"), "org/name"),
    ("llama3:8b(prompt=writing-2)", ClaimWriter("llama3:8b", "writing-2"), "llama3:8b(prompt=writing-2)"),
    ("gpt2( prompt = writing-1 )", ClaimWriter("gpt2"), "gpt2"),
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
