"""Mean reciprocal rank of the answer's tokens in the document that was used: does the explanation find the token?

Formula (Sun et al. 2025, eq. 5-6): 1 / best rank among all gold tokens of the used document, averaged over D_C, or over
D_C1 and D_C2, separately and together. Reference: arXiv 2510.02629.
Departure: together, both groups weigh the same (`balanced`), as for the margins; in a mean over all instances, the document
that a model uses more often would dominate. Range: (0, 1], higher is better.
Ties are broken at random, and the value is its expectation over that: for a tie of s tokens, ranked below b others, of which m
are gold, sum over y of C(s-y, m-1) / ((b+y) C(s, m)), y = 1 .. s-m+1.
Chance for m gold tokens among n: the same with b = 0 and s = n; it is .17 for a prompt of 22 tokens with one gold token.
Best: 1. Option: `drop_first=1`, without the prompt's first token.

Worked by hand: scores 1, 5, 3 with the third token gold: its rank is 2. Chance for one of three: (1 + 1/2 + 1/3)/3.

>>> reciprocal_rank(np.array([1.0, 5.0, 3.0]), [2])
ReciprocalRank(value=0.5, chance=0.611111111111111)
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from heval_core.metrics.shared.broken_ties import reciprocal
from heval_core.metrics.shared.cell import Cell
from heval_core.metrics.shared.measure import Measure
from heval_core.metrics.shared.ranks import OfUsed, of_answer, of_best
from heval_core.records import HEvalError
from heval_core.records.groups import context_groups
from heval_core.statistics.scores import check, ties
from heval_core.statistics.values import Each, Value, means_of


class ReciprocalRank(NamedTuple):
    value: float
    chance: float


def reciprocal_rank(scores: np.ndarray, answer_tokens: Sequence[int]) -> ReciprocalRank:
    """Compute the reciprocal rank of the best gold token of one prompt.

    Args:
        scores: (n,), one a token; higher is better.
        answer_tokens: indices of the gold tokens.

    Raises:
        HEvalError: for scores that are not finite, no gold tokens, or gold tokens outside the prompt.
    """
    check(scores, "The prompt")
    if not len(answer_tokens) or min(answer_tokens) < 0 or max(answer_tokens) >= len(scores):
        raise HEvalError(f"The answer tokens {list(answer_tokens)} are not inside the prompt's {len(scores)} tokens.")
    gold = np.zeros((1, len(scores)), dtype=bool)
    gold[0, list(answer_tokens)] = True
    return ReciprocalRank(float(of_best(reciprocal, ties(scores), gold)[0]), reciprocal(0, len(scores), int(gold.sum())))


@dataclass(frozen=True)
class MeanReciprocalRank(OfUsed):
    key = "mrr"
    title = "MRR of the answer's tokens"
    uses_k = False
    reference = "Sun et al. 2025, eq. 5-6 (arXiv 2510.02629)"
    measures = (
        Measure(
            "mrr",
            "MRR",
            ("C", "balanced"),
            "mean reciprocal rank",
            "One over the rank of the best-ranked answer token of the document that was used, averaged over instances.",
            "RQ3",
            order=15,
            instance_parts=(*context_groups(1), *context_groups(2)),
            instance_title="Reciprocal rank ({part})",
            sort="1/rank of {explainer}",
            headline="How high the answer's own tokens rank (mean reciprocal rank)",
            sections=("mrr", "mrr_swap"),
        ),
    )

    def each(self, cell: Cell, k: int) -> list[Each]:
        """Return each instance's reciprocal rank, under the group of the document that was used; NaN elsewhere."""
        return of_answer(cell.without_first(self.drop_first), reciprocal)

    def over(self, cell: Cell, k: int) -> list[Value]:
        """Average over instances, with intervals of shares from .5 on.

        Below, ranks are skewed the other way: of 60 at chance, shares' hold the truth in 82 % of draws, and those adjusted for
        skewness in 91 %.
        """
        means = means_of(self.each(cell, k), self.smallest_group, ends=(0.0, 1.0))
        low = [mean._replace(columns=tuple(column._replace(ends=None) for column in mean.columns)) for mean in means]
        return [mean if mean.value >= 0.5 else skewed for mean, skewed in zip(means, low, strict=True)]


PLUGIN = MeanReciprocalRank()
