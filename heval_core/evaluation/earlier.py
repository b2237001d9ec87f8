"""Takes from the last published file what would come out the same: the rows of regimes, and the values of metrics.

What a regime is made from is a hash (`MadeFrom`): of its shards, of all questions of its data set, which are resampled
together, and of the code. What a metric's values are made from is one of these and of the metric. Both are stored in the
published file, with where a regime's rows end in each table, and with the replicates that findings and boards need
(`store/earlier_file.py`). Cost: a few seconds for a million scores, instead of minutes.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import pyarrow as pa

from heval_core.evaluation import evaluator
from heval_core.evaluation.cells import CellValue
from heval_core.metrics.shared.measure import MirrorMetric
from heval_core.plugins import catalogue
from heval_core.records import CELL, CellKey, RegimeKey
from heval_core.records.regime_keys import mirror
from heval_core.statistics.bootstrap import NAN, Interval
from heval_core.statistics.values import Value
from heval_core.store.shards import Entry
from heval_core.store.writer import Writer

_NUMBERS = ("value", "chance", "best", "p", "low", "high", "above_low", "above_high")


class MadeFrom(NamedTuple):
    """What a regime is made from, as hashes. rows: all rows but those of metrics. metrics: of each metric, its values."""

    rows: str
    metrics: Mapping[str, str]


def recipes(
    regimes: Iterable[tuple[RegimeKey, Sequence[Entry]]], questions: Mapping[str, Mapping[str, str]]
) -> dict[Any, MadeFrom]:
    """Return each regime's recipe. regimes: all that are published, with their shards. questions: as of `parallel.Job`."""
    of_dataset = {dataset: _hashed(json.dumps(sorted(texts.items()))) for dataset, texts in questions.items()}
    rows = {
        key: _hashed(
            evaluator.regime_id(), of_dataset[key.dataset], *sorted(f"{one.kind}|{one.key}|{one.content}" for one in shards)
        )
        for key, shards in regimes
    }
    mirrors = {key: key._replace(regime=mirror(key.regime) or "") for key in rows}
    pairs = {mirrored: key for key, mirrored in mirrors.items()} | {key: one for key, one in mirrors.items() if one in rows}

    def of_metric(key: RegimeKey, name: str, metric: object) -> str:
        # What compares a regime with its mirror is computed in both, or in neither.
        both = [rows.get(pairs[key], "")] if isinstance(metric, MirrorMetric) and key in pairs else []
        return _hashed(rows[key], evaluator.metric_id(name), *both)

    metrics = catalogue.plugins("metric").items()
    return {key: MadeFrom(rows[key], {name: of_metric(key, name, metric) for name, metric in metrics}) for key in rows}


def _hashed(*parts: str) -> str:
    return hashlib.sha256("\n".join(parts).encode()).hexdigest()[:24]


class Earlier:
    """The last published file, beside the one that is being written. recipes: of what is published now; empty where nothing is
    to be taken over, and nothing saved for the next time.
    """

    def __init__(self, writer: Writer, path: Path | None, recipes: Mapping[RegimeKey, MadeFrom]):
        self._writer, self._recipes = writer, recipes
        self._lines: dict[RegimeKey, dict[str, Any]] = {}
        self._starts: dict[RegimeKey, dict[str, int]] = {}
        self._file = writer.earlier(path) if path and recipes else None
        ends: dict[str, int] = {}
        for line in self._file.regimes() if self._file else ():
            key = RegimeKey(*(line[name] for name in CELL))
            self._starts[key], ends = ends, json.loads(line["ends"])
            self._lines[key] = line | {"ends": ends, "metrics": json.loads(line["metrics"])}

    def unchanged(self, key: RegimeKey) -> frozenset[str] | None:
        """Return the metrics whose values of a regime can be taken over; None where not even its other rows can."""
        line, now = self._lines.get(key), self._recipes.get(key)
        if line is None or now is None or line["made_from"] != now.rows:
            return None
        return frozenset(name for name, made_from in now.metrics.items() if line["metrics"].get(name) == made_from)

    def whole(self, key: RegimeKey) -> bool:
        """Return whether everything of a regime can be taken over."""
        same = self.unchanged(key)
        return same is not None and same == self._lines[key]["metrics"].keys() == self._recipes[key].metrics.keys()

    def take_rows(self, key: RegimeKey, tables: Iterable[str]) -> None:
        """Insert the regime's rows of some tables."""
        assert self._file
        for table in tables:
            self._file.take(table, *self._range(key, table))

    def score_rows(self, key: RegimeKey, metric: str) -> pa.Table:
        """Return a regime's rows of the table `score`, of one metric."""
        assert self._file
        return self._file.scores(*self._range(key, "score"), metric)

    def values(self, key: RegimeKey, metrics: Iterable[str]) -> list[CellValue]:
        """Return the values of some metrics in a regime, with the replicates that were saved."""
        return [_value(row) for row in self._file.values(key, metrics)] if self._file else []

    def save(self, key: RegimeKey, ends: Mapping[str, int], whole: bool) -> None:
        """Save what a regime was made from, for the next time. ends: the number of rows in each table, this regime's included.
        whole: whether all values were measured on the same instances; of others findings have their own.
        """
        if recipe := self._recipes.get(key):
            of_metrics = json.dumps(dict(recipe.metrics) if whole else {})
            line = {**key._asdict(), "made_from": recipe.rows, "metrics": of_metrics, "ends": json.dumps(dict(ends))}
            self._writer.insert_frame("again.regime", pd.DataFrame([line]))

    def save_replicates(self, values: Iterable[CellValue]) -> None:
        """Save the replicates of values, for the next time."""
        rows = [(*one.cell, *one.name, one.value.drawn) for one in values if one.value.drawn is not None]
        if self._recipes and rows:
            self._writer.insert_frame(
                "again.drawn", pd.DataFrame(rows, columns=[*CellKey._fields, "metric", "part", "k", "drawn"])
            )

    def _range(self, key: RegimeKey, table: str) -> tuple[int, int]:
        return self._starts[key].get(table, 0), self._lines[key]["ends"][table]


def _value(row: Mapping[str, Any]) -> CellValue:
    number = {name: NAN if row[name] is None else float(row[name]) for name in _NUMBERS}
    sizes, details = (tuple(json.loads(row[name]).items()) for name in ("group_sizes", "details"))
    value = Value(
        row["part"],
        number["value"],
        number["chance"],
        number["best"],
        sizes,
        row["unavailable"],
        p=number["p"],
        details=details,
        drawn=None if row["drawn"] is None else np.array(row["drawn"], dtype=np.float64),
    )
    around, above = Interval(number["low"], number["high"]), Interval(number["above_low"], number["above_high"])
    return CellValue(CellKey(*(row[name] for name in CellKey._fields)), row["metric"], row["k"], value, around, above)
