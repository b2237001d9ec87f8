"""Scores as a results file holds them: which there are, and some of them at a time."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa

# SQL and the values of its parameters ▶ all rows.
Query = Callable[[str, list[Any]], pa.Table]


@dataclass(frozen=True, eq=False)
class StoredScores:
    """The scores that a table has of some instances. The scores themselves stay in the file until they are read.

    rows: instance_id, explainer, signed, and row, where the scores are stored; in stored order.
    """

    query: Query
    table: str
    rows: pd.DataFrame

    @classmethod
    def of(cls, query: Query, table: str, ids: list[str]) -> StoredScores:
        """Those of the instances with these ids. table: `attribution` or `context_attribution`."""
        found = query(
            f"SELECT instance_id, explainer, signed, rowid AS row FROM {table} "
            "WHERE instance_id IN (SELECT unnest(?)) ORDER BY rowid",
            [ids],
        )
        # Texts as Python's: pandas looks up Arrow's far more slowly.
        return cls(query, table, found.to_pandas().astype({"instance_id": object, "explainer": object}))

    def read(self, rows: np.ndarray) -> pa.ListArray:
        """The scores stored at some rows, in the order of these."""
        found = self.query(f"SELECT rowid AS row, scores FROM {self.table} WHERE rowid IN (SELECT unnest(?))", [rows.tolist()])
        there = found["row"].to_numpy()
        scores = found["scores"].combine_chunks()
        if not np.array_equal(there, rows):
            order = np.argsort(there)
            scores = scores.take(pa.array(order[np.searchsorted(there, rows, sorter=order)]))
        return scores
