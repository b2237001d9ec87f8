"""A claim with its passages as a prompt. Writers write to it, and explainers read an explanation after it.

A layout is a file of `prompts/`: a text with the places {passages}, {claim} and {verdict}, the last two where they are wanted.
One passage is one line, `[{number}] {text}`, unless the file's first line gives another: `passage: {text} [{number}]`. The end
of the file is where the explanation begins; line breaks there are no part of the prompt.
"""

import difflib
import functools
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from heval_core.citations.records import Claim, Passage
from heval_core.folders import data_folder
from heval_core.records import HEvalError, Prompt, Span

# The prompts; and those that the demo models were taught.
FOLDERS = (Path(__file__).parent / "prompts", data_folder("demo", bundled=True) / "prompts")
DEFAULT = "writing-1"
LINE = "[{number}] {text}"
_FIELD = re.compile(r"\{(passages|claim|verdict)\}")


@dataclass(frozen=True)
class ClaimLayout:
    """How a prompt for an explanation is written.

    text: with its places. passage: the line of one passage, with {number} and {text}.
    """

    id: str
    text: str
    passage: str = LINE


def prompt_text(prompt_id: str) -> str:
    """Read the file of a prompt. Raises HEvalError for an id that has none, with the nearest ones."""
    files = dict(sorted((path.stem, path) for folder in FOLDERS for path in folder.glob("*.txt")))
    if prompt_id in files:
        return files[prompt_id].read_text(encoding="utf-8")
    near = difflib.get_close_matches(prompt_id, files, n=3, cutoff=0.5)
    hint = f"did you mean {' or '.join(near)}?" if near else f"there are: {', '.join(files)}."
    raise HEvalError(f"There is no prompt {prompt_id!r}; {hint}")


@functools.cache
def layout(prompt_id: str = "") -> ClaimLayout:
    """Return the layout with an id; "" is the default.

    Raises HEvalError for an unknown id, and for a file that is no layout.
    """
    prompt_id = prompt_id or DEFAULT
    return parsed(prompt_id, prompt_text(prompt_id))


def parsed(prompt_id: str, text: str) -> ClaimLayout:
    """Parse the text of a layout's file. Raises HEvalError where a field is missing, or stands there twice."""
    first, _, rest = text.partition("\n")
    line = LINE
    if first.startswith("passage:"):
        line, text = first.removeprefix("passage:").strip(), rest
    fields = _FIELD.findall(text)
    if "passages" not in fields or len(fields) != len(set(fields)) or line.count("{text}") != 1:
        raise HEvalError(
            f"The prompt {prompt_id!r} is no layout: it needs {{passages}}, may have {{claim}} and {{verdict}}, each once, "
            "and the line of a passage needs {text}, once."
        )
    return ClaimLayout(prompt_id, text.rstrip("\n"), line)


def shown(passage: Passage) -> str:
    """Return what is read of a passage: its title, where it has one, and its text."""
    return f"{passage.title}: {passage.text}" if passage.title else passage.text


def explanation_prompt(claim: Claim, passages: Sequence[Passage], layout: ClaimLayout) -> Prompt:
    """Fill the prompt for an explanation. `documents`: the line of each passage, in order; `question`: the claim.

    Braces in a claim or a passage are text, never a field.
    """
    text, lines, question = "", [], Span(0, 0)
    for index, piece in enumerate(_FIELD.split(layout.text)):
        if index % 2 == 0:
            text += piece
        elif piece == "passages":
            for position, passage in enumerate(passages):
                text += "\n" if position else ""
                line = _line(passage, layout)
                lines.append(Span(len(text), len(text) + len(line)))
                text += line
        else:
            words = claim.claim if piece == "claim" else claim.verdict
            question = Span(len(text), len(text) + len(words)) if piece == "claim" else question
            text += words
    return Prompt(text, tuple(lines), question, ((),) * len(lines))


def _line(passage: Passage, layout: ClaimLayout) -> str:
    before, _, after = layout.passage.partition("{text}")
    return shown(passage).join(part.replace("{number}", str(passage.number)) for part in (before, after))
