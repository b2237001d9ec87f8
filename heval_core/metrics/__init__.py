"""One file per metric, pure NumPy: arrays in, named tuple out. A metric's settings are a frozen dataclass.

A metric module has its formula as public functions, and offers `PLUGIN`: `key`, `title`, `higher_is_better`, `uses_k`,
`measures` (`shared.measure.Measure`: what pages, comparisons and the report show of it), `each(cell, k)` for values of single
instances (`shared.estimate.Each`, or none), and `over(cell, k)` for values of the whole cell (`shared.estimate.Estimate`, with
what its interval is computed from). Each value comes with its chance level and the best possible value. Undefined is NaN with
a reason, never 0. This module gathers what all metrics declare.
"""

from __future__ import annotations

from heval_core import catalogue
from heval_core.metrics.shared.measure import QUESTIONS, Measure, declared

# Parts that several metrics have: documents, and groups by the document that was used.
_PART_TITLES = {"c1": "document 1", "c2": "document 2", "C1": "used: 1", "C2": "used: 2"}


def measures() -> dict[str, Measure]:
    """All measures of all metrics by key, in the order of the pages."""
    found = [measure for metric in catalogue.plugins("metric").values() for measure in declared(metric)]
    return {measure.key: measure for measure in sorted(found, key=lambda measure: measure.order)}


def measures_of(question: str) -> dict[str, Measure]:
    """The measures that answer a question (a key of QUESTIONS), by title."""
    return {measure.title: measure for measure in measures().values() if measure.question == question}


def headlines() -> dict[str, Measure]:
    """The measure that the Overview shows for a question, by the question's key, in the questions' order."""
    shown = {measure.question: measure for measure in measures().values() if measure.headline}
    return {key: shown[key] for key in QUESTIONS if key in shown}


def best_of(metric: str, part: str) -> str:
    """Whether `high`, `low` or `zero` is best for a part of a metric. metric: a key, or a variant's key."""
    plugin = catalogue.find("metric", metric)
    known = {part: measure.best for measure in declared(plugin) for part in (*measure.parts, *measure.whole)}
    return known.get(part, "high" if plugin.higher_is_better else "low")


def part_title(part: str) -> str:
    """The title of a part, for cells with several parts; empty for a part that needs no title."""
    own = {name: title for measure in measures().values() for name, title in measure.part_titles}
    return (own | _PART_TITLES).get(part, "")
