"""Route: where the answer stands in several places, does an explanation name the one that the last token reads?

Formula: the route is the mention whose hiding from the last token, in all layers and heads, costs the answer's first token
most (`route_lost`); where none costs it anything, there is none. An explanation names the mention with the largest sum of
scores over its tokens. An instance counts 1 if that is the route, 1/k if k mentions share the largest sum and the route is
among them, else 0. Parts: `first`, the route is the first mention; `last`, it is the last; `balanced`, the mean of the two.
Reference: ours (docs/hard-board.md).
Departure: none. Range: 0 to 1, higher is better. Best: 1. Chance: one over the mentions; see `which_mention`, also for three
mentions and more. What the last token reads is not what the answer depends on: that is `which_mention`.
Option: `drop_first=1`, without the prompt's first token.

Worked by hand: routes first, last, and last again, with sums of .4 and .1, of .1 and .3, and of .2 and .2.

>>> import numpy as np
>>> from heval_core.metrics.shared.mention_choice import named
>>> named(np.array([[0.4, 0.1], [0.1, 0.3], [0.2, 0.2]]), np.ones((3, 2), dtype=bool), np.array([0, 1, 1])).tolist()
[1.0, 1.0, 0.5]
"""

from dataclasses import dataclass

from heval_core.metrics.shared.cell import Cell
from heval_core.metrics.shared.measure import Mean, Measure
from heval_core.metrics.shared.mention_choice import of_place, with_details
from heval_core.metrics.shared.ranks import OfGroups
from heval_core.statistics.values import Each, Value, means_of

ENDS = ("first", "last")


@dataclass(frozen=True)
class RouteMention(OfGroups):
    key = "route_mention"
    title = "Which mention the last token reads"
    uses_k = False
    reference = "ours"
    measures = (
        Measure(
            "route_mention",
            "Route",
            ENDS,
            "share named rightly",
            "Of the places where the answer stands, how often the one that the last token needs most has the largest sum of "
            "scores. That it is the first and that it is the last weigh the same; a tie counts in part.",
            "RQ3",
            order=18,
            whole=("balanced",),
            part_titles=(("first", "the first mention"), ("last", "the last mention")),
            instance_parts=ENDS,
            instance_title="Route named ({part})",
            sort="route named by {explainer}",
            needs="--sources",
        ),
    )

    def each(self, cell: Cell, k: int) -> list[Each]:
        """Return whether each instance's route is named, by where it stands; NaN elsewhere."""
        return of_place(cell.without_first(self.drop_first), lambda places: places.route)

    def over(self, cell: Cell, k: int) -> list[Value]:
        ends, places = self.each(cell, k), cell.layout.places
        if places is None:
            return []
        values = means_of(ends, self.smallest_group, ends=(0.0, 1.0))
        same = (places.source >= 0) & (places.source == places.route)
        return with_details(values, measured=float((places.route >= 0).sum()), source=float(same.sum()))

    def means(self, part: str, documents: int) -> tuple[Mean, ...]:
        if part in ENDS:
            return (Mean(self.key, part),)
        return tuple(Mean(self.key, end, factor=0.5) for end in ENDS) if part == "balanced" else ()


PLUGIN = RouteMention()
