"""Read-only, hardened access to a published results file. Every value is a bound parameter; results are DataFrames."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any

import duckdb
import pandas as pd
import pyarrow as pa

from heval_core import catalogue, metrics
from heval_core.evaluation import live, text_agreement
from heval_core.evaluation.patterns import PATTERNS
from heval_core.metrics.shared.cell import DEFAULT_K
from heval_core.records import CELL, HEvalError
from heval_core.statistics.bootstrap import Resamples
from heval_core.store.shards import POINTER, PUBLISHED_FORMAT

_HARDENING = {
    "enable_external_access": "false",
    "autoload_known_extensions": "false",
    "autoinstall_known_extensions": "false",
    "threads": "2",
    "memory_limit": "768MB",
    "lock_configuration": "true",
}
# Where the answer first stands: of the document that was used, or of the first one where none was.
_ANSWER_AT = "(CASE WHEN \"group\" = 'C2' THEN answer_tokens[2][1] ELSE answer_tokens[1][1] END) / len(tokens)"


def current_file(folder: Path) -> Path | None:
    """The published file a folder points to; None where nothing is published there."""
    pointer = folder / POINTER
    if not pointer.is_file():
        return None
    try:
        line = json.loads(pointer.read_text(encoding="utf-8"))
        named = folder / Path(line["file"]).name
    except (json.JSONDecodeError, KeyError, TypeError, UnicodeDecodeError) as error:
        raise HEvalError(f"The pointer {pointer} is damaged; publish again: python -m precompute publish.") from error
    if not named.is_file():
        raise HEvalError(f"The results file {named} is gone; publish again: python -m precompute publish.")
    if named.stat().st_size < line.get("size", 0):
        raise HEvalError(
            f"The results file {named} is not whole: {named.stat().st_size:,} of {line['size']:,} bytes. Publish again: "
            "python -m precompute publish."
        )
    return named


@dataclass(frozen=True)
class Filter:
    """Which instances or cells to read; an empty tuple means all.

    origin: of the second false answer, `substituted` or `natural` (shipped with the dataset). tokens: (least, most) length of
    the prompt. answer_at: (least, most) place of the used document's answer in the prompt, as a share of its tokens. head: the
    one that MechLight chose, as in `L2H1`. best: what explainers' best tokens are, as in `fa: answer`, all of which must hold;
    see `heval_core.evaluation.patterns`. search: a regular expression (RE2) over prompt and answer, whatever the case.
    """

    model: tuple[str, ...] = ()
    dataset: tuple[str, ...] = ()
    regime: tuple[str, ...] = ()
    group: tuple[str, ...] = ()
    relation: tuple[str, ...] = ()
    origin: tuple[str, ...] = ()
    tokens: tuple[int, ...] = ()
    answer_at: tuple[float, ...] = ()
    head: str = ""
    best: tuple[str, ...] = ()
    search: str = ""
    technique: tuple[str, ...] = ()

    @property
    def is_all(self) -> bool:
        """Whether it takes everything, of some or all techniques."""
        return replace(self, technique=()) == Filter()

    @property
    def cuts_cells(self) -> bool:
        """Whether it takes a part of cells' instances only, so that published values are none of its own."""
        return any(
            (self.group, self.relation, self.origin, self.tokens, self.answer_at, self.head, self.best, self.search)
        )

    def __str__(self) -> str:
        """What is asked for, in words: `regime: mixed, mixed_swap; tokens: 40 to 60`; nothing for everything."""
        parts = []
        for field in fields(self):
            wanted = getattr(self, field.name)
            if field.name in ("tokens", "answer_at"):
                wanted = " to ".join(f"{end:g}" for end in wanted)
            shown = wanted if isinstance(wanted, str) else ", ".join(wanted)
            parts += [f"{field.name}: {shown}"] if shown else []
        return "; ".join(parts)

    def where(self, columns: tuple[str, ...], alias: str = "") -> tuple[str, list[Any]]:
        """An SQL condition over an allow-list of columns, and its parameters."""
        terms, values = [], []
        for column in columns:
            wanted = getattr(self, column)
            if wanted:
                terms.append(f'{alias}"{column}" IN (SELECT unnest(?))')
                values.append(list(wanted))
        return " AND ".join(terms) or "true", values

    def of_instances(self) -> tuple[str, list[Any]]:
        """An SQL condition over all it says, for the table `instance`, and its parameters."""
        where, values = self.where((*CELL, "group", "relation"))
        terms = [where]
        if len(set(self.origin)) == 1:
            negation = "" if self.origin[0] == "substituted" else "NOT "
            terms.append(f"{negation}list_contains(document_origins, 'substituted')")
        for wanted, column in ((self.tokens, "len(tokens)"), (self.answer_at, _ANSWER_AT)):
            if wanted:
                terms.append(f"{column} BETWEEN ? AND ?")
                values += list(wanted)
        if self.head:
            terms.append(
                "instance_id IN (SELECT instance_id FROM attribution WHERE explainer = 'mechlight' "
                "AND concat('L', layer, 'H', head) = ?)"
            )
            values.append(self.head)
        for holds in self.best:
            terms.append("instance_id IN (SELECT instance_id FROM pattern WHERE explainer = ? AND pattern = ?)")
            values += holds.rsplit(": ", 1) if ": " in holds else [holds, ""]
        if self.search:
            terms.append("regexp_matches(concat_ws(' ', prompt, predicted_text, memory_answer), ?, 'i')")
            values.append(_bounded(self.search))
        return " AND ".join(terms), values


