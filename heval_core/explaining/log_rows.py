"""Reads a row of a log: a model reads somebody's answer after the passages, word by word, and says what each rests on.

Passages are read in the log's order, their texts alone. One that says the same as another is read once; one with which prompt
and answer would be longer than the model reads is left out, and said to be. Cost: that of `answer_steps`, as a page has it:
few texts for the random level, sentences of passages that count.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from heval_core.explaining.answer import Answer
from heval_core.explaining.answer_steps import NOW, answer_steps
from heval_core.explaining.pipeline import Request
from heval_core.explaining.whole_answer import Wanted
from heval_core.logs.rows import LogRow
from heval_core.prompting.prompts import assemble
from heval_core.records import HEvalError, TokenisedPrompt
from heval_core.records.whole_answers import WholeAnswer

if TYPE_CHECKING:
    from heval_core.lm.model import LanguageModel
    from heval_core.plugins.protocols import Method

# Tokens that a prompt may have beside its passages' own: what parts them.
_MARGIN = 8


@dataclass(frozen=True)
class ReadRow:
    """What a reader made of a row. read: the passages' numbers, from 1, in the order of the answer's documents. unread: the
    others, and why."""

    answer: WholeAnswer
    read: tuple[int, ...]
    unread: dict[int, str]
    seconds: float


def read_row(lm: LanguageModel, row: LogRow, explainers: Sequence[Method], quick: bool = False) -> ReadRow:
    """Read a row, and explain its answer.

    Args:
        lm: the reader.
        row: with passages.
        explainers: of whole answers, beside leaving out passages and their sentences.
        quick: leave out the random level, sentences, and every explainer that takes more than a few passes.

    Raises:
        HEvalError: where the answer alone, or each passage, is longer than the model reads.
    """
    began = time.perf_counter()
    prompt, read, unread = _fitted(lm, row)
    wanted = Wanted(answer=row.answer, thrifty=True, earlier=False)
    for step, known in answer_steps(lm, prompt, row.question, explainers, wanted):
        if quick and step == f"{NOW}level":
            break
        generated = known
    names = tuple(row.passages[number - 1].name for number in read)
    answer = Answer(generated.by_sentence(), lm.template, names).record
    return ReadRow(answer, tuple(read), unread, time.perf_counter() - began)


def _fitted(lm: LanguageModel, row: LogRow) -> tuple[TokenisedPrompt, list[int], dict[int, str]]:
    """Return the prompt of the passages that fit, their numbers, and why others do not."""
    unread, first, different = dict[int, str](), dict[str, int](), list[int]()
    for number, passage in enumerate(row.passages, start=1):
        same = first.setdefault(" ".join(passage.text.split()), number)
        if not passage.text:
            unread[number] = "it is blank"
        elif same == number:
            different.append(number)
        else:
            unread[number] = f"it is the same as passage {same}"
    room = lm.positions - len(lm.encode(f" {row.answer}")) - len(_prompt(lm, row, ()).ids) - _MARGIN
    if room < 1:
        raise HEvalError(f"The answer and its question are longer than the {lm.positions:,} tokens that {lm.key} reads.")
    read = list[int]()
    for number in different:
        length = len(lm.encode(f" {row.passages[number - 1].text}")) + _MARGIN
        if length <= room:
            read.append(number)
            room -= length
        else:
            unread[number] = f"it does not fit into the {lm.positions:,} tokens that {lm.key} reads"
    if not read:
        raise HEvalError(f"No passage fits, with the answer, into the {lm.positions:,} tokens that {lm.key} reads.")
    return _prompt(lm, row, read), read, unread


def _prompt(lm: LanguageModel, row: LogRow, numbers: Sequence[int]) -> TokenisedPrompt:
    texts = tuple(row.passages[number - 1].text.strip() for number in numbers)
    request = Request(texts, row.question)
    return lm.tokenise(assemble(request.documents, (None,) * len(texts), request.question, lm.template), check_length=False)
