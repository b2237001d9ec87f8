"""Language models that are asked for text: what they answer and how it is read, one in memory, and one that forgets nothing.

Selecting, writing and the annotator `llm` ask them. `LocalSpeaker` asks any causal model that `heval_core.lm.loading` loads,
greedily; `server.Server` one behind a server. `CachedSpeaker` stands in front of either: every answer is appended to a file,
and read from there the next time. The file has a JSON object a line: `asked`, a hash of the speaker's identity, the prompt and
the cap on tokens; `speaker`, its key; `text`; `tokens`. Lines are only ever appended, and synced; an incomplete last line,
after a crash, is passed over. Answers with a problem are not kept: the next run asks again. Only one process writes a file.
"""

from __future__ import annotations

import hashlib
import json
import re
import threading
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from heval_core.citations.records import Claim
from heval_core.records import Prompt, Span
from heval_core.records.json_lines import append_lines, read_lines

if TYPE_CHECKING:
    from heval_core.lm.model import LanguageModel

FILE = "answers.jsonl"
# So many prompts are asked before their answers are written: what a killed run loses.
PORTION = 64
_WRITING = threading.Lock()  # several speakers may share a file
# Some models think aloud before they answer. The opening sign may stand in the prompt's template, out of sight.
_THINKS, _THOUGHT = "<think>", "</think>"
_LONGEST_QUOTED = 200
_NOTHING = ("none", "-1", "[]", "[-1]")


@dataclass(frozen=True)
class Reply:
    """What was answered. problem: why there is no answer ("" if there is one): refused, timed out, too long a prompt, …

    tokens: how many were generated; None where that is not told.
    """

    text: str
    tokens: int | None = None
    problem: str = ""

    @classmethod
    def of_text(cls, text: str, tokens: int | None) -> Reply:
        """Make an answer of what a model generated, stripped, without thoughts spoken aloud. tokens: with the thoughts."""
        spoken = storable(text)
        if _THOUGHT in spoken:
            spoken = spoken.rpartition(_THOUGHT)[2]
        elif spoken.lstrip().startswith(_THINKS):
            return cls("", tokens, "the model thought aloud until its tokens were used up; allow it more")
        return cls(spoken.strip(), tokens)


@dataclass(frozen=True)
class Selection:
    """The numbers of the passages that a selector chose for a claim. problem: why there are none, or none can be read."""

    passages: tuple[int, ...]
    problem: str = ""


class ByClaim:
    """A selector that asks nobody, and chooses the passages of each claim by themselves."""

    asks = False

    def of(self, claim: Claim) -> tuple[tuple[int, ...], str]:
        """Return the numbers of the passages, and why there are none, where there are none."""
        raise NotImplementedError

    def select(self, claims: Sequence[Claim], speaker: Speaker | None) -> list[Selection]:
        return [Selection(numbers, "" if numbers else why) for numbers, why in map(self.of, claims)]


class Speaker(Protocol):
    """A language model that is asked for text: a local one, or one behind a server. key: what it is called. identity: of its
    weights and of how it is asked, so that nothing is asked twice and nothing is mistaken for another model's."""

    @property
    def key(self) -> str: ...
    @property
    def identity(self) -> str: ...
    def answer(self, prompts: Sequence[str], tokens: int) -> list[Reply]:
        """Generate greedy answers of at most `tokens` tokens, one per prompt, through the chat template where there is one.

        Never raises for one prompt: its answer has a problem then.
        """


def storable(text: str) -> str:
    """Drop halves of surrogate pairs from a text, which JSON can write and no file can hold."""
    return text.encode("utf-8", "replace").decode("utf-8")


Numbers = tuple[tuple[int, ...] | None, str]  # what was read, and ""; or None, and why nothing was


