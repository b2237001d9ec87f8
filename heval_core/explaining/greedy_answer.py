"""An answer after its prompt, as the model's own tokens: written greedily, one by one, or given word for word.

The ids are never decoded and encoded again: text is made of them only to be read. Writing stops at the end of text, where the
layout's next question or example would begin, and where the text only repeats itself; what was written beyond that is cut off.
*Rival* of a word: of the model's first five choices for it, the likeliest other one that begins a word of a document.
"""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate, islice
from typing import TYPE_CHECKING, Any, NamedTuple

from heval_core.explainers.shared.left_out import units
from heval_core.lm.chat import answers_bare
from heval_core.lm.clean_pass import CleanPass
from heval_core.lm.control import control_tokens_in, notes
from heval_core.lm.targets import in_float64
from heval_core.prompting.prompts import stops_of
from heval_core.prompting.units import Unit, indices_in, units_of
from heval_core.records import HEvalError, Span, Target, TokenisedPrompt
from heval_core.records.vocabulary import FUNCTION_WORDS

if TYPE_CHECKING:
    from heval_core.lm.model import LanguageModel

# A loop: the same tokens so many times in a row, which are at least so many tokens.
TIMES, LOOP = 3, 12
# So many of the model's first choices for a word may be its rival.
CHOICES = 5
# A token of less probability is named: the model would never write it.
IMPROBABLE = 1e-12
# So many of the prompt's last tokens are decoded with an answer, because a tokenizer may drop the space at a text's beginning.
_BEFORE = 8
_PART = "\ufffd"  # stands for a part of a character


class Rival(NamedTuple):
    """A word of the documents that the model might have said. token: its first one."""

    text: str
    token: int


@dataclass(frozen=True, eq=False)
class GreedyAnswer:
    """An answer of m tokens. tokens: their texts, which together spell it; of a character in several tokens the first has all
    of it. probabilities: each given all before it. stopped: why no more was written; empty while it is being written. given:
    whether somebody else wrote it."""

    prompt: TokenisedPrompt
    ids: tuple[int, ...]
    tokens: tuple[str, ...]
    probabilities: tuple[float, ...]
    stopped: str = ""
    given: bool = False

    @functools.cached_property
    def text(self) -> str:
        return "".join(self.tokens)

    @functools.cached_property
    def starts(self) -> list[int]:
        """Where each token begins in the text, and the last one ends."""
        return [0, *accumulate(map(len, self.tokens))]

    @functools.cached_property
    def words(self) -> tuple[Unit, ...]:
        """Spans of tokens; between them lies white space."""
        units = units_of(self.tokens, [""] * len(self.tokens), "word")
        return tuple(unit for unit in units if unit.text(self.tokens).strip())

    @functools.cached_property
    def sentences(self) -> tuple[Unit, ...]:
        """Spans of tokens, without gaps: white space belongs to the sentence before it."""
        return units_of(self.tokens, [""] * len(self.tokens), "sentence")

    def span(self, words: Sequence[Unit]) -> Span:
        """Return the span of some words in a row; whole sentences have the white space behind them."""
        first, last = indices_in([words[0], words[-1]], self.sentences)
        inside = indices_in(self.words, self.sentences)
        if len(words) > 1 and sum((inside >= first) & (inside <= last)) == len(words):
            return Span(self.sentences[first].start, self.sentences[last].end)
        return Span(words[0].start, words[-1].end)

    @property
    def whole(self) -> TokenisedPrompt:
        """The prompt with the answer, as far as it is read: the last token is only expected. The answer is never ranked."""
        return self.prompt.followed_by(self.ids[:-1], self.tokens[:-1])

    def after(self, first: CleanPass) -> CleanPass:
        """Return the pass over the prompt with the answer. first: that over the prompt."""
        return CleanPass(first.lm, [self.whole], before=first) if len(self.ids) > 1 else first

    @property
    def target(self) -> Target:
        """All tokens of the answer, each at its own position."""
        start = len(self.prompt.ids)
        return Target(tuple(range(start - 1, start - 1 + len(self.ids))), self.ids)

    def rivals(self, values: Any) -> dict[int, Rival]:
        """Return first token ▶ rival, of each word that has one. values: (m, V) log-probabilities."""
        prompt, begins = self.prompt, dict[int, Rival]()
        for unit in units(prompt, "word") if prompt.documents else ():
            text, first = unit.text(prompt.tokens).strip(), prompt.tokens[unit.start].strip()  # a space begins any word
            if first and text[:1].isalnum() and text.lower() not in FUNCTION_WORDS:
                begins.setdefault(prompt.ids[unit.start], Rival(text, prompt.ids[unit.start]))
        rivals = dict[int, Rival]()
        for word in self.words:
            word_text, word_id = word.text(self.tokens).strip().lower(), self.ids[word.start]
            likely = [begins[choice] for choice in values[word.start].topk(CHOICES).indices.tolist() if choice in begins]
            rival = next((other for other in likely if other.token != word_id and other.text.lower() != word_text), None)
            if rival and word_text[:1].isalnum() and word_text not in FUNCTION_WORDS:
                rivals[word.start] = rival
        return rivals

    @property
    def notes(self) -> list[str]:
        """What a reader should know: tokens that the model would never write, and a character that is not whole."""
        named = zip(self.tokens, self.probabilities, strict=True)
        notes = [*self.prompt.notes] + [
            f"{token.strip()!r} has a probability of {probability:.0e}: the model would never write it."
            for token, probability in named
            if probability < IMPROBABLE
        ]
        if self.stopped and self.text.endswith(_PART):
            notes.append("The answer ends within a character: its other bytes were not written.")
        return notes


