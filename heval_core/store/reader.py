"""Typed queries of a published results file; results are DataFrames. See `database` for how it is opened."""

from __future__ import annotations

from dataclasses import replace

import pandas as pd

from heval_core.records import CELL
from heval_core.store.citation_queries import CitationQueries
from heval_core.store.database import StoredScores
from heval_core.store.filters import Filter
from heval_core.store.instances import InstanceQueries
from heval_core.words import PATTERN_KINDS, PATTERNS, REAL_NOTE, TAUGHT_NOTE

# Per dataset, technique, explainer and question: number of instances, of each pattern, and of each pattern by chance.
PATTERN_COUNTS = (
    "SELECT dataset, technique, explainer, fact_id, count(*) AS n, "
    + ", ".join(f"count(*) FILTER (pattern = '{key}') AS {key}" for key in PATTERNS)
    + ", "
    + ", ".join(f"sum(chance.{key}) AS {key}_chance" for key in PATTERN_KINDS)
    + " FROM pattern JOIN instance USING (instance_id) JOIN pattern_chance chance USING (instance_id) "
    "WHERE {} GROUP BY ALL ORDER BY ALL"
)
# Per model, dataset and question: number of instances, and of those whose first token and text give the same group.
_SAME_GROUP = (
    "SELECT model, dataset, fact_id, count(*) AS n, count(*) FILTER (first_group = text_group) AS same FROM instance "
    "WHERE dropped_because IS NULL AND first_group IS NOT NULL AND text_group IS NOT NULL AND {} GROUP BY ALL ORDER BY ALL"
)
# Sums, so that what is read has no more rows than there are questions.
_VALUES_BY_QUESTION = (
    'SELECT model, dataset, regime, technique, explainer, metric, part, "group", fact_id, sum(value) AS total, '
    "count(*)::DOUBLE AS n FROM score JOIN instance USING (instance_id) WHERE dropped_because IS NULL "
    "AND metric IN (SELECT unnest(?)) AND part IN (SELECT unnest(?)) AND k = ? AND {} GROUP BY ALL ORDER BY ALL"
)
# Where the thirds of the prompts end is that of all explainers together, so that their sizes are the same.
_SECONDS = (
    "WITH timed AS (SELECT explainer, seconds, len(tokens) AS tokens FROM attribution JOIN instance USING (instance_id) "
    "WHERE seconds IS NOT NULL AND dropped_because IS NULL AND {}) "
    "SELECT explainer, median(seconds) AS seconds, median(tokens) AS tokens, min(tokens) AS least, max(tokens) AS most, "
    "(SELECT quantile_disc(tokens, 1 / 3) FROM timed) AS third, "
    "(SELECT quantile_disc(tokens, 2 / 3) FROM timed) AS two_thirds, count(*) AS n "
    "FROM timed GROUP BY explainer ORDER BY explainer"
)


_PLACE = ("model", "dataset", "technique")
# Techniques in the order of the catalogue; those with options behind the one without.
_ORDER = (
    "coalesce((SELECT place FROM catalogue WHERE kind = 'technique' AND key = split_part(technique, '(', 1)), 1000), technique"
)
_KIND = "list_position(['gold', 'conflicting', 'irrelevant', 'off_topic', 'total'], regime)"
_ANSWERS = """
SELECT instance_id, model, dataset, regime, fact_id, technique, predicted_text, predicted_probability, "group", true_answer,
    document_answers[1] AS document_answer, prompt, behaviour.* EXCLUDE (instance_id), dropped_because
FROM behaviour JOIN instance USING (instance_id)
"""


