"""AUROC of the context's share: does an explanation tell answers from context from answers from memory?

Formula: an instance's value is the context's share of its explanation, the scores of its document summed over the
sum of absolute scores of the ranked prompt (0 if all are 0). AUROC: the probability that an answer from context (C) has a
larger share than one from memory (M); equal shares count one half. Of prompts with one document.
Reference: Hanley & McNeil 1982 (Radiology 143, 29-36); its error: DeLong, DeLong & Clarke-Pearson 1988 (Biometrics 44,
837-845). Departure: ours for explanations; the paper asks by rank margins, which stand beside this and reward scores that are
alike within a document. Range: 0 to 1, higher is better. Chance: .5. Best: 1.
Each side needs at least 30 instances; otherwise the value is not available, with the reason.
Interval: to first order the value is the mean of both sides' placements, where a placement is the share of the other side that
an instance is on the right side of. Their error is DeLong's. Wilson's interval takes it for that of a share of as many
instances as give this error, at most twice the smaller side: so it never passes 0 or 1, and has a width at 1 (docs/metrics.md
has its coverage). Replicates resample questions, with placements as they are.
Two targets, as for simulatability: the answer given (a string match then tells the sides by the token that it looks for), and
the first document's answer for all (part `c_context`, `--target context`). Option: `drop_first=1`, without the first token.

Worked by hand: .4 and .2 from context, .3 and .1 from memory: three of four pairs are in order.

>>> float(placements(np.array([0.4, 0.2]), np.array([0.3, 0.1]))[0].mean())
0.75
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from heval_core.metrics._features import TARGETS
from heval_core.metrics.shared.cell import Cell
from heval_core.metrics.shared.measure import Mean, Measure
from heval_core.metrics.shared.ranks import OfGroups, segment_shares
from heval_core.records import SINGLE_REGIMES
from heval_core.records.groups import MEMORY
from heval_core.statistics.values import Each, Value, mean_of

PART, CHANCE = "c", 0.5


def placements(context: np.ndarray, memory: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Compute (n,) the share of memory's values that is below each of context's, and (m,) of context's above each; ties count
    half.
    """

    def below(values: np.ndarray, others: np.ndarray) -> np.ndarray:
        ordered = np.sort(others)
        sides = (np.searchsorted(ordered, values, side) for side in ("left", "right"))
        return np.asarray(sum(sides) / (2 * len(others)))

    return below(context, memory), 1 - below(memory, context)


@dataclass(frozen=True)
class ContextAuroc(OfGroups):
    key = "auroc"
    title = "AUROC of the context's share"
    uses_k = False
    reference = "ours, after Hanley & McNeil 1982 and DeLong et al. 1988"
    limits = (0.0, 1.0)
    measures = (
        Measure(
            "auroc",
            "AUROC",
            (PART,),
            "probability",
            "How likely the document has a larger share of an explanation (its scores over the sum of all absolute scores) "
            "where the answer came from it than where it came from memory.",
            "RQ1",
            order=5,
            regimes=SINGLE_REGIMES,
            fixed_target=True,
            headline="How well the document's share of an explanation tells answers from it from answers from memory (AUROC)",
        ),
    )

    def _halves(self, cell: Cell) -> Iterator[tuple[Each, Each]]:
        """Yield for each target the placements less half of the AUROC, on the side of context and on that of memory; NaN
        elsewhere.
        """
        cell = cell.without_first(self.drop_first)
        layout = cell.layout
        if len(layout.documents) != 1:
            return
        context, memory = layout.groups == "C", layout.groups == MEMORY
        targets = [(TARGETS[0], cell.scores, np.ones(len(context), dtype=bool))]
        targets += [] if cell.fixed is None else [(TARGETS[1], *cell.fixed)]
        for suffix, scores, valid in targets:
            shares = segment_shares(layout, scores, [layout.context])[:, 0]
            sides = [np.where(side & valid, shares, np.nan) for side in (context, memory)]
            known = [np.isfinite(side) for side in sides]
            if all(side.any() for side in known):
                placed = placements(*(shares[side] for side in known))
                for side, inside, placement in zip(sides, known, placed, strict=True):
                    side[inside] = placement - placed[0].mean() / 2
            half = np.full(len(shares), CHANCE / 2), np.full(len(shares), 0.5)
            yield Each(PART + suffix, sides[0], *half), Each(PART + suffix, sides[1], *half)

    def each(self, cell: Cell, k: int) -> list[Each]:
        """Return values whose means of both sides add up to the AUROC. There is no best single value."""
        parts = []
        for context, memory in self._halves(cell):
            defined = np.isfinite([context.value, memory.value])
            if defined.any(axis=1).all():
                value, nothing = np.where(defined[0], context.value, memory.value), np.full(defined.shape[1], np.nan)
                parts.append(context._replace(value=value, best=nothing).within(np.isfinite(value)))
        return parts

    def over(self, cell: Cell, k: int) -> list[Value]:
        values = []
        for halves in self._halves(cell):
            value = mean_of(halves[0].part, halves, self.smallest_group, (1.0, 1.0), ("C", MEMORY))
            smaller = min(size for _, size in value.sizes)
            values.append(value if value.unavailable else value._replace(limits=self.limits, counted=2 * smaller))
        return values

    def means(self, part: str, documents: int) -> tuple[Mean, ...]:
        parts = [PART + suffix for suffix in TARGETS]
        return tuple(Mean(self.key, part, (group,)) for group in ("C", MEMORY)) if part in parts else ()


PLUGIN = ContextAuroc()
