"""What the controls that read only text point at, by hand; and that they read the same of a prompt and of its stored row."""

from types import SimpleNamespace

import numpy as np
import pytest

from heval_core.plugins import catalogue
from heval_core.prompting.mentioned import mentions_in, words_shared
from heval_core.records import Behaviour, Candidate, Span, TokenisedPrompt
from heval_core.records.stored_instances import PlainPrompt

# ruff: noqa: SIM905  (readable as text)
# Two documents, padding between them and the question, and what the model said behind it, which is not ranked.
TOKENS = tuple(
    "<s>|The| capital| of| Kenya| is| Os|lo|.| In| Os|wald| it| rains|.| Kenya|'s| flag| shows| the| word| Os|lo|.|"
    " Many| say| Os|lo|.|\nQ:| What| is| the| capital| of| Kenya|?| A:| Os|lo".split("|")
)
DOCUMENTS, QUESTION, RANKED = (Span(1, 15), Span(15, 24)), Span(30, 37), range(1, 38)
FIRST, SECOND, PADDED = Span(6, 8), Span(21, 23), Span(26, 28)


def prompt_of(answer="Oslo", first_token=" Os", tokens=TOKENS, ranked=RANKED):
    return PlainPrompt(tokens, ranked, DOCUMENTS, QUESTION, answer, first_token, "i")


@pytest.mark.parametrize(
    ("answer", "ranked", "expected"),
    [
        ("Oslo", RANKED, [FIRST, SECOND, PADDED]),  # not Oswald, and not what stands behind the ranked tokens
        ("Oslo", range(8, 38), [SECOND, PADDED]),
        ("Os", RANKED, []),  # a part of other words
        ("What", RANKED, []),  # the question's
        ("Kenya", RANKED, [Span(4, 5), Span(15, 16)]),
        ("Nairobi", RANKED, []),
        ("", RANKED, []),
    ],
)
def test_a_mention_is_the_whole_answer_outside_the_question(answer, ranked, expected):
    assert mentions_in(prompt_of(answer, ranked=ranked)) == expected


@pytest.mark.parametrize(
    ("key", "marked"),
    [
        ("first_mention", {6: 1.0, 7: 1.0}),
        ("last_mention", {26: 1.0, 27: 1.0}),
        # the capital of Kenya is: 5 words; Kenya, the: 2 of "Kenya's flag shows the word Oslo."; none of "Many say Oslo."
        ("question_words", {6: 2.5, 7: 2.5, 21: 1.0, 22: 1.0}),
        ("lexical", {6: 1.0, 10: 1.0, 21: 1.0, 26: 1.0, 38: 1.0}),
    ],
)
def test_a_control_points_where_it_says(key, marked):
    expected = np.zeros(len(TOKENS))
    expected[list(marked)] = list(marked.values())
    np.testing.assert_allclose(catalogue.find("explainer", key).scores(prompt_of()), expected)
    nothing = catalogue.find("explainer", key).scores(prompt_of("Lima", " Lima"))
    assert not nothing.any()


def test_a_character_of_several_tokens_belongs_to_its_mention_whole():
    """The later tokens of a character have no text."""
    tokens = ("In", " ", "東", "", "", "京", "", " it", " rains", ".")
    prompt = PlainPrompt(tokens, range(10), (Span(0, 10),), Span(0, 0), "東京", "東", "i")
    assert mentions_in(prompt) == [Span(2, 7)]


def test_words_are_counted_once_in_any_case_and_in_one_sentence():
    tokens = ("KENYA", " kenya", " Oslo", ".", " What", " is", " Oslo", "?", " Is", " Kenya", " what", "?")
    prompt = PlainPrompt(tokens, range(12), (Span(0, 8),), Span(8, 12), "Oslo", " Oslo", "i")
    assert words_shared(prompt, mentions_in(prompt)) == [1, 2]


def test_a_prompt_and_its_stored_row_read_the_same():
    prompt = TokenisedPrompt("", tuple(range(39)), TOKENS, DOCUMENTS, QUESTION, ((), ()), ((), ()), 1, 38)
    candidates = tuple(Candidate(group, text, 0, 0.0, 0.0) for group, text in (("C1", "Oslo"), ("C2", "Lima")))
    behaviour = Behaviour(0, " Os", 0.5, "C1", "Nairobi", candidates)
    row = SimpleNamespace(
        instance_id="i", tokens=np.array(TOKENS, dtype=object), first_ranked=1, ranked_end=38.0, question_start=30.0,
        question_end=37.0, document_starts=np.array([1, 15]), document_ends=np.array([15, 24]),
    )  # fmt: skip
    assert PlainPrompt.of(prompt, behaviour, "i") == PlainPrompt.of_row(row, "Oslo", " Os") == prompt_of()
    row.question_start = row.question_end = np.nan
    assert PlainPrompt.of_row(row, "Oslo", " Os").question == Span(0, 0)
    other = Behaviour(0, " Ber", 0.5, "other", "Nairobi", candidates)
    assert PlainPrompt.of(prompt, other, "i").answer == ""
