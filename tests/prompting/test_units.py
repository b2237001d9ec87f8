"""Words, sentences and documents of a prompt, the sums of their tokens' scores, and what follows from them, by hand."""

import numpy as np
import pytest

from heval_core.citations.annotators.shared.choice import level_of
from heval_core.explaining.word_origins import Bounds, random_level, source_of, verdict
from heval_core.prompting.units import LEVELS, Matrix, Unit, summed, units_of
from heval_core.records import Span

TEXT = ["The", " cap", "ital", " of", " Kenya", " is", " Lis", "bon", ".", " Why", "?"]
PARTS = ["document 1"] * 9 + ["question"] * 2


def texts(level, tokens=TEXT, parts=PARTS):
    return [unit.text(tokens) for unit in units_of(tokens, parts, level)]


def test_words_begin_at_spaces_and_sentences_end_at_full_stops():
    assert texts("word") == ["The", " capital", " of", " Kenya", " is", " Lisbon", ".", " Why", "?"]
    assert texts("sentence") == texts("document") == ["The capital of Kenya is Lisbon.", " Why?"]
    assert texts("sentence", parts=["text"] * 11) == ["The capital of Kenya is Lisbon.", " Why?"]
    assert len(units_of(["In", " the", " U", ".", "S", ".", " 3", ".", "5", " km"], [""] * 10, "sentence")) == 1
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


def test_a_source_by_hand():
    def of(*by_document, level=0.0, together=5.0, alone=-3.0, spread=0.0):
        return source_of(np.array(by_document), level, spread, together, alone, Bounds())

    assert of(0.1, 4.0) == ("document 2", 4.0)
    assert of(2.5, 4.0) == ("unclear", 4.0)  # not twice the next one
    assert of(0.1, 4.0, level=4.5) == ("unclear", 4.0)
    assert of(0.1, 0.2, together=0.2, alone=-0.6) == ("memory", 0.2)
    assert of(0.1, 0.2, together=0.2, alone=-0.8) == ("unclear", 0.2)  # expected with less than a half
    assert of(0.1, 0.2, together=0.4, alone=-0.6) == ("unclear", 0.2)
    assert of(together=0.0) == ("memory", 0.0)
    # What another twenty texts may change is unclear, whichever source it had.
    assert [of(0.1, 4.0, level=3.5, spread=spread) for spread in (0.4, 0.6)] == [("document 2", 4.0), ("unclear", 4.0)]
    assert of(0.1, 0.35, level=0.4, spread=0.1, together=0.2, alone=-0.6) == ("unclear", 0.35)


def test_a_random_levels_spread_is_that_of_its_texts():
    """Reference: levels of texts that are resampled one draw at a time; of equal texts, and of none, there is no spread."""
    texts = np.random.default_rng(1).gamma(1.0, 1.0, 20)
    level, spread = random_level(texts, 3)
    chosen = np.random.default_rng(2)
    others = [random_level(chosen.choice(texts, 20), 3)[0] for _ in range(400)]
    assert level == pytest.approx(max(texts.max(), float(level_of(texts, 3))))
    assert spread == pytest.approx(1.96 * np.std(others), rel=0.2)
    assert (random_level(np.full(20, 2.0), 2), random_level(np.empty(0), 2)) == ((2.0, 0.0), (0.0, 0.0))


def test_a_verdict_by_hand():
    """Two documents of two sentences, and an answer of two tokens, of which the second changes without the first sentence."""
    units = tuple(Unit(start, start + 3, f"document {1 + start // 6}") for start in (0, 3, 6, 9))
    changed = np.array([[0, 1], [0, 0], [0, 0], [0, 0]], dtype=bool)
    left_out = Matrix("sentence", units, np.array([[0, 5], [0, 1], [-2, -1], [-3, -4]], dtype=np.float32), changed)

    def of(*choices, columns=(1, 2)):
        found = verdict(choices, Span(*columns), left_out, left_out.units)
        return [found["points"]["unit"], *(found[name]["holds"] for name in ("stands", "beats"))]

    assert of(0, 0, 1) == [0, True, True]
    assert of(1, 0) == of(0, 1) == [0, True, True]  # of as many the one that costs more
    assert of(1) == [1, False, False]
    assert of(2) == [2, False, False]  # the least bad of its document costs nothing
    assert of(0, columns=(0, 1)) == [0, False, False]
    left_out.changed[1:, 1] = True
    assert of(0) == [0, False, True]  # others change it too
