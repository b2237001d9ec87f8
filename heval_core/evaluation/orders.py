"""The orders of instances: by columns, and by the scores of measures that declare an order."""

from heval_core.metrics.shared.cell import DEFAULT_K
from heval_core.metrics.shared.measure import Measure
from heval_core.plugins import catalogue, measures
from heval_core.store.filters import COLUMN_ORDERS, Order, ScoreOrder


def scores_of(measure: Measure) -> dict[str, ScoreOrder]:
    """Return a measure's order for every method, by its name for people; empty if the measure declares none."""
    keys = catalogue.explainers() if measure.sort else ()
    return {measure.sort.format(explainer=key): ScoreOrder(measure.metric, measure.at(DEFAULT_K), key) for key in keys}


# The name of an order, on pages and in links ▶ the order.
SORTED_BY: dict[str, Order] = {name: name for name in COLUMN_ORDERS}
for _measure in measures.measures().values():
    SORTED_BY |= scores_of(_measure)


def order_of(measure: Measure, explainer: str) -> str:
    """Return the name of the order by an explainer's values of a measure; empty where there is none."""
    name = measure.sort.format(explainer=explainer)
    return name if name in SORTED_BY else ""
