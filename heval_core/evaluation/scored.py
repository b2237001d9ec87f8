"""Turns stored rows into what metrics are computed from: a regime's instances, and cells of scores. No SQL, no model."""

from __future__ import annotations

import functools
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
import pandas as pd
import pyarrow as pa

from heval_core.folders import program
from heval_core.metrics.shared.cell import Cell, Fixed, MeasuredValues, Places, Positions
from heval_core.metrics.shared.measured import MeasuredMetric
from heval_core.plugins import catalogue
from heval_core.records import CELL, HEvalError, RegimeKey
from heval_core.records.groups import document_of
from heval_core.statistics import scores
from heval_core.statistics.bootstrap import Resamples
from heval_core.store.published import StoredScores

# Scores that are read at a time, if one explainer has no more: 32 MB.
TOGETHER = 2**23


@dataclass(frozen=True, eq=False)
class Regime:
    """N kept instances of one model, dataset, regime and technique.

    ids, facts: (N,) str, the instances and what they ask; several facts may be of one question.
    """

    key: RegimeKey
    ids: np.ndarray
    facts: np.ndarray
    layout: Positions
    resamples: Resamples

    @functools.cached_property
    def stored_ids(self) -> pa.Array:
        return pa.array(self.ids, pa.string())

    def rows(self, chosen: np.ndarray) -> Regime:
        """Return the instances chosen by (N,) bools."""
        if chosen.all():
            return self
        return Regime(self.key, self.ids[chosen], self.facts[chosen], self.layout.rows(chosen), self.resamples)


def layout_of(instances: pd.DataFrame, sources: pd.DataFrame | None = None) -> Positions:
    """Build the layout from the columns length (of the prompt), first_ranked, ranked_end, document_starts, document_ends,
    answer_tokens, group. sources: of `Reader.sources_of`.

    Raises HEvalError, naming the instance, for answer tokens outside their prompt.
    """
    for row in instances.itertuples():
        indices = [int(token) for tokens in row.answer_tokens for token in tokens]
        if indices and not 0 <= min(indices) <= max(indices) < row.length:
            raise HEvalError(f"Instance {row.instance_id} has answer tokens outside its prompt of {row.length} tokens.")
    layout = Positions.of(
        list(instances["length"]),
        list(instances["first_ranked"]),
        [list(zip(*ends, strict=True)) for ends in zip(instances["document_starts"], instances["document_ends"], strict=True)],
        list(instances["answer_tokens"]),
        list(instances["group"]),
        list(instances["ranked_end"]),
    )
    return layout if sources is None or sources.empty else replace(layout, places=_mentions(instances["instance_id"], sources))


def _mentions(ids: Sequence[str], sources: pd.DataFrame) -> Places:
    """Build the mentions of instances in this order. sources: in the order of the prompt."""
    rows, mention = pd.Index(ids).get_indexer(sources["instance_id"]), sources["mention"].to_numpy(dtype=int)
    shape = len(ids), int(mention.max()) + 1

    def table(name: str, empty: float, kind: type) -> np.ndarray:
        filled: np.ndarray = np.full(shape, empty, dtype=kind)
        filled[rows, mention] = sources[name].fillna(empty)
        return filled

    verdicts = np.full(len(ids), "", dtype=object)
    verdicts[rows] = sources["source"]
    starts, ends, agreed = (table(name, 0, int) for name in ("start", "end", "agreed"))
    is_source, lost = table("is_source", 0, bool), table("route_lost", -np.inf, float)
    source = np.where(verdicts == "one", is_source.argmax(axis=1), -1)
    return Places(starts, ends, verdicts.astype(str), source, np.where((lost > 0).any(1), lost.argmax(1), -1), agreed)


def regime_of(instances: pd.DataFrame, resamples: Resamples, sources: pd.DataFrame | None = None) -> Regime:
    """Build a regime from rows of one model, dataset, regime and technique, at least one. sources: see `layout_of`."""
    key = RegimeKey(*instances.iloc[0][list(CELL)])
    ids, facts = (instances[name].to_numpy(dtype=object) for name in ("instance_id", "fact_id"))
    return Regime(key, ids, facts, layout_of(instances, sources), resamples)


def measured_metrics() -> dict[str, MeasuredMetric]:
    """Return the metrics whose values the batch job measured, by key."""
    return {key: plugin for key, plugin in catalogue.plugins("metric").items() if isinstance(plugin, MeasuredMetric)}


class Measurements(NamedTuple):
    """What the batch job measured, by metric, part and explainer: a value for each of ids, and NaN as the last."""

    ids: pd.Index
    values: dict[tuple[str, str, str], np.ndarray]

    @classmethod
    def of(cls, rows: pd.DataFrame) -> Measurements:
        """Build measurements.

        rows: instance_id, explainer, part, and a column for each metric; no two of the same first three.
        """
        metrics = [key for key in measured_metrics() if key in rows]
        table = rows.astype({"instance_id": object}).pivot(index="instance_id", columns=["part", "explainer"], values=metrics)
        return cls(table.index, {name: np.append(table[name].to_numpy(dtype=float), np.nan) for name in table})


class ScoreRows(NamedTuple):
    """The scores of one explainer, one row per instance. places: (M,) which of a regime's instances. scores: one list each, as
    the explainer gave them. signed: (M,), None where the store does not say."""

    places: np.ndarray
    scores: pa.ListArray
    signed: np.ndarray


