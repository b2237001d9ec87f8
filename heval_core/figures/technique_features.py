"""What BCU depends on, as a table."""

from __future__ import annotations

import pandas as pd

from heval_core.present.names import regime_title
from heval_core.present.numbers import change, p_value
from heval_core.words import FEATURES


def feature_title(feature: str) -> str:
    return FEATURES[feature].title if feature in FEATURES else feature.replace("_", " ")


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
