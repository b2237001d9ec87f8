"""Publishes one model, dataset, regime and technique: shards ▶ instances, attributions, patterns and metrics.

Rows go from shards to tables a few instances at a time, with the scores of all explainers. Then metrics read the tables, one
explainer after another.
"""

from __future__ import annotations

import functools
from collections import defaultdict
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc

from heval_core import catalogue, metrics
from heval_core.evaluation import cells, findings, patterns
from heval_core.evaluation.kept import Kept
from heval_core.evaluation.regime import Regime, regime_of
from heval_core.evaluation.scored import (
    TOGETHER,
    Measurements,
    Scored,
    first_document_tokens,
    measured_metrics,
    with_controls,
    with_means,
)
from heval_core.metrics.shared.cell import DEFAULT_K
from heval_core.metrics.shared.stored_means import PROTECTED
from heval_core.records import CELL
from heval_core.statistics.bootstrap import Resamples
from heval_core.store.kinds import (
    ATTRIBUTION,
    CONTEXT_ATTRIBUTION,
    FAITHFULNESS,
    FAITHFULNESS_PROTECTED,
    HEAD_ATTENTION,
    INSTANCE,
    SAMPLE,
)
from heval_core.store.shard_rows import ShardRows
from heval_core.store.shards import Entry, ShardStore
from heval_core.store.writer import Writer

# What metrics need to know of an instance; of its tokens only how many there are.
_COLUMNS = (
    *("place", "fact_id", *CELL, "tokens", "first_ranked", "ranked_end", "document_kinds", "document_starts"),
    *("document_ends", "answer_tokens", "first_mention", "group", "dropped_because"),
)


class Measured(NamedTuple):
    """All metrics of a regime, and what is left of it for comparing it with its mirror.

    paired: the values for findings, over the instances for which all methods have scores.
    """

    evaluated: cells.Evaluated
    mirrored: cells.Mirrored
    paired: cells.Evaluated


def insert_regime(
    writer: Writer, store: ShardStore, entries: list[Entry], resamples: Resamples, keep: bool
) -> Measured | None:
    """Evaluate a regime and write its rows. None if every instance was dropped."""
    instances = ShardRows(store, entries, INSTANCE, _COLUMNS)
    methods = ShardRows(store, entries, ATTRIBUTION)
    rows = _without_unsampled(
        _with_lengths(instances.rows.sort_values(["place", "instance_id"])),
        set(methods.rows["instance_id"]),
        set(ShardRows(store, entries, SAMPLE).rows["fact_id"]),
    )
    writer.insert_pieces("instance", INSTANCE.schema, _instances(instances, rows))
    heads = (store.read(entry) for entry in entries if entry.kind == HEAD_ATTENTION.name)
    writer.insert_pieces("head_attention", HEAD_ATTENTION.schema, heads)
    used = rows[rows["dropped_because"].isna()].reset_index(drop=True)
    found = _Patterns()
    writer.insert_pieces("attribution", ATTRIBUTION.schema, _explained(instances, used, methods, visit=found.add))
    towards = ShardRows(store, entries, CONTEXT_ATTRIBUTION)
    writer.insert_pieces(
        "context_attribution", ATTRIBUTION.schema, _explained(instances, used, towards, first_document_tokens)
    )
    writer.insert("pattern", found.on_top)
    writer.insert("pattern_chance", found.chance)
    # Agents may have answered without the document: that is explained, but metrics would ask where its tokens rank.
    used = used[used["document_starts"].map(len) == used["document_kinds"].map(len)].reset_index(drop=True)
    if used.empty:
        return None
    ids = list(used["instance_id"])
    tables = [writer.scores_of(table, ids) for table in ("attribution", "context_attribution")]
    scored = Scored(tables[0], Measurements.of(_faithful(store, entries)), tables[1])
    return _measured(writer, store, regime_of(used, resamples), scored, keep)


def _faithful(store: ShardStore, entries: list[Entry]) -> pd.DataFrame:
    """What the batch job measured, as `Measurements.of` takes it."""
    columns = tuple(measured_metrics())
    kinds = (("", FAITHFULNESS), (PROTECTED, FAITHFULNESS_PROTECTED))
    rows = [with_means(ShardRows(store, entries, kind, columns).rows, suffix) for suffix, kind in kinds]
    return pd.concat([own for own in rows if len(own)] or rows[:1])


def _measured(writer: Writer, store: ShardStore, whole: Regime, scored: Scored, keep: bool) -> Measured:
    before = Kept(store.folder, whole.key, findings.WANTED, keep)
    complete, evaluated = cells.evaluate_all(whole, scored, kept=before, wanted=_is_wanted)
    before.save()
    if evaluated.scores:
        writer.insert_arrow("score", pa.concat_tables(evaluated.scores).combine_chunks())
    mirrored = cells.Mirrored(whole.key, whole.questions, evaluated.ways)
    return Measured(evaluated, mirrored, _paired(whole, complete, scored, evaluated))


