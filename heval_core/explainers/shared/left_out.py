"""Prompts without some of their tokens, and what the model then says of the answer and of its competitor.

The tokens are deleted, not masked: a prompt without its only document is the memory prompt. What is left is tokenised as the
text that it is: `(Lima.) Q` may be other tokens than those of a longer text, and the first word behind what is gone is that of
a new text. What begins a text, or stands behind what a layout writes before documents, loses white space of its own; where a
token that is gone held a space behind it (`.` and two line breaks are one token in many models), that space stays, and so
does what the layout wrote of a token.
Reference: leave-one-out of whole documents, as in RAG-E and AttriBoT; of any set of units, as in ContextCite (2409.00729).
Cost: one forward pass for each prompt that lacks something, from the first token on that changes; those of equal length run
together, within the budget of tokens.
"""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Iterator, Sequence
from itertools import accumulate, count, pairwise
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from heval_core.prompting.units import Matrix, Unit, passages_of, units_of
from heval_core.records import HEvalError, Span, Target, TokenisedPrompt

if TYPE_CHECKING:
    import torch

    from heval_core.lm.clean_pass import CleanPass
    from heval_core.lm.model import LanguageModel

Units = Sequence[Unit]
Variant = tuple[tuple[int, ...], tuple[int, ...]]
# Logits in one pass: 256 MB of them.
MOST_LOGITS = 2**26
_NO_SPACE = re.compile(r"\S|$")


def units(prompt: TokenisedPrompt, level: str = "document", target: Target | None = None) -> tuple[Unit, ...]:
    """Return the units of a prompt's documents that can be left out: `document`, `sentence`, `word` or `token`.

    Padding counts as documents: whoever explains a long prompt is not told which of its passages matter. Units end before the
    first position at which a target is read, so that what is explained stays there. Where no documents are marked, sentences
    stand for documents: all that come before the last sentence of the question.
    """
    spans = [span for span in passages_of(prompt) if span.end > span.start]
    if not spans:
        spans, level = _before_the_question(prompt), "sentence" if level == "document" else level
    removable = []
    n = len(prompt.ids)
    first = min(position % n for position in target.positions) if target else n
    cut = [Span(span.start, min(span.end, first)) for span in spans if span.start < first]
    for number, span in enumerate(cut):
        of_span = units_of(prompt.tokens[span.start : span.end], [f"document {number + 1}"] * (span.end - span.start), level)
        removable += [unit.moved(span.start) for unit in of_span]
    return tuple(removable)


def units_of_each(clean: CleanPass, targets: Sequence[Target], level: str = "document") -> list[Units]:
    """Return the units of each prompt of a pass."""
    return [units(prompt, level, target) for prompt, target in zip(clean.prompts, targets, strict=True)]


def scores_of(clean: CleanPass, units: Sequence[Units], values: Sequence[Sequence[float] | np.ndarray]) -> np.ndarray:
    """Spread the units' values over their tokens: (B, n) float32. Tokens of no unit have 0."""
    scores = np.zeros((clean.size, clean.length), dtype=np.float32)
    for row, in_prompt, of_units in zip(scores, units, values, strict=True):
        for unit, value in zip(in_prompt, of_units, strict=True):
            row[unit.start : unit.end] = value
    return scores


def _before_the_question(prompt: TokenisedPrompt) -> list[Span]:
    """Return what precedes the last sentence of a question, in pieces: the text before the question, and the
    question's own.
    """
    span = prompt.question
    *earlier, _ = units_of(prompt.tokens[span.start : span.end], [""] * (span.end - span.start), "sentence") or (None,)
    pieces = [Span(prompt.first_ranked, span.start), *(unit.moved(span.start) for unit in earlier)]
    return [piece for piece in pieces if piece.end > piece.start]


