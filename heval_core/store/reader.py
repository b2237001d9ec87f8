"""Typed queries of a published results file; results are DataFrames. See `published` for how it is opened."""

import json
from dataclasses import replace
from typing import Any

import pandas as pd

from heval_core.records import CELL, UNCOMPARED
from heval_core.records.vocabulary import PATTERN_KINDS, PATTERNS, REAL_NOTE, TAUGHT_NOTE
from heval_core.store.citation_queries import CitationQueries
from heval_core.store.filters import Filter
from heval_core.store.instances import InstanceQueries
from heval_core.store.kinds import TABLES
from heval_core.store.published import OF_DOCUMENTS, QUESTION, StoredScores

# Techniques in the order of the catalogue; those with options behind the one without.
_ORDER = (
    "coalesce((SELECT place FROM catalogue WHERE kind = 'technique' AND key = split_part(technique, '(', 1)), 1000), technique"
)


class Reader(InstanceQueries, CitationQueries):
    """One open results file: its published cells, its instances, its techniques, and its citations."""

    @property
    def note(self) -> str:
        """What readers of bundled results must know of their models; empty for others."""
        taught = set(self.models()["prompt_style"]) - {"plain"}
        return "" if not self.bundled else TAUGHT_NOTE if taught else REAL_NOTE

    def rows(self, /, table: str, chosen: Filter = Filter(), order: str = "rowid", **values: Any) -> pd.DataFrame:  # noqa: B008
        """Return a table's rows under a filter, by those of its columns that tell cells apart, and with some values in
        columns.
        """
        where, bound = chosen.where([name for name in CELL if name in TABLES[table].names])
        conditions = " AND ".join([where, *(f"{name} = ?" for name in values)])
        return self.query(f"SELECT * FROM {table} WHERE {conditions} ORDER BY {order}", [*bound, *values.values()])

    def models(self) -> pd.DataFrame:
        return self.query("SELECT * FROM model WHERE model IN (SELECT model FROM instance) ORDER BY model")

    def runs(self) -> pd.DataFrame:
        return self.rows("run", order="started, run_id")

    def libraries(self) -> pd.DataFrame:
        """Return library and version, of the newest run whose beginning was not lost."""
        known = self.runs()["versions"].dropna()
        versions = json.loads(known.iloc[-1]) if len(known) else {}
        return pd.DataFrame(versions.items(), columns=["library", "version"])

    def failures(self) -> pd.DataFrame:
        return self.query("SELECT * FROM failure ORDER BY ALL")

    def catalogue(self, kind: str = "") -> pd.DataFrame:
        return self.query("SELECT * FROM catalogue WHERE kind = ? OR ? = '' ORDER BY control, title, key", [kind, kind])

    def headline(self, chosen: Filter = Filter()) -> pd.DataFrame:  # noqa: B008
        """Return the leaderboard as published, over all instances of the filter's techniques."""
        return self.rows("headline", chosen, "technique, question, value DESC, explainer")

    def choices(self) -> pd.DataFrame:
        """Return the values to filter by: model, dataset, regime, technique, group; with the number of instances.

        explained: whether an explainer ran there; elsewhere techniques are compared by their answers alone.
        """
        return self.query(
            'SELECT model, dataset, regime, technique, coalesce("group", \'dropped\') AS "group", count(*) AS instances, '
            "(model, dataset, regime, technique) IN (SELECT DISTINCT model, dataset, regime, technique FROM cell_metric) "
            "AS explained FROM instance GROUP BY ALL ORDER BY ALL"
        )

    def datasets(self) -> pd.DataFrame:
        """Count per dataset: records read, malformed, and left out (JSON: reason ▶ count); questions usable, and asked."""
        return self.rows("dataset", order="dataset")

    def outcomes(self, chosen: Filter) -> pd.DataFrame:
        """Count instances per model, dataset, regime and technique, by group, or by the reason why they were dropped."""
        return self.under(
            chosen,
            "SELECT model, dataset, regime, technique, dropped_because IS NOT NULL AS dropped, "
            'coalesce(dropped_because, "group") AS outcome, count(*) AS instances '
            "FROM instance WHERE {} GROUP BY ALL ORDER BY ALL",
            by=CELL,
        )

    def quoted(self, chosen: Filter = Filter()) -> pd.DataFrame:  # noqa: B008
        return self.rows("cell_quoted", chosen, order="model, dataset, measure, copied, value DESC, explainer")

    def findings(self, study: str = "explainers") -> pd.DataFrame:
        """Return the statements of a study's paper with their verdicts, in order: see `heval_core.evaluation.findings`."""
        return self.rows("finding", order="place", study=study).drop(columns=["place", "study"])

    def relations(self, chosen: Filter) -> pd.DataFrame:
        """Count per dataset and relation: questions asked, and those kept for at least one model and regime."""
        return self.under(
            chosen,
            f"SELECT dataset, relation, count(DISTINCT {QUESTION}) AS questions, "
            f"count(DISTINCT {QUESTION}) FILTER (dropped_because IS NULL) AS kept, count(DISTINCT subject) AS subjects "
            "FROM instance WHERE {} GROUP BY ALL ORDER BY dataset, questions DESC, relation",
            by=CELL,
        )

    def agreement(self) -> pd.DataFrame:
        """Count per model, dataset, regime and technique how often the observed group is the one that the taught rule
        implies.
        """
        return self.query(
            'SELECT model, dataset, regime, technique, count(*) AS n, avg(("group" = expected_group)::INTEGER) AS agreement '
            "FROM instance WHERE dropped_because IS NULL AND expected_group IS NOT NULL GROUP BY ALL ORDER BY ALL"
        )

    def cells(self, chosen: Filter, metric: str, k: int) -> pd.DataFrame:
        """Return values of cells. k: 0 if the metric has none."""
        return self.rows("cell_metric", chosen, "model, dataset, regime, technique, part, explainer", metric=metric, k=k)

    def ranges(self, chosen: Filter) -> pd.DataFrame:
        """Return one row: shortest and longest prompt in tokens, and the kept instances: all, and with a substituted
        document.
        """
        return self.under(
            chosen,
            "SELECT min(len(tokens)) AS shortest, max(len(tokens)) AS longest, count(*) AS instances, "
            "count(*) FILTER (list_contains(document_origins, 'substituted')) AS substituted "
            "FROM instance WHERE dropped_because IS NULL AND {}",
        )

    def chosen_heads(self, chosen: Filter) -> pd.DataFrame:
        """Count per model, layer and head how often MechLight chose it under a filter."""
        return self.under(
            chosen,
            "SELECT model, layer, head, count(*) AS instances FROM attribution JOIN instance USING (instance_id) WHERE "
            "explainer = 'mechlight' AND layer IS NOT NULL AND {} GROUP BY ALL ORDER BY model, instances DESC, layer, head",
        )

    def needed_most(self, chosen: Filter, heads: int) -> pd.DataFrame:
        """Count by question: n answers from a document or memory whose need of each head is known, how many need MechLight's
        most, and which head (counted from 1) each of them needs most. heads: per layer.
        """
        return self.under(
            chosen,
            "SELECT count(*) AS n, count(*) FILTER (lost[layer * ? + head + 1] >= list_max(lost)) AS most, "
            "list(list_position(lost, list_max(lost))) AS heads FROM head_need JOIN attribution USING (instance_id) "
            "JOIN instance USING (instance_id) "
            f"WHERE explainer = 'mechlight' AND \"group\" NOT IN {UNCOMPARED} AND {{}} GROUP BY dataset, {QUESTION}",
            heads,
        )

    def questions(self, chosen: Filter) -> pd.DataFrame:
        """Return which questions explained instances ask: distinct model, dataset, regime, group and question."""
        return self.under(
            chosen,
            f'SELECT DISTINCT model, dataset, regime, "group", {QUESTION} AS question FROM instance '
            "WHERE dropped_because IS NULL AND instance_id IN (SELECT instance_id FROM attribution) AND {} ORDER BY ALL",
        )

    def pattern_counts(self, chosen: Filter) -> pd.DataFrame:
        """Count per dataset, technique, explainer and question: n instances, the number of each pattern, and the same by
        chance.
        """
        patterns = [f"count(*) FILTER (pattern = '{key}') AS {key}" for key in PATTERNS]
        by_chance = [f"sum(chance.{key}) AS {key}_chance" for key in PATTERN_KINDS]
        return self.under(
            chosen,
            f"SELECT dataset, technique, explainer, fact_id, count(*) AS n, {', '.join(patterns + by_chance)} "
            "FROM pattern JOIN instance USING (instance_id) JOIN pattern_chance chance USING (instance_id) "
            "WHERE {} GROUP BY ALL ORDER BY ALL",
        )

    def same_group_counts(self, chosen: Filter) -> pd.DataFrame:
        """Count per model, dataset and question: n, the kept instances with both groups, and same, how many of them agree."""
        return self.under(
            chosen,
            f"SELECT model, dataset, {QUESTION} AS question, count(*) AS n, "
            "count(*) FILTER (first_group = text_group) AS same FROM instance "
            "WHERE dropped_because IS NULL AND first_group IS NOT NULL AND text_group IS NOT NULL AND {} "
            "GROUP BY ALL ORDER BY ALL",
            by=("model", "dataset", "regime"),
        )

    def answer_sources(self) -> pd.DataFrame:
        """Return a row per answer with sources: whose, its `source`, or why it is unavailable, how many mentions it has, and
        `same`, whether the one whose hiding from all later tokens loses most is a source (of several that tie, the share).
        """
        return self.query(
            f"SELECT instance_id, model, dataset, regime, {QUESTION} AS question, source, unavailable, count(*) AS mentions, "
            "avg(is_source::INTEGER) FILTER (hidden_lost = most) AS same "
            "FROM (SELECT *, max(hidden_lost) OVER (PARTITION BY instance_id) AS most FROM source) "
            "JOIN instance USING (instance_id) WHERE dropped_because IS NULL "
            f"AND ({OF_DOCUMENTS} OR unavailable IS NOT NULL) GROUP BY ALL ORDER BY ALL"
        )

    def replaced_counts(self, chosen: Filter) -> pd.DataFrame:
        """Count per group and question: n, the answers to one document whose mentions there were replaced, and same, how many
        of them then changed (C) or stayed (M).
        """
        return self.under(
            chosen,
            f'SELECT "group", dataset, {QUESTION} AS question, count(*) AS n, '
            "count(*) FILTER ((together = 'stays') = (\"group\" = 'M')) AS same FROM source JOIN instance USING (instance_id) "
            "WHERE mention = 0 AND together IS NOT NULL AND dropped_because IS NULL AND \"group\" IN ('C', 'M') AND {} "
            "GROUP BY ALL ORDER BY ALL",
        )

    def measured_instances(self, chosen: Filter) -> pd.DataFrame:
        """Return the explained instances under a filter in stored order: keys, groups, and token positions in their prompts.

        Without those that a technique answered without their documents: metrics ask where these documents' tokens rank.
        """
        return self.under(
            chosen,
            "SELECT instance_id, fact_id, model, dataset, regime, technique, len(tokens) AS length, first_ranked, ranked_end, "
            'document_kinds, document_starts, document_ends, answer_tokens, "group" '
            "FROM instance WHERE dropped_because IS NULL AND len(document_starts) = len(document_kinds) AND {} "
            "AND instance_id IN (SELECT instance_id FROM attribution) ORDER BY rowid",
        )

    def scores_of(self, ids: list[str], towards_context: bool = False) -> StoredScores:
        """Return the scores of some instances. towards_context: for the first document's answer."""
        table = "context_attribution" if towards_context else "attribution"
        condition = "WHERE instance_id IN (SELECT unnest(?)) ORDER BY rowid"
        rows = self.arrow(f"SELECT instance_id, explainer, signed, rowid AS row FROM {table} {condition}", [ids])
        # Texts as Python's: pandas looks up Arrow's far more slowly.
        return StoredScores(self.arrow, table, rows.to_pandas().astype({"instance_id": object, "explainer": object}))

    def verified_sources(self, chosen: Filter) -> pd.DataFrame:
        """Count per regime the answers from a document whose sources were measured: n, and verified, those with one source, in
        the document that is assumed.
        """
        return self.under(
            chosen,
            "SELECT regime, count(DISTINCT instance_id) AS n, "
            "count(*) FILTER (is_source AND source = 'one' AND document = "
            'coalesce(TRY_CAST(substr("group", 2) AS INTEGER), 1) - 1) AS verified FROM source JOIN instance '
            "USING (instance_id) WHERE unavailable IS NULL AND dropped_because IS NULL AND \"group\" LIKE 'C%' AND {} "
            "GROUP BY ALL ORDER BY ALL",
        )

    def source_verdicts(self, chosen: Filter) -> pd.DataFrame:
        """Count per model, dataset and regime the answers that stand in several places, by what they depend on: `source`, see
        `records/sources.py`.
        """
        return self.under(
            chosen,
            "SELECT model, dataset, regime, source, count(*) AS n FROM source JOIN instance USING (instance_id) "
            f"WHERE mention = 1 AND dropped_because IS NULL AND {OF_DOCUMENTS} AND {{}} GROUP BY ALL ORDER BY ALL",
        )

    def sources_of(self, ids: list[str]) -> pd.DataFrame:
        """Return rows of `source` of some instances whose sources were measured, in the order of the prompt; without answers
        from memory, of which they are the mentions of another answer.
        """
        return self.query(
            "SELECT source.* FROM source JOIN instance USING (instance_id) "
            f"WHERE unavailable IS NULL AND {OF_DOCUMENTS} AND instance_id IN (SELECT unnest(?)) "
            "ORDER BY instance_id, mention",
            [ids],
        )

    def values_by_question(self, chosen: Filter, metrics: list[str], parts: list[str], k: int) -> pd.DataFrame:
        """Sum stored values of instances, by cell, explainer, metric, part, group and question: total,
        chance, n.

        Sums, so that what is read has no more rows than there are questions.
        """
        return self.under(
            chosen,
            'SELECT model, dataset, regime, technique, explainer, metric, part, "group", fact_id, sum(value) AS total, '
            "sum(chance) AS chance, count(*)::DOUBLE AS n FROM score JOIN instance USING (instance_id) "
            "WHERE dropped_because IS NULL AND metric IN (SELECT unnest(?)) AND part IN (SELECT unnest(?)) AND k = ? "
            "AND {} GROUP BY ALL ORDER BY ALL",
            *(metrics, parts, k),
            by=() if chosen.cuts_cells else CELL,
        )

    def measured_of(self, ids: list[str], metrics: list[str]) -> pd.DataFrame:
        """Return values of some instances: instance_id, explainer, part, and a column for each of these metrics."""
        values = self.query(
            "SELECT instance_id, explainer, part, metric, value FROM score WHERE instance_id IN (SELECT unnest(?)) "
            "AND metric IN (SELECT unnest(?))",
            [ids, metrics],
        )
        return values.pivot(index=["instance_id", "explainer", "part"], columns="metric", values="value").reset_index()

    def timings(self, chosen: Filter) -> pd.DataFrame:
        """Return rows of `timing` of the cells under a filter, and of the lengths that it takes."""
        timings, (least, most) = self.rows("timing", chosen), chosen.tokens or (0, 2**31 - 1)
        return timings[timings["length"].between(least, most)].reset_index(drop=True)

    def seconds(self, chosen: Filter) -> pd.DataFrame:
        """Return per explainer that has times: medians of seconds and of the prompts' tokens, least and most tokens, where the
        thirds of all timed prompts end (third, two_thirds; of all explainers together: same sizes), and n instances.
        """
        return self.under(
            chosen,
            "WITH timed AS (SELECT explainer, seconds, len(tokens) AS tokens FROM attribution JOIN instance "
            "USING (instance_id) WHERE seconds IS NOT NULL AND dropped_because IS NULL AND {}) "
            "SELECT explainer, median(seconds) AS seconds, median(tokens) AS tokens, min(tokens) AS least, "
            "max(tokens) AS most, (SELECT quantile_disc(tokens, 1 / 3) FROM timed) AS third, "
            "(SELECT quantile_disc(tokens, 2 / 3) FROM timed) AS two_thirds, count(*) AS n "
            "FROM timed GROUP BY explainer ORDER BY explainer",
        )

    def techniques(self) -> pd.DataFrame:
        return self.rows("catalogue", order="place, key", kind="technique")

    def technique_cells(self, chosen: Filter) -> pd.DataFrame:
        """Return rows of `cell_behaviour`. The regime `total` is there whatever regimes the filter takes."""
        return self.rows("cell_behaviour", replace(chosen, regime=chosen.regime and (*chosen.regime, "total")))

    def behaviour_of(self, instance_id: str) -> pd.DataFrame:
        """Return the answers of one model to an instance's question with the same kind of context, one row per technique in
        order. technique, regime, fact_id, predicted_text, group, and the columns of `behaviour`. Empty for an id that is
        unknown.
        """
        return self.query(
            'SELECT technique, regime, fact_id, predicted_text, "group", behaviour.* '
            "FROM behaviour JOIN instance USING (instance_id) WHERE (model, dataset, regime, fact_id) IN "
            f"(SELECT (model, dataset, regime, fact_id) FROM instance WHERE instance_id = ?) ORDER BY {_ORDER}",
            [instance_id],
        )

    def changes(self, chosen: Filter) -> pd.DataFrame:
        """Count per model, dataset, technique and regime: test answers whose BCU was gained, lost or the same as Regular's.

        These are the numbers of instances that `Filter.changed` takes.
        """
        cell = ["model", "dataset", "technique", "regime"]
        counted = (
            "SELECT model, dataset, technique, regime, count(*) AS {} FROM instance "
            "WHERE dropped_because IS NULL AND {{}} GROUP BY ALL"
        )
        frames = [
            self.under(replace(chosen, changed=change), counted.format(change)).set_index(cell)
            for change in ("gained", "lost", "same")
        ]
        return pd.concat(frames, axis=1).fillna(0).astype(int).sort_index().reset_index()
