"""Tables of citations: annotators by writer, what explanations cite, and how far annotators agree."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import pandas as pd

from heval_core.evaluation.ranking import Ranking, ranking
from heval_core.figures.palette import annotator_colour
from heval_core.present.names import PEOPLE, Names
from heval_core.present.table import IN_BOLD, Cell, Head, Row, Table, counted, crossed, number_cell, reason
from heval_core.words import CITATION_MEASURES, OF_EXPLANATIONS

_INTERVALS = "In brackets: 95 % intervals over claims."
_CHANCE = f"{_INTERVALS} Chance: expected of as many sentences, or passages, chosen at random."
WHERE = ("dataset", "writer", "selector")


def recovery_table(cells: pd.DataFrame, measure: str, masking: str, writers: Sequence[str], names: Names) -> Table:
    """One measure: annotators by writer, each number with its interval and its chance."""
    own = cells[(cells["measure"] == measure) & (cells["masking"] == masking) & (cells["annotator"] != "")]
    by_annotator = crossed(own, ["annotator"], "writer")
    best = rankings(own, names)
    rows = tuple(
        Row(
            (names.annotator(key),),
            tuple(with_chance(by_annotator[key,].get(writer), key in best[writer].bold) for writer in writers),
            names.control(key),
        )
        for key in names.in_order(own["annotator"])
    )
    heads = tuple(Head(writer, f"explanations written by {writer}") for writer in writers)
    title = CITATION_MEASURES[measure].title
    note = f"{title}, {masking} masking: {CITATION_MEASURES[measure].meaning}. {_CHANCE} {IN_BOLD}"
    return Table(f"{title}, annotators by writer", ("Annotator",), heads, rows, note, f"citations-{measure.replace('_', '-')}")


def rankings(cells: pd.DataFrame, names: Names) -> dict[str, Ranking]:
    """Which readers are best with each writer's explanations; explainers, where nobody reads. cells: of one measure."""
    keys = list(cells.dropna(subset=["value"])["annotator"].unique())
    apart = {key for key in keys if names.control(key)}
    explainers = {key for key in keys if names.family(key) == "explainer"}
    apart |= explainers if set(keys) - apart - explainers else set()
    return {str(writer): ranking(own, apart, key="annotator") for writer, own in cells.groupby("writer", sort=False)}


def explanations_table(cells: pd.DataFrame, writers: Sequence[str], names: Names) -> Table:
    """What explanations cite: a row for each writer, a column for each measure that has a row."""
    own = cells[(cells["annotator"] == "") & cells["measure"].isin(OF_EXPLANATIONS) & cells["writer"].isin(writers)]
    table = wide_table(own.drop_duplicates(["writer", "measure"]), OF_EXPLANATIONS, names, ["writer"], counts=False)
    return replace(table, title="What explanations cite", keys=("Writer",), note=_CHANCE, label="citations-explanations")


def alphas_table(agreements: pd.DataFrame, writer: str, names: Names) -> Table:
    """Krippendorff's alpha of any two annotators of one writer's explanations, as a triangle."""
    own = agreements[agreements["writer"] == writer]
    pairs = {frozenset((str(row["first"]), str(row["second"]))): row for row in own.to_dict("records")}
    keys = names.in_order([*own["first"], *own["second"]])
    rows = tuple(
        Row(
            (names.annotator(key),),
            tuple(_alpha(pairs, key, other, names) if other in keys[: place + 1] else Cell("") for other in keys),
            names.control(key),
        )
        for place, key in enumerate(keys)
    )
    heads = tuple(Head(names.annotator(key), colour=annotator_colour(key, names)) for key in keys)
    return Table(f"Agreement between annotators of explanations by {writer}", ("",), heads, rows)


def wide_table(cells: pd.DataFrame, measures: Sequence[str], names: Names, by: Sequence[str], *, counts: bool = True) -> Table:
    """A row for each combination of the columns `by`, a column for each measure. counts: with n, the number of citations,
    sentences or explanations."""
    there = [measure for measure in measures if measure in set(cells["measure"])]
    rows = []
    for place, row in crossed(cells, by, "measure").items():
        sizes = [own["n"] for own in row.values() if not pd.isna(own["n"])]
        numbers = [with_chance(row.get(measure)) for measure in there]
        numbers += [counted(max(sizes, default=0))] if counts else []
        rows.append(Row(titles_of(dict(zip(by, place, strict=True)), names), tuple(numbers)))
    heads = [Head(CITATION_MEASURES[measure].title, CITATION_MEASURES[measure].meaning) for measure in there]
    keys = tuple("claims" if name == "dataset" else name for name in by)
    return Table("", keys, (*heads, *([Head("n")] if counts else [])), tuple(rows))


def titles_of(place: Mapping[str, str], names: Names) -> tuple[str, ...]:
    """What the values of some columns are called. place: column ▶ value."""
    kinds = {"dataset": "claims", "selector": "selector"}
    return tuple(
        annotator_title(value, names) if name == "annotator" else names.title(kinds[name], value) if name in kinds else value
        for name, value in place.items()
    )


def annotator_title(key: str, names: Names) -> str:
    return f"{names.annotator(key)} (control)" if key and names.control(key) else names.annotator(key)


def with_chance(row: Mapping[Any, Any] | None, best: bool = False) -> Cell:
    """A number with its interval, and its chance where it has one. best: whether it is bold."""
    chance = None if row is None or pd.isna(row["chance"]) else float(row["chance"])
    return number_cell(row, chance=chance, best=best)


def _alpha(pairs: Mapping[frozenset[str], Mapping[Any, Any]], key: str, other: str, names: Names) -> Cell:
    row = pairs.get(frozenset((key, other)))
    if key == other and key != PEOPLE and row is None:
        return Cell("", tint=0)
    who = f"{names.annotator(key)} " + ("among themselves" if key == other else f"and {names.annotator(other)}")
    cell = number_cell(row, of=("alpha", "low", "high"))
    if row is None or cell.value is None:
        return replace(cell, why=f"{who}: {reason(row)}", tint=0)
    count = "" if pd.isna(row["n"]) else f", n = {int(row['n']):,}"
    return replace(cell, why=f"{who}{count}", tint=round(45 * min(max(cell.value, 0.0), 1.0)))
