"""The share of explanations that are transparent at any threshold: as published at .6, else computed from the answers."""

from __future__ import annotations

import math

import numpy as np
import pandas as pd

from heval_core.statistics.bootstrap import Resamples, percentile_interval, weighted_means
from heval_core.store.reader import Reader
from heval_core.ui.published_results import query

PUBLISHED_AT = 60
# An F1 of .6 may be a little less as a sum of fractions.
_ROUNDING = 1e-9


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
    """The same from every explanation's citation that was found worst; 95 % intervals, claims resampled."""
    least = results.least_f1(dataset, selector)
    resamples = Resamples(dataset, least["claim_id"])
    rows = []
    for (writer, annotator), own in least.groupby(["writer", "annotator"], sort=False):
        clear = (own["least"].to_numpy() >= threshold / 100 - _ROUNDING).astype(float)[:, None]
        means = weighted_means(resamples.of(own["claim_id"]), clear, np.ones_like(clear, dtype=bool))
        low, high = percentile_interval(means[:, 0])
        rows.append({
            "dataset": dataset, "writer": writer, "selector": selector, "annotator": annotator, "masking": "full",
            "measure": "transparent", "value": float(clear.mean()), "low": low, "high": high, "chance": math.nan,
            "n": len(own), "claims": own["claim_id"].nunique(), "unavailable": None,
        })  # fmt: skip
    columns = [
        "dataset",
        "writer",
        "selector",
        "annotator",
        "masking",
        "measure",
        "value",
        "low",
        "high",
        "chance",
        "n",
        "claims",
    ]
    return pd.DataFrame(rows, columns=[*columns, "unavailable"])
