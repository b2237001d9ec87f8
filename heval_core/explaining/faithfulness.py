"""Faithfulness: does the answer need the tokens an explanation points at, and are they enough?

Formula (Sun et al. 2025, A.24-A.25; DeYoung et al. 2020): comprehensiveness = mean over K of log p(a|x) - log p(a|x without
the k best tokens); sufficiency = mean over K of log p(a|x) - log p(a|x with only the k best tokens kept). In nats of the
answer's first token. Higher comprehensiveness and lower sufficiency are better.
K: 1 to 5 tokens for prompts under 64 tokens, else 1 % to 5 % of them, rounded up. Tokens are taken out in each of three ways,
and the value is the mean over these: `baseline`, the token that fa ablates with, which alone would favour fa; `drawn`, a token
drawn by its frequency in the language; `deletion`, no token, so that later ones move up. The best tokens have the highest
scores; equal ones come in an order that the prompt's ids draw, so that explainers of whole documents get what chance gives
within them. A BOS and a chat template are neither ranked nor taken out. If deletion leaves none, the baseline stands alone.
Frequencies (our decision) are counted in the model's own tokens, over the package's English passages and questions about
every state. They depend on the tokenizer alone, so a prompt gets the same tokens in a batch, in a shard of another size, and
by itself; counted over a prompt's own dataset, they would depend on what else was asked. The draw is seeded by the prompt's
ids: one token for each position, the same for every explainer, and never the original token.
Reference: arXiv 2510.02629. Options: `replacements` names some of the three. With `protect_question` only tokens of the
documents, padding included, are ranked, taken out and kept, and K is of their number: instruction, question and answer lead
stay, in both measures. Without it any score that prefers late tokens does well: no answer survives without the question's end.
Departure: the paper masks in one way. Its Table B.3 has values up to 2,500, which log-probabilities of single tokens cannot
reach; do not compare ours with them. Chance: the random control's value on the same instances.
Cost: 2 |K| = 10 forward passes over the prompt for each way and explainer, five of them short with deletion. Rows of equal
length run together, whatever prompt they come from.
"""

from __future__ import annotations

import hashlib
import math
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple
from weakref import WeakKeyDictionary

import numpy as np

from heval_core.metrics.shared.measured import aopc
from heval_core.plugins import catalogue
from heval_core.prompting.units import passages_of
from heval_core.records import BASELINE, REPLACEMENTS, Fact, HEvalError

if TYPE_CHECKING:
    from heval_core.lm.clean_pass import CleanPass
    from heval_core.lm.model import LanguageModel
    from heval_core.records import TokenisedPrompt

LEVELS = 5
SHORT = 64
# At most so many rows in one pass, however short: each has logits over the whole vocabulary.
MOST_ROWS = 256
# Draws for each position. With a language's frequencies they never all equal the original token.
TRIES = 32

_known: WeakKeyDictionary[LanguageModel, tuple[np.ndarray, np.ndarray]] = WeakKeyDictionary()


class Faithful(NamedTuple):
    """One prompt under one replacement, in nats. masked, kept: the loss of log-probability at each level of K;
    comprehensiveness and sufficiency are their means."""

    replacement: str
    comprehensiveness: float
    sufficiency: float
    masked: tuple[float, ...]
    kept: tuple[float, ...]


def levels(tokens: int) -> tuple[int, ...]:
    """Return how many tokens are masked or kept at each level, for a prompt, or a protected prompt's context, of `tokens`
    tokens.

    >>> levels(40), levels(150)
    ((1, 2, 3, 4, 5), (2, 3, 5, 6, 8))
    """
    if tokens < SHORT:
        return tuple(range(1, LEVELS + 1))
    return tuple(math.ceil(tokens * percent / 100) for percent in range(1, LEVELS + 1))


