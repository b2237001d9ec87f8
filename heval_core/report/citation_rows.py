"""Rows of the report's sections about citations: looked up, put in order, and as readers see them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import pandas as pd

from heval_core.figures.citation_dots import reason
from heval_core.figures.citation_names import CitationNames
from heval_core.present import numbers
from heval_core.report.section import MISSING
from heval_core.store.reader import Reader
from heval_core.words import CITATION_MEASURES

WHERE = ("dataset", "writer", "selector")


def places_of(results: Reader) -> list[tuple[str, str]]:
    """Sources of claims and selectors, in stored order."""
    choices = results.citation_choices()
    return list(dict.fromkeys(zip(choices["dataset"], choices["selector"], strict=True)))


def cells_of(results: Reader, measures: Sequence[str]) -> pd.DataFrame:
    """Rows of `cell_recovery`."""
    every = pd.concat([results.citation_cells(*place) for place in places_of(results)], ignore_index=True)
    return every[every["measure"].isin(measures)].reset_index(drop=True)


def names_of(results: Reader) -> CitationNames:
    cells = pd.concat([results.citation_cells(*place) for place in places_of(results)])
    return CitationNames.of(results.citation_catalogue(), cells["annotator"])


def number(row: Mapping[Any, Any] | None) -> str:
    """`0.790 [0.750, 0.830] (0.220)`: the interval and the chance, where there are any."""
    if row is None or pd.isna(row["value"]):
        return MISSING
    chance = "" if pd.isna(row["chance"]) else f" ({numbers.number(row['chance'], numbers.EXACT)})"
    return numbers.interval(row["value"], row["low"], row["high"], numbers.EXACT) + chance


def count(row: Mapping[Any, Any] | None) -> int:
    """n of a row; 0 where there is none."""
    return 0 if row is None or pd.isna(row["n"]) else int(row["n"])


def place_of(row: Mapping[Any, Any], names: CitationNames) -> dict[str, str]:
    return {
        "claims": names.named("claims", row["dataset"]),
        "writer": row["writer"],
        "selector": names.named("selector", row["selector"]),
    }


def titled(measures: Iterable[str]) -> dict[str, str]:
    return {measure: CITATION_MEASURES[measure].title for measure in measures}


def wide(cells: pd.DataFrame, measures: Sequence[str], names: CitationNames, by: Sequence[str]) -> pd.DataFrame:
    """A row for each combination of the columns `by`, a column for each measure. n: citations, sentences or explanations."""
    rows = []
    for values, own in cells.groupby(list(by), sort=False):
        place = dict(zip(by, values, strict=True))
        found = {row["measure"]: row for row in own.to_dict("records")}
        who = {} if "annotator" not in place else {"annotator": annotator_title(place["annotator"], names)}
        more = {name: place[name] for name in by if name not in (*WHERE, "annotator")}
        n = max((count(row) for row in found.values()), default=0)
        there = [measure for measure in measures if measure in set(cells["measure"])]
        numbers = {title: number(found.get(measure)) for measure, title in titled(there).items()}
        rows.append({**place_of(place, names), **who, **more, **numbers, "n": n})
    return pd.DataFrame(rows)


def annotator_title(key: str, names: CitationNames) -> str:
    if not key:
        return "The truth"
    return f"{names.annotator(key)} (control)" if names.control(key) else names.annotator(key)


def ordered(cells: pd.DataFrame, names: CitationNames) -> pd.DataFrame:
    """Annotators in the order of the page, within each writer and selector."""
    order = {key: place for place, key in enumerate(names.in_order(key for key in cells["annotator"] if key))}
    places = {place: rank for rank, place in enumerate(dict.fromkeys(zip(*(cells[name] for name in WHERE), strict=True)))}
    where = [places[place] for place in zip(*(cells[name] for name in WHERE), strict=True)]
    ranks = cells.assign(_where=where, _who=[order.get(key, len(order)) for key in cells["annotator"]])
    return ranks.sort_values(["_where", "_who"], kind="stable", ignore_index=True).drop(columns=["_where", "_who"])


def reasons(cells: pd.DataFrame, names: CitationNames) -> Iterator[str]:
    """Each reason once, with the annotators that it holds for."""
    told: dict[str, list[str]] = {}
    for row in cells[cells["value"].isna()].to_dict("records"):
        who = f"{annotator_title(row['annotator'], names)} by {row['writer']}" if row["annotator"] else row["writer"]
        told.setdefault(reason(row).rstrip("."), []).append(who)
    for why, whom in told.items():
        yield f"Not available for {', '.join(dict.fromkeys(whom))}: {why}."