class Reader(InstanceQueries, CitationQueries):
    """One open results file: its published cells, its instances, its techniques, and its citations."""

    @property
    def note(self) -> str:
        """What readers of bundled results must know of their models; empty for others."""
        taught = set(self.models()["prompt_style"]) - {"plain"}
        return "" if not self.bundled else TAUGHT_NOTE if taught else REAL_NOTE

    def models(self) -> pd.DataFrame:
        return self.query("SELECT * FROM model WHERE model IN (SELECT model FROM instance) ORDER BY model")

    def runs(self) -> pd.DataFrame:
        return self.query("SELECT * FROM run ORDER BY started, run_id")

    def failures(self) -> pd.DataFrame:
        return self.query("SELECT * FROM failure ORDER BY ALL")

    def catalogue(self, kind: str = "") -> pd.DataFrame:
        """Plug-ins of a kind, or of all kinds."""
        return self.query("SELECT * FROM catalogue WHERE kind = ? OR ? = '' ORDER BY control, title, key", [kind, kind])

    def headline(self, chosen: Filter = Filter()) -> pd.DataFrame:  # noqa: B008
        """The leaderboard as published, over all instances of the filter's techniques."""
        where, values = chosen.where(("technique",))
        return self.query(f"SELECT * FROM headline WHERE {where} ORDER BY technique, question, value DESC, explainer", values)

    def choices(self) -> pd.DataFrame:
        """The values to filter by: model, dataset, regime, technique, group; with the number of instances.

        explained: whether an explainer ran there; elsewhere techniques are compared by their answers alone.
        """
        return self.query(
            'SELECT model, dataset, regime, technique, coalesce("group", \'dropped\') AS "group", count(*) AS instances, '
            "(model, dataset, regime, technique) IN (SELECT DISTINCT model, dataset, regime, technique FROM cell_metric) "
            "AS explained FROM instance GROUP BY ALL ORDER BY ALL"
        )

    def datasets(self) -> pd.DataFrame:
        """Per dataset: records read, malformed, and left out (JSON: reason ▶ count); questions usable, and asked."""
        return self.query("SELECT * FROM dataset ORDER BY dataset")

    def outcomes(self, chosen: Filter) -> pd.DataFrame:
        """Per model, dataset, regime and technique: number of instances by group, or by the reason why they were dropped."""
        where, values = chosen.where(CELL)
        return self.query(
            "SELECT model, dataset, regime, technique, dropped_because IS NOT NULL AS dropped, "
            'coalesce(dropped_because, "group") AS outcome, count(*) AS instances '
            f"FROM instance WHERE {where} GROUP BY ALL ORDER BY ALL",
            values,
        )

    def contexts(self, chosen: Filter) -> pd.DataFrame:
        """Per model, dataset, regime and technique, over the kept instances: length of the context, all documents together.

        characters and tokens: mean, 5 % and 95 % quantile. substituted: instances whose second false answer was substituted.
        """
        where, values = chosen.where(CELL)
        return self.query(f"SELECT * FROM context WHERE {where} ORDER BY model, dataset, regime, technique", values)

    def quoted(self) -> pd.DataFrame:
        """Which explainers find what people copied into their answers: see `cell_quoted` in schema.sql."""
        return self.query("SELECT * FROM cell_quoted ORDER BY model, dataset, measure, copied, value DESC, explainer")

    def findings(self) -> pd.DataFrame:
        """The paper's statements about explainers with their verdicts, in order: see `heval_core.evaluation.findings`."""
        return self.query("SELECT * EXCLUDE (place, study) FROM finding WHERE study = 'explainers' ORDER BY place")

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
        """Per model, dataset, regime and technique: how often the observed group is the one that the taught rule implies."""
        return self.query(
            'SELECT model, dataset, regime, technique, count(*) AS n, avg(("group" = expected_group)::INTEGER) AS agreement '
            "FROM instance WHERE dropped_because IS NULL AND expected_group IS NOT NULL GROUP BY ALL ORDER BY ALL"
        )

    def cells(self, chosen: Filter, metric: str, k: int) -> pd.DataFrame:
        """Rows of `cell_metric` for one metric and k (0 if the metric has none)."""
        where, values = chosen.where(CELL)
        return self.query(
            f"SELECT * FROM cell_metric WHERE metric = ? AND k = ? AND {where} "
            "ORDER BY model, dataset, regime, technique, part, explainer",
            [metric, k, *values],
        )

    def ranges(self, chosen: Filter) -> pd.DataFrame:
        """One row: shortest and longest prompt in tokens, and the kept instances: all, and with a substituted document."""
        where, values = chosen.of_instances()
        return self.query(
            "SELECT min(len(tokens)) AS shortest, max(len(tokens)) AS longest, count(*) AS instances, "
            "count(*) FILTER (list_contains(document_origins, 'substituted')) AS substituted "
            f"FROM instance WHERE dropped_because IS NULL AND {where}",
            values,
        )

    def chosen_heads(self, chosen: Filter, explainer: str = "mechlight") -> pd.DataFrame:
        """Per model, layer and head: how often an explainer chose it under a filter."""
        where, values = chosen.of_instances()
        return self.query(
            "SELECT model, layer, head, count(*) AS instances FROM attribution JOIN instance USING (instance_id) "
            f"WHERE explainer = ? AND layer IS NOT NULL AND {where} GROUP BY ALL ORDER BY model, instances DESC, layer, head",
            [explainer, *values],
        )

    def pattern_shares(self, chosen: Filter) -> pd.DataFrame:
        """How often each pattern ranks first, as published, over all instances of the filter's techniques."""
        where, values = chosen.where(("technique",))
        return self.query(f"SELECT * EXCLUDE (place) FROM pattern_share WHERE {where} ORDER BY place", values)

    def pattern_counts(self, chosen: Filter) -> pd.DataFrame:
        """Per dataset, technique, explainer and question: n instances, the number of each pattern, and the same by chance."""
        where, values = chosen.of_instances()
        return self.query(PATTERN_COUNTS.format(where), values)

    def same_group_counts(self, chosen: Filter) -> pd.DataFrame:
        """Per model, dataset and question: n, the kept instances with both groups, and same, how many of them agree."""
        where, values = chosen.where(("model", "dataset", "regime"))
        return self.query(_SAME_GROUP.format(where), values)

    def measured_instances(self, chosen: Filter) -> pd.DataFrame:
        """The explained instances under a filter in stored order: keys, groups, and token positions in their prompts.

        Without those that a technique answered without their documents: metrics ask where these documents' tokens rank.
        """
        where, values = chosen.of_instances()
        return self.query(
            "SELECT instance_id, fact_id, model, dataset, regime, technique, len(tokens) AS length, first_ranked, ranked_end, "
            'document_kinds, document_starts, document_ends, answer_tokens, "group" '
            f"FROM instance WHERE dropped_because IS NULL AND len(document_starts) = len(document_kinds) AND {where} "
            "AND instance_id IN (SELECT instance_id FROM attribution) ORDER BY rowid",
            values,
        )

    def scores_of(self, ids: list[str], towards_context: bool = False) -> StoredScores:
        """The scores of some instances. towards_context: for the first document's answer."""
        return StoredScores.of(self.arrow, "context_attribution" if towards_context else "attribution", ids)

    def values_by_question(self, chosen: Filter, metrics: list[str], parts: list[str], k: int) -> pd.DataFrame:
        """Stored values of whole cells' instances, by cell, explainer, metric, part, group and question: total, n."""
        where, values = chosen.where(CELL)
        return self.query(_VALUES_BY_QUESTION.format(where), [metrics, parts, k, *values])

    def measured_of(self, ids: list[str], metrics: list[str]) -> pd.DataFrame:
        """Values of some instances: instance_id, explainer, part, and a column for each of these metrics."""
        values = self.query(
            "SELECT instance_id, explainer, part, metric, value FROM score WHERE instance_id IN (SELECT unnest(?)) "
            "AND metric IN (SELECT unnest(?))",
            [ids, metrics],
        )
        return values.pivot(index=["instance_id", "explainer", "part"], columns="metric", values="value").reset_index()

    def timings(self, chosen: Filter) -> pd.DataFrame:
        """Rows of `timing` of the cells under a filter, and of the lengths that it takes."""
        where, values = chosen.where(("model", "dataset", "regime", "technique"))
        least, most = chosen.tokens or (0, 2**31 - 1)
        return self.query(
            f"SELECT * FROM timing WHERE {where} AND length BETWEEN ? AND ? ORDER BY rowid", [*values, least, most]
        )

    def seconds(self, chosen: Filter) -> pd.DataFrame:
        """Per explainer that has times: medians of seconds and of the prompts' tokens, least and most tokens, where the
        thirds of all timed prompts end (third, two_thirds), and n instances."""
        where, values = chosen.of_instances()
        return self.query(_SECONDS.format(where), values)

    def techniques(self) -> pd.DataFrame:
        """Rows of `catalogue` about techniques, in their order."""
        return self.query("SELECT * FROM catalogue WHERE kind = 'technique' ORDER BY place, key")

    def technique_cells(self, chosen: Filter) -> pd.DataFrame:
        """Rows of `cell_behaviour`. The regime `total` is there whatever regimes the filter takes."""
        where, values = chosen.where(_PLACE)
        regimes, wanted = replace(chosen, regime=chosen.regime and (*chosen.regime, "total")).where(("regime",))
        return self.query(f"SELECT * FROM cell_behaviour WHERE {where} AND {regimes} ORDER BY rowid", [*values, *wanted])

    def technique_points(self, chosen: Filter) -> pd.DataFrame:
        """Rows of `pareto`."""
        where, values = chosen.where(_PLACE)
        return self.query(f"SELECT * FROM pareto WHERE {where} ORDER BY rowid", values)

    def technique_trials(self, chosen: Filter) -> pd.DataFrame:
        """Rows of `technique_trial`, in the order in which settings were tried."""
        where, values = chosen.where((*_PLACE, "regime"))
        return self.query(f"SELECT * FROM technique_trial WHERE {where} ORDER BY rowid", values)

    def technique_correlations(self, chosen: Filter) -> pd.DataFrame:
        """Rows of `feature_correlation`, which pool all models. The dataset `all` is there only if the filter takes all."""
        where, values = chosen.where(("dataset", "regime", "technique"))
        return self.query(f"SELECT * FROM feature_correlation WHERE {where} ORDER BY rowid", values)

    def technique_findings(self) -> pd.DataFrame:
        """Statements about techniques with their verdicts, in order: see `heval_core.evaluation.findings`."""
        return self.query("SELECT * EXCLUDE (place, study) FROM finding WHERE study = 'techniques' ORDER BY place")

    def behaviour_of(self, instance_id: str) -> pd.DataFrame:
        """The answers of one model to an instance's question with the same kind of context, one row per technique in order.

        instance_id, model, dataset, regime, fact_id, technique, predicted_text, predicted_probability, group, true_answer,
        document_answer, prompt, dropped_because, and the columns of `behaviour`. Empty for an id that is unknown.
        """
        return self.query(
            f"WITH answered AS ({_ANSWERS}) SELECT * FROM answered WHERE (model, dataset, regime, fact_id) IN "
            f"(SELECT (model, dataset, regime, fact_id) FROM instance WHERE instance_id = ?) ORDER BY {_ORDER}",
            [instance_id],
        )

    def answers_of(self, model: str, dataset: str, fact_id: str) -> pd.DataFrame:
        """Like `behaviour_of`, under every kind of context."""
        return self.query(
            f"WITH answered AS ({_ANSWERS}) SELECT * FROM answered WHERE model = ? AND dataset = ? AND fact_id = ? "
            f"ORDER BY {_KIND}, {_ORDER}",
            [model, dataset, fact_id],
        )

    def changes(self, chosen: Filter) -> pd.DataFrame:
        """Per model, dataset, technique and regime: test answers whose BCU was gained, lost or the same as Regular's.

        These are the numbers of instances that `Filter.changed` takes.
        """
        frames = []
        for change in ("gained", "lost", "same"):
            where, values = replace(chosen, changed=change).of_instances()
            frames.append(
                self.query(
                    f"SELECT model, dataset, technique, regime, count(*) AS {change} FROM instance "
                    f"WHERE dropped_because IS NULL AND {where} GROUP BY ALL",
                    values,
                ).set_index([*_PLACE, "regime"])
            )
        return pd.concat(frames, axis=1).fillna(0).astype(int).sort_index().reset_index()
