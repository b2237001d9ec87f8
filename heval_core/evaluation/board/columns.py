"""Which columns a board has: what the regimes under a filter allow.

The three questions are those of the headline measures, each once. Decoys and lengths stand in columns of their own: their
prompts are of other questions, and ranks do not compare across lengths. A length column is over prompts without a decoy.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence

from heval_core.evaluation.board.records import ASKED, Column
from heval_core.metrics import headlines, measures_of
from heval_core.metrics.shared.measure import QUESTION_PROTECTED, QUESTIONS, Measure
from heval_core.regime_keys import DECOYS, RegimeOptions, read_key

NO_DECOYS = "these results have no prompts with decoys"
NO_LENGTHS = "these results have no padded prompts"
NOT_ASKED = "no cell under these filters has it"
NOT_SHARED = "no cell has a number of more than half of the methods, so nothing compares"


def measured() -> tuple[Measure, ...]:
    """The measures that a board is made of: the headlines of the questions, then faithfulness, plain and protected."""
    heads = headlines()
    return (*(heads[question] for question in ASKED if question in heads), *measures_of("faithfulness").values())


def protected_first(measures: Collection[Measure], with_numbers: Collection[Measure]) -> list[Measure]:
    """Those that a board has columns of: faithfulness with the question protected where that has numbers, plain elsewhere."""
    protected = {own.variant_of for own in with_numbers if own.switch == QUESTION_PROTECTED}
    return [
        own
        for own in measures
        if (own in with_numbers if own.switch == QUESTION_PROTECTED else own.title not in protected or own.question in ASKED)
    ]


def columns_for(measure: Measure, regimes: Iterable[str]) -> list[Column]:
    """A measure's columns, in their order. regimes: in which the measure is available."""
    there = [read_key(regime) for regime in regimes]
    found = [Column(measure)] if any(not one.decoy and not one.length for one in there) else []
    if measure.question in ASKED:
        decoys = {one.decoy for one in there if one.decoy and not one.length}
        lengths = [one.length for one in there if one.length and not one.decoy]
        found += [Column(measure, decoy=decoy) for decoy in DECOYS if decoy in decoys]
        found += [Column(measure, length=max(lengths))] if lengths else []
    return found


def takes(column: Column, regime: str) -> bool:
    """Whether a regime's cells are behind a column's numbers."""
    options: RegimeOptions = read_key(regime)
    return options.decoy == column.decoy and options.length == column.length


def absent(
    columns: Sequence[Column], apart: Collection[Column], measures: Mapping[Measure, str], regimes: Collection[str]
) -> tuple[tuple[str, str], ...]:
    """(title, reason) of what a board could have and has not. apart: columns whose cells most methods lack. measures: each
    with what its cells lack, "" where there is none. regimes: all that are under the filter."""
    there = {column.key for column in (*columns, *apart)}
    missing = [(column.title, NOT_SHARED) for column in apart]
    missing += [
        (
            Column(own).title,
            measures[own] or NOT_ASKED if own.question in ASKED else f"the batch job measures it with {own.needs}",
        )
        for own in measures
        if Column(own).key not in there
    ]
    if not any(column.decoy for column in (*columns, *apart)):
        missing.append(("Under decoys", _unless(any(read_key(regime).decoy for regime in regimes), NO_DECOYS)))
    if not any(column.length for column in (*columns, *apart)):
        missing.append(("At length", _unless(any(read_key(regime).length for regime in regimes), NO_LENGTHS)))
    return tuple(missing)


def _unless(there: bool, reason: str) -> str:
    return NOT_ASKED if there else reason


def column_groups(columns: Sequence[Column]) -> dict[str, list[Column]]:
    """Columns by their prompts (`Column.prompts`), in the order of the questions: plain, each decoy, each length."""
    groups: dict[str, list[Column]] = {}
    for column in sorted(columns, key=lambda own: list(QUESTIONS).index(own.question)):
        groups.setdefault(column.prompts, []).append(column)
    return groups
