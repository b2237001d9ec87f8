"""Which mention: where the answer stands in several places, does an explanation name the one that it depends on?

Formula: the source is the only mention that the answer does not survive (`records/sources.py`: one by one, each mention is
replaced by two fresh answers). An explanation names the mention with the largest sum of scores over its tokens. An instance
counts 1 if that is the source, 1/k if k mentions share the largest sum and the source is among them, else 0.
Parts: `first`, the source is the first mention; `last`, it is the last; `balanced`, the mean of the two. `worded`: the
source's sentence has more of the question's words than that of every other mention, so that a search finds it; `unworded`: it
has not; both are balanced too. Reference: ours (docs/hard-board.md); intervention: a relative of feature ablation.
Departure: none. Range: 0 to 1, higher is better. Best: 1.
Chance: one over the mentions. With two mentions `balanced` leaves a rule such as "always the first" at chance: it has 1 in
one half and 0 in the other. With three or more such a rule is above it, and the controls `first_mention` and `last_mention`
say by how much; a source in the middle is in no part. Answers that depend on no mention alone are in no part either: how many
there are of each kind stands in the details. Option: `drop_first=1`, without the prompt's first token.

Worked by hand: with the source first, sums of .4 and .1 (right); with it last, of .2 and .2 (half), and of .3 and .1 (wrong).

>>> from heval_core.metrics.shared.mention_choice import named
>>> right = named(np.array([[0.4, 0.1], [0.2, 0.2], [0.3, 0.1]]), np.ones((3, 2), dtype=bool), np.array([0, 1, 1]))
>>> right.tolist(), float((right[:1].mean() + right[1:].mean()) / 2)
([1.0, 0.5, 0.0], 0.625)
"""

from dataclasses import dataclass, replace

import numpy as np

from heval_core.metrics.shared.cell import Cell, Places
from heval_core.metrics.shared.measure import Mean, Measure
from heval_core.metrics.shared.mention_choice import of_place, with_details
from heval_core.metrics.shared.ranks import OfGroups
from heval_core.records.sources import VERDICTS
from heval_core.statistics.values import Each, Value, means_of

ENDS, WORDED, UNWORDED = ("first", "last"), "worded", "unworded"
_MEASURE = Measure(
    "which_mention",
    "Which mention",
    ENDS,
    "share named rightly",
    "Of the places where the answer stands, how often the one that it depends on has the largest sum of scores. That it is "
    "the first and that it is the last weigh the same; a tie counts in part.",
    "RQ3",
    order=16,
    whole=("balanced",),
    part_titles=(("first", "the first mention"), ("last", "the last mention")),
    instance_parts=ENDS,
    instance_title="Source named ({part})",
    sort="source named by {explainer}",
    needs="--sources",
)


def _half(kind: str, title: str, where: str) -> Measure:
    meaning = f"{where} {_MEASURE.meaning}"
    return replace(
        _MEASURE, key=f"which_mention_{kind}", title=title, parts=(kind,), whole=(), part_titles=(), order=17, meaning=meaning,
        instance_parts=(), instance_title="", sort="", sections=("which_mention",),
    )  # fmt: skip


@dataclass(frozen=True)
class WhichMention(OfGroups):
    key = "which_mention"
    title = "Which mention the answer depends on"
    uses_k = False
    reference = "ours"
    measures = (
        _MEASURE,
        _half(
            WORDED,
            "Which mention, question’s words help",
            "Where the source’s sentence has more of the question’s words than every other mention’s.",
        ),
        _half(
            UNWORDED,
            "Which mention, question’s words do not help",
            "Where the source’s sentence has no more of the question’s words than another mention’s.",
        ),
    )

    def each(self, cell: Cell, k: int) -> list[Each]:
        """Return whether each instance's source is named: by where it stands, and by whether its sentence is worded as the
        question is, such as `first_worded`; NaN elsewhere.
        """
        ends, places = of_place(cell.without_first(self.drop_first), lambda places: places.source), cell.layout.places
        if places is None:
            return []
        help_at = {WORDED: _worded(places), UNWORDED: ~_worded(places)}
        return ends + [
            each._replace(part=f"{each.part}_{kind}").within(where) for kind, where in help_at.items() for each in ends
        ]

    def over(self, cell: Cell, k: int) -> list[Value]:
        ends, places = self.each(cell, k), cell.layout.places
        if places is None:
            return []
        values = means_of(ends[:2], self.smallest_group, ends=(0.0, 1.0))
        for kind, halves in ((WORDED, ends[2:4]), (UNWORDED, ends[4:])):
            values.append(means_of(halves, self.smallest_group, ends=(0.0, 1.0))[-1]._replace(part=kind))
        counts, source = places.counts, places.source
        details = {verdict: float((places.verdicts == verdict).sum()) for verdict in VERDICTS}
        details["alone"] = float(((source >= 0) & (counts == 1)).sum())
        details["middle"] = float(((source > 0) & (source < counts - 1)).sum())
        return with_details(values, **details)

    def means(self, part: str, documents: int) -> tuple[Mean, ...]:
        if part in ENDS:
            return (Mean(self.key, part),)
        kind = "" if part == "balanced" else f"_{part}"
        return tuple(Mean(self.key, f"{end}{kind}", factor=0.5) for end in ENDS) if part in _BALANCED else ()


_BALANCED = ("balanced", WORDED, UNWORDED)


def _worded(places: Places) -> np.ndarray:
    """Return whether the source's sentence has more of the question's words than every other mention's, (N,)."""
    source, mention = np.maximum(places.source, 0)[:, None], np.arange(places.agreed.shape[1])
    others = np.where((mention != source) & (places.ends > places.starts), places.agreed, -1)
    return np.asarray(np.take_along_axis(places.agreed, source, axis=1)[:, 0] > others.max(axis=1))


PLUGIN = WhichMention()
