"""What BCU depends on: a row for each feature, a column for each kind of context, rho pooled and within."""

from __future__ import annotations

from typing import Any

import pandas as pd

from heval_core.present.names import regime_meaning, regime_title
from heval_core.present.numbers import change, p_value
from heval_core.records import CONTEXT_KINDS
from heval_core.words import FEATURES

ALPHA = 0.05
_LOW, _HIGH = -1.18, 1.18
# Pooled above, within models and datasets below.
_WAYS = (("", False, -9, "pooled over models and datasets"), ("_stratified", True, 9, "within each model and dataset"))


def feature_title(feature: str) -> str:
    return FEATURES[feature].title if feature in FEATURES else feature.replace("_", " ")


def features_drawing(correlations: pd.DataFrame) -> dict[str, Any]:
    """What the browser draws. correlations: rows of `feature_correlation` of one dataset and technique."""
    kinds = [kind for kind in CONTEXT_KINDS if kind in set(correlations["regime"])]
    features = in_order(correlations)
    found = {(row["feature"], row["regime"]): row for row in correlations.to_dict("records")}
    return {
        "columns": [{"title": regime_title(kind), "note": "", "hint": regime_meaning(kind)} for kind in kinds],
        "axis": {"zero": _at(0), "ticks": [{"at": _at(end), "text": text} for end, text in ((-1, "−1"), (0, "0"), (1, "+1"))]},
        "rows": [
            {
                "title": feature_title(feature),
                "note": "of the model" if _of_model(correlations, feature) else "of the input",
                "hint": FEATURES[feature].meaning if feature in FEATURES else "",
                "shape": "",
                "front": False,
                "marks": [_marks(found.get((feature, kind)), feature, kind) for kind in kinds],
            }
            for feature in features
        ],
        "about": "Correlation of BCU with features of the model and of the input, by kind of context",
        "picked": "",
        "wide_rows": True,
    }


def in_order(correlations: pd.DataFrame) -> list[str]:
    """As they are published: those of the model first."""
    return list(dict.fromkeys(correlations["feature"]))


def significant(row: Any, way: str) -> bool:
    """way: empty for pooled, `_stratified` for within."""
    p = row[f"p{way}_holm"]
    return not pd.isna(p) and p < ALPHA


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


def _of_model(correlations: pd.DataFrame, feature: str) -> bool:
    """A feature of the model is the same for all answers of a model, so it never varies within one."""
    own = correlations[correlations["feature"] == feature]
    return bool(own["rho_stratified"].isna().all() and own["rho"].notna().any()) or feature in ("parameters", "instruct")


def _at(value: float) -> float:
    return round(100 * (value - _LOW) / (_HIGH - _LOW), 2)


def _marks(row: dict[str, Any] | None, feature: str, kind: str) -> list[dict[str, Any]]:
    where = f"{feature_title(feature)}, {regime_title(kind).lower()}"
    if row is None or pd.isna(row["rho"]):
        why = None if row is None else row["unavailable"]
        return [{"id": [feature, kind], "why": "not measured here" if pd.isna(why) else str(why)}]
    marks = []
    for way, filled, shift, words in _WAYS:
        rho = row[f"rho{way}"]
        if pd.isna(rho):
            continue
        strong = significant(row, way)
        about = [
            where,
            f"rho {change(rho)}, {words}",
            f"p {p_value(row[f'p{way}_holm'])} after Holm's correction, {'significant' if strong else 'not significant'}",
            f"{int(row['n']):,} answers",
        ]
        place = {
            "at": _at(rho),
            "low": _at(rho),
            "high": _at(rho),
            "shift": shift,
            "text": change(rho) + ("*" if strong else ""),
        }
        marks.append({"id": [feature, kind, way], **place, "filled": filled, "strong": strong, "about": about})
    return marks
