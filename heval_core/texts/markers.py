"""Reads and deletes the markers by which sentences cite passages; masks the citation of one passage.

Formula: a marker is a pair of brackets around passage numbers and nothing else: `[3]`, `[26, 34]`, `[1; 2 and 5]`, `[1-3]`,
`【3】`, `〔3〕`. What says that a number is a passage's may stand before it (`[Doc 3]`, `[^3]`, `[cite: 1, 2]`; in round
brackets it has to: `(Source 3)`), and what a search tool says of it behind it (`【3†page.html】`, `[3](https://…)`).
Raised digits behind a word, a sign or a year are a marker too (`so.³`), but for units and variables (`km²`, `x²`).
Numbers are decimal digits of any script, at most nine of them. A range cites every passage from its first to its last number;
it has to rise, by at most 200. Any other bracket (`[sic]`, `[2019 census]`, `[3-2]`) is text. A number that no passage has,
such as a year, is still a marker: whoever knows the passages reports it. What looks like a citation and is no marker
(`(Smith 2020)`; `【4:0†source】`, which numbers a search and its results) is `unread`.
Deleting a number leaves the others of its group (`[26, 34]` ▶ `[34]`, `[1-5]` ▶ `[1-2, 4-5]`), of a row (`[1][2]`) and of a
list (`[1], [2] and [3]` ▶ `[1] and [3]`). Where a whole row goes, brackets that held nothing else go with it, and no white
space is left before a full stop, doubled, or at either end. Masking e_k deletes the number k from the markers of every
sentence that cites it; gold is the set of those sentences.
Reference: the markers of Xing, Baldwin and Lau (arXiv 2406.12645) and of Gao et al. (arXiv 2305.14627).
Departure: both read lists only, or the first number only. A range is read here as a reader reads it.
Cost: linear in the length of the sentence.
"""

import re
from collections.abc import Callable, Iterator, Sequence
from itertools import groupby, pairwise

_WIDEST_RANGE = 200
_NUMBER = r"\d{1,9}"
_DASH = r"\s*[-‐‑‒–—]\s*"
# What may stand before a number in a bracket, and behind it.
_WORDS = "doc(?:ument)?|source|passage|ref(?:erence)?|cit(?:e|ation)|context|chunk|evidence|snippet|excerpt"
_LEAD = rf"(?:(?:(?:{_WORDS}|dokument|quelle|documento|fuente|文档|文献|来源|資料)s?[.:_#-]?\s?){{1,2}}|[\^#])"
_TAIL = r"(?:†[^,;†\[\](){}【】〔〕［］]*|\^)"
_ANY_PART = re.compile(rf"({_LEAD})?({_NUMBER})(?:{_DASH}({_NUMBER}))?({_TAIL})?", re.IGNORECASE)
_PART = rf"(?:{_LEAD})?{_NUMBER}(?:{_DASH}{_NUMBER})?{_TAIL}?"
_SEPARATOR = r"\s*(?:[,;]\s*(?:and\s+|&\s*)?|&\s*|(?<=\s)and\s+)"
_RAISED, _PLAIN = "⁰¹²³⁴⁵⁶⁷⁸⁹⁻˒", "0123456789-,"
_DIGITS = "[⁰¹²³⁴-⁹]{1,3}"
_MARKER = re.compile(
    rf"(?P<open>[\[(【〔［])\s*(?P<list>{_PART}(?:{_SEPARATOR}{_PART})*)\s*(?P<close>[\])】〕］])"
    r"(?P<link>\(https?://[^\s()]{1,200}\))?"
    rf"|(?:(?<=[^\W\d_])|(?<=[.,;:!?)\"'”’»])|(?<=\b1\d\d\d)|(?<=\b20\d\d))(?P<raised>{_DIGITS}(?:[⁻˒,]{_DIGITS})*)",
    re.IGNORECASE,
)
# Behind these a raised digit is a power, and so it is behind one letter.
_POWER = re.compile(
    r"(?:^|[\W\d_])(?:[^\W\d_]|[cdkmnµμ]m|ft|yd|mi|in|(?:kilo|centi|milli)?met(?:er|re)s?|feet|foot|inch(?:es)?|yards?|miles?"
    r"|sec|mol|sin|cos|tan|log|chi)$"
)
_LONGEST_UNIT = 12
# What stands between two markers of one list.
_BETWEEN = re.compile(r"\s*(?:[,;]\s*)?(?:(?:and|&)\s*)?")
_CLOSING = re.compile(r"\s*[.,;:!?)\]}…](?!\d)|[\"'”’»]")
_PAIRS = {"(": ")", "[": "]", "【": "】", "〔": "〕", "［": "］"}
_MONTHS = "Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec"
_NAME = rf"(?!(?:{_MONTHS})\w*\b|In\b|Since\b|Until\b|Before\b|After\b)[^\W\d_a-z][\w'’.-]+"
_INSIDE = r"[^\[\](){}【】〔〕<>]{0,80}"
_LOOKS_LIKE_ONE = re.compile(
    "|".join(
        (
            rf"[\[(](?:see |cf\. |e\.g\.,? )?{_NAME}(?: (?:et al\.?|and|&|{_NAME})){{0,4}},? "
            rf"[12]\d{{3}}[a-z]?(?:[,;:]{_INSIDE})?[\])]",
            rf"[\[(【〔](?i:{_WORDS}|link|url)s?\b{_INSIDE}[\])】〕]",
            r"\b(?:Doc(?:ument)?|Source|Passage|Ref(?:erence)?|Citation|Snippet|Excerpt)s?\.? ?#?\d+\b",
            rf"\[(?:[a-zA-Z]|[@^]{_INSIDE}|\d{{1,3}}[,:;.|†]{_INSIDE})\]",
            rf"[【〔]{_INSIDE}[\d†]{_INSIDE}[】〕]|\{{\d{{1,3}}\}}|\(\d{{1,3}}\)(?=\s*(?:[.;]|$))|\(https?://[^\s()]{{1,200}}\)",
            rf"\\cite\w{{0,9}}\{{{_INSIDE}\}}|</?(?:co|cite|ref|sup)\b{_INSIDE}>|cite\W?turn\d\w*",
        )
    )
)


