"""Saves values that take long from one publishing to the next: NMutInf, MDL and the probe, on a hundred halves each.

The key of a value is a hash of all that it depends on: features, labels, splits, the metric's settings, the code that computes
it, and the libraries that this calls. Comments, docstrings, a metric's title and the path of a file do not change the key.
Nothing else reads the saved values. They may be deleted at any time; publishing then takes longer.
The folder `evaluated/` beside a store's shards has one Parquet file for each model.
"""

import functools
import hashlib
import json
import os
from collections.abc import Collection, Mapping, Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from filelock import FileLock

from heval_core import metrics
from heval_core.evaluation.evaluator import computing
from heval_core.metrics._features import Labelled, LearnedMetric
from heval_core.plugins import catalogue
from heval_core.records import RegimeKey
from heval_core.statistics import scores, subsampling
from heval_core.statistics.subsampling import Error
from heval_core.statistics.values import Value

FOLDER = "evaluated"
_NUMBERS, _PAIRS = ("value", "chance", "best", "p", "bound", "chance_se"), ("sizes", "details")
_SCALARS = ("part", "unavailable", "counted", *_NUMBERS)
_SCHEMA = pa.schema(
    [
        ("regime", pa.string()),
        ("key", pa.string()),
        ("part", pa.string()),
        ("unavailable", pa.string()),
        ("sizes", pa.string()),
        ("details", pa.string()),
        ("counted", pa.int32()),
        *((name, pa.float64()) for name in (*_NUMBERS, "se", "df")),
        ("deviations", pa.list_(pa.float64())),
    ]
)


@functools.cache
def _sources() -> str:
    """Hash the code that computes values on halves, and the versions of the libraries that it calls."""
    folder = Path(metrics.__file__).parent
    files = [folder / f"{name}.py" for name in ("_features", "_nets", "description_length", "mutual_information", "probe")]
    files += [Path(module.__file__ or "") for module in (subsampling, scores)]
    digest = hashlib.sha256("".join(f"{name} {version(name)}" for name in ("numpy", "scikit-learn", "scipy")).encode())
    for file in files:
        digest.update(computing(file.read_text(encoding="utf-8"), declared=False).encode())
    return digest.hexdigest()


class ValueCache:
    """The saved values of one regime. missed: how many values had to be computed.

    needed: the (metric, part, k) that are combined with others; the deviations behind their errors are saved too.
    writable: whether to save newly computed values. A folder that cannot be written is no error.
    """

    def __init__(self, folder: Path, regime: RegimeKey, needed: Collection[tuple[str, str, int]], writable: bool = True):
        name = "".join(c if c.isalnum() or c in "-_." else "_" for c in regime.model)
        self._path, self._writable = folder / FOLDER / f"{name}.parquet", writable
        self._regime = "|".join(regime)
        self._needed = needed
        self._known: dict[str, list[dict[str, Any]]] = {}
        self._used: set[str] = set()
        self.missed = 0
        for row in _read(self._path, pc.field("regime") == self._regime).to_pylist():
            self._known.setdefault(row.pop("key"), []).append(row)

    def of_all(self, metric: LearnedMetric, ks: Sequence[int], data: Sequence[Labelled]) -> list[list[Value]]:
        """Compute like the metric's `of_all`, with the k of each; saved values are not computed again."""
        texts = (
            f"{_sources()}|{catalogue.identity('metric', metric)}|{k}|{target.digest}"
            for k, target in zip(ks, data, strict=True)
        )
        keys = [hashlib.sha256(text.encode()).hexdigest()[:24] for text in texts]
        missing = [slot for slot, key in enumerate(keys) if key not in self._known]
        self.missed += len(missing)
        computed = metric.of_all([data[slot] for slot in missing]) if missing else []
        for slot, values in zip(missing, computed, strict=True):
            needed = ((metric.key, value.part, ks[slot]) in self._needed for value in values)
            self._known[keys[slot]] = [_row(value, whole) for value, whole in zip(values, needed, strict=True)]
        self._used.update(keys)
        return [[_estimate(row) for row in self._known[key]] for key in keys]

    def save(self, whole: bool = True) -> None:
        """Save the values that were requested since opening, and no others of this regime. whole: whether all metrics were
        computed; if not, values that others saved stay too.
        """
        if not (self._writable and self.missed):
            return
        rows = [
            row | {"key": key, "regime": self._regime}
            for key in sorted(self._used if whole else self._known)
            for row in self._known[key]
        ]
        temporary = self._path.with_suffix(f".{os.getpid()}.tmp")
        # Processes that evaluate other regimes of the model write this file too.
        try:
            self._path.parent.mkdir(exist_ok=True)
            with FileLock(self._path.with_suffix(".lock")):
                others = _read(self._path, pc.field("regime") != self._regime)
                table = pa.concat_tables([others, pa.Table.from_pylist(rows, _SCHEMA)])
                pq.write_table(table, temporary, compression="zstd", compression_level=15)
                os.replace(temporary, self._path)
        except OSError:
            temporary.unlink(missing_ok=True)  # the values are computed again the next time


def _read(path: Path, chosen: pc.Expression) -> pa.Table:
    try:
        return pq.read_table(path, schema=_SCHEMA, filters=chosen)
    except (OSError, pa.ArrowException):
        return _SCHEMA.empty_table()  # none yet, damaged, or of another version: its values are computed again


def _row(estimate: Value, whole: bool) -> dict[str, Any]:
    error = estimate.error or Error(np.nan, np.nan, np.array([]))
    return {
        **{name: getattr(estimate, name) for name in _SCALARS},
        **{name: json.dumps(getattr(estimate, name)) for name in _PAIRS},
        "se": error.se,
        "df": error.df,
        "deviations": error.deviations if whole else [],
    }


def _estimate(row: Mapping[str, Any]) -> Value:
    error = None if row["unavailable"] else Error(row["se"], row["df"], np.array(row["deviations"], dtype=np.float64))
    pairs: dict[str, Any] = {column: tuple((name, value) for name, value in json.loads(row[column])) for column in _PAIRS}
    return Value(**{name: row[name] for name in _SCALARS}, **pairs, error=error)
