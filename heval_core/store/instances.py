"""Queries about single instances: their order, their pages, and the explainers' scores."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import fields
from types import MappingProxyType
from typing import Any

import pandas as pd

from heval_core.records import Candidate, HEvalError, Span
from heval_core.records.stored_instances import (
    CANDIDATE_COLUMNS,
    DOCUMENT_COLUMNS,
    PromptDocument,
    StoredAttribution,
    StoredInstance,
)
from heval_core.records.vocabulary import PATTERNS
from heval_core.store.filters import AS_STORED, NOT_ANSWER, BestToken, Filter, Order, ScoreOrder, ordered
from heval_core.store.published import Database


def _plain(kind: Any, row: dict[str, Any]) -> dict[str, Any]:
    """Return the columns that a record shows as they are stored, or its maker then changes."""
    return {shown.name: row[shown.name] for shown in fields(kind) if shown.name in row}


def _records(row: dict[str, Any], columns: Mapping[str, str]) -> list[dict[str, Any]]:
    """Return what columns hold of each document or candidate; lists become tuples. A column without a value is left out."""
    lists = {name: row[column] for name, column in columns.items() if row[column] is not None}
    return [
        {name: tuple(value) if isinstance(value, list) else value for name, value in zip(lists, values, strict=True)}
        for values in zip(*lists.values(), strict=True)
    ]


def instance_of(row: dict[str, Any]) -> StoredInstance:
    """Return a stored instance; its documents are those of the prompt: agents that answered without the document have none."""
    documents = _records(row, DOCUMENT_COLUMNS) if row["document_starts"] else []
    converted: dict[str, Any] = {
        "tokens": tuple(row["tokens"] or ()),
        "documents": tuple(PromptDocument(**document) for document in documents),
        "question_span": Span(row["question_start"] or 0, row["question_end"] or 0),
        "candidates": tuple(Candidate(**candidate) for candidate in _records(row, CANDIDATE_COLUMNS)),
        "prompt": row["prompt"] or "",
        "predicted_id": -1 if row["predicted_id"] is None else row["predicted_id"],
    }
    return StoredInstance(**_plain(StoredInstance, row) | converted)


def attribution_of(row: dict[str, Any]) -> StoredAttribution:
    lists = {name: None if row[name] is None else tuple(row[name]) for name in ("scores", "head_scores")}
    details = {"details": json.loads(row["details"] or "{}")}
    return StoredAttribution(**_plain(StoredAttribution, row) | lists | details)


class InstanceQueries(Database):
    """Queries about instances; `heval_core.store.reader.Reader` adds those about cells."""

    def under(self, chosen: Filter, sql: str, *before: Any, after: Sequence[Any] = (), by: Sequence[str] = ()) -> pd.DataFrame:
        """Run a query under a filter, whose condition is {} in the SQL.

        before, after: the values of parameters before and after the condition's. by: the columns that the filter looks at; by
        default all that it says of instances.
        """
        where, values = chosen.where(by) if by else chosen.of_instances()
        return self.query(sql.format(where), [*before, *values, *after])

    def telling_instance(self, chosen: Filter) -> str | None:
        """Return the instance that is shown first under a filter: the first, in stored order, that an explanation can be right
        or wrong about and methods are. Of two documents with different answers it was answered from one; three methods or more
        put a token of the answer first, and one or more a token of the other document.
        """
        rows = self.under(
            chosen,
            "SELECT instance_id FROM pattern JOIN instance USING (instance_id) JOIN catalogue ON key = explainer "
            "AND kind = 'explainer' WHERE NOT control AND dropped_because IS NULL AND \"group\" IN ('C1', 'C2') AND {} "
            "GROUP BY instance_id, instance.rowid HAVING count(*) FILTER (pattern = 'answer') > 2 "
            "AND count(*) FILTER (pattern = 'wrong_document') > 0 ORDER BY instance.rowid LIMIT 1",
        )
        return str(rows["instance_id"].iloc[0]) if len(rows) else None

    def instance_ids(self, chosen: Filter, order: Order = AS_STORED, descending: bool = False) -> list[str]:
        """Return ids of the kept instances under a filter. order: see `ordered`. Raises HEvalError for an unknown one."""
        joined, by, scored = ordered(order, descending)
        sql = f"SELECT instance_id FROM instance{joined} WHERE dropped_because IS NULL AND {{}} ORDER BY {by}"
        return list(self.under(chosen, sql, *scored)["instance_id"])

    def instances(
        self,
        chosen: Filter,
        order: Order,
        descending: bool,
        offset: int,
        most: int,
        shown: Mapping[str, ScoreOrder] = MappingProxyType({}),
    ) -> pd.DataFrame:
        """Return a page of the kept instances under a filter.

        order: see `ordered`. shown: scores to add as columns, by title. Raises HEvalError for an unknown order.
        """
        joined, by, scored = ordered(order, descending)
        page = self.under(
            chosen,
            'SELECT instance_id, model, dataset, regime, "group", subject, trim(predicted_text) AS answer, '
            "predicted_probability AS p, memory_answer AS memory, len(tokens) AS tokens "
            f"FROM instance{joined} WHERE dropped_because IS NULL AND {{}} ORDER BY {by} LIMIT ? OFFSET ?",
            *scored,
            after=(most, offset),
        )
        columns = self.query(
            "SELECT instance_id, metric, k, explainer, max(value) AS value FROM score WHERE metric IN (SELECT unnest(?)) "
            "AND instance_id IN (SELECT unnest(?)) GROUP BY ALL",
            [list({score.metric for score in shown.values()}), list(page["instance_id"])],
        ).pivot(index="instance_id", columns=["metric", "k", "explainer"], values="value")
        for title, score in shown.items():
            if score in columns.columns:
                page = page.join(columns[score].rename(title), on="instance_id")
        return page

    def instance(self, instance_id: str) -> StoredInstance:
        """Return one instance. Raises HEvalError for an unknown id."""
        rows = self.arrow("SELECT * FROM instance WHERE instance_id = ?", [instance_id]).to_pylist()
        if not rows:
            raise HEvalError(f"These results have no instance {instance_id!r}.")
        return instance_of(rows[0])

    def attributions(self, instance_id: str) -> dict[str, StoredAttribution]:
        rows = self.arrow("SELECT * FROM attribution WHERE instance_id = ?", [instance_id]).to_pylist()
        return {row["explainer"]: attribution_of(row) for row in rows}

    def whole_answer(self, instance_id: str) -> tuple[dict[str, Any] | None, str]:
        """Return the whole answer to an instance's prompt, and why there is none; (None, "") if none was requested."""
        rows = self.arrow("SELECT * FROM answer WHERE instance_id = ?", [instance_id]).to_pylist()
        if not rows or rows[0]["generated"] is None:
            return None, rows[0]["unavailable"] if rows else ""
        generated = json.loads(rows[0]["generated"])
        for key, cost in json.loads(rows[0]["seconds"]).items():
            generated["matrix"][key] |= cost
        return generated, ""

    def head_attention(self, instance_id: str, layer: int, head: int) -> list[float] | None:
        """Return one head's stored attention row, or None if it was not kept."""
        statement = "SELECT attention FROM head_attention WHERE instance_id = ? AND layer = ? AND head = ?"
        rows = self.arrow(statement, [instance_id, layer, head]).to_pylist()
        return rows[0]["attention"] if rows else None

    def head_need(self, instance_id: str) -> dict[str, Any] | None:
        """Return the answer's lead, and what it loses without each head; None if it was not computed."""
        rows = self.arrow("SELECT lead, lost FROM head_need WHERE instance_id = ?", [instance_id]).to_pylist()
        return rows[0] if rows else None

    def best_tokens(self) -> list[BestToken]:
        """Return the possible values of `Filter.best`: every explainer that has patterns, with every pattern."""
        rows = self.query("SELECT DISTINCT explainer FROM pattern ORDER BY explainer")
        return [BestToken(explainer, pattern) for explainer in rows["explainer"] for pattern in (*PATTERNS, NOT_ANSWER)]

    def pattern_examples(self, chosen: Filter, explainer: str, pattern: str, most: int) -> pd.DataFrame:
        """Return instances in which an explainer's best token has this pattern, in stored order."""
        return self.under(
            chosen,
            "SELECT subject, trim(predicted_text) AS answer, tokens[token + 1] AS best_token, model, dataset, regime, "
            "instance_id FROM pattern JOIN instance USING (instance_id) WHERE explainer = ? AND pattern = ? AND {} "
            "ORDER BY instance.rowid LIMIT ?",
            *(explainer, pattern),
            after=(most,),
        )

    def differences(
        self, chosen: Filter, metric: str, parts: tuple[str, ...], k: int, first: str, second: str, most: int
    ) -> pd.DataFrame:
        """Return the instances in which the first explainer's value is above the second's, largest difference first."""
        return self.under(
            chosen,
            "WITH pairs AS (SELECT instance_id, part, any_value(value) FILTER (explainer = ?) AS one, "
            "any_value(value) FILTER (explainer = ?) AS other FROM score "
            "WHERE metric = ? AND k = ? AND part IN (SELECT unnest(?)) AND explainer IN (?, ?) GROUP BY ALL) "
            "SELECT subject, trim(predicted_text) AS answer, one AS first, other AS second, one - other AS difference, "
            "model, dataset, regime, part, instance_id FROM pairs JOIN instance USING (instance_id) "
            "WHERE one > other AND dropped_because IS NULL AND {} ORDER BY one - other DESC, instance_id LIMIT ?",
            *(first, second, metric, k, list(parts), first, second),
            after=(most,),
        )

    def scores(self, instance_id: str) -> pd.DataFrame:
        return self.query("SELECT * FROM score WHERE instance_id = ? ORDER BY metric, part, k", [instance_id])
