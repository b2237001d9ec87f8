"""What publishing counts once over all instances, so that pages need not: contexts, failure patterns, the taught rule."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import duckdb
import numpy as np
import pandas as pd

from heval_core.evaluation.findings import Rule
from heval_core.evaluation.patterns import KINDS, PATTERNS
from heval_core.records import TECHNIQUE
from heval_core.statistics.bootstrap import Resamples, percentile_interval, resampled_sums

_TEXT = "length(trim(array_to_string(tokens[document_starts[{0}] + 1:document_ends[{0}]], '')))"
_SPREAD = "avg({0}) AS {0}_mean, quantile_cont({0}, 0.05) AS {0}_low, quantile_cont({0}, 0.95) AS {0}_high"
_CONTEXTS = f"""
INSERT INTO context BY NAME
WITH sized AS (
    SELECT model, dataset, regime, technique, list_contains(document_origins, 'substituted') AS put_in,
        list_sum(document_ends) - list_sum(document_starts) AS tokens,
        {_TEXT.format(1)} + CASE WHEN len(document_starts) > 1 THEN {_TEXT.format(2)} ELSE 0 END AS characters
    FROM instance WHERE dropped_because IS NULL)
SELECT model, dataset, regime, technique, count(*) AS instances, {_SPREAD.format("characters")}, {_SPREAD.format("tokens")},
    count(*) FILTER (put_in) AS substituted
FROM sized GROUP BY ALL ORDER BY ALL
"""
# Of the technique that findings are about.
_RULE = f"""
WITH asked AS (
    SELECT ("group" = expected_group)::INTEGER AS followed, "group",
        ntile(4) OVER (PARTITION BY model, dataset, regime ORDER BY len(tokens), instance_id) AS quarter
    FROM instance WHERE dropped_because IS NULL AND expected_group IS NOT NULL AND technique = '{TECHNIQUE}')
SELECT count(*), avg(followed), avg(followed) FILTER (quarter = 1), avg(followed) FILTER (quarter = 4),
    avg(("group" = 'C2')::INTEGER) FILTER ("group" IN ('C1', 'C2'))
FROM asked
"""


# Per dataset, technique, explainer and question: instances, how many of each pattern, and how many by chance.
PATTERN_COUNTS = (
    "SELECT dataset, technique, explainer, fact_id, count(*) AS n, "
    + ", ".join(f"count(*) FILTER (pattern = '{key}') AS {key}" for key in PATTERNS)
    + ", "
    + ", ".join(f"sum(chance.{key}) AS {key}_chance" for key in KINDS)
    + " FROM pattern JOIN instance USING (instance_id) JOIN pattern_chance chance USING (instance_id) "
    "WHERE {} GROUP BY ALL ORDER BY ALL"
)


def pattern_shares(counts: pd.DataFrame, resamples: Callable[[str], Resamples]) -> pd.DataFrame:
    """Per dataset, technique, explainer and pattern, over the instances answered from a document: what the best token is.

    counts: rows of PATTERN_COUNTS. Columns: dataset, technique, explainer, pattern, instances, share, low, high (95 %,
    questions resampled), chance (of random scores on the same instances), n (of the explainer's). Of each
    dataset and technique those patterns that occur, or could by chance.
    """
    counts = counts.assign(tied_chance=0.0)
    rows: list[dict[str, Any]] = []
    for (dataset, technique), own in counts.groupby(["dataset", "technique"]):
        there = [key for key in PATTERNS if own[[key, f"{key}_chance"]].to_numpy().any()]
        table = own.pivot_table(index="fact_id", columns="explainer", values=[*there, "n"], aggfunc="sum", fill_value=0)
        drawn = resampled_sums(resamples(str(dataset)).of(table.index), table.to_numpy(dtype=float))
        spread = dict(zip(table.columns, drawn.T, strict=True))
        for explainer, by_question in own.groupby("explainer"):
            sums = by_question[[*there, *(f"{key}_chance" for key in there), "n"]].sum()
            for key in there:
                with np.errstate(invalid="ignore"):
                    interval = percentile_interval(spread[key, explainer] / spread["n", explainer])
                rows.append(
                    {
                        "dataset": dataset, "technique": technique, "explainer": explainer, "pattern": key,
                        "instances": int(sums[key]), "share": sums[key] / sums["n"], **interval._asdict(),
                        "chance": sums[f"{key}_chance"] / sums["n"], "n": int(sums["n"]),
                    }
                )  # fmt: skip
    columns = ["dataset", "technique", "explainer", "pattern", "instances", "share", "low", "high", "chance", "n"]
    return pd.DataFrame(rows, columns=columns)


def insert_pattern_shares(db: duckdb.DuckDBPyConnection, resamples: Mapping[str, Resamples]) -> None:
    """Fill the table `pattern_share` from `pattern`."""
    found = pattern_shares(db.execute(PATTERN_COUNTS.format("true")).df(), resamples.__getitem__)
    db.register("shares", found.assign(place=range(len(found))))
    db.execute("INSERT INTO pattern_share BY NAME SELECT * FROM shares")
    db.unregister("shares")


def insert_contexts(db: duckdb.DuckDBPyConnection) -> None:
    """Fill the table `context` from `instance`."""
    db.execute(_CONTEXTS)


def rule_of(db: duckdb.DuckDBPyConnection) -> Rule | None:
    """How the taught rule shows in the instances; None where no model was taught one."""
    n, followed, shortest, longest, later = db.execute(_RULE).fetchone() or (0,) * 5
    if not n:
        return None
    nan = float("nan")
    return Rule(n, followed, *(nan if share is None else share for share in (shortest, longest, later)))
