"""A language model is asked which sentences should cite the passage, as a person is.

Formula: one prompt for each question, without examples: claim, verdict, the passage, the numbered sentences without this
passage's markers (the other markers stay); `prompts/recovery-1.txt` has the words. The answer's first line must be numbers of
sentences, from 0, separated by commas or spaces, or -1 for none.
Reference: Xing et al., arXiv 2406.12645 (zero-shot annotators).
Departure: our words, and numbers from 0. What is no such line, or names a sentence that is not there, is asked once more with
a firmer sentence. If that fails too, it counts as an answer without sentences, and its `problem` says so. A speaker that gave
no answer at all is not asked again here.
Cost: one answer for each question, seldom two. model: who is asked; "" for the writer of the explanation.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from heval_core.citations.annotators.shared.naming import read_with
from heval_core.citations.reading import prompt_text, shown
from heval_core.citations.records import Choice, Question
from heval_core.citations.speaker import Answer, Speaker

PROMPT = "recovery-1"
FIRMER = "Write nothing but the numbers, or -1. No words."
_NUMBERS = re.compile(r"\[?\s*(-?\d{1,6}(?:\s*(?:,|\s)\s*-?\d{1,6})*)\s*\]?\.?", re.ASCII)
_PLACE = re.compile(r"\{(claim|verdict|passage|sentences)\}")
# For numbers, their commas and spaces, even if all sentences are named.
TOKENS, TOKENS_EACH = 8, 4


@dataclass(frozen=True)
class LLM:
    model: str = ""

    key = "llm"
    family = "reader"
    control = False
    order = 1
    reads = "speaker"
    reference = "Xing et al. 2024 (arXiv 2406.12645)"

    @property
    def title(self) -> str:
        return read_with("Language model", self.model)

    def annotate(self, questions: Sequence[Question], reader: Speaker) -> list[Choice]:
        choices = _asked(questions, reader, "")
        again = [place for place, choice in enumerate(choices) if choice is None]
        for place, choice in zip(again, _asked([questions[place] for place in again], reader, FIRMER), strict=True):
            choices[place] = choice
        return [choice or Choice(frozenset(), problem="the answer cannot be read, twice") for choice in choices]


def prompt_of(question: Question, firmer: str = "") -> str:
    """What is asked. What a claim, a passage or a sentence says is never read as a place."""
    claim = question.explained.claim
    words = {
        "claim": claim.claim,
        "verdict": claim.verdict,
        "passage": shown(claim.passage(question.passage)),
        "sentences": "\n".join(f"{place}: {_in_one_line(text)}" for place, text in enumerate(question.sentences)),
    }
    text = _PLACE.sub(lambda place: words[place[1]], prompt_text(PROMPT).rstrip("\n"))
    return f"{text} {firmer}" if firmer else text


def parsed(text: str, sentences: int) -> frozenset[int] | None:
    """The places that an answer names; None if it cannot be read.

    Read is the first line with anything in it. -1 must stand alone, and a number that no sentence has makes it unreadable.
    """
    line = next((line.strip() for line in text.splitlines() if line.strip()), "")
    found = _NUMBERS.fullmatch(line)
    if found is None:
        return None
    numbers = [int(number) for number in re.findall(r"-?\d+", found[1], re.ASCII)]
    if numbers == [-1]:
        return frozenset()
    return frozenset(numbers) if all(0 <= number < sentences for number in numbers) else None


def _asked(questions: Sequence[Question], reader: Speaker, firmer: str) -> list[Choice | None]:
    """None where the answer cannot be read."""
    if not questions:
        return []
    most = max(len(question.sentences) for question in questions)
    answers = reader.answer([prompt_of(question, firmer) for question in questions], TOKENS + TOKENS_EACH * most)
    return [_choice(question, answer) for question, answer in zip(questions, answers, strict=True)]


def _choice(question: Question, answer: Answer) -> Choice | None:
    if answer.problem:
        return Choice(frozenset(), problem=answer.problem)
    chosen = parsed(answer.text, len(question.sentences))
    return None if chosen is None else Choice(chosen)


def _in_one_line(text: str) -> str:
    """A sentence cannot pretend to be several."""
    return " ".join(text.split())


PLUGIN = LLM()
