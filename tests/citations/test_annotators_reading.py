"""What explainers read: the prompt with its passages, and the explanation without markers after it."""

from __future__ import annotations

import pytest

from heval_core.citations.annotators.shared.weights import tokens_of
from heval_core.citations.reading import FOLDER, asked, layout, parsed, reading
from heval_core.citations.records import Claim, Explained, Passage, Sentence
from heval_core.lm.loading import load
from heval_core.prompts import CHAT
from heval_core.records import HEvalError

PASSAGES = (Passage(3, "Lima is {claim} its capital."), Passage(5, "It borders Chile.", "Peru"), Passage(9, "Unused."))
CLAIM = Claim("1", "Peru is {verdict} large.", "true", PASSAGES)
SENTENCES = (Sentence("Lima leads [3].", "Lima leads.", (3,)), Sentence("", "", ()), Sentence("It is big.", "It is big.", ()))
EXPLAINED = Explained(CLAIM, "w", "all", (3, 5), SENTENCES)


TURNS = "{% for m in messages %}<{{ m.role }}>\n{{ m.content }}\n{% endfor %}<assistant>{{ '\\n' }}"


def test_in_a_chat_the_explanation_follows_the_header_of_the_answer(model_folders):
    lm = load(str(model_folders["gpt2"]), "cpu")
    lm.tokenizer.chat_template = TURNS
    with lm.asked_in(CHAT):
        text = tokens_of(lm, reading(EXPLAINED, {3}))
    assert lm.tokenizer.decode(text.ids).endswith("Explanation:\n<assistant>\nLima leads. It is big.")
    parts = [lm.tokenizer.decode(text.ids[span.start : span.end]).strip() for span in (*text.passages, *text.sentences)]
    assert parts == ["[5] Peru: It borders Chile.", "Lima leads.", "", "It is big."]


def texts(text, spans):
    return [text[span.start : span.end] for span in spans]


def test_a_reading_has_its_passages_and_sentences_where_its_spans_say():
    found = reading(EXPLAINED)
    assert texts(found.prompt.text, found.prompt.documents) == [
        "[3] Lima is {claim} its capital.",
        "[5] Peru: It borders Chile.",
    ]
    assert texts(found.prompt.text, [found.prompt.question]) == ["Peru is {verdict} large."]
    assert found.explanation == "Lima leads. It is big."
    assert texts(found.explanation, found.sentences) == ["Lima leads.", "", "It is big."]
    assert found.prompt.text.endswith("Explanation:")


def test_a_passage_is_left_out_with_its_whole_line_and_the_others_keep_their_numbers():
    whole, found = reading(EXPLAINED), reading(EXPLAINED, {3})
    assert texts(found.prompt.text, found.prompt.documents) == ["[5] Peru: It borders Chile."]
    assert whole.prompt.text.replace("[3] Lima is {claim} its capital.\n", "") == found.prompt.text
    assert reading(EXPLAINED, {3, 5}).prompt.documents == ()


def test_a_file_may_put_the_number_after_the_passage():
    numbered = parsed("x", "passage: {text} [{number}]\n{passages}\nQ: {claim}\n\n")
    prompt = asked(CLAIM, CLAIM.passages[:2], numbered)
    assert prompt.text == "Lima is {claim} its capital. [3]\nPeru: It borders Chile. [5]\nQ: Peru is {verdict} large."


@pytest.mark.parametrize("text", ["{claim}", "{passages} {passages}", "passage: {number}\n{passages}"])
def test_a_file_that_is_no_layout_is_named(text):
    with pytest.raises(HEvalError, match="'mine' is no layout"):
        parsed("mine", text)


def test_an_unknown_prompt_is_answered_with_the_known_ones():
    with pytest.raises(HEvalError, match="There is no prompt '../x'; there are: .*writing-1"):
        layout("../x")
    assert layout("").id == "writing-1"
    assert (FOLDER / "writing-1.txt").is_file()
