"""The measures that all metrics declare, with what each takes from its metric."""

from dataclasses import fields, replace

from heval_core.metrics._features import TARGETS
from heval_core.metrics.shared.measure import FIXED, QUESTIONS, Measure
from heval_core.plugins import catalogue, protocols

# Parts that several metrics have: documents, and groups by the document that was used.
_PART_TITLES = {"c1": "document 1", "c2": "document 2", "C1": "used: 1", "C2": "used: 2"}

_FIXED = (
    "Here every explainer explains the first document's answer, whatever the model answered. Otherwise a string match finds "
    "the given answer, and so its origin; with the same target in both groups, only the scores can reveal the origin. "
)


def declared(metric: protocols.Metric) -> list[Measure]:
    """Return a metric's measures with what they take from it, each followed by its variant at a fixed target."""
    ranked = any(field.name == "drop_first" for field in fields(metric))
    direction = "high" if metric.higher_is_better else "low"
    complete = []
    for bare in metric.measures:
        measure = replace(bare, metric=metric.key, uses_k=metric.uses_k, ranked=ranked, best=bare.best or direction)
        complete.append(measure)
        if measure.fixed_target:
            complete.append(_at_fixed_target(measure))
    return complete


def _at_fixed_target(measure: Measure) -> Measure:
    return replace(
        measure,
        key=f"{measure.key}_fixed",
        title=f"{measure.title}, target fixed",
        parts=tuple(f"{part}{TARGETS[1]}" for part in measure.parts),
        meaning=_FIXED + measure.meaning,
        needs="--target context",
        headline="",
        sections=(measure.key,) if measure.sections is None else measure.sections,
        variant_of=measure.title,
        switch=FIXED,
    )


def measures() -> dict[str, Measure]:
    """Return all measures of all metrics by key, in the order of the pages."""
    every = [measure for metric in catalogue.plugins("metric").values() for measure in declared(metric)]
    return {measure.key: measure for measure in sorted(every, key=lambda measure: measure.order)}


def measures_of(question: str) -> dict[str, Measure]:
    """Return the measures that answer a question (a key of QUESTIONS), by title."""
    return {measure.title: measure for measure in measures().values() if measure.question == question}


def headlines() -> dict[str, Measure]:
    """Return the measure that the Overview shows for a question, by the question's key, in the questions' order."""
    by_question = {measure.question: measure for measure in measures().values() if measure.headline}
    return {key: by_question[key] for key in QUESTIONS if key in by_question}


def part_title(part: str) -> str:
    """Return the title of a part, for cells with several parts; empty for a part that needs no title."""
    of_measures = {name: title for measure in measures().values() for name, title in measure.part_titles}
    return (of_measures | _PART_TITLES).get(part, "")