def _with_lengths(instances: pd.DataFrame) -> pd.DataFrame:
    """`tokens`, the number of each, as `length`, and where the ranked ones end: see `_taken`."""
    lengths = instances["tokens"].rename("length")
    ends = instances["ranked_end"].astype("float64").fillna(lengths).astype(lengths.dtype)
    return instances.assign(ranked_end=ends).rename(columns={"tokens": "length"})


def _without_unsampled(instances: pd.DataFrame, explained: set[str], sampled: set[str]) -> pd.DataFrame:
    """Instances that a cap left unexplained are dropped from metrics, with the reason."""
    if not sampled:
        return instances
    chosen = instances["instance_id"].isin(explained) | instances["fact_id"].isin(sampled)
    left_out = instances["dropped_because"].isna() & ~chosen
    return instances.assign(dropped_because=instances["dropped_because"].where(~left_out, "not sampled"))


def _pieces(rows: pd.DataFrame, explainers: int) -> Iterator[pd.DataFrame]:
    """Consecutive instances whose scores come to about TOGETHER numbers."""
    numbers = (rows["length"] * max(1, explainers)).cumsum() // TOGETHER
    for _, piece in rows.groupby(numbers, sort=False):
        yield piece


def _instances(instances: ShardRows, rows: pd.DataFrame) -> Iterator[pa.Table]:
    for piece in _pieces(rows, 1):
        dropped = pa.array(piece["dropped_because"], pa.string(), from_pandas=True)
        yield _with(_taken(instances, piece), "dropped_because", dropped)


def _taken(instances: ShardRows, rows: pd.DataFrame) -> pa.Table:
    """Whole rows. Where no chat template follows, the last token is the last ranked one."""
    table = instances.take(rows)
    return _with(table, "ranked_end", pc.coalesce(table["ranked_end"], pc.list_value_length(table["tokens"])))


def _with(table: pa.Table, name: str, column: Any) -> pa.Table:
    place = INSTANCE.schema.get_field_index(name)
    return table.set_column(place, INSTANCE.schema.field(place), column)


def _explained(
    instances: ShardRows,
    used: pd.DataFrame,
    methods: ShardRows,
    answers: Callable[[pd.DataFrame], list[str]] | None = None,
    visit: Callable[[pd.DataFrame, pa.Table], None] | None = None,
) -> Iterator[pa.Table]:
    """Rows of methods and controls, instance by instance.

    answers: see `with_controls`. visit: is called with the instances and rows of every piece.
    """
    if methods.rows.empty:
        return
    explainers = methods.rows["explainer"].nunique() + len(catalogue.explainers(control=True))
    for piece in _pieces(used, explainers):
        own = methods.take(methods.rows[methods.rows["instance_id"].isin(piece["instance_id"])])
        told = _told(_taken(instances, piece))
        rows = with_controls(own, told, answers)
        if visit:
            visit(told, rows)
        yield rows


def _told(rows: pa.Table) -> pd.DataFrame:
    """Rows as a DataFrame, with tokens as tuples of Python's texts: those of Pandas are slow to go through."""
    return rows.to_pandas().assign(tokens=pd.Series([*map(tuple, rows["tokens"].to_pylist())], dtype=object))


class _Patterns:
    """Rows of the tables `pattern` and `pattern_chance`."""

    def __init__(self) -> None:
        self.on_top: list[dict[str, Any]] = []
        self.chance: list[dict[str, Any]] = []

    def add(self, instances: pd.DataFrame, attributions: pa.Table) -> None:
        scores: dict[str, list[tuple[str, np.ndarray]]] = defaultdict(list)
        for row in attributions.select(["instance_id", "explainer", "scores"]).to_pandas().itertuples():
            scores[row.instance_id].append((row.explainer, row.scores))
        on_top, chance = patterns.rows_of(instances[list(patterns.ASKED)].to_dict("records"), scores)
        self.on_top += on_top
        self.chance += chance


def _is_wanted(key: cells.ValueKey) -> bool:
    """Whether headline or findings combine the value with others."""
    return (key.metric, key.part, key.k) in findings.WANTED | _of_headlines()


@functools.cache
def _of_headlines() -> frozenset[tuple[str, str, int]]:
    shown = metrics.headlines().values()
    return frozenset((own.metric, part, own.at(DEFAULT_K)) for own in shown for part in own.together)


def _paired(whole: Regime, complete: list[str], scored: Scored, evaluated: cells.Evaluated) -> cells.Evaluated:
    """The values for findings. If a method lacks scores for some instances, all methods are measured on the others."""
    present = [key for key in scored.explainers if key in findings.METHODS]
    if set(present) <= set(complete):
        return evaluated
    regime = scored.common(whole, present)
    if not len(regime.ids):
        return cells.Evaluated([], [], {}, {})
    asked = [plugin for key, plugin in catalogue.plugins("metric").items() if key in findings.METRICS]
    return cells.evaluate(regime, scored.cells(regime, present), asked, (findings.K,), wanted=_is_wanted)
