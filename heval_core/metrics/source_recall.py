"""Recall of the source: where any mention of the answer will do, does an explanation rank all of them above other tokens?

Formula: of the answers that no mention moves alone, and all together do (`either`): of the m ranked tokens of all mentions the
share that is among the prompt's m best-ranked tokens. Reference: R-precision (Buckley & Voorhees 2000); here of tokens.
Departure: ties are broken at random, and the value is its expectation over that: of a tie of s tokens below b others, each is
among the m best with probability min(max(m - b, 0), s)/s. Range: 0 to 1, higher is better. Best: 1.
Chance: m/n of n ranked tokens. Option: `drop_first=1`, without the prompt's first token.

Worked by hand: scores 3, 1, 1, 0 with mentions at the first two tokens: the first is among the two best, the second in half of
the draws.

>>> from heval_core.statistics.scores import ties
>>> recall(ties(np.array([3.0, 1.0, 1.0, 0.0])), np.array([[True, True, False, False]])).tolist()
[0.75]
"""

from dataclasses import dataclass

import numpy as np

from heval_core.metrics.shared.cell import Cell
from heval_core.metrics.shared.measure import Mean, Measure
from heval_core.metrics.shared.ranks import OfGroups
from heval_core.statistics.scores import Ties
from heval_core.statistics.values import Each, Value, mean_of

PART = "either"


def recall(tied: Ties, tokens: np.ndarray) -> np.ndarray:
    """Compute the expected share of each row's (N, n) ranked tokens among as many best-ranked ones, (N,); NaN for none."""
    count = tokens.sum(axis=1, keepdims=True)
    likely = np.clip((count - tied.above) / np.maximum(tied.size, 1), 0.0, 1.0)
    sums = np.where(tokens, likely, 0.0).sum(axis=1)
    return np.divide(sums, count[:, 0], out=np.full(len(sums), np.nan), where=count[:, 0] > 0)


@dataclass(frozen=True)
class SourceRecall(OfGroups):
    key = "source_recall"
    title = "Recall where any mention will do"
    uses_k = False
    reference = "ours, after Buckley & Voorhees 2000"
    measures = (
        Measure(
            "source_recall",
            "Recall, any mention will do",
            (PART,),
            "share of the tokens",
            "Where the answer survives without any one of its mentions, and not without all: the share of their tokens that "
            "is among as many best-ranked ones.",
            "RQ3",
            order=19,
            instance_parts=(PART,),
            instance_title="Recall of the mentions",
            sort="recall of {explainer}",
            needs="--sources",
        ),
    )

    def each(self, cell: Cell, k: int) -> list[Each]:
        """Return each instance's recall; NaN where one mention is the source, or none."""
        cell = cell.without_first(self.drop_first)
        layout, places = cell.layout, cell.layout.places
        if places is None:
            return []
        index = np.arange(layout.ranked.shape[1])
        tokens = np.zeros_like(layout.ranked)
        for starts, ends in zip(places.starts.T, places.ends.T, strict=True):
            tokens |= (index >= starts[:, None]) & (index < ends[:, None]) & layout.ranked
        value, chance = recall(cell.ties, tokens), tokens.sum(axis=1) / np.maximum(layout.lengths, 1)
        return [Each(PART, value, chance, np.ones(len(value))).within((places.verdicts == PART) & np.isfinite(value))]

    def over(self, cell: Cell, k: int) -> list[Value]:
        return [mean_of(each.part, [each], self.smallest_group, ends=(0.0, 1.0)) for each in self.each(cell, k)]

    def means(self, part: str, documents: int) -> tuple[Mean, ...]:
        return (Mean(self.key, PART),) if part == PART else ()


PLUGIN = SourceRecall()
