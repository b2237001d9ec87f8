"""Asks a language model for something that a program can read, and once more where it could not."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import TypeVar

from heval_core.citations.speaker import Answer, Speaker

T = TypeVar("T")
_LONGEST_QUOTED = 200
_NOTHING = ("none", "-1", "[]", "[-1]")


class Unreadable(ValueError):
    """An answer that is not what was asked for. Its text says why, as a clause: `it has no number`."""


def asked_twice(
    speaker: Speaker, prompts: Sequence[str], tokens: int, reads: Sequence[Callable[[str], T]]
) -> list[tuple[T | None, str]]:
    """What was read from the answer to each prompt, and "", or None and the problem.

    tokens: the cap for each answer. reads: one function for each prompt, from the answer's text; it raises Unreadable. Such an
    answer is told to the model with the reason, and it is asked a second time; no third time follows.
    """
    answers = speaker.answer(prompts, tokens)
    found = [_found(answer, read) for answer, read in zip(answers, reads, strict=True)]
    again = [place for place, (answer, (_, why)) in enumerate(zip(answers, found, strict=True)) if why and not answer.problem]
    if again:
        repeated = [_repeated(prompts[place], answers[place].text, found[place][1]) for place in again]
        for place, answer in zip(again, speaker.answer(repeated, tokens), strict=True):
            value, why = _found(answer, reads[place])
            told = why if answer.problem or not why else f"two answers could not be read: {why}"
            found[place] = (value, told)
    return found


def numbers_in(text: str) -> tuple[int, ...]:
    """The numbers of an answer that is nothing else: `2, 5`, `[2][5]`, `Passages: 2 and 5`; () for `none` and `-1`.

    Only the first paragraph is read: a model that was not trained to answer goes on with an example of its own. Raises
    Unreadable where there is anything but numbers, because a number in a sentence may be about something else.
    """
    paragraph = re.split(r"\n\s*\n", text.strip(), maxsplit=1)[0].strip()
    told = re.sub(r"^(?:passages?|sentences?|numbers?)\b\s*:?", "", paragraph, flags=re.IGNORECASE).strip().removesuffix(".")
    if told.strip().casefold() in _NOTHING:
        return ()
    parts = [part for part in re.split(r"[\s,;&\[\]]+|\band\b", told) if part]
    if not parts:
        raise Unreadable("it has no number")
    if strange := next((part for part in parts if not re.fullmatch(r"\d{1,9}", part, re.ASCII)), ""):
        raise Unreadable(f"it says {strange[:_LONGEST_QUOTED]!r}, which is not a number")
    return tuple(dict.fromkeys(map(int, parts)))


def _found(answer: Answer, read: Callable[[str], T]) -> tuple[T | None, str]:
    if answer.problem:
        return None, answer.problem
    try:
        return read(answer.text), ""
    except Unreadable as unreadable:
        return None, str(unreadable)


def _repeated(prompt: str, answer: str, why: str) -> str:
    """The prompt once more, its last line being where the answer is awaited."""
    quoted = " ".join(answer.split())[:_LONGEST_QUOTED]
    return f"{prompt} {quoted}\nThis answer cannot be read: {why}. Answer again, with numbers alone.\n{_last_line(prompt)}"


def _last_line(prompt: str) -> str:
    return prompt.rstrip().rpartition("\n")[2]