def markers(text: str) -> Iterator[re.Match[str]]:
    """Return the markers of a text, brackets included, in order."""
    return (marker for marker in _MARKER.finditer(text) if _readable(marker))


def numbers(marker: re.Match[str]) -> Iterator[int]:
    """Yield the passages that a marker cites, as they stand."""
    for part in _ANY_PART.finditer(_content(marker)):
        first, last = _ends(part)
        yield from range(first, last + 1)


def unread(text: str) -> str:
    """Return the first mark that looks like a citation and is not read; "" where there is none."""
    known = {index for marker in markers(text) for index in range(*marker.span())}
    return next((mark[0] for mark in _LOOKS_LIKE_ONE.finditer(text) if not known.intersection(range(*mark.span()))), "")


def read(sentence: str) -> tuple[str, tuple[int, ...]]:
    """Read a sentence: (the sentence without any marker, the numbers that it cites in order, each once).

    The numbers are as written: whether there are such passages is not known here.
    """
    return without(sentence, lambda number: True).strip(), tuple(_cited(sentence))


def _cited(sentence: str) -> dict[int, None]:
    return dict.fromkeys(number for marker in markers(sentence) for number in numbers(marker))


def rest(marker: re.Match[str], dropped: Callable[[int], bool]) -> str:
    """Return a marker without the numbers that are dropped, brackets included; "" where nothing of it is left."""
    if not any(map(dropped, numbers(marker))):
        return marker[0]
    content = _content(marker)
    parts = list(_ANY_PART.finditer(content))
    left = _joined(content, parts, [_part_without(part, dropped) for part in parts])
    if marker["raised"]:
        return left.replace(" ", "").translate(str.maketrans(_PLAIN[:-1], _RAISED[:-1]))
    lead = parts[0][1] or "" if left[:1].isdigit() else ""
    return f"{marker['open']}{lead}{left}{marker['close']}{marker['link'] or ''}" if left else ""


def without(sentence: str, dropped: Callable[[int], bool]) -> str:
    """Return the sentence without the numbers that are dropped. A sentence that has none of them comes back as it was."""
    rows = _rows(sentence)
    ends = [0, *(row[-1].end() for row in rows)]
    between = [sentence[end : row[0].start()] for end, row in zip(ends, rows, strict=False)] + [sentence[ends[-1] :]]
    written: list[str] = []
    for index, row in enumerate(rows):
        written.append(_joined(sentence, row, [rest(marker, dropped) for marker in row]))
        if not written[-1]:
            before, after = _unwrapped(between[index], between[index + 1])
            between[index], between[index + 1] = _closed_up(before, after, first=not index)
    return "".join(text for pair in zip(between, [*written, ""], strict=True) for text in pair)