# RE2 writes repetitions out, and the time for each prompt grows with what it has written: a thousand take minutes.
LONGEST_SEARCH, MOST_REPETITIONS = 300, 60
RANKED = tuple(catalogue.explainers())
AS_STORED = "as stored"
# How instances may be ordered: what a person chooses ▶ an SQL expression of our own, or (metric, k, explainer) of a score.
SORTED_BY: dict[str, str | tuple[str, int, str]] = {
    AS_STORED: "instance.rowid",
    "probability of the answer": "predicted_probability",
    "length of the prompt": "len(tokens)",
    "subject": "subject",
    **{
        measure.sort.format(explainer=key): (measure.metric, measure.at(DEFAULT_K), key)
        for measure in metrics.measures().values()
        if measure.sort
        for key in RANKED
    },
}


class Reader:
    """One open results file; safe to share between threads, for every query has a cursor of its own.

    Raises HEvalError where the file is missing, truncated, foreign, or of another version.
    """

    def __init__(self, path: Path):
        self.path = path
        try:
            self._db = duckdb.connect(str(path), read_only=True, config=dict(_HARDENING))
        except duckdb.Error as error:
            raise HEvalError(
                f"{path} cannot be read as a results file (it is missing, truncated or something else); "
                "publish again: python -m precompute publish."
            ) from error
        try:
            found = self.query("SELECT * FROM snapshot")
            version = int(found["format"].iloc[0])
        except (duckdb.Error, IndexError) as error:
            raise HEvalError(f"{path} is a database, but not one of this program's results.") from error
        if version != PUBLISHED_FORMAT:
            raise HEvalError(f"{path} has format {version}; this program reads {PUBLISHED_FORMAT}. Publish it again.")
        self.snapshot_id = str(found["snapshot_id"].iloc[0])
        self.evaluator = str(found["evaluator"].iloc[0])
        self.published_at = found["published_at"].iloc[0]
        self.bundled = bool(found["bundled"].iloc[0])
        self._resamples: dict[str, Resamples] = {}

    def close(self) -> None:
        self._db.close()

    @contextmanager
    def _cursor(self) -> Iterator[duckdb.DuckDBPyConnection]:
        """A cursor for one query. Raises HEvalError where the file turns out to be damaged."""
        try:
            yield self._db.cursor()
        except duckdb.IOException as error:
            raise HEvalError(f"{self.path} is damaged; publish again: python -m precompute publish.") from error

    def query(self, sql: str, values: list[Any] | None = None) -> pd.DataFrame:
        with self._cursor() as cursor:
            return cursor.execute(sql, values or []).df()

    def tables(self) -> list[str]:
        """The names of all tables."""
        return list(self.query("SELECT table_name FROM duckdb_tables() ORDER BY table_name")["table_name"])

    @contextmanager
    def batches(self, table: str, rows: int) -> Iterator[pa.RecordBatchReader]:
        """A whole table in stored order, some rows at a time. Raises HEvalError for a table that is not there."""
        if table not in self.tables():
            raise HEvalError(f"There is no table {table!r} in these results.")
        with self._db.cursor() as cursor:
            yield cursor.sql(f'SELECT * FROM "{table}"').to_arrow_reader(rows)

    def models(self) -> pd.DataFrame:
        return self.query("SELECT * FROM model WHERE model IN (SELECT model FROM instance) ORDER BY model")

    def runs(self) -> pd.DataFrame:
        return self.query("SELECT * FROM run ORDER BY started, run_id")

    def failures(self) -> pd.DataFrame:
        return self.query("SELECT * FROM failure ORDER BY ALL")

    def catalogue(self, kind: str) -> pd.DataFrame:
        return self.query("SELECT * FROM catalogue WHERE kind = ? ORDER BY control, title, key", [kind])

    def headline(self, chosen: Filter = Filter()) -> pd.DataFrame:  # noqa: B008
        """The leaderboard as published, of all instances of the filter's techniques."""
        where, values = chosen.where(("technique",))
        return self.query(
            f"SELECT * FROM headline WHERE {where} ORDER BY technique, question, value DESC, explainer", values
        )

    def live_headline(self, chosen: Filter) -> pd.DataFrame:
        """`headline`, computed now for the instances under a filter."""
        return live.headline(self, chosen)

    def choices(self) -> pd.DataFrame:
        """What there is to filter by: model, dataset, regime, technique, group and the number of instances."""
        return self.query(
            'SELECT model, dataset, regime, technique, coalesce("group", \'dropped\') AS "group", count(*) AS instances '
            "FROM instance GROUP BY ALL ORDER BY ALL"
        )

    def accounting(self) -> pd.DataFrame:
        """Per model, dataset, regime and technique: instances tried, kept and dropped, by reason."""
        return self.query(
            "SELECT model, dataset, regime, technique, coalesce(dropped_because, 'kept') AS outcome, count(*) AS instances "
            "FROM instance GROUP BY ALL ORDER BY ALL"
        )

    def datasets(self) -> pd.DataFrame:
        """Per dataset: records read, malformed and left out (JSON: reason ▶ count), questions usable and asked."""
        return self.query("SELECT * FROM dataset ORDER BY dataset")

    def outcomes(self, chosen: Filter) -> pd.DataFrame:
        """What became of the questions: instances of each model, dataset, regime and technique, by group or by why dropped."""
        where, values = chosen.where(CELL)
        return self.query(
            "SELECT model, dataset, regime, technique, dropped_because IS NOT NULL AS dropped, "
            'coalesce(dropped_because, "group") AS outcome, count(*) AS instances '
            f"FROM instance WHERE {where} GROUP BY ALL ORDER BY ALL",
            values,
        )

    def contexts(self, chosen: Filter) -> pd.DataFrame:
        """Per model, dataset, regime and technique, over the kept instances: lengths of the context, all documents together.

        characters and tokens: mean, 5 % and 95 % quantile. substituted: those whose second false answer was put in.
        """
        where, values = chosen.where(CELL)
        return self.query(f"SELECT * FROM context WHERE {where} ORDER BY model, dataset, regime, technique", values)

    def findings(self) -> pd.DataFrame:
        """The paper's statements with their verdicts, in order: see `heval_core.evaluation.findings`."""
        return self.query("SELECT * EXCLUDE (place) FROM finding ORDER BY place")

    def relations(self, chosen: Filter) -> pd.DataFrame:
        """Per dataset and relation: questions asked, and those kept for at least one model and regime."""
        where, values = chosen.where(CELL)
        return self.query(
            "SELECT dataset, relation, count(DISTINCT fact_id) AS questions, "
            "count(DISTINCT fact_id) FILTER (dropped_because IS NULL) AS kept, count(DISTINCT subject) AS subjects "
            f"FROM instance WHERE {where} GROUP BY ALL ORDER BY dataset, questions DESC, relation",
            values,
        )

    def agreement(self) -> pd.DataFrame:
        """Per model, dataset, regime and technique: how often the observed group is the one that the taught rule expects."""
        return self.query(
            'SELECT model, dataset, regime, technique, count(*) AS n, avg(("group" = expected_group)::INTEGER) AS agreement '
            "FROM instance WHERE dropped_because IS NULL AND expected_group IS NOT NULL GROUP BY ALL ORDER BY ALL"
        )

    def text_agreement(self, chosen: Filter) -> pd.DataFrame:
        """How often first token and text lead to the same group: see `text_agreement.text_agreement`."""
        return text_agreement.text_agreement(self, chosen)

    def cells(self, chosen: Filter, metric: str, k: int) -> pd.DataFrame:
        """Cell metrics of one metric and k (0 where the metric has none)."""
        where, values = chosen.where(CELL)
        return self.query(
            f"SELECT * FROM cell_metric WHERE metric = ? AND k = ? AND {where} "
            "ORDER BY model, dataset, regime, technique, part, explainer",
            [metric, k, *values],
        )

    def resamples(self, dataset: str) -> Resamples:
        """Those that the published intervals of a dataset were made with."""
        if dataset not in self._resamples:
            found = self.query("SELECT DISTINCT fact_id FROM instance WHERE dataset = ?", [dataset])
            self._resamples[dataset] = Resamples(dataset, found["fact_id"])
        return self._resamples[dataset]

    def live_cells(self, chosen: Filter, metric: str, k: int) -> pd.DataFrame:
        """`cells`, computed now from the stored scores of the instances under a filter; metric: a key, or a variant of it."""
        return live.cells_of(self, chosen, metric, k)

    def comparisons(self, chosen: Filter, metric: str, parts: tuple[str, ...], k: int) -> live.Compared:
        """Every pair of methods, in every cell and over all: see `live.comparisons`."""
        return live.comparisons(self, chosen, metric, parts, k)

    def binned(self, chosen: Filter, metric: str, k: int, by: str = "tokens") -> pd.DataFrame:
        """`live_cells` in quarters of the instances: see `live.binned`."""
        return live.binned(self, chosen, metric, k, by)

    def curve(self, chosen: Filter, metric: str, parts: tuple[str, ...], k: int, by: str = "tokens") -> live.Curve:
        """Means over cells in those quarters: see `live.curve`."""
        return live.curve(self, chosen, metric, parts, k, by)

    def ranges(self, chosen: Filter) -> pd.DataFrame:
        """One row: least and most tokens of a prompt, and how many kept instances have a substituted document or not."""
        where, values = chosen.of_instances()
        return self.query(
            "SELECT min(len(tokens)) AS shortest, max(len(tokens)) AS longest, count(*) AS instances, "
            "count(*) FILTER (list_contains(document_origins, 'substituted')) AS substituted "
            f"FROM instance WHERE dropped_because IS NULL AND {where}",
            values,
        )

    def instance_ids(self, chosen: Filter, order: str = AS_STORED, descending: bool = False) -> list[str]:
        """The kept instances under a filter. order: a key of SORTED_BY. Raises HEvalError for another one."""
        where, values = chosen.of_instances()
        joined, by, scored = _ordered(order, descending)
        found = self._searched(
            f"SELECT instance_id FROM instance{joined} WHERE dropped_because IS NULL AND {where} ORDER BY {by}",
            [*scored, *values],
        )
        return list(found["instance_id"])

    def instances(self, chosen: Filter, order: str, descending: bool, offset: int, most: int) -> pd.DataFrame:
        """A page of the kept instances under a filter. order: a key of SORTED_BY. Raises HEvalError for another one."""
        where, values = chosen.of_instances()
        joined, by, scored = _ordered(order, descending)
        page = self._searched(
            'SELECT instance_id, model, dataset, regime, "group", subject, trim(predicted_text) AS answer, '
            "predicted_probability AS p, memory_answer AS memory, len(tokens) AS tokens "
            f"FROM instance{joined} WHERE dropped_because IS NULL AND {where} ORDER BY {by} LIMIT ? OFFSET ?",
            [*scored, *values, most, offset],
        )
        ranks = self.query(
            "SELECT instance_id, explainer, max(value) AS value FROM score WHERE metric = ? "
            "AND instance_id IN (SELECT unnest(?)) GROUP BY ALL",
            [metrics.headlines()["RQ3"].metric, list(page["instance_id"])],
        ).pivot(index="instance_id", columns="explainer", values="value")
        methods = [key for key in RANKED if key in ranks.columns]
        found = page.join(ranks[methods].rename(columns="1/rank of {}".format), on="instance_id")
        first = ["subject", "answer", "group", *(f"1/rank of {key}" for key in methods)]
        last = ["instance_id"]
        return found[[*first, *(name for name in found.columns if name not in (*first, *last)), *last]]

    def _searched(self, sql: str, values: list[Any]) -> pd.DataFrame:
        """Raises HEvalError for a search that is no regular expression."""
        try:
            return self.query(sql, values)
        except (duckdb.InvalidInputException, duckdb.OutOfRangeException) as error:
            lines = str(error).splitlines()
            raise HEvalError(f"The search is no regular expression: {lines[0] if lines else error}") from error

    def instance(self, instance_id: str) -> dict[str, Any]:
        """One instance as column ▶ value. Raises HEvalError where there is none of that id."""
        with self._cursor() as cursor:
            row = cursor.execute("SELECT * FROM instance WHERE instance_id = ?", [instance_id]).fetchone()
            names = [column[0] for column in cursor.description or []]
        if row is None:
            raise HEvalError(f"There is no instance {instance_id!r} in these results.")
        return dict(zip(names, row, strict=True))

    def attributions(self, instance_id: str) -> dict[str, dict[str, Any]]:
        """All attributions of one instance, by explainer."""
        with self._cursor() as cursor:
            rows = cursor.execute("SELECT * FROM attribution WHERE instance_id = ?", [instance_id]).fetchall()
            names = [column[0] for column in cursor.description or []]
        return {row[names.index("explainer")]: dict(zip(names, row, strict=True)) for row in rows}

    def head_attention(self, instance_id: str, layer: int, head: int) -> list[float] | None:
        """One head's stored attention row, or None where it was not kept."""
        with self._cursor() as cursor:
            row = cursor.execute(
                "SELECT attention FROM head_attention WHERE instance_id = ? AND layer = ? AND head = ?",
                [instance_id, layer, head],
            ).fetchone()
        return None if row is None else list(row[0])

    def instance_missed_by(self, explainer: str, found_by: str, chosen: Filter) -> str | None:
        """The instance under a filter whose answer one explainer ranks lowest and another ranks first; None without any."""
        where, values = chosen.of_instances()
        found = self.query(
            "SELECT one.instance_id FROM score one JOIN score other USING (instance_id, metric, part, k) "
            "WHERE metric = ? AND one.explainer = ? AND other.explainer = ? "
            f"AND one.instance_id IN (SELECT instance_id FROM instance WHERE {where}) "
            "ORDER BY other.value = 1 DESC, one.value, one.instance_id LIMIT 1",
            [metrics.headlines()["RQ3"].metric, explainer, found_by, *values],
        )
        return str(found["instance_id"].iloc[0]) if len(found) else None

    def patterns(self, chosen: Filter) -> pd.DataFrame:
        """How often each pattern is on top, by dataset, technique and explainer: see `live.patterns`."""
        return live.patterns(self, chosen)

    def best_tokens(self) -> list[str]:
        """What `Filter.best` may hold: every explainer that has patterns, with every pattern."""
        found = self.query("SELECT DISTINCT explainer FROM pattern ORDER BY explainer")
        return [f"{explainer}: {pattern}" for explainer in found["explainer"] for pattern in PATTERNS]

    def pattern_examples(self, chosen: Filter, explainer: str, pattern: str, most: int) -> pd.DataFrame:
        """Instances in which an explainer's best token is of a pattern, in stored order."""
        where, values = chosen.of_instances()
        return self.query(
            "SELECT subject, trim(predicted_text) AS answer, tokens[token + 1] AS best_token, model, dataset, regime, "
            "instance_id "
            f"FROM pattern JOIN instance USING (instance_id) WHERE explainer = ? AND pattern = ? AND {where} "
            "ORDER BY instance.rowid LIMIT ?",
            [explainer, pattern, *values, most],
        )

    def chosen_heads(self, chosen: Filter, explainer: str = "mechlight") -> pd.DataFrame:
        """Per model, layer and head: how often an explainer chose it under a filter."""
        where, values = chosen.of_instances()
        return self.query(
            "SELECT model, layer, head, count(*) AS instances FROM attribution JOIN instance USING (instance_id) "
            f"WHERE explainer = ? AND layer IS NOT NULL AND {where} GROUP BY ALL ORDER BY model, instances DESC, layer, head",
            [explainer, *values],
        )

    def differences(
        self, chosen: Filter, metric: str, parts: tuple[str, ...], k: int, first: str, second: str, most: int
    ) -> pd.DataFrame:
        """The instances in which an explainer's value of a metric is most above another's, largest difference first."""
        where, values = chosen.of_instances()
        return self.query(
            "WITH pairs AS (SELECT instance_id, part, any_value(value) FILTER (explainer = ?) AS one, "
            "any_value(value) FILTER (explainer = ?) AS other FROM score "
            "WHERE metric = ? AND k = ? AND part IN (SELECT unnest(?)) AND explainer IN (?, ?) GROUP BY ALL) "
            "SELECT subject, trim(predicted_text) AS answer, one AS first, other AS second, one - other AS difference, "
            "model, dataset, regime, part, instance_id FROM pairs JOIN instance USING (instance_id) "
            f"WHERE one > other AND dropped_because IS NULL AND {where} "
            "ORDER BY one - other DESC, instance_id LIMIT ?",
            [first, second, metric, k, list(parts), first, second, *values, most],
        )

    def scores(self, instance_id: str) -> pd.DataFrame:
        """Every metric value of one instance."""
        return self.query("SELECT * FROM score WHERE instance_id = ? ORDER BY metric, part, k", [instance_id])


