"""Makes a board of what a results file has under a filter: no scores are read where no filter cuts cells.

Cost: two seconds for the demo results with four methods; under a filter that cuts cells everything is computed anew (`live`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np
import pandas as pd

from heval_core.evaluation.board import columns as known
from heval_core.evaluation.board.costs import costs_of
from heval_core.evaluation.board.means import replicates, values_of
from heval_core.evaluation.board.pairs import pairs_of
from heval_core.evaluation.board.records import EVERY_SIZE, PAIRS, PLACES, QUALITY, VALUES, Board, Column, Row
from heval_core.evaluation.means import available, counting
from heval_core.evaluation.means import values_of as cells_of
from heval_core.metrics.shared.cell import DEFAULT_K
from heval_core.metrics.shared.measure import Measure
from heval_core.records import TECHNIQUE
from heval_core.regime_keys import read_key
from heval_core.statistics.bounded import mean_interval
from heval_core.store.filters import Filter
from heval_core.store.reader import Reader
from heval_core.techniques import pareto_front
from heval_core.words import dataset_title


def board(reader: Reader, chosen: Filter = Filter()) -> Board:  # noqa: B008
    """The board of one technique: the filter's, else Regular. A board without rows where nothing is explained.

    A regime brings its options along, the decoys and lengths with which it was run: they have columns of their own.
    """
    chosen = _with_options(reader, _of_one_technique(reader, chosen))
    measured = {
        measure: cells_of(reader, chosen, measure.metric, measure.at(DEFAULT_K), measure.together)
        for measure in known.measured()
    }
    found = pd.concat(measured.values())
    regimes = list(dict.fromkeys(found["regime"].astype(str)))
    made = board_of(measured, rows_of(reader, list(found["explainer"].unique())), costs_of(reader, chosen, regimes))
    titles = reader.catalogue("dataset").set_index("key")["title"].to_dict()
    return replace(made, datasets=tuple(dataset_title(key, titles) for key in made.datasets))


def _of_one_technique(reader: Reader, chosen: Filter) -> Filter:
    choices = reader.choices()
    there = list(dict.fromkeys(choices[choices["explained"]]["technique"]))
    wanted = [own for own in (*chosen.technique, TECHNIQUE, *there) if own in there or own in chosen.technique]
    return replace(chosen, technique=tuple(wanted[:1]))


def _with_options(reader: Reader, chosen: Filter) -> Filter:
    """With every regime named: those with options may be left out of what a filter takes unnamed."""
    choices = reader.choices()
    own = choices[choices["explained"] & choices["technique"].isin(chosen.technique)]
    there = [str(regime) for regime in dict.fromkeys(own["regime"])]
    wanted = [regime for regime in there if {regime, read_key(regime).base} & set(chosen.regime or there)]
    return replace(chosen, regime=tuple(wanted) or chosen.regime)


def rows_of(reader: Reader, explainers: Sequence[str]) -> list[Row]:
    """A row for each explainer."""
    named = reader.catalogue("explainer").set_index("key")
    return [
        Row(key, str(named["title"].get(key, key)).removesuffix(" (control)"), bool(named["control"].get(key, False)))
        for key in explainers
    ]


def board_of(measured: Mapping[Measure, pd.DataFrame], rows: Sequence[Row], costs: pd.DataFrame) -> Board:
    """A board of cells that are there already: of one technique, by measure."""
    methods = [row.key for row in rows if not row.control]
    every_column = _counting(measured, [row.key for row in rows if row.control])
    wanted = known.protected_first(measured, {column.measure for column, own in every_column.items() if len(own)})
    measured = {measure: measured[measure] for measure in wanted}
    counted = {column: own for column, own in every_column.items() if len(own) and column.measure in measured}
    apart = [column for column, own in every_column.items() if own.empty and column.measure in measured]
    keys = [row.key for row in rows]
    tables = [values_of(column, measured[column.measure], own, keys) for column, own in counted.items()]
    by_model = [values_of(column, measured[column.measure], own, keys, ("model",)) for column, own in counted.items()]
    asked = {column: own for column, own in counted.items() if column.scaled and column.plain}
    pairs = [pairs_of(column, own, keys) for column, own in asked.items()]
    values = _together(tables, VALUES)
    quality = _quality(values, asked, methods, costs)
    places = _together([own.assign(column=column.key)[PLACES].drop_duplicates() for column, own in counted.items()], PLACES)
    every = {str(regime) for own in measured.values() for regime in own["regime"]}
    return Board(
        _ordered(rows, quality, values),
        tuple(counted),
        known.absent(list(counted), apart, {measure: _lacking(own) for measure, own in measured.items()}, every),
        values,
        _together(by_model, ["model", *VALUES]),
        costs,
        quality,
        _together(pairs, PAIRS),
        *(tuple(sorted(places[name].unique())) for name in ("model", "dataset", "regime")),
        places,  # type: ignore[call-arg]  # mypy takes the three above for any number
    )


def _counting(measured: Mapping[Measure, pd.DataFrame], controls: Sequence[str]) -> dict[Column, pd.DataFrame]:
    """Every column that has a number, with its cells that count: none where most methods lack them."""
    found: dict[Column, pd.DataFrame] = {}
    for measure, own in measured.items():
        there = available(own, measure.together)
        for column in known.columns_for(measure, there["regime"].astype(str).unique()):
            found[column] = counting(there[[known.takes(column, str(regime)) for regime in there["regime"]]], controls)
    return found


def _lacking(cells: pd.DataFrame) -> str:
    """Why most of some cells have no number: "group C has 12 of the 30 instances needed"; empty if they do not say."""
    said = cells["unavailable"].dropna()
    return f"in no cell, since {said.mode()[0]}" if len(said) else ""


def _together(tables: Sequence[pd.DataFrame], names: list[str]) -> pd.DataFrame:
    there = [table for table in tables if len(table)]
    return pd.concat(there, ignore_index=True) if there else pd.DataFrame(columns=names)


def _ordered(rows: Sequence[Row], quality: pd.DataFrame, values: pd.DataFrame) -> tuple[Row, ...]:
    """Methods before controls; those with a number for every question, best first; then the others, as they came."""
    own = dict(zip(quality["explainer"], quality["value"], strict=True))
    rest = values[values["chance"] == 0].groupby("explainer")["value"].mean() if len(values) else pd.Series(dtype=float)

    def place(row: Row) -> tuple[bool, bool, float]:
        value = own.get(row.key, rest.get(row.key, np.nan))
        return row.control, row.key not in own, -value if np.isfinite(value) else np.inf

    return tuple(sorted(rows, key=place))


def _quality(
    values: pd.DataFrame, asked: Mapping[Column, pd.DataFrame], methods: Sequence[str], costs: pd.DataFrame
) -> pd.DataFrame:
    """`Board.quality`, of the rows that lack no cell of any question: the others' means are of other cells."""
    if not asked:
        return pd.DataFrame(columns=QUALITY)
    own = values[values["column"].isin([column.key for column in asked])]
    whole = [str(key) for key, part in own.groupby("explainer", sort=False) if (part["cells"] == part["of"]).all()]
    drawn = [replicates(counted, ["explainer"]) for counted in asked.values()]
    passes = costs[costs["size"] == EVERY_SIZE].set_index("explainer")["whole_passes"]
    rows = []
    for key in whole:
        of_columns = own[own["explainer"] == key].set_index("column").loc[[column.key for column in asked]]
        parts = [of_column[key,].mean(axis=1) for of_column in drawn if (key,) in of_column]
        together = np.stack(parts, axis=1) if len(parts) == len(drawn) else None
        value, low, high = (of_columns[name].to_numpy(dtype=float) for name in ("value", "low", "high"))
        rows.append([key, value.mean(), *mean_interval(value, low, high, together), passes.get(key, np.nan), False])
    made = pd.DataFrame(rows, columns=QUALITY)
    priced = made["explainer"].isin(list(methods)) & made["whole_passes"].notna()
    points = [(-row.whole_passes, row.value) for row in made[priced].itertuples()]
    front = dict(zip(made[priced]["explainer"], pareto_front(points), strict=True))
    return made.assign(on_front=[front.get(key, False) for key in made["explainer"]])
