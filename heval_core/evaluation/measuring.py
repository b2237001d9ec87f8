"""Publishes one model, dataset, regime and technique after another: shards ▶ instances, attributions, patterns and metrics.

Rows go from shards to tables a few instances at a time, with the scores of all explainers. Then metrics read the scores, one
explainer after another. What headline and findings need of a regime stays in memory (`Measuring`).
"""

import functools
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import groupby
from pathlib import Path
from typing import Any, NamedTuple

import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc

from heval_core.evaluation import cells, patterns
from heval_core.evaluation.board.making import measures_of_boards
from heval_core.evaluation.earlier import Earlier
from heval_core.evaluation.findings import paper
from heval_core.evaluation.scored import TOGETHER, Measurements, Regime, ScoredRegime, measured_metrics, regime_of
from heval_core.evaluation.techniques import tables
from heval_core.evaluation.value_cache import ValueCache
from heval_core.metrics.shared.cell import DEFAULT_K
from heval_core.metrics.shared.measure import PROTECTED
from heval_core.plugins import catalogue
from heval_core.prompting.mentioned import words_shared
from heval_core.records import CELL, ORDERS, RANGE, RegimeKey, Span
from heval_core.records.regime_keys import order
from heval_core.records.stored_instances import PlainPrompt
from heval_core.statistics.bootstrap import Resamples
from heval_core.statistics.scores import tied
from heval_core.store import kinds
from heval_core.store.shards import Entry, ShardRows, ShardStore
from heval_core.store.writer import Writer

# What metrics need to know of an instance; of its tokens only how many there are.
_COLUMNS = (
    *("place", "fact_id", *CELL, "tokens", "first_ranked", "ranked_end", "document_kinds", "document_starts"),
    *("document_ends", "answer_tokens", "group", "expected_group", "dropped_because"),
)


# What is written of a regime: its rows, and metrics' values of instances.
_ROWS = (
    *("instance", "head_attention", "source", "head_need", "answer", "attribution", "context_attribution", "pattern"),
    "pattern_chance",
)
_TABLES = (*_ROWS, "score")
# Of instances the whole answers that are explained, and their first tokens.
GivenAnswers = list[tuple[str, str]]


class Shards(NamedTuple):
    """The shards of one regime. size: their bytes."""

    key: RegimeKey
    entries: list[Entry]
    size: int


def by_regime(store: ShardStore, entries: Iterable[Entry]) -> list[Shards]:
    """Group shards by regime, in the order in which results are stored.

    Searches belong to no single regime, and timings and what people wrote to no instance.
    """
    of_regime: dict[RegimeKey, list[Entry]] = defaultdict(list)
    for entry in entries:
        if entry.kind not in (kinds.TRIAL.name, kinds.TIMING.name, kinds.QUOTED.name):
            of_regime[entry.cell.of_regime].append(entry)
    return [Shards(key, of_regime[key], store.size(of_regime[key])) for key in sorted(of_regime, key=_order)]


def _order(key: RegimeKey) -> tuple[str, str, str, tuple[int, ...]]:
    return key.model, key.dataset, key.technique, order(key.regime)


class Left(NamedTuple):
    """What is left of a regime for what is computed over several.

    mirrored: for comparing it with its mirror; None if nothing was measured anew. paired: values for findings, over the
    instances that all methods have scores of; whole: whether these are all.
    """

    values: list[cells.CellValue]
    paired: list[cells.CellValue]
    mirrored: cells.Mirrored | None = None
    whole: bool = True


class Part(NamedTuple):
    """One regime that was evaluated elsewhere: its rows in a file, and what is left of it."""

    path: Path
    left: Left