def effects(clean: CleanPass, targets: Sequence[Target], units: Sequence[Units]) -> list[np.ndarray]:
    """Compute E of each unit, left out by itself: (U,) float64 for each prompt. Raises HEvalError as `logprobs_without`."""
    with_all = logprobs_at(clean.logits_of(targets), targets)
    without = logprobs(clean, targets, [[(unit,) for unit in of_prompt] for of_prompt in units])
    return [lead(whole.logprobs.sum(-1) - without_each) for whole, without_each in zip(with_all, without, strict=True)]


def lead(given: np.ndarray) -> np.ndarray:
    """Compute E = D_a - max(0, D_b), (U,), from (U, 2) D_a and D_b: what a unit gives the answer, less what it gives the
    competitor.

    D_t = log p(t | x) - log p(t | x without the unit); D_b is 0 where a target has no foil.
    """
    return given[:, 0] - np.maximum(0, given[:, 1])


def logprobs(clean: CleanPass, targets: Sequence[Target], left_out: Sequence[Sequence[Units]]) -> list[np.ndarray]:
    """Compute log p of each target's tokens together, and of its foils, in each of V variants: (V, 2) float64 for
    each prompt.
    """
    return [answer.logprobs.sum(-1) for answer in logprobs_without(clean, targets, left_out)]


class TargetLogprobs(NamedTuple):
    """The log-probabilities at the P positions of a target, in V variants of a prompt.

    logprobs: (V, 2, P) float64, log p of the target's tokens and of its foils; 0 for foils that it does not have. likeliest:
    (V, P) the token that the model expects most.
    """

    logprobs: np.ndarray
    likeliest: np.ndarray


def logprobs_without(clean: CleanPass, targets: Sequence[Target], left_out: Sequence[Sequence[Units]]) -> list[TargetLogprobs]:
    """Compute the log-probabilities of each prompt's target in variants of the prompt that lack some units.

    left_out: for each prompt and variant the units that it lacks. The positions of a target stay with their tokens.
    Raises HEvalError where a unit holds such a position, and where logits are not finite.
    """
    return logprobs_in(
        clean,
        targets,
        [
            [without(clean.lm, prompt, removed, target.positions) for removed in variants]
            for prompt, target, variants in zip(clean.prompts, targets, left_out, strict=True)
        ],
    )


def lost(clean: CleanPass, target: Target, units: Units, level: str) -> Matrix:
    """Compute the nats that each token of an answer loses without each of some units. clean: of one prompt."""
    (whole,), (without,) = (logprobs_without(clean, [target], [variants]) for variants in ([()], [(unit,) for unit in units]))
    # What the model would not write with all of them either cannot change.
    changed = (whole.likeliest == target.ids) & (without.likeliest != whole.likeliest)
    return Matrix(level, tuple(units), (whole.logprobs - without.logprobs)[:, 0].astype(np.float32), changed)


def without_earlier(clean: CleanPass, target: Target, words: Units) -> np.ndarray:
    """Compute log p of each token of an answer without the answer's words before its own, (m,) float64, of all these words
    together.

    A word then follows the prompt directly, so that all of them cost little more than one pass over the answer. Words of equal
    length run together, as many as the budget holds whole prompts: their keys and values are copied for each.
    """
    import torch

    from heval_core.lm.targets import in_float64, values_of_each

    lm, last = clean.lm, target.positions[0]
    start = last if clean.prefix.layers else 0
    prompt, columns = clean.prompts[0].ids[start : last + 1], [word.indices for word in words]

    def work(indices: list[int], _: int) -> torch.Tensor:
        some = [columns[index] for index in indices]
        ids = torch.tensor([prompt + target.ids[word.start : word.stop - 1] for word in some], device=lm.device)
        read = range(last, last + len(some[0]))
        with torch.no_grad():
            logits = lm.forward.suffix_logits(clean.prefix, start, ids, read, [0] * len(some))
        parts = [target.part(word) for word in some]
        return values_of_each(in_float64(lm.forward.checked(logits)), parts, "logprob").cpu()

    logprobs_alone = np.zeros(len(target.ids))
    logprobs = lm.budget.longest_first([last + len(word) for word in columns], work, alike=True)
    for word, values in zip(columns, logprobs, strict=True):
        logprobs_alone[word.start : word.stop] = values.numpy()
    return logprobs_alone


