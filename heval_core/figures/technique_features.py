"""What BCU depends on, as a sentence and as a table."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import pandas as pd

from heval_core.present.names import regime_title
from heval_core.present.numbers import change, p_value
from heval_core.words import FEATURES, counted, listed

ALPHA = 0.05
# Features that the sentence names.
_NAMED = 2


def feature_title(feature: str) -> str:
    return FEATURES[feature].title if feature in FEATURES else feature.replace("_", " ")


def significant(row: Mapping[Any, Any], way: str) -> bool:
    """way: empty for pooled, `_stratified` for within models and datasets."""
    p = row[f"p{way}_holm"]
    return not pd.isna(p) and p < ALPHA


def features_sentence(correlations: pd.DataFrame, written: Callable[[str], str]) -> str:
    """What BCU goes with inside models and data sets, and how many features only look so when all are pooled.

    correlations: rows of `feature_correlation` of one dataset and technique. written: how a title is written.
    """
    rows = correlations.dropna(subset=["rho_stratified"]).to_dict("records")
    within: dict[str, list[dict[Any, Any]]] = {}
    for row in sorted(rows, key=lambda row: -abs(row["rho_stratified"])):
        if significant(row, "_stratified"):
            within.setdefault(row["feature"], []).append(row)
    told = [_with_more(written(feature_title(feature)), own) for feature, own in [*within.items()][:_NAMED]]
    more = len(within) - len(told)
    told += [f"So it does with {counted(more, 'more feature')}."] if more else []
    looks = {row["feature"] for row in rows if significant(row, "")} - within.keys()
    vanish = "vanishes" if len(looks) == 1 else "vanish"
    told += [f"{counted(len(looks), 'other suspect').capitalize()} {vanish} within a model."] if looks else []
    return " ".join(told if within else ["No feature surely matters within a model.", *told])


def _with_more(title: str, rows: list[dict[Any, Any]]) -> str:
    """`With more reading ease, right answers fall for gold documents (−0.28).`"""
    ways = []
    for verb, sign in (("fall", -1), ("rise", 1)):
        own = [
            f"{regime_title(row['regime']).lower()} ({change(row['rho_stratified'])})"
            for row in rows
            if sign * row["rho_stratified"] > 0
        ]
        ways += [f"{verb} for {listed(own)} documents"] if own else []
    return f"With more {title}, right answers {' and '.join(ways)}."


def correlation_table(correlations: pd.DataFrame) -> pd.DataFrame:
    """The numbers for people, a row for each feature and kind."""
    rows = [
        {
            "feature": feature_title(row["feature"]),
            "context": regime_title(row["regime"]),
            "rho, pooled": change(row["rho"]),
            "p, Holm": p_value(row["p_holm"]),
            "rho, within": change(row["rho_stratified"]),
            "p within, Holm": p_value(row["p_stratified_holm"]),
            "answers": row["n"],
            "why not available": row["unavailable"],
        }
        for row in correlations.to_dict("records")
    ]
    table = pd.DataFrame(rows)
    return table if len(table) and table["why not available"].notna().any() else table.drop(columns="why not available")
