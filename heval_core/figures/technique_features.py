"""What BCU depends on: a row for each feature, a column for each kind of context, rho pooled and within."""

from __future__ import annotations

from typing import Any

import pandas as pd

from heval_core.figures.dots import Axis, Dot, DotFigure, Panel, Row, Slot
from heval_core.present.drawing import Scale
from heval_core.present.names import regime_meaning, regime_title
from heval_core.present.numbers import change, p_value, tick
from heval_core.present.table import reason
from heval_core.records import CONTEXT_KINDS
from heval_core.words import FEATURES

ALPHA = 0.05
_AXIS = Axis(Scale(-1.18, 1.18), text=tick, ticks=3)
# Pooled above, within models and datasets below.
_WAYS = (("", "pooled over models and datasets"), ("_stratified", "within each model and dataset"))


def feature_title(feature: str) -> str:
    return FEATURES[feature].title if feature in FEATURES else feature.replace("_", " ")


def features_figure(correlations: pd.DataFrame) -> DotFigure:
    """correlations: rows of `feature_correlation` of one dataset and technique."""
    found = {(row["feature"], row["regime"]): row for row in correlations.to_dict("records")}
    rows = [
        Row(
            feature,
            feature_title(feature),
            hint=FEATURES[feature].meaning if feature in FEATURES else "",
            note="of the model" if _of_model(correlations, feature) else "of the input",
        )
        for feature in in_order(correlations)
    ]
    panels = [
        Panel(
            regime_title(kind),
            tuple(_slot(found.get((row.key, kind)), row.key, kind) for row in rows),
            _AXIS,
            hint=regime_meaning(kind),
            chance=0.0,
        )
        for kind in CONTEXT_KINDS
        if kind in set(correlations["regime"])
    ]
    title = "Correlation of BCU with features of the model and of the input, by kind of context"
    return DotFigure(title, rows, panels, bars=True, lane=18, zero="zero")


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


def _slot(row: dict[str, Any] | None, feature: str, kind: str) -> Slot:
    head = f"{feature_title(feature)}, {regime_title(kind).lower()}"
    if row is None or pd.isna(row["rho"]):
        return Slot(missing=Dot(0.0, (head, "not available", reason(row)), (feature, kind)))
    dots = []
    for lane, (way, words) in enumerate(_WAYS):
        rho = row[f"rho{way}"]
        if pd.isna(rho):
            continue
        strong = significant(row, way)
        about = (
            head,
            f"rho {change(rho)}, {words}",
            f"p {p_value(row[f'p{way}_holm'])} after Holm's correction, {'significant' if strong else 'not significant'}",
            f"{int(row['n']):,} answers",
        )
        text = change(rho) + ("*" if strong else "")
        dots.append(Dot(rho, about, (feature, kind, way), hollow=not way, text=text, strong=strong, lane=lane))
    return Slot(tuple(dots))
