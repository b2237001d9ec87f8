"""Publishes one model, dataset, regime and technique: shards ▶ instances, attributions, patterns and metrics."""

from __future__ import annotations

from collections import defaultdict
from typing import NamedTuple

import numpy as np
import pandas as pd
import pyarrow as pa

from heval_core import catalogue
from heval_core.evaluation import cells, context_target, findings, patterns
from heval_core.evaluation.kept import Kept
from heval_core.evaluation.regime import Regime, regime_of
from heval_core.evaluation.scored import Scored, control_attributions, with_means
from heval_core.metrics.shared.cell import Cell
from heval_core.statistics.bootstrap import Resamples
from heval_core.store.kinds import (
    ATTRIBUTION,
    CONTEXT_ATTRIBUTION,
    FAITHFULNESS,
    HEAD_ATTENTION,
    INSTANCE,
    SAMPLE,
    ShardKind,
)
from heval_core.store.shards import Entry, ShardStore
from heval_core.store.writer import Writer


class Measured(NamedTuple):
    """A regime's instances, the cells of explainers with scores for all of them, and all metrics.

    paired: the values for findings, over the instances for which all methods have scores.
    """

    whole: Regime
    complete: dict[str, Cell]
    evaluated: cells.Evaluated
    paired: cells.Evaluated


def insert_regime(
    writer: Writer, store: ShardStore, entries: list[Entry], resamples: Resamples, keep: bool
) -> Measured | None:
    """Evaluate a regime and write its rows. None if every instance was dropped."""
    methods = _frame(store, entries, ATTRIBUTION)
    instances = _without_unsampled(
        _frame(store, entries, INSTANCE).sort_values(["place", "instance_id"]).reset_index(drop=True),
        set(methods["instance_id"]),
        set(_frame(store, entries, SAMPLE)["fact_id"]),
    )
    writer.insert_arrow("instance", pa.Table.from_pandas(instances, schema=INSTANCE.schema, preserve_index=False))
    writer.insert_arrow("head_attention", _table(store, entries, HEAD_ATTENTION))
    used = instances[instances["dropped_because"].isna()].reset_index(drop=True)
    attributions = _with_controls(methods, used)
    writer.insert_arrow(
        "attribution", pa.Table.from_pandas(attributions, schema=ATTRIBUTION.schema, preserve_index=False)
    )
    towards = context_target.rows_of(_frame(store, entries, CONTEXT_ATTRIBUTION), used)
    writer.insert_arrow("context_attribution", towards)
    if used.empty:
        return None
    _insert_patterns(writer, used, attributions)
    whole = regime_of(used.assign(length=used["tokens"].map(len)), resamples)
    scored = Scored(attributions, with_means(_frame(store, entries, FAITHFULNESS)), towards.to_pandas())
    before = Kept(store.folder, whole.key, findings.WANTED, keep)
    complete, evaluated = cells.evaluate_all(whole, scored, kept=before)
    before.save()
    if evaluated.frames:
        writer.insert_frame("score", pd.concat(evaluated.frames, ignore_index=True))
    return Measured(whole, complete, evaluated, _paired(whole, complete, scored, evaluated))


def _table(store: ShardStore, entries: list[Entry], kind: ShardKind) -> pa.Table:
    tables = [store.read(entry) for entry in entries if entry.kind == kind.name]
    return pa.concat_tables(tables) if tables else kind.schema.empty_table()


def _frame(store: ShardStore, entries: list[Entry], kind: ShardKind) -> pd.DataFrame:
    """The rows of a kind; of rows with the same key only the newest."""
    return _table(store, entries, kind).to_pandas().drop_duplicates(list(kind.key), keep="last")


def _without_unsampled(instances: pd.DataFrame, explained: set[str], sampled: set[str]) -> pd.DataFrame:
    """Instances that a cap left unexplained are dropped from metrics, with the reason."""
    if not sampled:
        return instances
    chosen = instances["instance_id"].isin(explained) | instances["fact_id"].isin(sampled)
    left_out = instances["dropped_because"].isna() & ~chosen
    return instances.assign(dropped_because=instances["dropped_because"].where(~left_out, "not sampled"))


def _with_controls(methods: pd.DataFrame, used: pd.DataFrame) -> pd.DataFrame:
    """Rows of methods and controls, instance by instance."""
    # Controls get scores only where a method has them, so that both are measured on the same instances.
    explained = used[used["instance_id"].isin(methods["instance_id"])]
    controls = pd.DataFrame(control_attributions(explained), columns=ATTRIBUTION.schema.names)
    return context_target.in_order(methods, controls, used)


def _insert_patterns(writer: Writer, used: pd.DataFrame, attributions: pd.DataFrame) -> None:
    scores: dict[str, list[tuple[str, np.ndarray]]] = defaultdict(list)
    for row in attributions.itertuples():
        scores[row.instance_id].append((row.explainer, row.scores))
    on_top, chance = patterns.rows_of(used.to_dict("records"), scores)
    writer.insert("pattern", on_top)
    writer.insert("pattern_chance", chance)


def _paired(whole: Regime, complete: dict[str, Cell], scored: Scored, evaluated: cells.Evaluated) -> cells.Evaluated:
    """The values for findings. If a method lacks scores for some instances, all methods are measured on the others."""
    present = set(scored.attributions["explainer"]) & set(findings.METHODS)
    if present <= set(complete):
        return evaluated
    regime, methods = scored.common(whole, present)
    if not len(regime.ids):
        return cells.Evaluated([], [], {})
    metrics = [plugin for key, plugin in catalogue.plugins("metric").items() if key in findings.METRICS]
    return cells.evaluate(regime, methods, metrics, (findings.K,))
