"""What the lines of a text are, so that lists, code and tables are drawn as such.

A line between fences (```) is code, and so are the fences; elsewhere `texts.splitting` says which line looks like code, and
which has columns. An indentation is kept whatever a line is: it may be all that says so.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Sequence
from typing import NamedTuple

from heval_core.texts.splitting import CODE, COLUMNS, FENCE, ITEM

CODE_LINE, ROW, RULE, ITEM_LINE, HEADING, PROSE = "code", "row", "rule", "item", "heading", ""
_HEADING, _RULE = re.compile(r"\s*#{1,6}\s+\S"), re.compile(r"\s*\|?[\s:|-]*-{3,}[\s:|-]*$")
_TAB = 4


class TextLine(NamedTuple):
    """A line from a letter of the text on. look: one of the six above. indent: its white space, in letters."""

    start: int
    look: str
    indent: int


def lines(text: str) -> list[TextLine]:
    """Return the lines of a text, blank ones too."""
    text_lines, start, fenced = list[TextLine](), 0, False
    for line in text.splitlines(keepends=True):
        fence = bool(FENCE.match(line))
        spaces = line[: len(line) - len(line.lstrip())].strip("\r\n").expandtabs(_TAB)
        text_lines.append(TextLine(start, CODE_LINE if fence or fenced else _look(line.rstrip()), len(spaces)))
        fenced, start = fenced != fence, start + len(line)
    return text_lines


def _look(line: str) -> str:
    if _HEADING.match(line):
        return HEADING
    if _RULE.match(line) and "|" in line:
        return RULE
    if COLUMNS.search(line):
        return ROW
    if CODE.match(line):
        return CODE_LINE
    return ITEM_LINE if ITEM.match(line) else PROSE


def line_at(text_lines: Sequence[TextLine], position: int) -> TextLine:
    """Return the line in which a letter stands."""
    after = bisect_right(text_lines, position, key=lambda line: line.start)
    return text_lines[after - 1] if after else TextLine(0, PROSE, 0)