def ask_with_retry(
    speaker: Speaker, prompts: Sequence[str], tokens: int, what: str, existing: Sequence[Collection[int]]
) -> list[Numbers]:
    """Ask each prompt for numbers, and once more where the answer cannot be read.

    tokens: the cap for each answer. what, existing: see `numbers_in`; `existing` of each prompt. An answer that cannot be read
    goes back to the model with the reason; no third time follows.
    """
    answers = speaker.answer(prompts, tokens) if prompts else []
    values = [_parsed(answer, what, known) for answer, known in zip(answers, existing, strict=True)]
    again = [index for index, (answer, (_, why)) in enumerate(zip(answers, values, strict=True)) if why and not answer.problem]
    if again:
        repeated = [_repeated(prompts[index], answers[index].text, values[index][1]) for index in again]
        for index, answer in zip(again, speaker.answer(repeated, tokens), strict=True):
            value, why = _parsed(answer, what, existing[index])
            problem = why if answer.problem or not why else f"two answers could not be read: {why}"
            values[index] = (value, problem)
    return values


def _parsed(answer: Reply, what: str, existing: Collection[int]) -> Numbers:
    return (None, answer.problem) if answer.problem else numbers_in(answer.text, what, existing)


def numbers_in(text: str, what: str, existing: Collection[int]) -> Numbers:
    """Read the numbers in an answer that is nothing else: `2, 5`, `[2][5]`, `Passages: 2 and 5`; () for `none` and `-1`.

    what: they are of. existing: those that there are. Only the first paragraph is read: a model that was not trained to answer
    goes on with an example of its own. Where there is anything but numbers, or a number that does not exist, nothing is read,
    and the reason is given as a clause: a number in a sentence may be about something else.
    """
    paragraph = re.split(r"\n\s*\n", text.strip(), maxsplit=1)[0].strip()
    listed = re.sub(r"^(?:passages?|sentences?|numbers?)\b\s*:?", "", paragraph, flags=re.IGNORECASE).strip().removesuffix(".")
    if listed.strip().casefold() in _NOTHING:
        return (), ""
    parts = [part for part in re.split(r"[\s,;&\[\]]+|\band\b", listed) if part]
    if not parts:
        return None, "it has no number"
    if strange := next((part for part in parts if not re.fullmatch(r"\d{1,9}", part, re.ASCII)), ""):
        return None, f"it says {strange[:_LONGEST_QUOTED]!r}, which is not a number"
    named = dict.fromkeys(map(int, parts))
    if unknown := [number for number in named if number not in existing]:
        return None, f"it names {what} {unknown[0]}, which is not there"
    return tuple(number for number in existing if number in named), ""


def _repeated(prompt: str, answer: str, why: str) -> str:
    """Repeat the prompt, its last line being where the answer is awaited."""
    quoted, last = " ".join(answer.split())[:_LONGEST_QUOTED], prompt.rstrip().rpartition("\n")[2]
    return f"{prompt} {quoted}\nThis answer cannot be read: {why}. Answer again, with numbers alone.\n{last}"


