"""What selecting, writing and the annotator `llm` ask: something that answers text with text; and how its answers are read."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from typing import Protocol, TypeVar

T = TypeVar("T")
# Some models think aloud before they answer. The opening sign may stand in the prompt's template, out of sight.
_THINKS, _THOUGHT = "<think>", "</think>"
_LONGEST_QUOTED = 200
_NOTHING = ("none", "-1", "[]", "[-1]")


@dataclass(frozen=True)
class Answer:
    """What was answered. problem: why there is no answer ("" if there is one): refused, timed out, too long a prompt, …

    tokens: how many were generated; None where that is not told.
    """

    text: str
    tokens: int | None = None
    problem: str = ""

    @classmethod
    def said(cls, text: str, tokens: int | None) -> Answer:
        """What a model said, stripped, without thoughts spoken aloud. tokens: with the thoughts."""
        spoken = storable(text)
        if _THOUGHT in spoken:
            spoken = spoken.rpartition(_THOUGHT)[2]
        elif spoken.lstrip().startswith(_THINKS):
            return cls("", tokens, "the model thought aloud until its tokens were used up; allow it more")
        return cls(spoken.strip(), tokens)


@dataclass(frozen=True)
class Selection:
    """The numbers of the passages that a selector chose for a claim. problem: why there are none, or why the choice could
    not be read; "" if it could."""

    passages: tuple[int, ...]
    problem: str = ""


class Speaker(Protocol):
    """A language model that is asked for text: a local one, or one behind a server.

    key: what it is called. identity: of its weights and of how it is asked, so that nothing is asked twice and nothing is
    mistaken for another model's.
    """

    @property
    def key(self) -> str: ...
    @property
    def identity(self) -> str: ...
    def answer(self, prompts: Sequence[str], tokens: int) -> list[Answer]:
        """Greedy answers of at most `tokens` tokens, one per prompt, through the chat template where there is one.

        Never raises for one prompt: its answer has a problem then.
        """


def storable(text: str) -> str:
    """The text without halves of surrogate pairs, which JSON can write and no file can hold."""
    return text.encode("utf-8", "replace").decode("utf-8")


class Unreadable(ValueError):
    """An answer that is not what was asked for. Its text says why, as a clause: `it has no number`."""


def asked_twice(
    speaker: Speaker, prompts: Sequence[str], tokens: int, reads: Sequence[Callable[[str], T]]
) -> list[tuple[T | None, str]]:
    """What was read from the answer to each prompt, and "", or None and the problem.

    tokens: the cap for each answer. reads: one function for each prompt, from the answer's text; it raises Unreadable. Such an
    answer is told to the model with the reason, and it is asked a second time; no third time follows.
    """
    answers = speaker.answer(prompts, tokens) if prompts else []
    found = [_found(answer, read) for answer, read in zip(answers, reads, strict=True)]
    again = [place for place, (answer, (_, why)) in enumerate(zip(answers, found, strict=True)) if why and not answer.problem]
    if again:
        repeated = [_repeated(prompts[place], answers[place].text, found[place][1]) for place in again]
        for place, answer in zip(again, speaker.answer(repeated, tokens), strict=True):
            value, why = _found(answer, reads[place])
            told = why if answer.problem or not why else f"two answers could not be read: {why}"
            found[place] = (value, told)
    return found


def numbers_in(text: str, what: str, there: Collection[int]) -> tuple[int, ...]:
    """Those of some numbers that an answer names which is nothing else: `2, 5`, `[2][5]`, `Passages: 2 and 5`; () for `none`
    and `-1`. what: they are of.

    Only the first paragraph is read: a model that was not trained to answer goes on with an example of its own. Raises
    Unreadable where there is anything but numbers, because a number in a sentence may be about something else, and for a
    number that is not there.
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
    named = dict.fromkeys(map(int, parts))
    if unknown := [number for number in named if number not in there]:
        raise Unreadable(f"it names {what} {unknown[0]}, which is not there")
    return tuple(number for number in there if number in named)


def _found(answer: Answer, read: Callable[[str], T]) -> tuple[T | None, str]:
    if answer.problem:
        return None, answer.problem
    try:
        return read(answer.text), ""
    except Unreadable as unreadable:
        return None, str(unreadable)


def _repeated(prompt: str, answer: str, why: str) -> str:
    """The prompt once more, its last line being where the answer is awaited."""
    quoted, last = " ".join(answer.split())[:_LONGEST_QUOTED], prompt.rstrip().rpartition("\n")[2]
    return f"{prompt} {quoted}\nThis answer cannot be read: {why}. Answer again, with numbers alone.\n{last}"
