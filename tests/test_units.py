"""Words, sentences and documents of a prompt, and the sums of their tokens' scores."""

import numpy as np
import pytest

from heval_core.units import LEVELS, Unit, summed, units_of

TEXT = ["The", " cap", "ital", " of", " Kenya", " is", " Lis", "bon", ".", " Why", "?"]
PARTS = ["document 1"] * 9 + ["question"] * 2


def texts(level, tokens=TEXT, parts=PARTS):
    return [unit.text(tokens) for unit in units_of(tokens, parts, level)]


def test_words_begin_at_spaces_and_sentences_end_at_full_stops():
    assert texts("word") == ["The", " capital", " of", " Kenya", " is", " Lisbon", ".", " Why", "?"]
    assert texts("sentence") == texts("document") == ["The capital of Kenya is Lisbon.", " Why?"]
    assert texts("sentence", parts=["text"] * 11) == ["The capital of Kenya is Lisbon.", " Why?"]
    assert len(units_of(["In", " the", " U", ".", "S", ".", " 3", ".", "5", " km"], [""] * 10, "sentence")) == 2
    assert len(units_of([" ह", "ि", "न", "्", "द", "ी", " भ"], [""] * 7, "word")) == 2
    assert texts("document", parts=["text"] * 11) == ["".join(TEXT)]
    assert texts("token") == TEXT
    letters = [" na", "ï", "", "vely", "ß", "", " it", ".", "", "5"]  # a letter in two tokens, whose second has no text
    assert texts("word", letters, [""] * 10) == [" naïvelyß", " it", ".", "5"]
    assert len(texts("token", letters, [""] * 10)) == 10


def test_no_unit_reaches_into_the_next_part():
    """The second document goes on in the middle of a word and of a sentence."""
    parts = ["a"] * 2 + ["b"] * 9
    assert texts("word", parts=parts)[:3] == ["The", " cap", "ital"]
    assert units_of(TEXT, parts, "sentence")[:2] == (Unit(0, 2, "a"), Unit(2, 9, "b"))


@pytest.mark.parametrize("level", LEVELS)
def test_units_cover_every_token_once_and_keep_sums(level):
    units = units_of(TEXT, PARTS, level)
    assert [token for unit in units for token in range(unit.start, unit.end)] == list(range(len(TEXT)))
    scores = np.arange(11.0)
    assert summed(scores, units).sum() == scores.sum()
    assert summed(scores, units)[0] == scores[: units[0].end].sum()
    assert units_of([], [], level) == ()
