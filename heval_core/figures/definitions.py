"""Docstrings of plug-ins as readers see them: a first sentence, and what stands under labels.

The text stays text: only its labels, its lines and what stands in backticks are recognised.
"""

import re
from collections.abc import Sequence
from typing import NamedTuple

from heval_core.present.html import render

# What a docstring puts before a colon, at the start of a line or of a sentence, and readers see as a term.
_LABELS = (
    *("Formula", "Departure", "Cost", "Options", "Range", "Chance", "Best", "Parts", "Interval", "Licence", "Source"),
    *("Fields", "Records", "Context", "Reported", "Worked by hand", "Reference", "Net", "Baseline token", "Head choice"),
    "Engine",
)
# Labels that are written in another way too.
_ALIASES = {"Option": "Options", "Sources": "Source", "Fields used": "Fields"}
_LABEL = re.compile(
    rf"(?:^|(?<=[.)] )|(?<=\n))({'|'.join(sorted([*_LABELS, *_ALIASES], key=len, reverse=True))})"
    r"((?:,? \([^()]*(?:\([^()]*\)[^()]*)*\))?(?:, [^.:]*| for [^.:]*)?):\s"
)
# A sentence's first word, but not a formula's first name, nor `none`, which would be taken for a program's word.
_FIRST_WORD = re.compile(r"^(?!none\b)[a-z]{2,}(?=[ ,;.])(?! =|\.\w)")


class Stretch(NamedTuple):
    """A stretch of text; code: what the docstring has in backticks."""

    text: str
    code: bool = False


class DefinitionPart(NamedTuple):
    """What stands under a label. note: what the label says in brackets."""

    term: str
    note: str
    text: tuple[Stretch, ...]


class Definition(NamedTuple):
    """A plug-in as readers see it. mark: a word beside its title, such as `control`. colour: empty for what has none."""

    title: str
    mark: str
    colour: str
    lead: tuple[Stretch, ...]
    entries: tuple[DefinitionPart, ...]


def definition(title: str, docstring: str, reference: str, mark: str = "", colour: str = "") -> Definition:
    """Make a definition. reference: as the plug-in declares it; the docstring's own is shown if it says more."""
    first, *rest = docstring.strip().split("\n\n")
    # Without examples that a machine checks.
    entries = _entries(_lines("\n\n".join(part for part in rest if not part.lstrip().startswith(">>>"))))
    about = [DefinitionPart(term, note, _stretches(text)) for term, note, text in entries if text and term != "Reference"]
    longest = max((reference, *(text.rstrip(".") for term, _, text in entries if term == "Reference")), key=len)
    if longest not in ("", mark, "None"):
        about.append(DefinitionPart("Reference", "", _stretches(longest)))
    return Definition(title, mark, colour, _stretches(_lead(title, _lines(first))), tuple(about))


def as_html(kinds: Sequence[tuple[str, Sequence[Definition]]]) -> str:
    """Write every kind with its definitions, folded. kinds: (title, definitions)."""
    return render("definitions.html", kinds=kinds)


def _lead(title: str, text: str) -> str:
    """Return the first paragraph, without the name that the title has already said."""
    name, colon, rest = text.partition(": ")
    if colon and name.casefold() in (title.partition(" (")[0].casefold(), "control"):
        text = rest[:1].upper() + rest[1:]
    return text


def _lines(text: str) -> str:
    """Join wrapped lines; a line that is set in, and a new paragraph, stay lines of their own."""
    joined, set_in = "", False
    for line in text.splitlines():
        if not line.strip():
            continue
        before, set_in = set_in, line.startswith("  ")
        joined += ("\n" if set_in or before else " " if joined else "") + line.strip()
    return joined


def _entries(text: str) -> list[tuple[str, str, str]]:
    """Return (term, note, text), in order; what comes before the first label has the term `About`."""
    labels: list[re.Match[str]] = []
    for label in _LABEL.finditer(text):
        labels.append(label)
        # What is worked by hand comes last, and may name anything.
        if label[1] == "Worked by hand":
            break
    ends = [*(label.start() for label in labels), len(text)]
    entries = [("About", "", before)] if (before := text[: ends[0]].strip()) else []
    for label, end in zip(labels, ends[1:], strict=True):
        body = _FIRST_WORD.sub(lambda word: word[0].capitalize(), text[label.end() : end].strip())
        entries.append((_ALIASES.get(label[1], label[1]), _note(label[2]), body))
    return entries


def _note(beside: str) -> str:
    """Return what stands beside a label, without its brackets: `our decision`."""
    text = beside.strip(" ,").replace("`", "")
    if text.startswith("("):
        inside, _, after = text[1:].rpartition(")")
        text = "; ".join(filter(None, (inside, after.strip(" ,"))))
    return text


def _stretches(text: str) -> tuple[Stretch, ...]:
    parts = re.split("`([^`]+)`", text)
    return tuple(Stretch(part, index % 2 == 1) for index, part in enumerate(parts) if part)
