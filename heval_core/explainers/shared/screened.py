"""Feature ablation of the tokens that a cheaper look finds worth it; of the others it says less, and does not hide that.

`sentences:N`: each sentence is replaced as a whole first (the question's too); then each token of the N that an answer's
sentence loses most without. Any other sentence stays one unit: what it gives is known, not which of its tokens gives it.
`cgim:N`: each of the N tokens that Contrastive GIM scores highest for an answer's sentence; of the others nothing is known.
Reference: ours. `python -m benchmarks` compares both with all tokens.
Cost: a pass for each sentence, or Contrastive GIM; and one for each token chosen, over the rest of the prompt.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

from heval_core.explainers.shared.ablated import falls_of
from heval_core.explainers.shared.left_out import units
from heval_core.prompting.units import Matrix, Unit
from heval_core.records import Cost, HEvalError, Span, Target

if TYPE_CHECKING:
    from heval_core.explainers.shared.ablated import Measure
    from heval_core.lm.clean_pass import CleanPass

SENTENCES, CGIM = "sentences", "cgim"
# Of a sentence, for estimating what a screen costs.
TOKENS = 16


def parsed(screen: str) -> tuple[str, int]:
    """Parse a screen: `sentences:3` ▶ its name and number; `sentences:all` looks at every token.

    Raises HEvalError for anything else.
    """
    name, _, number = screen.partition(":")
    if name not in (SENTENCES, CGIM) or number != "all" and (not number.isdecimal() or int(number) < 1):
        raise HEvalError(
            f"fa has no screen {screen!r}; there are {SENTENCES}:N and {CGIM}:N, N from 1 or all, as {SENTENCES}:3."
        )
    return name, sys.maxsize if number == "all" else int(number)


def cost(tokens: float, screen: str) -> Cost:
    """Return the cost for an answer of one sentence: each pass runs half of the prompt on average.

    The clean pass is not counted.
    """
    name, count = parsed(screen)
    passes = tokens / TOKENS + TOKENS * count if name == SENTENCES else 2 + count
    return Cost(min(passes, tokens), min(passes, tokens) * tokens / 2)


def screened(
    clean: CleanPass, target: Target, sentences: Sequence[range], measure: Measure, screen: str, baseline: str
) -> Matrix:
    """Compute the matrix of an answer. sentences: of the answer, as columns. measure: as for `falls`."""
    (name, count), (prompt,) = parsed(screen), clean.prompts
    whole, values_of_whole = list[Unit](), np.zeros((0, len(target.ids)), np.float32)
    if name == SENTENCES:
        whole = stretches(clean, target)
        (lost,) = falls_of(clean, [target], measure, [Span(stretch.start, stretch.end) for stretch in whole], baseline)
        chosen = strongest(np.stack([lost[:, sentence.start : sentence.stop].sum(1) for sentence in sentences]), count)
        tokens = sorted(index for number in chosen for index in whole[number].indices)
        left = [number for number in range(len(whole)) if number not in chosen]
        whole, values_of_whole = [whole[number] for number in left], lost[left]
    else:
        from heval_core.lm import rules

        ranked = [clean.relevance(rules.CGIM, [target.part(part)], contrast=True)[0].cpu().numpy() for part in sentences]
        last = min(prompt.ranked.stop, max(position % clean.length for position in target.positions) + 1)
        first = prompt.ranked.start
        tokens = sorted(first + index for index in strongest(np.stack(ranked)[:, first:last], count))
    spans = [Span(token, token + 1) for token in tokens]
    (exact,) = falls_of(clean, [target], measure, spans, baseline)
    joined = [*whole, *(Unit(token, token + 1, "") for token in tokens)]
    order = sorted(range(len(joined)), key=lambda index: joined[index].start)
    values = np.concatenate([values_of_whole, exact])[order]
    return Matrix("token", tuple(joined[index] for index in order), values)


def stretches(clean: CleanPass, target: Target) -> list[Unit]:
    """Return the sentences of the documents, and the ranked text between them, such as the question."""
    (prompt,) = clean.prompts
    sentences = [unit for unit in units(prompt, "sentence", target) if unit.start in prompt.ranked]
    edges = [prompt.ranked.start, *(edge for unit in sentences for edge in (unit.start, unit.end)), prompt.ranked.stop]
    between = [Unit(start, end, "") for start, end in list(pairwise(edges))[::2] if end > start]
    return sorted([*sentences, *between], key=lambda unit: unit.start)


def strongest(scores: np.ndarray, count: int) -> set[int]:
    """Return the columns of each row's `count` highest scores. scores: (rows, columns)."""
    return {int(index) for row in scores for index in np.argsort(-row, kind="stable")[:count]}