def mask(sentences: Sequence[str], passage: int) -> tuple[list[str], set[int]]:
    """Mask the citations of a passage.

    Args:
        sentences: with their markers. Those that do not cite the passage come back as they were.
        passage: its number as the markers name it.

    Returns:
        The sentences without its markers, and the indices, from 0, of those that cited it.
    """
    gold = {index for index, sentence in enumerate(sentences) if passage in _cited(sentence)}
    return [without(sentence, lambda number: number == passage) for sentence in sentences], gold


def _content(marker: re.Match[str]) -> str:
    """Return the list of a marker's numbers; raised ones as plain ones."""
    return marker["list"] or marker["raised"].translate(str.maketrans(_RAISED, _PLAIN))


def _ends(part: re.Match[str]) -> tuple[int, int]:
    """Return the first and the last number of a part, which are one and the same unless it is a range."""
    return int(part[2]), int(part[3] or part[2])


def _readable(marker: re.Match[str]) -> bool:
    """Return whether a marker's brackets are a pair, round ones around a word, raised digits no power, and each range rises,
    not too far.
    """
    parts = list(_ANY_PART.finditer(_content(marker)))
    if marker["raised"]:
        before = marker.string[max(0, marker.start() - _LONGEST_UNIT) : marker.start()]
        fits = not _POWER.search(before)
    else:
        worded = (parts[0][1] or "")[:1].isalpha()
        fits = _PAIRS[marker["open"]] == marker["close"] and (marker["open"] != "(" or worded)
    return fits and all(0 < last - first <= _WIDEST_RANGE for first, last in map(_ends, parts) if last != first)


def _rows(sentence: str) -> list[list[re.Match[str]]]:
    """Return the markers, those together that stand in one row or list."""
    rows: list[list[re.Match[str]]] = []
    for marker in markers(sentence):
        if rows and _BETWEEN.fullmatch(sentence, rows[-1][-1].end(), marker.start()):
            rows[-1].append(marker)
        else:
            rows.append([marker])
    return rows


def _part_without(part: re.Match[str], dropped: Callable[[int], bool]) -> str:
    """Return what is left of a number or of a range, as numbers and shorter ranges."""
    first, last = _ends(part)
    rest = [number for number in range(first, last + 1) if not dropped(number)]
    if len(rest) == last - first + 1 or not rest:
        return part[0] if rest else ""
    # Of numbers in a row each is as far from its place.
    runs = [[number for _, number in run] for _, run in groupby(enumerate(rest), lambda pair: pair[1] - pair[0])]
    written = ", ".join(f"{run[0]}-{run[-1]}" if len(run) > 1 else str(run[0]) for run in runs)
    return f"{part[1] or ''}{written}{part[4] or ''}"


def _joined(text: str, matches: Sequence[re.Match[str]], pieces: Sequence[str]) -> str:
    """Join what replaces some matches in a text, where it is not empty, each behind what stood before its match."""
    separators = ["", *(text[one.end() : other.start()] for one, other in pairwise(matches))]
    rest = [(separator, piece) for separator, piece in zip(separators, pieces, strict=True) if piece]
    return "".join(separator + piece if index else piece for index, (separator, piece) in enumerate(rest))


def _unwrapped(before: str, after: str) -> tuple[str, str]:
    """Remove brackets that held nothing but the deleted markers, as in `([3])` and `[[3]]`."""
    for _ in range(2):
        left, right = before.rstrip(), after.lstrip()
        if not left or not right or _PAIRS.get(left[-1]) != right[0]:
            break
        before, after = left[:-1], right[1:]
    return before, after


def _closed_up(before: str, after: str, first: bool) -> tuple[str, str]:
    """Fit together what stood before and after deleted markers. first: whether nothing stands before `before`."""
    if first and not before.strip():
        return "", after.lstrip()
    if not after.strip():
        return before.rstrip(), after
    if _CLOSING.match(after):
        return before.rstrip(), after.lstrip()
    if after[0].isspace():
        return before.rstrip(), after
    ends = before[-1:]
    parted = after[0].isalnum() and (ends.isalnum() or ends in tuple(".!?,;:"))
    return (f"{before} " if parted else before), after