def logprobs_in(clean: CleanPass, targets: Sequence[Target], variants: Sequence[Sequence[Variant]]) -> list[TargetLogprobs]:
    """Compute the log-probabilities of each prompt's target in other prompts.

    variants: their ids, and where each reads the target.
    """
    import torch

    lm = clean.lm
    answers = [
        TargetLogprobs(np.zeros((len(of_prompt), 2, len(target.ids))), np.zeros((len(of_prompt), len(target.ids)), dtype=int))
        for of_prompt, target in zip(variants, targets, strict=True)
    ]
    alike: dict[tuple[int, tuple[int, ...]], list[_Waiting]] = {}
    for row, prompt_variants in enumerate(variants):
        for number, (ids, positions) in enumerate(prompt_variants):
            first = min(_first_changed(clean.prompts[row].ids, ids), *(position % len(ids) for position in positions))
            alike.setdefault((len(ids), positions), []).append(_Waiting(first, row, number, ids))
    for (length, positions), waiting in alike.items():
        together = max(1, min(lm.budget.batch_size(length), MOST_LOGITS // (lm.vocabulary * len(positions))))
        for batch in _batches(waiting, together, length):
            rows = [one.row for one in batch]
            start = batch[0].first if clean.prefix.layers else 0
            with torch.no_grad():
                suffixes = torch.tensor([one.ids[start:] for one in batch], device=lm.device)
                logits = lm.forward.suffix_logits(clean.prefix, start, suffixes, positions, rows)
            values = logprobs_at(lm.forward.checked(logits), [targets[row] for row in rows])
            for one, value in zip(batch, values, strict=True):
                answers[one.row].logprobs[one.number], answers[one.row].likeliest[one.number] = value
    return answers


class _Waiting(NamedTuple):
    """A variant of a prompt (row) that is still to be run. first: from which token on."""

    first: int
    row: int
    number: int
    ids: tuple[int, ...]


def _batches(waiting: list[_Waiting], together: int, length: int) -> Iterator[list[_Waiting]]:
    """Yield variants that run together, from the first token of the earliest on: none that would repeat a quarter for it."""
    batch: list[_Waiting] = []
    for one in sorted(waiting):
        if batch and (len(batch) == together or one.first - batch[0].first > length / 4):
            yield batch
            batch = []
        batch.append(one)
    yield batch


def _first_changed(ids: Sequence[int], others: Sequence[int]) -> int:
    """Count the first tokens that two prompts share."""
    return next((index for index, (one, other) in enumerate(zip(ids, others, strict=False)) if one != other), len(others))


def logprobs_at(logits: torch.Tensor, targets: Sequence[Target]) -> list[TargetLogprobs]:
    """Read log p (2, P) of each target's tokens and foils, and the likeliest tokens (P,), from (b, P, V) logits of b
    prompts.
    """
    from heval_core.lm.targets import in_float64, values_of_each

    answers = []
    for row, target in zip(logits, targets, strict=True):  # one by one: in float64 they are large
        exact = in_float64(row)[None]
        foils = dataclasses.replace(target, ids=target.foils or target.ids)
        values = np.concatenate([values_of_each(exact, [expected], "logprob").cpu().numpy() for expected in (target, foils)])
        values[1] *= bool(target.foils)
        answers.append(TargetLogprobs(values, row.argmax(-1).cpu().numpy()))
    return answers


def without(
    lm: LanguageModel, prompt: TokenisedPrompt, left_out: Units, positions: Sequence[int]
) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Return the ids of a prompt that lacks some units, and where some of its positions are now, counted from its end.

    These are the tokens of the text without the units, up to the first of the positions: what is read there, and all behind
    it, stays. Where other tokens would be read then, or the prompt's own are not those of its text, the units' are deleted and
    no other changes. Raises HEvalError where a unit holds one of the positions.
    """
    n = len(prompt.ids)
    read = {position % n for position in positions}
    removed = {index for unit in left_out for index in unit.indices}
    if overlap := sorted(removed & read):
        raise HEvalError(f"A part of the prompt that is left out holds position {overlap[0]}, at which the answer is read.")
    ids = tuple(token_id for index, token_id in enumerate(prompt.ids) if index not in removed)
    for end in (min(read) + 1, prompt.ranked.stop):  # tokens that a model said need not be those of their text
        tokenised = _tokenised(lm, prompt, removed, end) if max(removed, default=n) < end <= min(read) + 1 else None
        if tokenised:
            ids = tokenised + prompt.ids[end:]
            break
    return ids, tuple(position % n - n + sum(index > position % n for index in removed) for position in positions)


def _tokenised(lm: LanguageModel, prompt: TokenisedPrompt, removed: set[int], end: int) -> tuple[int, ...] | None:
    """Return the tokens up to `end` of the text without some; None if its last one, or the whole text's, would be others."""
    starts = list(accumulate(map(len, prompt.tokens), initial=len(prompt.text) - len("".join(prompt.tokens))))
    stay = _ranges(prompt, removed, starts, starts[end])
    whole, other = (_encoded(lm, prompt, ranges) for ranges in ([Span(0, starts[end])], stay))
    first = end - len(whole)  # behind what the tokenizer puts in front
    return prompt.ids[:first] + other if other[-1:] == whole[-1:] and prompt.ids[first:end] == whole else None


def _encoded(lm: LanguageModel, prompt: TokenisedPrompt, ranges: Sequence[Span]) -> tuple[int, ...]:
    """Encode what some ranges of characters of a prompt spell together."""

    def moved(at: int) -> int:
        return sum(max(0, min(at, span.end) - span.start) for span in ranges)

    template = [Span(moved(span.start), moved(span.end)) for span in prompt.template]
    return lm.encode("".join(prompt.text[span.start : span.end] for span in ranges), template)


def _ranges(prompt: TokenisedPrompt, removed: set[int], starts: Sequence[int], end: int) -> list[Span]:
    """Return the characters that stay up to `end` where some tokens go. starts: where each token begins in the text."""
    passages = [span for span in passages_of(prompt) if span.end > span.start] or [Span(prompt.first_ranked, len(prompt.ids))]
    start, documents = passages[0].start, {index for span in passages for index in span.indices}
    for before, after in pairwise(sorted(removed)):  # white space between what goes goes too
        if removed >= documents or "".join(prompt.tokens[before + 1 : after]).isspace():
            removed = removed.union(range(before, after))
    text, ranges, behind = prompt.text, [], 0
    for first in sorted(index for index in removed if index - 1 not in removed):
        after = next(index for index in count(first) if index not in removed)
        stop, follows = starts[first], starts[after]
        for span in prompt.template:  # of a token that a document and the layout share
            stop = span.end if span.start <= stop < span.end else stop
            follows = span.start if span.start < follows <= span.end else follows
        spaces = next(_NO_SPACE.finditer(text, follows)).start() - follows
        if first == start:  # a text begins without white space of its own; a layout's stays if no document does
            follows += spaces if start == prompt.first_ranked or not removed >= documents else 0
        elif prompt.tokens[first - 1].isspace() and (spaces or after not in documents):
            stop -= len(prompt.tokens[first - 1])
        elif not spaces and not text[stop - 1].isspace():  # one token has the last sign and the space behind it
            follows -= len(text[stop:follows]) - len(text[stop:follows].rstrip())
        ranges.append(Span(behind, stop))
        behind = follows
    return [*ranges, Span(behind, end)]