@dataclass
class Measuring:
    """Evaluates regimes and writes their rows. keep: see `publishing.publish`. earlier: what comes out the same is taken from
    there.

    What is computed over all regimes together is made from what is left here. values: of all cells. paired: those for
    findings, over the instances that all methods have scores of.
    """

    writer: Writer
    store: ShardStore
    resamples: Mapping[str, Resamples]
    keep: bool
    earlier: Earlier
    values: list[cells.CellValue] = field(default_factory=list)
    paired: list[cells.CellValue] = field(default_factory=list)

    def insert(self, regimes: Sequence[Shards], ended: Callable[[Shards], None], parts: Iterator[Part] | None = None) -> None:
        """Evaluate regimes and write their rows. ended: is called after each regime. parts: if others evaluate, of those that
        are not taken over.
        """
        for _, of_technique in groupby(regimes, key=lambda shards: _order(shards.key)[:3]):
            mirrored: list[cells.Mirrored] = []
            group = list(of_technique)
            tables.insert_answers(self.writer, self.store, [entry for shards in group for entry in shards.entries])
            for shards in group:
                left = self.measure(shards) if parts is None or self.earlier.whole(shards.key) else self._taken(next(parts))
                mirrored += [] if left.mirrored is None else [left.mirrored]
                self.values += left.values
                self.paired += left.paired
                self.earlier.save(shards.key, self.writer.sizes(_TABLES), left.whole)
                ended(shards)
            self.values += cells.swap_values(mirrored)
        # The same order, whatever was measured anew.
        numbers = {shards.key: number for number, shards in enumerate(regimes)}
        self.values.sort(key=lambda value: (numbers[value.cell.of_regime], value.metric))
        self.earlier.save_replicates(self.values)

    def _taken(self, part: Part) -> Left:
        self.writer.take_over(part.path, _TABLES)
        return part.left

    def measure(self, shards: Shards) -> Left:
        """Evaluate a regime and write its rows."""
        same = self.earlier.unchanged(shards.key)
        if same is not None:
            self.earlier.take_rows(shards.key, _ROWS)
        if self.earlier.whole(shards.key):
            self.earlier.take_rows(shards.key, ("score",))
            return _left(self.earlier.values(shards.key, same or ()))
        writer, store, entries = self.writer, self.store, shards.entries
        instances = ShardRows(store, entries, kinds.INSTANCE, _COLUMNS)
        methods = ShardRows(store, entries, kinds.ATTRIBUTION)
        rows = _without_unsampled(
            _with_lengths(instances.rows.sort_values(["place", "instance_id"])),
            set(methods.rows["instance_id"]),
            set(ShardRows(store, entries, kinds.SAMPLE).rows["fact_id"]),
        )
        used = rows[rows["dropped_because"].isna()].reset_index(drop=True)
        if same is None:
            self._insert_rows(entries, instances, rows)
            self._insert_explained(entries, instances, used, methods)
        # Agents may have answered without the document: that is explained, but metrics would ask where its tokens rank.
        used = used[used["document_starts"].map(len) == used["document_kinds"].map(len)].reset_index(drop=True)
        if used.empty or methods.rows.empty:  # controls have scores where a method has
            return Left([], [])
        ids = list(used["instance_id"])
        usual, towards_context = (writer.reader().scores_of(ids, towards) for towards in (False, True))
        scored = ScoredRegime(usual, Measurements.of(_faithful(store, entries)), towards_context)
        regime = regime_of(used, self.resamples[shards.key.dataset], writer.reader().sources_of(ids))
        return self._measured(regime, scored, same or frozenset())

    def _insert_rows(self, entries: Sequence[Entry], instances: ShardRows, rows: pd.DataFrame) -> None:
        """Write what no explainer has a part in. rows: all, with the reasons why some are left out."""
        writer, store = self.writer, self.store
        dropped = ((piece, pa.array(piece["dropped_because"], pa.string(), from_pandas=True)) for piece in _pieces(rows, 1))
        tables_of = (_with(_taken(instances, piece), "dropped_because", why) for piece, why in dropped)
        writer.insert_pieces("instance", kinds.INSTANCE.schema, tables_of)
        heads = (store.read(entry) for entry in entries if entry.kind == kinds.HEAD_ATTENTION.name)
        writer.insert_pieces("head_attention", kinds.HEAD_ATTENTION.schema, heads)
        for kind in (kinds.HEAD_NEED, kinds.ANSWER):
            shard_rows = ShardRows(store, entries, kind)
            writer.insert_arrow(kind.name, shard_rows.take(shard_rows.rows))

    def _insert_explained(
        self, entries: Sequence[Entry], instances: ShardRows, used: pd.DataFrame, methods: ShardRows
    ) -> None:
        """Write sources, scores with those of controls, and what lies on top. used: the instances that are explained."""
        writer, store = self.writer, self.store
        sources = _with_agreed(ShardRows(store, entries, kinds.SOURCE), instances)
        writer.insert_frame("source", sources)
        on_top: list[tuple[list[dict[str, Any]], list[dict[str, Any]]]] = []

        def attributions() -> Iterator[pa.Table]:
            for piece, rows in _explained(instances, used, methods, functools.partial(_given, mentions=sources)):
                scores = rows.select(["instance_id", "explainer", "scores"]).to_pandas()
                on_top.append(patterns.rows_of(piece, scores))
                yield rows

        writer.insert_pieces("attribution", kinds.ATTRIBUTION.schema, attributions())
        others = _explained(instances, used, ShardRows(store, entries, kinds.CONTEXT_ATTRIBUTION), _of_first_documents)
        writer.insert_pieces("context_attribution", kinds.ATTRIBUTION.schema, (rows for _, rows in others))
        for table, pieces in zip(("pattern", "pattern_chance"), zip(*on_top, strict=True), strict=False):
            writer.insert(table, [row for piece in pieces for row in piece])

    def _measured(self, regime: Regime, scored: ScoredRegime, same: Collection[str]) -> Left:
        """Compute metrics' values and write those of instances. same: the metrics whose values are taken over."""
        cache = ValueCache(self.store.folder, regime.key, paper.WANTED, self.keep)
        computed = [metric for key, metric in catalogue.plugins("metric").items() if key not in same]
        evaluated, mirrored = cells.evaluate_all(regime, scored, metrics=computed, cache=cache, wanted=_wanted())
        cache.save(whole=not same)
        taken = {key: [self.earlier.score_rows(regime.key, key)] for key in same}
        score_rows = [table for _, of_metric in sorted((evaluated.scores | taken).items()) for table in of_metric]
        if score_rows:
            self.writer.insert_arrow("score", pa.concat_tables(score_rows, promote_options="permissive").combine_chunks())
        left = _left([*self.earlier.values(regime.key, same), *evaluated.values] if same else evaluated.values)
        present = sorted({*scored.attributions.rows["explainer"]} & {*paper.METHODS})
        shared = scored.common(regime, present)
        if shared is regime:
            return left._replace(mirrored=mirrored)
        return left._replace(mirrored=mirrored, whole=False, paired=_paired(shared, scored, present))


