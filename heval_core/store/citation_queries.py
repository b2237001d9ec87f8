"""Queries about citations: what annotators come to, where they agree, and what was asked about one explanation."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any

import pandas as pd

from heval_core.citations.records import CitedSentence, Claim, Explained, Passage, Recovery, StoredExplanation
from heval_core.records import HEvalError
from heval_core.store.published import Database

# Annotators of an explanation that are no control; people are asked one by one.
_READERS = "annotator NOT IN (SELECT unnest(?))"
# Explanations of which two annotators chose different sentences for some passage.
_DISAGREE = f"""
SELECT explanation_id FROM (
    SELECT explanation_id, passage FROM recovery WHERE {_READERS}
    GROUP BY ALL HAVING count(DISTINCT list_sort(predicted)) > 1)
"""
# Explanations with a sentence that some explainer finds to rest on a passage, but on none of those that it cites.
_WRONG_MARKER = """
WITH cites AS (SELECT DISTINCT explanation_id, passage, unnest(gold) AS sentence FROM recovery),
    rests AS (
        SELECT explanation_id, annotator, passage, unnest(predicted) AS sentence FROM recovery
        WHERE split_part(annotator, '(', 1) = 'explainer')
SELECT DISTINCT explanation_id FROM rests SEMI JOIN cites USING (explanation_id, sentence)
ANTI JOIN (
    SELECT explanation_id, annotator, sentence FROM rests JOIN cites USING (explanation_id, passage, sentence)
) AS right_marker USING (explanation_id, annotator, sentence)
"""
_CUTS = {
    "disagree": f"explanation_id IN ({_DISAGREE})",
    "omitted": "explanation_id IN (SELECT explanation_id FROM recovery WHERE len(gold) = 0)",
    "wrong_marker": f"explanation_id IN ({_WRONG_MARKER})",
    "unreadable": "explanation_id IN (SELECT explanation_id FROM recovery WHERE problem IS NOT NULL)",
    "unavailable": "explanation.unavailable IS NOT NULL",
}
# What a list of explanations can be cut to.
ONLY = tuple(_CUTS)


@dataclass(frozen=True)
class CitationFilter:
    """Which explanations: of one source of claims and one selector. writers: empty for all. only: of ONLY, all must hold.
    controls: the annotators that are controls, whose choices are no disagreement. search: a text in claim or explanation."""

    dataset: str
    selector: str
    writers: tuple[str, ...] = ()
    only: tuple[str, ...] = ()
    controls: tuple[str, ...] = ()
    search: str = ""


class CitationQueries(Database):
    """Queries about citations; `heval_core.store.reader.Reader` has them."""

    def citation_choices(self) -> pd.DataFrame:
        """Return what there is to choose from: dataset, writer, selector; explanations, and claims they belong to."""
        return self.query(
            "SELECT dataset, writer, selector, count(*) FILTER (unavailable IS NULL) AS explanations, "
            "count(DISTINCT claim_id) AS claims FROM explanation GROUP BY ALL ORDER BY min(rowid)"
        )

    def citation_catalogue(self) -> pd.DataFrame:
        kinds = "kind IN ('annotator', 'selector', 'claims')"
        return self.query(f"SELECT * FROM catalogue WHERE {kinds} ORDER BY place, key")

    def annotators(self) -> list[str]:
        statement = "SELECT annotator FROM cell_recovery WHERE annotator <> '' GROUP BY ALL ORDER BY min(rowid)"
        return [str(key) for key in self.query(statement)["annotator"]]

    def citation_written(self) -> pd.DataFrame:
        """Return by dataset, writer and selector: explanations, missing ones, those with problems, sentences and passages
        (means); of the dataset's claims with `claims_` the same: claims, unusable, problems, passages (mean).
        """
        available = "FILTER (unavailable IS NULL)"
        return self.query(
            "WITH read AS (SELECT dataset, count(*) AS claims_claims, count(unusable) AS claims_unusable, "
            "count(*) FILTER (len(problems) > 0) AS claims_problems, "
            "avg(len(passages)) FILTER (unusable IS NULL) AS claims_passages FROM claim GROUP BY dataset) "
            f"SELECT dataset, writer, selector, count(*) {available} AS explanations, count(unavailable) AS missing, "
            "count(*) FILTER (unavailable IS NULL AND len(problems) > 0) AS problems, "
            f"avg(len(sentences)) {available} AS sentences, avg(len(selected)) {available} AS passages, "
            "any_value(COLUMNS('claims_.*')) "
            "FROM explanation JOIN read USING (dataset) GROUP BY dataset, writer, selector ORDER BY min(explanation.rowid)"
        )

    def explained_claims(self) -> list[tuple[str, str]]:
        """Return (dataset, claim_id) of all claims with an explanation."""
        rows = self.query("SELECT DISTINCT dataset, claim_id FROM explanation WHERE unavailable IS NULL ORDER BY ALL")
        return list(rows.itertuples(index=False, name=None))

    def people_answers(self) -> pd.DataFrame:
        """Return a row for each answer of people: dataset, writer, selector, claim_id, explanation_id, passage, annotator,
        predicted, helpfulness.
        """
        return self.query(
            "SELECT dataset, writer, selector, claim_id, explanation_id, passage, annotator, predicted, helpfulness "
            "FROM recovery JOIN explanation USING (explanation_id) WHERE starts_with(annotator, 'person:') "
            "ORDER BY explanation.rowid, passage, annotator"
        )

    def explanation_ids(self, chosen: CitationFilter) -> list[str]:
        """Return ids of the explanations under a filter, in stored order."""
        where, values = _where(chosen)
        rows = self.query(f"SELECT explanation_id {_FROM} WHERE {where} ORDER BY explanation.rowid", values)
        return list(rows["explanation_id"])

    def readable_explanation(self, chosen: CitationFilter) -> str | None:
        """Return the explanation that is shown first under a filter: the first, in stored order, of two sentences to ten, none
        of which is said twice, with nothing wrong.
        """
        where, values = _where(chosen)
        rows = self.query(
            f"SELECT explanation_id {_FROM} WHERE {where} AND explanation.unavailable IS NULL AND "
            "len(explanation.problems) = 0 AND len(sentences) BETWEEN 2 AND 10 AND len(list_distinct(bare)) = len(bare) "
            "ORDER BY explanation.rowid LIMIT 1",
            values,
        )
        return str(rows["explanation_id"].iloc[0]) if len(rows) else None

    def explanations(self, chosen: CitationFilter, start: int, count: int) -> pd.DataFrame:
        """Return explanation_id, claim, verdict, writer of some of them."""
        where, values = _where(chosen)
        return self.query(
            f"SELECT explanation_id, claim, verdict, writer {_FROM} WHERE {where} ORDER BY explanation.rowid LIMIT ? OFFSET ?",
            [*values, count, start],
        )

    def explanation(self, explanation_id: str) -> StoredExplanation:
        """Return one explanation with its claim. Raises HEvalError for an id that is unknown."""
        rows = self.arrow("SELECT * FROM explanation WHERE explanation_id = ?", [explanation_id]).to_pylist()
        if not rows:
            raise HEvalError(f"There is no explanation {explanation_id!r} in these results.")
        key = [rows[0][name] for name in ("dataset", "claim_id")]
        (claim,) = self.arrow("SELECT * FROM claim WHERE dataset = ? AND claim_id = ?", key).to_pylist()
        return explanation_of(rows[0], claim_of(claim))

    def recoveries(self, explanation_id: str) -> list[Recovery]:
        """Return what annotators answered about an explanation, by passage and annotator."""
        names = [field.name for field in fields(Recovery)]
        statement = f"SELECT {', '.join(names)} FROM recovery WHERE explanation_id = ? ORDER BY passage, annotator"
        lists = ("gold", "predicted", "scores")
        rows = self.arrow(statement, [explanation_id]).to_pylist()
        return [Recovery(**row | {name: None if row[name] is None else tuple(row[name]) for name in lists}) for row in rows]


def claim_of(row: Mapping[str, Any]) -> Claim:
    """Return the claim that a row has stored, without the explanations that came with it."""
    passages = tuple(map(Passage, row["numbers"], row["passages"], row["titles"]))
    chains = tuple(tuple(chain) for chain in json.loads(row["chains"]))
    return Claim(row["claim_id"], row["claim"], row["verdict"], passages, chains, problems=tuple(row["problems"]))


def explanation_of(row: Mapping[str, Any], claim: Claim) -> StoredExplanation:
    """Return the explanation that a row has stored."""
    cited, sources = (tuple(map(tuple, json.loads(row[name]))) if row[name] else None for name in ("cited", "sources"))
    explained = Explained(
        claim,
        row["writer"],
        row["selector"],
        tuple(row["selected"]),
        tuple(CitedSentence(*parts) for parts in zip(row["sentences"], row["bare"], cited or (), strict=True)),
        row["prompt_id"],
        sources,
        (row["unavailable"],) if row["unavailable"] else tuple(row["problems"]),
    )
    return StoredExplanation(row["explanation_id"], explained, row["sampled"])


_FROM = "FROM explanation JOIN claim USING (dataset, claim_id)"


def _where(chosen: CitationFilter) -> tuple[str, list[Any]]:
    parts = ["dataset = ?", "selector = ?"]
    values: list[Any] = [chosen.dataset, chosen.selector]
    if chosen.writers:
        parts.append("writer IN (SELECT unnest(?))")
        values.append(list(chosen.writers))
    for name in chosen.only:
        parts.append(_CUTS[name])
        values += [list(chosen.controls)] if name == "disagree" else []
    if chosen.search:
        parts.append("(contains(lower(claim), ?) OR contains(lower(array_to_string(sentences, ' ')), ?))")
        values += [chosen.search.lower()] * 2
    return " AND ".join(parts), values
