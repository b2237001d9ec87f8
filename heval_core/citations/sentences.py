"""Splits an explanation into sentences.

Formula: spaCy's rule-based sentencizer reads the text with its markers blanked out, because its tokenizer would cut `[2]` in
two, and not cut `so.[2] It`. Markers between two sentences belong to the first of them: `It is so. [2] It was.` is
`It is so. [2]` and `It was.` Where a comma, semicolon or colon follows such a marker, the sentence goes on. In a text that
begins with a marker, as a list of passages does, one at the beginning of a line belongs to what follows on it.
Reference: Xing, Baldwin and Lau (arXiv 2406.12645), who join a "sentence" that starts with a marker to the one before.
Departure: only its markers go to the one before; the words behind them remain a sentence, so that no two become one. An
opening bracket or quote goes to the sentence that it opens, which spaCy leaves to the one before. Lists.
Cost: some microseconds a word, and some seconds once, for importing spaCy, which imports torch where that is installed.
"""

import functools
import re
import sys
from typing import Any

from heval_core.citations.markers import markers

# spaCy's tokenizer takes the ends off a word one by one, reading all of it each time: a longer word is shortened for it.
_LONGEST_WORD = 200
_LONG_WORD = re.compile(rf"\S{{{_LONGEST_WORD},}}")
_UNREADABLE = re.compile("[\ud800-\udfff\0]")
_GOES_ON = ",;:"
_CLOSING = ".!?)]}…"
_OPENING = "([{\"'“‘«"
_QUOTES = "\"'”’»"


def split(text: str) -> list[str]:
    """The sentences with the white space behind them: joined, they give the text back. [] for a text of white space."""
    if not text.strip():
        return []
    blanked, listed = _blanked(text), next((not text[: marker.start()].strip() for marker in markers(text)), False)
    first = next(index for index, letter in enumerate(blanked + "x") if letter.isalnum())
    places, read = [0], first
    for start in _starts(blanked):
        begun = _begun(text, blanked, start, listed) if start > read else None
        if begun is not None and read < begun < len(text):
            places.append(begun)
            read = begun
    places.append(len(text))
    return [text[start:end] for start, end in zip(places, places[1:], strict=False)]


def _blanked(text: str) -> str:
    """The text with a space in place of each letter of a marker."""
    pieces, end = [], 0
    for marker in markers(text):
        pieces += [text[end : marker.start()], " " * len(marker[0])]
        end = marker.end()
    return "".join([*pieces, text[end:]])


def _starts(blanked: str) -> list[int]:
    """Where spaCy has sentences start; the white space between two counts to the second there."""
    readable = _LONG_WORD.sub(lambda word: "x" * (len(word[0]) - 1) + word[0][-1], _UNREADABLE.sub("x", blanked))
    return [sentence.start_char for sentence in _sentencizer()(readable).sents]


def _begun(text: str, blanked: str, start: int, listed: bool) -> int | None:
    """Where the sentence that spaCy has start at `start` begins; None if the one before goes on. listed: it is a list."""
    begin = _after_space(blanked, start)
    line = text.rfind("\n", start, begin) + 1
    if listed and line and text[line:begin].strip():
        return line + len(text[line:begin]) - len(text[line:begin].lstrip())
    if not text[start:begin].strip():
        # An opening bracket or quote is punctuation to spaCy, and stays behind.
        opened = begin > 1 and blanked[begin - 1] in _OPENING and blanked[begin - 2].isspace()
        return begin - 1 if opened else begin
    # Markers lie between: what closes the sentence may stand behind them.
    if blanked[begin : begin + 1] in tuple(_GOES_ON):
        return None
    while begin < len(text) and (blanked[begin] in _CLOSING or (blanked[begin] in _QUOTES and not text[begin - 1].isspace())):
        begin = _after_space(blanked, begin + 1)
    return begin


def _after_space(blanked: str, position: int) -> int:
    return len(blanked) - len(blanked[position:].lstrip())


@functools.cache
def _sentencizer() -> Any:
    import spacy

    pipeline = spacy.blank("en")
    pipeline.add_pipe("sentencizer")
    pipeline.max_length = sys.maxsize  # the limit is meant for parsers
    return pipeline