def _left(values: list[cells.CellValue]) -> Left:
    return Left(values, [value for value in values if value.name in paper.WANTED])


def _faithful(store: ShardStore, entries: list[Entry]) -> pd.DataFrame:
    """Read what the batch job measured, for `Measurements.of`: replacements are parts, and their mean is the part `all`."""
    by, frames = ["instance_id", "explainer"], list[pd.DataFrame]()
    keys = [key for key in measured_metrics() if key in kinds.FAITHFULNESS.schema.names]
    for suffix, kind in (("", kinds.FAITHFULNESS), (PROTECTED, kinds.FAITHFULNESS_PROTECTED)):
        rows = ShardRows(store, entries, kind, keys).rows.rename(columns={"replacement": "part"})
        means = rows.groupby(by, sort=False)[keys].mean().reset_index().assign(part="all")
        frames += [frame.assign(part=frame["part"].astype(str) + suffix)[[*by, "part", *keys]] for frame in (rows, means)]
    faithful = pd.concat([frame for frame in frames if len(frame)] or frames[:1])
    for kind, values in ((kinds.RANDOMISED, ["randomised"]), (kinds.BOUNDS, ["aopc", "naopc"])):
        closer = ShardRows(store, entries, kind, values).rows.drop(columns=["shard", "row"])
        if kind is kinds.BOUNDS and len(closer):
            closer["naopc"] = closer["naopc"].where(_orders_differ(closer))
        if len(closer):  # several have a part `all`
            faithful = faithful.merge(closer, on=[*by, "part"], how="outer")
    return faithful


