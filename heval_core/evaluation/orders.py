"""What instances can be ordered by: columns, and the scores that measures declare an order for."""

from __future__ import annotations

from heval_core import catalogue, metrics
from heval_core.metrics.shared.cell import DEFAULT_K
from heval_core.metrics.shared.measure import Measure
from heval_core.store.filters import COLUMN_ORDERS, Order, ScoreOrder


def scores_of(measure: Measure) -> dict[str, ScoreOrder]:
    """A measure's order for every method, by what a person calls it; nothing where it declares none."""
    if not measure.sort:
        return {}
    return {
        measure.sort.format(explainer=key): ScoreOrder(measure.metric, measure.at(DEFAULT_K), key)
        for key in catalogue.explainers()
    }


# What a person chooses, and links say ▶ the order.
SORTED_BY: dict[str, Order] = {name: name for name in COLUMN_ORDERS}
for _measure in metrics.measures().values():
    SORTED_BY |= scores_of(_measure)
