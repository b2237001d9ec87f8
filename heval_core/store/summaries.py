"""What publishing counts once over all instances, so that pages need not: lengths of contexts, how the taught rule shows."""

from __future__ import annotations

import duckdb

from heval_core.findings import Rule

_TEXT = "length(trim(array_to_string(tokens[document_starts[{0}] + 1:document_ends[{0}]], '')))"
_SPREAD = "avg({0}) AS {0}_mean, quantile_cont({0}, 0.05) AS {0}_low, quantile_cont({0}, 0.95) AS {0}_high"
_CONTEXTS = f"""
INSERT INTO context BY NAME
WITH sized AS (
    SELECT model, dataset, regime, list_contains(document_origins, 'substituted') AS put_in,
        list_sum(document_ends) - list_sum(document_starts) AS tokens,
        {_TEXT.format(1)} + CASE WHEN len(document_starts) > 1 THEN {_TEXT.format(2)} ELSE 0 END AS characters
    FROM instance WHERE dropped_because IS NULL)
SELECT model, dataset, regime, count(*) AS instances, {_SPREAD.format("characters")}, {_SPREAD.format("tokens")},
    count(*) FILTER (put_in) AS substituted
FROM sized GROUP BY ALL ORDER BY ALL
"""
_RULE = """
WITH asked AS (
    SELECT ("group" = expected_group)::INTEGER AS followed, "group",
        ntile(4) OVER (PARTITION BY model, dataset, regime ORDER BY len(tokens), instance_id) AS quarter
    FROM instance WHERE dropped_because IS NULL AND expected_group IS NOT NULL)
SELECT count(*), avg(followed), avg(followed) FILTER (quarter = 1), avg(followed) FILTER (quarter = 4),
    avg(("group" = 'C2')::INTEGER) FILTER ("group" IN ('C1', 'C2'))
FROM asked
"""


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
