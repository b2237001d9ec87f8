"""The table of techniques: a measure by kind of context, what each does to the model, J, and the cost of an answer."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any, NamedTuple

import pandas as pd

from heval_core.evaluation.ranking import ranking
from heval_core.figures.technique_differences import TOTAL, ranked
from heval_core.present.names import SIGNED, Names, change_unit, measure_name, regime_meaning, value_unit
from heval_core.present.table import IN_BOLD, Cell, Head, Row, Table, crossed, number_cell
from heval_core.records import CONTEXT_KINDS, TECHNIQUE
from heval_core.words import BEHAVIOURS, REGIMES

DISCRIMINATIONS = ("discrimination", "discrimination_off_topic")
VALUES, CHANGES = ("value", "low", "high"), ("delta", "delta_low", "delta_high")


class Column(NamedTuple):
    """best: whether the best numbers are in bold."""

    regime: str
    measure: str
    title: str
    meaning: str
    best: bool


def columns_of(cells: pd.DataFrame, measure: str) -> list[Column]:
    """Those that have a number: the measure by kind and in total, then what holds for all kinds together."""
    good = measure != "neither"
    kinds = [Column(kind, measure, REGIMES[kind].title, regime_meaning(kind), good) for kind in CONTEXT_KINDS]
    kinds.append(Column(TOTAL, measure, "Total", f"{measure_name(measure)} over all instances, each counting the same", good))
    more = [(name, False) for name in ("memory_kept", "neither") if name != measure]
    more += [(name, True) for name in DISCRIMINATIONS]
    kinds += [Column(TOTAL, name, BEHAVIOURS[name].short, BEHAVIOURS[name].meaning, best) for name, best in more]
    known = cells.dropna(subset=["value"])
    there = set(zip(known["regime"], known["measure"], strict=True))
    return [column for column in kinds if (column.regime, column.measure) in there]


def rows_in_order(cells: pd.DataFrame, measure: str, names: Names) -> list[str]:
    """Regular, then the others, those with the highest total first."""
    keys = ranked(cells[cells["measure"] == measure], names)
    return [key for key in (TECHNIQUE,) if key in keys] + [key for key in keys if key != TECHNIQUE]


def technique_table(
    cells: pd.DataFrame,
    measure: str,
    names: Names,
    front: Collection[str] = (),
    of: tuple[str, str, str] = VALUES,
    title: str = "The numbers, techniques by kind of context",
) -> Table:
    """cells: of one model and dataset. front: techniques on the Pareto front. of: VALUES, or CHANGES since Regular."""
    columns = columns_of(cells.dropna(subset=[of[0]]), measure)
    by_place = crossed(cells, ["regime", "measure"], "technique")
    own = [by_place[column.regime, column.measure] for column in columns]
    unit = value_unit if of == VALUES else change_unit
    best = [_best(column, rows, of) for column, rows in zip(columns, own, strict=True)]
    rows = []
    for key in rows_in_order(cells, measure, names):
        numbers = [
            number_cell(found.get(key), unit(column.measure), of, best=key in bold)
            for column, found, bold in zip(columns, own, best, strict=True)
        ]
        cost = Cell(names.cost(key) or "–", why=names.cost_in_words(key))
        rows.append(Row((names.technique(key),), (*numbers, cost), note="on the front" if key in front else ""))
    heads = [Head(column.title + ("" if column.measure in SIGNED else ", %"), column.meaning) for column in columns]
    heads.append(Head("cost of an answer", "Forward passes, Regular's being 1, and what precedes the first answer"))
    label = f"techniques-{measure.replace('_', '-')}"
    return Table(title, ("Technique",), tuple(heads), tuple(rows), _note(columns, measure), label)


def _note(columns: list[Column], measure: str) -> str:
    """What the columns are, each once."""
    more = {own.measure: own for own in columns if own.measure != measure}
    told = [
        f"{measure_name(measure)}: {BEHAVIOURS[measure].meaning}",
        *(f"{own.title}: {own.meaning}" for own in more.values()),
    ]
    return ". ".join([*told, "In brackets: 95 % intervals over questions", IN_BOLD])


def _best(column: Column, rows: Mapping[str, Mapping[Any, Any]], of: Sequence[str]) -> tuple[str, ...]:
    """The techniques in bold."""
    return ranking(pd.DataFrame(rows.values()), of=of, key="technique", chance="").bold if column.best else ()


def unavailable(cells: pd.DataFrame, trials: pd.DataFrame, names: Names) -> list[tuple[str, str]]:
    """(title, reason) of the techniques that have no number at all. trials: rows of `technique_trial`."""
    has = set(cells.dropna(subset=["value"])["technique"])
    told: dict[str, str] = {}
    for frame in (cells, trials):
        for row in frame.dropna(subset=["unavailable"]).to_dict("records") if len(frame) else ():
            if row["technique"] not in has:
                told.setdefault(str(row["technique"]), str(row["unavailable"]))
    return [(names.technique(key), told[key]) for key in names.techniques_in_order(told)]
