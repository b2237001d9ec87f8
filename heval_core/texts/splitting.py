"""Sentences and words of a text: documents, answers and explanations with citations are split by these rules alone.

Formula: ICU finds them by Unicode's rules (UAX 29), words of scripts without spaces (Chinese, Japanese, Thai) by its
dictionaries. Beyond these rules: no sentence ends behind an abbreviation or an initial unless the next word is one that
begins sentences (`U.S. Senate`, `U.S. The`), nor where a quotation goes on (`"Why?" he said`). A mark of a list (`1.`)
belongs to its item, signs without a letter or a digit to the sentence before. Thai has no full stop: a space between two of
its words ends a sentence.
Lines: a blank line parts sentences, and so does a line break, unless the line was full: then the text is prose, with a full
stop somewhere, and the line would be among the longest with the next one's first word. A line of code or of a table, a
heading, and an item of a list are units of their own. White space belongs to the sentence before it, and to no word.
Markers (`[2]`) between two sentences belong to the first of them: `It is so. [2] It was.` is `It is so. [2]` and `It was.`
Where a comma, semicolon or colon follows such a marker, the sentence goes on. In a text that begins with a marker, as a list
of passages does, one at the beginning of a line is a list's mark.
Reference: Unicode Standard Annex 29; Xing, Baldwin and Lau (arXiv 2406.12645), who join a "sentence" that starts with a marker
to the one before. Departure: only its markers go to the one before, so that no two sentences become one.
Cost: linear, a second or two for a million letters.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import groupby, pairwise
from typing import NamedTuple

from icu4py.breakers import SentenceBreaker, WordBreaker

from heval_core.records import Span
from heval_core.records.vocabulary import FUNCTION_WORDS
from heval_core.texts.markers import markers

_UNREADABLE = re.compile("[\ud800-\udfff]")
_SPACE = re.compile(r"\s*")
_BREAKS = re.compile("[\n\v\f\r\x1c-\x1e\x85\u2028\u2029]")
_LETTER = re.compile(r"[^\W_]")
# A full stop that ends a sentence: prose has one somewhere.
_STOP = re.compile(r"[^\W\d_]{2}[.!?…؟۔।][\"'”’)\]»]*(?:\s|$)|[。！？]")
# A mark of a list, alone and before its item.
_MARK = r"\s*(?:[-*•‣–—]|\(?(?:\d{1,3}|[A-Za-z]|[ivxIVX]+)[.)])\s"
_ONLY_MARK, ITEM = re.compile(rf"{_MARK}*"), re.compile(rf"{_MARK}+\S")
# A line that is a unit of its own: a fence, between which all are; a heading, a comment or code; columns of a table.
FENCE = re.compile(r"\s*(?:```|~~~)")
CODE = re.compile(r"\s*(?:#|//|import \w|from \S+ import |def \w|class \w+[:(]|[\w.\[\]]+ ?[-+*/]?= ?\S|[\w.]+\(.*\);?$)")
COLUMNS = re.compile(r"\S\t+\S|\|.*\||\S {3,}\S")
_OPENS = ("{", "}", "[", "(", ");")
# What closes a sentence behind its markers, and what goes on with it.
_CLOSING, _QUOTES, _GOES_ON = ".!?)]}…", "\"'”’»", ("", ",", ";", ":")
_QUOTED = re.compile(r"[.!?…。！？][\"'”’»」』]+$")
_ABBREVIATION = re.compile(r"(?<![^\s(\[{\"“«/'‘–-])(?<!\w['‘])((?:[^\W\d_]+\.)+)$")
_INITIALS = re.compile(r"[^\W\d_](?:\.[^\W\d_])*")
_NEXT = re.compile(r"([\"'“‘«(\[]*)(\w+)(\.?)")
_THAI = re.compile("(?<=[\u0e01-\u0e2e\u0e30-\u0e45\u0e47-\u0e4e])\\s+(?=[\u0e01-\u0e2e\u0e40-\u0e44])")
# Abbreviations that stand before a word, that stand before a number, and that may also end a sentence.
_BEFORE_WORDS, _BEFORE_NUMBERS, _ALSO_LAST = (
    frozenset(words.split())
    for words in (
        "mr mrs ms dr prof gen col maj capt cmdr lt sgt cpl rev fr hon gov sen rep pres e.g i.e cf viz vs approx esp",
        "no nos nr fig figs sec secs eq eqs ch chap vol vols p pp art par ca c ver ed op "
        "jan feb mar apr jun jul aug sep sept oct nov dec",
        "inc corp ltd co bros jr sr ph.d etc al dept univ st ste mt ft ave blvd",
    )
)
_BEGINNERS = FUNCTION_WORDS | {"however", "also", "yes", "here", "now", "today", "some", "all", "many", "most", "one", "both"}
# Letters in lower case before which Unicode ends no sentence, though one ends: an aside, what follows a full stop of its own,
# and where there are no capitals what follows any.
_ASIDE = re.compile(r"(?<=[.!?…]\s[(\[])[a-z]|(?<=\s\.\s)[^\W\d_]")
_UNCAPPED = re.compile(rf"{_ASIDE.pattern}|(?<=[.…]\s)[^\W\d_]")
_FULL = 0.7  # of the longest line
_CONTEXT = 80  # so many letters before a sentence's end decide whether it is one


class _Line(NamedTuple):
    """A line of a text.

    single: whether it is a unit of its own. item: it is one of a list, that begins with a marker.
    """

    start: int
    text: str
    single: bool
    item: bool


def sentences(text: str) -> list[Span]:
    """Split a text into sentences with the white space behind them, which cover it without gaps; [] for a text of
    white space.
    """
    if not text.strip():
        return []
    blanked, begun, begins = _blanked(text), -1, list[int]()
    for begin, item in _begins(text, blanked):
        if begin > begun:
            begun = begin if item else _behind_markers(text, blanked, begin)
            begins += [begun] if blanked[begun : begun + 1] not in _GOES_ON else []
    # What has no letter belongs to the sentence before, and to the first one where none is before.
    starts = [begin for begin, end in pairwise([*begins, len(text)]) if _LETTER.search(blanked, begin, end)]
    return [Span(start, end) for start, end in pairwise([0, *starts[1:], len(text)])]


def words(text: str) -> list[Span]:
    """Split a text into words and what lies between them: runs of white space, and of signs.

    They cover the text without gaps.
    """
    spans, end, last = list[Span](), 0, ""
    for piece in WordBreaker(_UNREADABLE.sub("x", text), "en"):
        kind = "word" if _LETTER.search(piece) else "space" if piece.isspace() else "sign"
        start = spans.pop().start if kind == last != "word" else end
        end, last = end + len(piece), kind
        spans.append(Span(start, end))
    return spans


def _blanked(text: str) -> str:
    """Put a space in place of each letter of a marker."""
    pieces, end = [], 0
    for marker in markers(text):
        pieces += [text[end : marker.start()], " " * len(marker[0])]
        end = marker.end()
    return _UNREADABLE.sub("\ufffd", "".join([*pieces, text[end:]]))


def _begins(text: str, blanked: str) -> Iterator[tuple[int, bool]]:
    """Yield (where a sentence may begin, whether its marker is a mark of a list), in order."""
    for filled, lines in groupby(_lines(text), key=lambda line: bool(line.text.strip())):
        for run in _runs(list(lines)) if filled else ():
            start, end = run[0].start, run[-1].start + len(run[-1].text)
            yield _after_space(text, start), run[0].item
            for begin in () if run[0].single else _within(_BREAKS.sub(" ", blanked[start:end])):
                yield start + begin, False


def _lines(text: str) -> Iterator[_Line]:
    marked = {marker.start(): marker.end() for marker in markers(text)}
    listed, start, fenced = _after_space(text, 0) in marked, 0, False
    for line in text.splitlines(keepends=True):
        fence, behind = bool(FENCE.match(line)), marked.get(_after_space(text, start), len(text))
        single = fenced or fence or CODE.match(line) or COLUMNS.search(line) or line.rstrip().endswith(_OPENS)
        yield _Line(start, line, bool(single), listed and bool(text[behind : start + len(line)].strip()))
        fenced, start = fenced != fence, start + len(line)


def _runs(lines: Sequence[_Line]) -> list[list[_Line]]:
    """Group the lines of a paragraph over whose breaks prose goes on."""
    width, prose = max(len(line.text.rstrip()) for line in lines), any(_STOP.search(line.text) for line in lines)
    runs = [[lines[0]]]
    for before, line in pairwise(lines):
        word = line.text.split(maxsplit=1)[0]
        full = len(before.text.rstrip()) + 1 + len(word) > _FULL * width and not (
            word.istitle() and word.lower() in _BEGINNERS
        )
        apart = before.single or line.single or line.item or ITEM.match(line.text)
        if prose and not apart and (full or word[0].islower()):
            runs[-1].append(line)
        else:
            runs.append([line])
    return runs


def _within(run: str) -> Iterator[int]:
    """Yield where sentences begin in a text without line breaks, but the first."""
    start, before = 0, ""
    for sentence in SentenceBreaker((_UNCAPPED if run.islower() else _ASIDE).sub("X", run), "en"):
        stop = start + len(sentence)
        for end in (*(space.end() for space in _THAI.finditer(run, start, stop)), stop):
            if before and not _goes_on(before, run[start:end]):
                yield start
                before = ""
            before, start = (before + run[start:end])[-_CONTEXT:], end


def _goes_on(before: str, after: str) -> bool:
    """Return whether a sentence goes on where Unicode's rules end it. before: the last letters of what it is so far."""
    if not _LETTER.search(after) or not _LETTER.search(before) or _ONLY_MARK.fullmatch(before):
        return True
    stripped, following = before.rstrip(), _NEXT.match(after)
    if _QUOTED.search(stripped):
        return after[0].islower() or (stripped == before and after[0].isalpha() and not after[0].isupper())
    abbreviation = _ABBREVIATION.search(stripped)
    if not abbreviation or not following:
        return False
    short, (opening, word, stop) = abbreviation[1][:-1].lower(), following.groups()
    if short in _ALSO_LAST or _INITIALS.fullmatch(short):
        initial = bool(stop) and len(word) == 1
        return word[0].islower() or (not opening and (initial or word.lower() not in _BEGINNERS))
    return short in _BEFORE_WORDS or (word[0].isdigit() and short in _BEFORE_NUMBERS)


def _behind_markers(text: str, blanked: str, begin: int) -> int:
    """Return where a sentence begins if markers before it, and what closes them, belong to the one before."""
    begun = _after_space(blanked, begin)
    last = begun
    while text[last - 1 : last].isspace():
        last -= 1
    while (
        begun < len(text)
        and blanked[last - 1 : last] == " "  # a marker's
        and (blanked[begun] in _CLOSING or (blanked[begun] in _QUOTES and not text[begun - 1].isspace()))
    ):
        begun = _after_space(blanked, begun + 1)
    return begun


def _after_space(text: str, position: int) -> int:
    return _SPACE.match(text, position).end()  # type: ignore[union-attr]
