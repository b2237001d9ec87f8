"""Turns stored rows of scores into the cells that metrics are computed from. No SQL, no model."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from heval_core import catalogue
from heval_core.evaluation.regime import Regime
from heval_core.groups import document_of
from heval_core.metrics.shared.cell import Cell, Fixed, Measured
from heval_core.metrics.shared.measured import MeasuredMetric
from heval_core.records import HEvalError
from heval_core.statistics import scores


def measured_metrics() -> dict[str, MeasuredMetric]:
    """The metrics whose values the batch job measured, by key."""
    return {key: plugin for key, plugin in catalogue.plugins("metric").items() if isinstance(plugin, MeasuredMetric)}


@dataclass(frozen=True, eq=False)
class Scored:
    """The stored scores of one regime, as rows.

    attributions: instance_id, explainer, scores, signed, in the order of the instances. measured: as `with_means` returns it.
    towards: like attributions, but for the first document's answer, whatever the model answered.
    """

    attributions: pd.DataFrame
    measured: pd.DataFrame
    towards: pd.DataFrame

    def cell(self, regime: Regime, explainer: str, own: pd.DataFrame) -> Cell:
        """own: the rows of `attributions` that are this explainer's, one for each of the regime's instances."""
        towards = self.towards[self.towards["explainer"] == explainer]
        return cell_of(regime, explainer, own, measured_of(regime, explainer, self.measured), towards)

    def common(self, whole: Regime, explainers: Iterable[str]) -> tuple[Regime, dict[str, Cell]]:
        """The instances for which all of these explainers have scores, and their cells. Explainers without any are ignored."""
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
    """The controls' scores, which need only what is stored of an instance.

    answers: for each instance, the first token of the explained answer; by default of the answer that the model gave.
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
    """One explainer's cell. found: (raw) scores and signed of the regime's instances, in their order.

    towards: like found, with instance_id, but for the first document's answer, whatever the model answered.
    Raises HEvalError, naming the instance, for scores that are not finite or more than the tokens; naming the explainer, if
    the store does not say whether its scores have a sign.
    """
    if found["signed"].isna().any():
        raise HEvalError(
            f"The store does not say whether the scores of the explainer {explainer} have a sign; compute them again: "
            "python -m precompute run."
        )
    values = [np.asarray(row) for row in found["scores"]]
    lengths = regime.layout.ranked.shape[1]
    for instance_id, row in zip(regime.ids, values, strict=True):
        scores.check(row, f"Instance {instance_id}, explainer {explainer}")
        if len(row) > lengths:
            raise HEvalError(
                f"Instance {instance_id}, explainer {explainer}: there are more scores than tokens ({len(row)})."
            )
    signed = found["signed"].to_numpy(dtype=bool)
    table = _as_used(values, lengths, signed)
    fixed = None if towards is None or towards.empty else _fixed(regime, table, towards)
    return Cell.of(regime.layout, table, measured, regime.order, fixed)


def _as_used(values: Sequence[np.ndarray], width: int, signed: np.ndarray) -> np.ndarray:
    """(N, width) scores as metrics use them: signed scores divided by their l1 norm."""
    table = padded(values, width)
    norms = np.abs(table).sum(axis=1, keepdims=True)
    return np.divide(table, norms, out=table, where=signed[:, None] & (norms > 0))


def _fixed(regime: Regime, table: np.ndarray, towards: pd.DataFrame) -> Fixed:
    """Scores for the first document's answer. If the model gave it, the usual scores are used, unless there are others."""
    rows = towards.set_index("instance_id").reindex(regime.ids)
    explained = rows["scores"].notna().to_numpy()
    again = rows[explained]
    fixed = table.copy()
    if explained.any():
        values = [np.asarray(row) for row in again["scores"]]
        fixed[explained] = _as_used(values, table.shape[1], again["signed"].to_numpy(dtype=bool))
    return Fixed(fixed, explained | np.array([document_of(group) == 0 for group in regime.layout.groups], dtype=bool))


def with_means(faithful: pd.DataFrame) -> pd.DataFrame:
    """The batch job's rows, one for each replacement, as parts; and their means as the part `all`."""
    place, keys = ["instance_id", "explainer"], list(measured_metrics())
    means = faithful.groupby(place, sort=False)[keys].mean().reset_index().assign(part="all")
    return pd.concat([faithful.rename(columns={"replacement": "part"})[[*place, "part", *keys]], means])


def measured_of(regime: Regime, explainer: str, found: pd.DataFrame) -> dict[tuple[str, str], Measured]:
    """The batch job's measurements of one explainer, by metric and part. found: as `with_means` returns it.

    Chance is the random control's value on the same instances, NaN without it.
    """
    own, random = (found[found["explainer"] == name] for name in (explainer, "random"))
    measured = {}
    for part in (part for part in MeasuredMetric.parts if (own["part"] == part).any()):
        tables = [table[table["part"] == part].set_index("instance_id") for table in (own, random)]
        for key in measured_metrics():
            measured[key, part] = Measured(*(table[key].reindex(regime.ids).to_numpy(dtype=float) for table in tables))
    return measured
