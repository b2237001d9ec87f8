"""What is drawn of a whole answer: on the page, in a file of its own, as a picture, and beside another answer."""

from __future__ import annotations

import json
import re
from dataclasses import asdict
from xml.etree import ElementTree

import pytest

from heval_core.figures.answer import GREY, HUES, answer_card, answer_drawing, answer_page, on_card
from heval_core.figures.answer_changes import Change, compared, side_by_side
from heval_core.ui.own_prompts import OwnPrompt
from tests.pages.whole_answers import made_up, word


def test_side_by_side_words_that_one_lacks_or_that_rest_on_something_else_are_marked():
    words = [word(0, " Iceland", "memory", 0.1), word(1, ".", "memory", 0.1), word(2, " cheap", "document 1", 1.0)]
    left, right, said = side_by_side(made_up().result, made_up(words=words).result)
    assert [own.differs for own in left.words] == ["rests on memory in the other answer", "", *["not in the other answer"] * 2]
    assert [own.differs for own in right.words] == ["rests on document 1 in the other answer", "", "not in the other answer"]
    assert said == "2 words in both, 1 of them with another source; 2 at the left alone, 1 at the right alone."


def test_what_is_drawn_is_what_the_object_says():
    kept = made_up()
    data, said = answer_drawing(kept.result, kept.prompt.explainers), kept.result.generated
    for shown, known in ((data.words, said.words), (data.sentences, said.sentences)):
        assert [{name: getattr(one, name) for name in vars(of)} for one, of in zip(shown, known, strict=True)] == [
            *map(vars, known)
        ]
    methods = {own.key: own for own in data.methods}
    assert list(methods) == ["document(unit=sentence)", "attn", "cgim", "mechlight"]
    for key in ("document(unit=sentence)", "attn", "cgim"):
        assert methods[key].values == said.matrix[key].values
        assert methods[key].units == ((0, 4), (4, 8))
        assert bool(methods[key].nats) == (key not in ("attn", "cgim"))
    assert (methods["mechlight"].values, methods["mechlight"].refused) == (None, "the model has no heads")
    assert [document.sentences for document in data.documents] == [((0, 4),), ((4, 8),)]
    assert data.words[3].probability == 1e-13


def test_a_file_of_its_own_makes_no_request_and_its_text_is_no_markup():
    kept = made_up("</script><img src=x>")
    page = answer_page(kept.result, kept.prompt.question)
    assert "<img" not in page
    assert not re.findall(r"(?:src|href)=[\"']?(?:http|//)", page)
    data = json.loads(re.search(r"start\(\{ data: (.*), parentElement: document \}\);", page)[1])
    assert data["words"] == json.loads(json.dumps(asdict(answer_drawing(kept.result))["words"]))


def test_a_card_has_every_word_with_its_bar_and_says_what_was_found():
    card = answer_card(made_up().result, "Where?")
    bars = {"document 1": HUES[0], "document 2": HUES[1], "memory": GREY}
    data = answer_drawing(made_up().result)
    assert re.findall(r'textLength="[^>]*>([^<]*)</text>', card) == [own.text.strip() for own in data.words]
    sized = re.findall(r'height="([\d.]+)" rx="1.5" fill="(#\w+)"', card)
    assert [colour for _, colour in sized] == [bars[own.source] for own in data.words if own.source in bars]
    first, memory, second = (float(height) for height, _ in sized)
    assert second > first > memory  # 6 nats, 3, none
    assert card.count("stroke-dasharray") == 2  # a word, and the key
    assert ">memory, or the question</text>" in card
    assert (
        "made-up wrote this: 1 of 3 words rests on document 1, 1 on document 2, 1 unclear." in card
    )  # a full stop is no word
    assert "made-up read this: 1 of 3 words rests on document 1, " in answer_card(made_up(given=True).result, "Where?")
    assert on_card("id", "", "", data).found == "1 of 3 rest on document 1"
    assert re.findall(r"<tspan[^>]*>(\d)</tspan> ([^<]*)<", card) == [("1", "Iceland is cold."), ("2", "It costs 60.")]
    ElementTree.fromstring(answer_card(made_up().result, "What\x0cis \ud83d"))  # no character that XML does not know


def test_without_a_document_the_words_that_change_are_marked_and_whether_bars_had_said_so():
    before = made_up().result
    words = [word(0, " Iceland", "memory", 0.1), word(1, ".", "memory", 0.1), word(2, " cheap", "document 1", 1.0)]
    found = compared(before, made_up(words=words).result, Change(1))
    assert found.before == [(" Iceland", False), (".", False), (" 60", True), (" maybe", True)]
    assert found.after == [(" Iceland", False), (".", False), (" cheap", True)]
    assert found.said == "Predicted: 1 word. 1 of the 2 that changed were among them; 0 stayed."
    assert found.title == "Without document 2"
    same = compared(before, before, Change(0, 0, "Iceland is warm."))
    assert same.title == "With another sentence 1 of document 1"
    assert same.said == "The answer stays the same, word for word."
    longer = made_up(words=[*before.generated.words, word(3, " so", "memory", 0.1)]).result
    assert compared(before, longer, Change(0)).said == "No word goes; 1 more follow."
    lines = made_up(
        prompt={"tokens": ["One", ".\n", "Two.", "\nThree", "."], "documents": [{"start": 0, "end": 5}]}, matrix={}
    ).result
    assert [Change(0, place).applied(lines) for place in (0, 1)] == ["Two.\nThree.", "One.\n\nThree."]


def test_another_question_is_asked_and_no_word_is_said_to_rest_on_it():
    before, other = made_up().result, Change(None, text=" Why? ")
    assert (other.location, other.title, other.applied(before)) == ("question", "With another question", "Why?")
    assert OwnPrompt("m", ("One.",), "Who?", (), "auto").changed(None, "Why?").question == "Why?"
    found = compared(before, made_up(words=[word(0, " Nothing", "memory", 0.1)]).result, other)
    assert found.said == "4 of 4 words changed."
    assert compared(before, before, other).said == "The answer stays the same, word for word."


def test_lines_of_an_answer_and_of_documents_keep_what_they_are():
    table = [" | a |", " b |", "\n", "|---|---|", "\n", "| 1 | 2 |", "\n\n", "    x = 1", "\n", "- Lisbon"]
    words = [word(at, text, "memory", 0.1) for at, text in enumerate(("So:", "\n\n- one", "\n  two"))]
    said = {"tokens": [one["text"] for one in words], "probabilities": [0.5] * 3, "sentences": [], "matrix": {}}
    prompt = {"tokens": table, "documents": [{"start": 0, "end": len(table)}]}
    drawn = answer_drawing(made_up(prompt=prompt, words=words, **said).result)
    assert drawn.documents[0].looks == (("row", 0), ("row", 0), ("code", 4), ("item", 0))
    assert [(one.breaks, one.look, one.space) for one in drawn.words] == [(0, "", ""), (2, "item", ""), (1, "", "  ")]


@pytest.mark.parametrize(("change", "text", "source"), [
    (Change(0), "", 1),
    (Change(0, 0, " It is warm. "), "It is warm.", 1),
    (Change(1, 0), "", 1),
])  # fmt: skip
def test_a_change_replaces_its_sentence_and_knows_whose_words_it_was_said_to_give(change, text, source):
    before = made_up().result
    assert change.applied(before) == text
    words = [word(0, " Nothing", "memory", 0.1)]
    said = compared(before, made_up(words=words).result, change).said
    assert said == f"Predicted: {source} word. {source} of the 4 that changed were among them; 0 stayed."
