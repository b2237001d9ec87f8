"""A speaker that asks nothing twice: every answer is appended to a file, and read from there the next time.

The file has a JSON object a line: `asked`, a hash of the speaker's identity, the prompt and the cap on tokens; `speaker`, its
key; `text`; `tokens`. Lines are only ever appended, and synced. An incomplete last line, after a crash, is passed over.
Answers with a problem are not kept: the next run asks again. One process writes a file at a time, from any of its threads.
"""

from __future__ import annotations

import hashlib
import json
import threading
from collections.abc import Collection, Iterator, Sequence
from pathlib import Path

from heval_core.citations.speaker import Answer, Speaker
from heval_core.store.shards import append_lines

FILE = "answers.jsonl"
# So many prompts are asked before their answers are written: what a killed run loses.
PORTION = 64
_WRITING = threading.Lock()  # several speakers may share a file


class Remembering:
    """A speaker in front of another one. file: made with the first answer; FILE in the folder of a store, usually.

    asked: how many prompts the other one was asked so far.
    """

    def __init__(self, speaker: Speaker, file: Path):
        self._speaker, self._file = speaker, file
        self._answering = threading.Lock()
        self._known = dict(_stored(file, speaker.key))
        self.asked = 0

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

    def answer(self, prompts: Sequence[str], tokens: int) -> list[Answer]:
        """See `Speaker.answer`. A prompt that occurs several times is asked once."""
        marks = [self._mark(prompt, tokens) for prompt in prompts]
        with self._answering:
            new = {mark: prompt for mark, prompt in zip(marks, prompts, strict=True) if mark not in self._known}
            failed: dict[str, Answer] = {}
            waiting = list(new)
            for start in range(0, len(waiting), PORTION):
                portion = waiting[start : start + PORTION]
                self.asked += len(portion)
                answers = self._speaker.answer([new[mark] for mark in portion], tokens)
                told = dict(zip(portion, answers, strict=True))
                failed |= {mark: answer for mark, answer in told.items() if answer.problem}
                self._keep({mark: answer for mark, answer in told.items() if not answer.problem})
            return [failed[mark] if mark in failed else self._known[mark] for mark in marks]

    def _keep(self, answers: dict[str, Answer]) -> None:
        self._known |= answers
        lines = [
            {"asked": mark, "speaker": self.key, "text": answer.text, "tokens": answer.tokens}
            for mark, answer in answers.items()
        ]
        with _WRITING:
            append_lines(self._file, lines)

    def _mark(self, prompt: str, tokens: int) -> str:
        asked = json.dumps([self.identity, prompt, tokens])  # escaped, so that any text can be hashed
        return hashlib.sha256(asked.encode()).hexdigest()[:32]


def _stored(file: Path, speaker: str) -> Iterator[tuple[str, Answer]]:
    """What is kept of one speaker. A line that is incomplete, or of another form, is passed over."""
    if not file.is_file():
        return
    with file.open("rb") as lines:
        for line in lines:
            try:
                kept = json.loads(line)
                if kept["speaker"] == speaker and isinstance(kept["text"], str):
                    yield str(kept["asked"]), Answer(kept["text"], kept["tokens"])
            except (ValueError, LookupError, TypeError):
                continue