@dataclass(frozen=True, eq=False)
class ScoredRegime:
    """The stored scores of one regime, of which only some explainers' are in memory at a time.

    towards: like attributions, but for the first document's answer, whatever the model answered.
    """

    attributions: StoredScores
    measured: Measurements
    towards: StoredScores

    def common(self, whole: Regime, explainers: Iterable[str]) -> Regime:
        """Return the instances for which all of these explainers have scores. Explainers without any are ignored."""
        rows = self.attributions.rows
        chosen = rows[rows["explainer"].isin(list(explainers))]
        counts = chosen.groupby("instance_id").size()
        return whole.rows(pd.Index(whole.ids).isin(counts[counts == chosen["explainer"].nunique()].index))

    def cells(self, regime: Regime, explainers: Sequence[str]) -> Iterator[tuple[str, Cell]]:
        """Yield the cells of explainers that have scores for all of a regime's instances, one after another.

        Scores are read for as many explainers at a time as come to TOGETHER scores.
        """
        if not len(regime.ids):
            return
        count = max(1, TOGETHER // max(1, regime.layout.ranked.size))
        for start in range(0, len(explainers), count):
            names = explainers[start : start + count]
            usual, towards = (_read(stored, regime, names) for stored in (self.attributions, self.towards))
            for name in names:
                measured = measured_of(regime, name, self.measured)
                yield name, cell_of(regime, name, usual.pop(name), measured, towards.pop(name, None))


def _read(stored: StoredScores, regime: Regime, explainers: Sequence[str]) -> dict[str, ScoreRows]:
    rows = stored.rows[stored.rows["explainer"].isin(explainers)]
    rows = rows.assign(place=pd.Index(regime.ids).get_indexer(rows["instance_id"]))
    rows = rows[rows["place"] >= 0].sort_values(["explainer", "place"], ignore_index=True)
    if rows.empty:
        return {}
    scores = stored.read(rows["row"].to_numpy())
    return {
        str(name): ScoreRows(
            group["place"].to_numpy(), scores.slice(group.index[0], len(group)), group["signed"].to_numpy(dtype=object)
        )
        for name, group in rows.groupby("explainer")
    }


def cell_of(
    regime: Regime,
    explainer: str,
    usual: ScoreRows,
    measured: Mapping[tuple[str, str], MeasuredValues] | None = None,
    towards: ScoreRows | None = None,
) -> Cell:
    """Build one explainer's cell. usual: one row for each of the regime's instances.

    towards: the same for the first document's answer, whatever the model answered, where there is such a row.
    Raises HEvalError, naming the instance, for scores that are not finite or more than the tokens; naming the explainer, if
    the store does not say whether its scores have a sign.
    """
    table = np.zeros(regime.layout.ranked.shape)
    _fill(table, regime, explainer, usual)
    fixed = None if towards is None else _fixed(regime, explainer, table, towards)
    return Cell(regime.layout, table, measured or {}, regime.resamples.order(regime.facts), fixed)


def _fill(table: np.ndarray, regime: Regime, explainer: str, rows: ScoreRows) -> None:
    """Write scores as metrics use them into (N, n): signed scores divided by their l1 norm."""
    if pd.isna(rows.signed).any():
        raise HEvalError(
            f"The store does not say whether the scores of the explainer {explainer} have a sign; compute them again: "
            f"{program()} run."
        )
    values = rows.scores.flatten().to_numpy(zero_copy_only=False)
    ends = np.cumsum(rows.scores.value_lengths().to_numpy(zero_copy_only=False))
    for index, token_scores, signed in zip(rows.places, np.split(values, ends[:-1]), rows.signed, strict=True):
        name = f"Instance {regime.ids[index]}, explainer {explainer}"
        scores.check(token_scores, name)
        if len(token_scores) > table.shape[1]:
            raise HEvalError(f"{name}: there are more scores than tokens ({len(token_scores)}).")
        # -0.0 becomes 0.0: which comes first in a sorted row differs between processors, and with it the keys of kept values.
        table[index, : len(token_scores)], table[index, len(token_scores) :] = token_scores + 0.0, 0.0
        if signed:
            # Over the padded row: the last bits of a sum depend on how many numbers there are.
            norm = np.abs(table[index]).sum()
            table[index] /= norm or 1.0


def _fixed(regime: Regime, explainer: str, table: np.ndarray, towards: ScoreRows) -> Fixed:
    """Return scores for the first document's answer.

    If the model gave it, the usual scores are used, unless there are others.
    """
    fixed, there = table.copy(), np.array([document_of(group) == 0 for group in regime.layout.groups], dtype=bool)
    _fill(fixed, regime, explainer, towards)
    there[towards.places] = True
    return Fixed(fixed, there)


def measured_of(regime: Regime, explainer: str, measured: Measurements) -> dict[tuple[str, str], MeasuredValues]:
    """Return the batch job's measurements of one explainer, by metric and part.

    Chance is the random control's value on the same instances, NaN without it.
    """
    positions, nothing, values = measured.ids.get_indexer(regime.ids), np.full(len(measured.ids) + 1, np.nan), measured.values
    return {
        (metric, part): MeasuredValues(
            values[metric, part, explainer][positions], values.get((metric, part, "random"), nothing)[positions]
        )
        for part in dict.fromkeys(part for plugin in measured_metrics().values() for part in plugin.parts)
        for metric, plugin in measured_metrics().items()
        if part in plugin.parts and (metric, part, explainer) in values
    }