def _orders_differ(rows: pd.DataFrame) -> pd.Series:
    """Return of rows of BOUNDS whether orders of the same prompt differ by RANGE at least."""
    ends = rows[rows["part"].isin(ORDERS[2:])].groupby(["instance_id", "explainer"])["aopc"]
    wide = (ends.max() - ends.min()) >= RANGE
    return pd.Series(wide.reindex(pd.MultiIndex.from_frame(rows[["instance_id", "explainer"]])).to_numpy(), rows.index)


def _with_lengths(instances: pd.DataFrame) -> pd.DataFrame:
    """Rename `tokens`, the number of each, to `length`, and fill in where the ranked ones end: see `_taken`."""
    lengths = instances["tokens"].rename("length")
    ends = instances["ranked_end"].astype("float64").fillna(lengths).astype(lengths.dtype)
    return instances.assign(ranked_end=ends).rename(columns={"tokens": "length"})


def _without_unsampled(instances: pd.DataFrame, explained: set[str], sampled: set[str]) -> pd.DataFrame:
    """Drop instances that a cap left unexplained from metrics, with the reason."""
    if not sampled:
        return instances
    chosen = instances["instance_id"].isin(explained) | instances["fact_id"].isin(sampled)
    left_out = instances["dropped_because"].isna() & ~chosen
    return instances.assign(dropped_because=instances["dropped_because"].where(~left_out, "not sampled"))


def _pieces(rows: pd.DataFrame, explainers: int) -> Iterator[pd.DataFrame]:
    """Yield consecutive instances whose scores come to about TOGETHER numbers."""
    numbers = (rows["length"] * max(1, explainers)).cumsum() // TOGETHER
    for _, piece in rows.groupby(numbers, sort=False):
        yield piece


def _taken(instances: ShardRows, rows: pd.DataFrame) -> pa.Table:
    """Read whole rows. Where no chat template follows, the last token is the last ranked one."""
    table = instances.take(rows)
    return _with(table, "ranked_end", pc.coalesce(table["ranked_end"], pc.list_value_length(table["tokens"])))


def _with(table: pa.Table, name: str, column: Any) -> pa.Table:
    index = kinds.INSTANCE.schema.get_field_index(name)
    return table.set_column(index, kinds.INSTANCE.schema.field(index), column)


def _explained(
    instances: ShardRows, used: pd.DataFrame, methods: ShardRows, answers: Callable[[pd.DataFrame], GivenAnswers]
) -> Iterator[tuple[pd.DataFrame, pa.Table]]:
    """Yield some instances at a time, and the rows of methods and controls about them. answers: see `_with_controls`."""
    if methods.rows.empty:
        return
    explainers = methods.rows["explainer"].nunique() + len(catalogue.explainers(control=True))
    for piece in _pieces(used, explainers):
        attributions = methods.take(methods.rows[methods.rows["instance_id"].isin(piece["instance_id"])])
        table = _taken(instances, piece)
        # Tokens as tuples of Python's texts: those of Pandas are slow to go through.
        whole = table.to_pandas().assign(tokens=pd.Series([*map(tuple, table["tokens"].to_pylist())], dtype=object))
        yield whole, _with_controls(attributions, whole, answers)


