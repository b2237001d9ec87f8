"""The share of explanations that are transparent at any threshold: as published at .6, else computed from the answers."""

from __future__ import annotations

import math

import pandas as pd

from heval_core.citations.scoring import ROUNDING
from heval_core.statistics.bounded import share_interval
from heval_core.store.reader import Reader
from heval_core.ui.published_results import query

PUBLISHED_AT = 60
_COLUMNS = [
    *("dataset", "writer", "selector", "annotator", "masking", "measure", "value", "low", "high", "chance", "n", "claims"),
    "unavailable",
]


def transparent(results: Reader, cells: pd.DataFrame, dataset: str, selector: str, threshold: int) -> pd.DataFrame:
    """Rows like those of `cell_recovery` with the measure `transparent`. threshold: in percent of F1."""
    published = cells[(cells["measure"] == "transparent") & (cells["masking"] == "full")]
    if threshold == PUBLISHED_AT and published["value"].notna().any():
        return published
    live = query(results, computed, dataset, selector, threshold)
    # Who has no number as published has none at any threshold, for the same reason: some were not asked about every citation.
    missing = published[published["value"].isna()]
    gone = set(zip(missing["writer"], missing["annotator"], strict=True))
    kept = live[[key not in gone for key in zip(live["writer"], live["annotator"], strict=True)]]
    return pd.concat([kept, missing], ignore_index=True) if len(missing) else kept


def computed(results: Reader, dataset: str, selector: str, threshold: int) -> pd.DataFrame:
    """The same from every explanation's citation that was found worst; 95 % intervals over claims."""
    least = results.least_f1(dataset, selector)
    # A writer explains a claim once: one row a claim, one column for each writer and annotator.
    table = least.pivot(index="claim_id", columns=["writer", "annotator"], values="least")
    used = table.notna().to_numpy()
    clear = (table.to_numpy() >= threshold / 100 - ROUNDING).astype(float)
    rows = []
    for place, (writer, annotator) in enumerate(table.columns):
        own = used[:, place]
        value = float(clear[own, place].mean())
        low, high = share_interval(value, float(own.sum()))
        rows.append({
            "dataset": dataset, "writer": writer, "selector": selector, "annotator": annotator, "masking": "full",
            "measure": "transparent", "value": value, "low": low, "high": high, "chance": math.nan,
            "n": int(own.sum()), "claims": int(own.sum()), "unavailable": None,
        })  # fmt: skip
    return pd.DataFrame(rows, columns=_COLUMNS)