class LocalSpeaker:
    """A speaker in memory.

    lm: asked through its chat template if its tokenizer has one, else with the prompt as it is, which it continues.
    """

    def __init__(self, lm: LanguageModel):
        from heval_core.lm.chat import has_template

        self._lm = lm
        self.chat = has_template(lm.tokenizer)

    @property
    def key(self) -> str:
        return self._lm.key

    @property
    def identity(self) -> str:
        dtype = str(self._lm.model.dtype).removeprefix("torch.")
        return f"model {self.key}@{self._lm.revision} {dtype} {'chat' if self.chat else 'plain'} greedy"

    def answer(self, prompts: Sequence[str], tokens: int) -> list[Reply]:
        """Generate one answer per prompt; prompts of similar length run together, within the model's budget of tokens.

        A prompt that fills the model's positions gets a problem, and so does an answer that the last position cuts off, and a
        prompt that the device's memory does not hold.
        """
        answers: list[Reply] = [Reply("")] * len(prompts)
        askable: dict[int, tuple[int, ...]] = {}
        for index, prompt in enumerate(prompts):
            request = Prompt(storable(prompt), (), Span(0, len(prompt)), (), chat=self.chat)
            try:
                askable[index] = self._lm.tokenise(request, check_length=False).ids
            except Exception as error:  # a template and a tokenizer may raise anything
                answers[index] = _failed(error)
        for index, answer in zip(askable, self._generated(list(askable.values()), tokens), strict=True):
            answers[index] = answer
        return answers

    def _generated(self, prompts: list[tuple[int, ...]], tokens: int) -> list[Reply]:
        generation = self._lm.generation
        try:
            written = generation.greedy(prompts, tokens)
        except Exception as error:  # not enough memory for one of them, usually: the others are asked without it
            if len(prompts) == 1:
                return [_failed(error)]
            return [answer for ids in prompts for answer in self._generated([ids], tokens)]
        return [self._answer(ids, generated, tokens) for ids, generated in zip(prompts, written, strict=True)]

    def _answer(self, prompt: tuple[int, ...], written: tuple[int, ...], tokens: int) -> Reply:
        room = self._lm.positions - len(prompt)
        if room <= 0:
            return Reply("", problem=f"the prompt has {len(prompt)} tokens; {self.key} reads at most {self._lm.positions}")
        ended = bool(written) and written[-1] in self._lm.generation.end_ids
        if len(written) == room < tokens and not ended:
            return Reply(
                "",
                len(written),
                f"the answer was cut off after {room} tokens: with the prompt they are the {self._lm.positions} that "
                f"{self.key} reads",
            )
        # Without the end of text: only an answer that the cap cut off has as many tokens as the cap.
        return Reply.of_text(self._lm.decode(list(written)), len(written) - ended)


def _failed(error: Exception) -> Reply:
    from heval_core.lm.budget import first_line

    return Reply("", problem=first_line(error))


class CachedSpeaker:
    """A speaker in front of another one, which is asked nothing twice.

    file: made with the first answer; FILE in the folder of a store, usually. requests: how many prompts it got.
    """

    def __init__(self, speaker: Speaker, file: Path):
        self._speaker, self._file = speaker, file
        self._answering = threading.Lock()
        self._known = dict(_stored(file, speaker.key))
        self.requests = 0

    @property
    def key(self) -> str:
        return self._speaker.key

    @property
    def identity(self) -> str:
        return self._speaker.identity

    @property
    def problems(self) -> Collection[str]:
        """Of the other one, where it has any; see `Server`."""
        return getattr(self._speaker, "problems", ())

    def answer(self, prompts: Sequence[str], tokens: int) -> list[Reply]:
        """See `Speaker.answer`. A prompt that occurs several times is asked once."""
        marks = [self._mark(prompt, tokens) for prompt in prompts]
        with self._answering:
            new = {mark: prompt for mark, prompt in zip(marks, prompts, strict=True) if mark not in self._known}
            results, waiting = dict[str, Reply](), list(new)
            for start in range(0, len(waiting), PORTION):
                portion = waiting[start : start + PORTION]
                self.requests += len(portion)
                answers = self._speaker.answer([new[mark] for mark in portion], tokens)
                results |= zip(portion, answers, strict=True)
                good = {mark: results[mark] for mark in portion if not results[mark].problem}
                self._known |= good
                lines = [
                    {"asked": mark, "speaker": self.key, "text": answer.text, "tokens": answer.tokens}
                    for mark, answer in good.items()
                ]
                with _WRITING:
                    append_lines(self._file, lines)
            return [results.get(mark) or self._known[mark] for mark in marks]

    def _mark(self, prompt: str, tokens: int) -> str:
        request = json.dumps([self.identity, prompt, tokens])  # escaped, so that any text can be hashed
        return hashlib.sha256(request.encode()).hexdigest()[:32]


def _stored(file: Path, speaker: str) -> Iterator[tuple[str, Reply]]:
    """Yield what is saved of one speaker. A line of another form is passed over."""
    for entry in read_lines(file):
        try:
            if entry["speaker"] == speaker and isinstance(entry["text"], str):
                yield str(entry["asked"]), Reply(entry["text"], entry["tokens"])
        except (LookupError, TypeError):
            continue
