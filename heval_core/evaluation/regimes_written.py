"""The rows that belong to single regimes, written one regime after another; they can be divided between two processes."""

from __future__ import annotations

from base64 import b64decode, b64encode
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import groupby
from typing import Any, NamedTuple

import numpy as np

from heval_core.evaluation import cells, findings
from heval_core.evaluation.measuring import Measured, insert_regime
from heval_core.evaluation.techniques import behaviours
from heval_core.records import CellKey, RegimeKey
from heval_core.regime_keys import mirror, order
from heval_core.statistics.bootstrap import Resamples
from heval_core.store.kinds import TIMING, TRIAL
from heval_core.store.shards import Entry, ShardStore
from heval_core.store.writer import Writer


class Shards(NamedTuple):
    """The shards of one regime. size: their bytes."""

    key: RegimeKey
    entries: list[Entry]
    size: int


@dataclass
class OverCells:
    """Collects the values for headline and findings while the cells are evaluated one after another."""

    rows: list[dict[str, Any]] = field(default_factory=list)
    spread: dict[cells.ValueKey, np.ndarray] = field(default_factory=dict)
    paired_rows: list[dict[str, Any]] = field(default_factory=list)
    paired_spread: dict[cells.ValueKey, np.ndarray] = field(default_factory=dict)

    def add(self, measured: Measured) -> None:
        wanted = [row for row in measured.paired.rows if (row["metric"], row["part"], row["k"]) in findings.WANTED]
        own = measured.evaluated
        self.extend(OverCells(own.rows, own.replicates, wanted, measured.paired.replicates))

    def extend(self, other: OverCells) -> None:
        self.rows += other.rows
        self.spread |= other.spread
        self.paired_rows += other.paired_rows
        self.paired_spread |= other.paired_spread

    def as_json(self) -> dict[str, Any]:
        """For another process: rows, and replicates as bytes, which are exact."""
        return {
            "rows": self.rows,
            "paired_rows": self.paired_rows,
            "spread": _as_json(self.spread),
            "paired_spread": _as_json(self.paired_spread),
        }

    @classmethod
    def of_json(cls, told: dict[str, Any]) -> OverCells:
        return cls(told["rows"], _of_json(told["spread"]), told["paired_rows"], _of_json(told["paired_spread"]))


def _as_json(spread: Mapping[cells.ValueKey, np.ndarray]) -> list[list[Any]]:
    return [[*key.cell, *key[1:], b64encode(values.tobytes()).decode("ascii")] for key, values in spread.items()]


def _of_json(told: list[list[Any]]) -> dict[cells.ValueKey, np.ndarray]:
    width = len(CellKey._fields)
    return {
        cells.ValueKey(CellKey(*own[:width]), *own[width:-1]): np.frombuffer(b64decode(own[-1]), dtype=np.float64)
        for own in told
    }


def by_regime(store: ShardStore, entries: Iterable[Entry]) -> list[Shards]:
    """The shards of each regime, in the order in which results are stored.

    Searches belong to no single regime, and timings to no instance.
    """
    found: dict[RegimeKey, list[Entry]] = defaultdict(list)
    for entry in entries:
        if entry.kind not in (TRIAL.name, TIMING.name):
            found[entry.cell.of_regime].append(entry)
    return [Shards(key, found[key], store.size(found[key])) for key in sorted(found, key=_order)]


def halves(regimes: Sequence[Shards]) -> tuple[list[Shards], list[Shards]]:
    """Cut where both sides have about as many bytes, never between regimes that are compared with each other.

    The second is empty if all regimes are of one model, dataset and technique.
    """
    groups = [list(own) for _, own in groupby(regimes, key=lambda one: _order(one.key)[:3])]
    sizes = np.cumsum([sum(one.size for one in group) for group in groups])
    cut = 1 + int(np.abs(sizes[:-1] - sizes[-1] / 2).argmin()) if len(groups) > 1 else len(groups)
    return [one for group in groups[:cut] for one in group], [one for group in groups[cut:] for one in group]


def write(
    writer: Writer,
    store: ShardStore,
    regimes: Sequence[Shards],
    resamples: Mapping[str, Resamples],
    keep: bool,
    ended: Callable[[Shards], None],
) -> OverCells:
    """Evaluate regimes and write their rows. ended: is called after each."""
    whole = OverCells()
    for _, of_technique in groupby(regimes, key=lambda one: _order(one.key)[:3]):
        mirrored: dict[str, cells.Mirrored] = {}
        group = list(of_technique)
        behaviours.insert(writer, store, [entry for one in group for entry in one.entries])
        for one in group:
            found = insert_regime(writer, store, one.entries, resamples[one.key.dataset], keep)
            if found is not None:
                mirrored[one.key.regime] = found.mirrored
                whole.add(found)
            ended(one)
        whole.rows += _swaps(mirrored)
    return whole


def _order(key: RegimeKey) -> tuple[str, str, str, tuple[int, ...]]:
    return key.model, key.dataset, key.technique, order(key.regime)


def _swaps(measured: Mapping[str, cells.Mirrored]) -> list[dict[str, Any]]:
    """Metrics that compare a regime with its mirror, in which the documents are swapped."""
    rows = []
    for regime, found in measured.items():
        swapped = measured.get(mirror(regime) or "")
        if swapped is not None:
            rows += cells.swap_rows(found, swapped)
    return rows