def write(clean: CleanPass, most: int, question: str) -> Iterator[GreedyAnswer]:
    """Yield the model's greedy answer to the prompt of a pass: as it grows, token by token, and at last the finished one.

    most: tokens. Raises HEvalError where nothing can be written, or where nothing is: no token, or none that is a word.
    """
    lm, (prompt,) = clean.lm, clean.prompts
    room = min(most, lm.positions - len(prompt.ids))
    if room < 1:
        raise HEvalError(
            f"There is no room for an answer of {most} tokens: {lm.key} reads at most {lm.positions}, and the prompt has "
            f"{len(prompt.ids)}."
        )
    stops, spell = stops_of(lm.template, question), speller(lm, prompt)
    ids, probabilities = list[int](), list[float]()
    stopped = f"{room} tokens were written" if room == most else f"{lm.key} reads no more than {lm.positions} tokens"
    for token_id, probability in islice(lm.forward.greedy(clean.ids, clean.prefix), room + 1):
        if token_id in lm.generation.end_ids:
            stopped = "the model ended it"
            break
        if len(ids) == room:
            break
        ids.append(token_id)
        probabilities.append(probability)
        tokens = spell(ids)
        end = _up_to_stop(tokens, stops)
        if end is None and (looped := _loop(ids)):
            end, stopped = len(ids) - looped, "the text only repeated itself from there on"
        elif end is not None:
            stopped = "the next question would begin there"
        if end is not None:
            del ids[end:], probabilities[end:]
            break
        yield GreedyAnswer(prompt, tuple(ids), tokens, tuple(probabilities))
    written = GreedyAnswer(prompt, tuple(ids), spell(ids), tuple(probabilities), stopped)
    if not written.text.strip():
        what = "only special tokens or white space" if written.ids else "nothing"
        raise HEvalError(
            f"{lm.key} writes {what} in answer to this prompt; ask otherwise, try another layout (--template), or give an "
            "answer (--answer-text)."
        )
    yield written


def given(clean: CleanPass, text: str) -> GreedyAnswer:
    """Return an answer that somebody else wrote, after the prompt of a pass.

    Raises HEvalError where it is empty or too long.
    """
    lm, (prompt,) = clean.lm, clean.prompts
    answer = ("" if answers_bare(lm.tokenizer, prompt.text) else " ") + text.strip()
    ids = lm.encode_after(prompt.text, answer, prompt.template)
    if len(prompt.ids) + len(ids) - 1 > lm.positions:
        raise HEvalError(
            f"The prompt and its answer have {len(prompt.ids) + len(ids)} tokens; {lm.key} reads at most {lm.positions}."
        )
    spelt = notes(control_tokens_in(text, lm.tokenizer))
    prompt = dataclasses.replace(prompt, notes=tuple(dict.fromkeys((*prompt.notes, *spelt))))
    written = GreedyAnswer(prompt, ids, speller(lm, prompt)(ids), (), "it was given", True)
    if not written.text.strip():
        raise HEvalError("The answer is empty; write one, or let the model write (--generate).")
    logprobs = in_float64(written.after(clean).logits_at(written.target.positions)[0]).log_softmax(-1)
    probabilities = [float(row[token_id].exp()) for row, token_id in zip(logprobs, ids, strict=True)]
    return dataclasses.replace(written, probabilities=tuple(probabilities))


def speller(lm: LanguageModel, prompt: TokenisedPrompt) -> Callable[[Sequence[int]], tuple[str, ...]]:
    """Return a function: the ids of an answer to this prompt ▶ the text of each."""

    @functools.cache
    def decoded(ids: tuple[int, ...]) -> str:
        before = [*prompt.ids[-_BEFORE:], *ids]
        return str(lm.tokenizer.decode(before, skip_special_tokens=True, clean_up_tokenization_spaces=False))

    start = decoded(())

    def spell(ids: Sequence[int]) -> tuple[str, ...]:
        texts, begun, end = [""] * len(ids), 0, len(start)
        for index in range(len(ids)):
            text = decoded(tuple(ids[: index + 1]))
            if not text.endswith(_PART) or index == len(ids) - 1:
                texts[begun], begun, end = text[end:], index + 1, len(text)
        return tuple(texts)

    return spell


def _up_to_stop(tokens: Sequence[str], stops: Sequence[str]) -> int | None:
    """Return how many tokens stand before the first of some stops; None where there is none.

    A token that has other text before the stop stays too.
    """
    text = "".join(tokens)
    positions = [text.find(stop) for stop in stops if stop in text]
    if not positions:
        return None
    ends = list(accumulate(map(len, tokens)))
    count = next(index for index, end in enumerate(ends) if end > min(positions))
    begun = ends[count] - len(tokens[count])
    return count + bool(text[begun : min(positions)].strip())


def _loop(ids: Sequence[int]) -> int:
    """Count the tokens at the end that only repeat what is before them; 0 where the text does not go round."""
    for length in range(1, len(ids) // TIMES + 1):
        times = max(TIMES, -(-LOOP // length))
        if list(ids[-times * length :]) == list(ids[-length:]) * times:
            return (times - 1) * length
    return 0