@dataclass(frozen=True)
class Faithfulness:
    protect_question: bool = False
    replacements: tuple[str, ...] = REPLACEMENTS
    baseline: str = BASELINE

    def check(self) -> None:
        """Raise HEvalError for an unknown replacement, or none."""
        if not self.replacements or not set(self.replacements) <= set(REPLACEMENTS):
            raise HEvalError(f"Faithfulness has no replacements {self.replacements!r}; there are: {', '.join(REPLACEMENTS)}.")

    def measure(self, clean: CleanPass, targets: Sequence[int], scores: Sequence[np.ndarray]) -> list[tuple[Faithful, ...]]:
        """Measure the faithfulness of every prompt of a clean pass, one record per replacement.

        targets: (B,) the answers' first tokens. scores: B of (n,). A prompt of which nothing may be taken out, such as one
        without documents whose question is protected, has no records.
        """
        self.check()
        target_ids = np.asarray(list(targets))
        changed = [
            (index, row) for index, score in enumerate(scores) for row in self._changed(clean.lm, clean.prompts[index], score)
        ]
        after = _log_probabilities(clean.lm, [row for _, row in changed], target_ids[[index for index, _ in changed]])
        before = clean.logits.log_softmax(-1).cpu().numpy()[np.arange(clean.size), target_ids]
        lost = before[:, None].astype(np.float64) - after.reshape(clean.size, -1)
        return [
            tuple(
                _faithful(name, part)
                for name, part in zip(self.replacements, np.split(losses, len(self.replacements)), strict=True)
            )
            if self._free(prompt).any()
            else ()
            for prompt, losses in zip(clean.prompts, lost, strict=True)
        ]

    def _changed(self, lm: LanguageModel, prompt: TokenisedPrompt, scores: np.ndarray) -> Iterator[np.ndarray]:
        """Yield the prompt's ids, for each replacement: without the k best for every k, then with the k best only."""
        ids, free, best = np.array(prompt.ids), self._free(prompt), self.best(prompt, scores)
        chosen = np.zeros((LEVELS, len(ids)), dtype=bool)
        count = int(free.sum()) if self.protect_question else len(ids)
        for row, size in zip(chosen, levels(count), strict=True):
            row[best[:size]] = True
        taken = np.concatenate([chosen, free & ~chosen])
        baseline = lm.baseline(self.baseline)
        for name in self.replacements:
            if name == "deletion":
                yield from (ids[~out] if not out.all() else np.array([baseline]) for out in taken)
            else:
                yield from np.where(taken, baseline if name == "baseline" else sampled_tokens(lm, ids), ids)

    def _free(self, prompt: TokenisedPrompt) -> np.ndarray:
        """Return which tokens may be taken out, (n,) bool."""
        ranked = np.zeros(len(prompt.ids), dtype=bool)
        ranked[prompt.ranked.start : prompt.ranked.stop] = True
        if not self.protect_question:
            return ranked
        context = np.zeros_like(ranked)
        for passage in passages_of(prompt):
            context[passage.start : passage.end] = True
        # A token may cover the end of a document and the start of the question.
        context[prompt.question.start : prompt.question.end] = False
        return ranked & context

    def best(self, prompt: TokenisedPrompt, scores: np.ndarray) -> np.ndarray:
        """Order the indices of the tokens that may be taken out by falling score; equal ones by their `turns`."""
        candidates = np.flatnonzero(self._free(prompt))
        return candidates[np.lexsort((turns(np.array(prompt.ids))[candidates], -np.asarray(scores)[candidates]))]


def _log_probabilities(lm: LanguageModel, rows: Sequence[np.ndarray], targets: np.ndarray) -> np.ndarray:
    """Compute the log-probability of each row's target as the next token, (R,); rows of equal length run together."""
    import torch

    by_length: dict[int, list[int]] = defaultdict(list)
    for index, row in enumerate(rows):
        by_length[len(row)].append(index)
    out = np.empty(len(rows))
    for length, indices in by_length.items():
        size = min(MOST_ROWS, lm.budget.batch_size(length))
        for start in range(0, len(indices), size):
            batch = indices[start : start + size]
            logits = lm.forward.logits(torch.from_numpy(np.stack([rows[index] for index in batch])).to(lm.device))
            target_ids = torch.from_numpy(targets[batch]).to(lm.device)[:, None]
            out[batch] = (logits.gather(1, target_ids)[:, 0] - logits.logsumexp(-1)).cpu().numpy()
    return out


def _faithful(replacement: str, lost: np.ndarray) -> Faithful:
    masked, best_alone = lost.reshape(2, -1)
    means = (float(aopc(0.0, -masked)), float(aopc(0.0, -best_alone)))
    return Faithful(replacement, *means, tuple(masked.tolist()), tuple(best_alone.tolist()))


def frequencies(lm: LanguageModel) -> tuple[np.ndarray, np.ndarray]:
    """Count token ids, ascending, and the share of each in the package's own passages and questions."""
    if lm not in _known:
        facts = [fact for fact in catalogue.find("dataset", "country_profiles").facts() if isinstance(fact, Fact)]
        texts = dict.fromkeys(text for fact in facts if fact.own for text in (fact.own.text, fact.question))
        tokenised = lm.tokenizer(list(texts), add_special_tokens=False).input_ids
        counts = Counter(token for ids in tokenised for token in ids)
        ids = np.array(sorted(counts))
        shares = np.array([counts[token] for token in ids.tolist()], dtype=np.float64)
        _known[lm] = ids, shares / shares.sum()
    return _known[lm]


def sampled_tokens(lm: LanguageModel, ids: np.ndarray) -> np.ndarray:
    """Sample (n,) other ids for the (n,) ids of a prompt, one for each position, by frequency; the same for the same
    prompt.
    """
    known, shares = frequencies(lm)
    draws = _generator(ids).choice(known, size=(TRIES, len(ids)), p=shares)
    first = np.argmax(draws != ids, axis=0)
    return np.asarray(draws[first, np.arange(len(ids))])


def turns(ids: np.ndarray) -> np.ndarray:
    """Order the (n,) ids of a prompt among equal scores ▶ (n,) whose turn comes first; the same for the same prompt."""
    return _generator(ids).permutation(len(ids))


def _generator(ids: np.ndarray) -> np.random.Generator:
    digest = hashlib.sha256(np.ascontiguousarray(ids, dtype="<i8").tobytes()).digest()
    return np.random.default_rng(int.from_bytes(digest[:8], "little"))