def _with_agreed(sources: ShardRows, instances: ShardRows) -> pd.DataFrame:
    """Return rows of the table `source`, with the question's words beside each mention (`mentioned.words_shared`)."""
    rows = sources.take(sources.rows).to_pandas()
    about = _taken(instances, instances.rows[instances.rows["instance_id"].isin(rows["instance_id"])]).to_pandas()
    prompts = {row.instance_id: PlainPrompt.of_row(row, "", "") for row in about.itertuples()}
    agreed = pd.Series(index=rows.index, dtype="Int32")
    for instance_id, mentions in rows.dropna(subset="start").groupby("instance_id"):
        spans = [Span(int(start), int(end)) for start, end in zip(mentions["start"], mentions["end"], strict=True)]
        agreed[mentions.index] = words_shared(prompts[str(instance_id)], spans)
    return rows.assign(agreed=agreed)


def _of_first_documents(instances: pd.DataFrame) -> GivenAnswers:
    """Return the first document's answers, with their first tokens as they are written in that document."""
    columns = zip(instances["document_answers"], instances["tokens"], instances["answer_tokens"], strict=True)
    return [(texts[0], str(tokens[answers[0][0]])) for texts, tokens, answers in columns]


def _given(instances: pd.DataFrame, mentions: pd.DataFrame) -> GivenAnswers:
    """Return the answers that the model gave. Of one that is no candidate only the first token is known, or what was replaced
    in its place. mentions: rows of `source`.
    """
    spans = {row.instance_id: slice(int(row.start), int(row.end)) for row in mentions.dropna(subset="start").itertuples()}
    names, given = ("instance_id", "tokens", "group", "candidate_groups", "candidate_texts", "predicted_text"), []
    for key, tokens, group, groups, texts, token in zip(*(instances[name] for name in names), strict=True):
        replaced = "".join(tokens[spans[key]]).strip() if key in spans else ""
        given.append((dict(zip(groups, texts, strict=True)).get(group, replaced), token))
    return given


def _with_controls(methods: pa.Table, instances: pd.DataFrame, answers: Callable[[pd.DataFrame], GivenAnswers]) -> pa.Table:
    """Return the methods' rows of some instances and the controls', in the order of the instances and by explainer.

    answers: of instances. Controls need only what is stored of an instance. They get
    scores where a method has them, so that both are measured on the same ones.
    """
    explained = instances[instances["instance_id"].isin(methods["instance_id"].to_pylist())]
    rows = zip(explained.itertuples(), answers(explained), strict=True)
    prompts, controls = [PlainPrompt.of_row(row, *answer) for row, answer in rows], []
    for explainer, control in catalogue.explainers(control=True).items():
        same = {"explainer": explainer, "settings": repr(control), "signed": bool(control.signed)}
        for prompt in prompts:
            values = control.scores(prompt)
            share = tied(values[prompt.ranked.start : prompt.ranked.stop])
            controls.append({"instance_id": prompt.instance_id, "scores": values, "tied": share, **same})
    rows = pa.concat_tables([methods, pa.Table.from_pylist(controls, schema=kinds.ATTRIBUTION.schema)])
    positions = pd.Index(instances["instance_id"]).get_indexer(rows["instance_id"].to_pylist())
    order = pd.DataFrame({"place": positions, "explainer": rows["explainer"].to_pylist()})
    return rows.take(pa.array(order.sort_values(["place", "explainer"]).index.to_numpy()))


@functools.cache
def _wanted() -> frozenset[tuple[str, str, int]]:
    """Name the values that boards or findings combine with others: metric, part and k."""
    return paper.WANTED | {
        (measure.metric, part, measure.at(DEFAULT_K)) for measure in measures_of_boards() for part in measure.together
    }


def _paired(shared: Regime, scored: ScoredRegime, methods: Sequence[str]) -> list[cells.CellValue]:
    """Return the values for findings of methods that lack scores for some instances, measured on the others."""
    if not len(shared.ids):
        return []
    plugins = [plugin for key, plugin in catalogue.plugins("metric").items() if key in paper.METRICS]
    values = cells.evaluate(shared, scored.cells(shared, methods), plugins, (paper.K,), wanted=_wanted()).values
    return [value for value in values if value.name in paper.WANTED]
