"""From stored rows of scores to the cells that metrics are computed from. No SQL, no model."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from heval_core import catalogue
from heval_core.evaluation.regime import Regime
from heval_core.metrics.shared.cell import Cell, Fixed, Measured
from heval_core.metrics.shared.measured import MeasuredMetric
from heval_core.records import HEvalError
from heval_core.statistics import scores


def measured_metrics() -> dict[str, MeasuredMetric]:
    """The metrics whose values the batch job measured, by key."""
    return {key: plugin for key, plugin in catalogue.plugins("metric").items() if isinstance(plugin, MeasuredMetric)}


@dataclass(frozen=True, eq=False)
class Scored:
    """What is stored of one regime's scores, as rows.

    attributions: instance_id, explainer, scores, signed, in the order of the instances. measured: as `with_means` returns it.
    towards: like attributions, of instances explained for the first document's answer whatever was answered.
    """

    attributions: pd.DataFrame
    measured: pd.DataFrame
    towards: pd.DataFrame

    def cell(self, regime: Regime, explainer: str, own: pd.DataFrame) -> Cell:
        """own: the rows of `attributions` that are this explainer's, one for each of the regime's instances."""
        towards = self.towards[self.towards["explainer"] == explainer]
        return cell_of(regime, explainer, own, measured_of(regime, explainer, self.measured), towards)

    def common(self, whole: Regime, explainers: Iterable[str]) -> tuple[Regime, dict[str, Cell]]:
        """The instances that all of these explainers have scores of, and their cells; those without any are left out."""
        own = self.attributions[self.attributions["explainer"].isin(list(explainers))]
        counts = own.groupby("instance_id").size()
        everybody = counts[counts == own["explainer"].nunique()].index.to_numpy(dtype=object)
        regime = whole.rows(np.isin(whole.ids, everybody))
        own = own[own["instance_id"].isin(everybody)]
        return regime, {str(key): self.cell(regime, str(key), rows) for key, rows in own.groupby("explainer")}


def padded(rows: Sequence[np.ndarray], width: int) -> np.ndarray:
    """(N, width) float64 from ragged rows."""
    out = np.zeros((len(rows), width))
    for index, row in enumerate(rows):
        out[index, : len(row)] = row
    return out


def control_attributions(instances: pd.DataFrame, answers: Sequence[str] | None = None) -> list[dict[str, Any]]:
    """The controls' scores: they need only what is stored of an instance.

    answers: the text of what is explained of each, the answer's first token; by default of the answer that was given.
    """
    answers = list(instances["predicted_text"]) if answers is None else answers
    rows = []
    for key, control in catalogue.explainers(control=True).items():
        settings = repr(control)
        for instance, answer in zip(instances.itertuples(), answers, strict=True):
            values = control.scores(tuple(instance.tokens), answer, instance.instance_id)
            row = {"instance_id": instance.instance_id, "explainer": key, "scores": values, "settings": settings}
            ties = scores.tied(values[int(instance.first_ranked) :])
            rows.append(row | {"signed": bool(control.signed), "tied": ties})
    return rows


def cell_of(
    regime: Regime,
    explainer: str,
    found: pd.DataFrame,
    measured: Mapping[tuple[str, str], Measured] | None = None,
    towards: pd.DataFrame | None = None,
) -> Cell:
    """One explainer's cell. found: scores (raw) and signed of the regime's instances, in their order.

    towards: like found, with instance_id, of instances explained for the first document's answer whatever was answered.
    Raises HEvalError, naming the instance, for scores that are not finite, or not one for each token; naming the explainer,
    where it is not stored whether its scores have a sign.
    """
    if found["signed"].isna().any():
        raise HEvalError(
            f"Scores of the explainer {explainer} do not say whether they have a sign; compute them again: "
            "python -m precompute run."
        )
    values = [np.asarray(row) for row in found["scores"]]
    lengths = regime.layout.ranked.shape[1]
    for instance_id, row in zip(regime.ids, values, strict=True):
        scores.check(row, f"Instance {instance_id}, explainer {explainer}")
        if len(row) > lengths:
            raise HEvalError(f"Instance {instance_id}, explainer {explainer}: {len(row)} scores for fewer tokens.")
    signed = found["signed"].to_numpy(dtype=bool)
    table = _as_used(values, lengths, signed)
    fixed = None if towards is None or towards.empty else _fixed(regime, table, towards)
    return Cell.of(regime.layout, table, measured, regime.order, fixed)


def _as_used(values: Sequence[np.ndarray], width: int, signed: np.ndarray) -> np.ndarray:
    """(N, width) scores as metrics use them: those with a sign divided by their l1 norm."""
    table = padded(values, width)
    norms = np.abs(table).sum(axis=1, keepdims=True)
    return np.divide(table, norms, out=table, where=signed[:, None] & (norms > 0))


def _fixed(regime: Regime, table: np.ndarray, towards: pd.DataFrame) -> Fixed:
    """Scores for the first document's answer: of instances that gave it the usual ones, unless they were explained again."""
    rows = towards.set_index("instance_id").reindex(regime.ids)
    there = rows["scores"].notna().to_numpy()
    own = rows[there]
    fixed = table.copy()
    if there.any():
        values = [np.asarray(row) for row in own["scores"]]
        fixed[there] = _as_used(values, table.shape[1], own["signed"].to_numpy(dtype=bool))
    return Fixed(fixed, there | np.isin(regime.layout.groups, ("C", "C1")))


def with_means(faithful: pd.DataFrame) -> pd.DataFrame:
    """The batch job's rows, one for each replacement, as parts; and their means as the part `all`."""
    place, keys = ["instance_id", "explainer"], list(measured_metrics())
    means = faithful.groupby(place, sort=False)[keys].mean().reset_index().assign(part="all")
    return pd.concat([faithful.rename(columns={"replacement": "part"})[[*place, "part", *keys]], means])


def measured_of(regime: Regime, explainer: str, found: pd.DataFrame) -> dict[tuple[str, str], Measured]:
    """What the batch job measured of one explainer, by metric and part. found: as `with_means` returns it.

    Chance is what the random control gets on the same instances; without it there is none.
    """
    own, random = (found[found["explainer"] == name] for name in (explainer, "random"))
    measured = {}
    for part in (part for part in MeasuredMetric.parts if (own["part"] == part).any()):
        tables = [table[table["part"] == part].set_index("instance_id") for table in (own, random)]
        for key in measured_metrics():
            measured[key, part] = Measured(*(table[key].reindex(regime.ids).to_numpy(dtype=float) for table in tables))
    return measured
