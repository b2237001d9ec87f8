"""Queries about techniques: what they come to, how they were tuned, and what one question was answered under each."""

from __future__ import annotations

from dataclasses import replace

import pandas as pd

from heval_core.store.database import Database
from heval_core.store.filters import Filter

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


class TechniqueQueries(Database):
    """Queries about techniques; `heval_core.store.reader.Reader` has them. Empty where techniques were not compared."""

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