def _bounded(search: str) -> str:
    """The search as it is. Raises HEvalError for one that would keep the database busy."""
    counts = re.findall(r"\{(\d*)(?:,(\d*))?\}", search)
    repeated = math.prod(max(1, *(int(end) for end in own if end)) if any(own) else 1 for own in counts)
    if len(search) > LONGEST_SEARCH or repeated > MOST_REPETITIONS:
        raise HEvalError(
            f"The search is too large: {LONGEST_SEARCH} characters, and {MOST_REPETITIONS} counted repetitions in all, are "
            "what it may have."
        )
    return search


def _ordered(order: str, descending: bool) -> tuple[str, str, list[Any]]:
    """What to join to `instance`, what to order by, and the join's parameters. Raises HEvalError for an unknown order.

    Scores of all instances are looked up only where they decide the order.
    """
    if order not in SORTED_BY:
        raise HEvalError(f"Instances cannot be ordered by {order!r}; there are: {', '.join(SORTED_BY)}.")
    how = SORTED_BY[order]
    way = "DESC" if descending else "ASC"
    if isinstance(how, str):
        return "", f"{how} {way} NULLS LAST, instance.rowid", []
    joined = (
        " LEFT JOIN (SELECT instance_id, max(value) AS ordering FROM score WHERE metric = ? AND k = ? AND explainer = ? "
        "GROUP BY 1) USING (instance_id)"
    )
    return joined, f"ordering {way} NULLS LAST, instance.rowid", list(how)
