"""Metrics computed now, from the stored scores of whatever instances a filter leaves; nothing here knows a model.

Without a filter these are the published values: the same instances, the same functions, the same resamples.
Cost: a cell of 2,000 instances and 7 explainers takes about .3 s for ranks, margins and MRR, and a second for the others.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from itertools import combinations
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import pandas as pd

from heval_core import catalogue, metrics
from heval_core.evaluation import cells
from heval_core.evaluation.regime import Regime, regime_of
from heval_core.evaluation.scored import Scored, measured_metrics
from heval_core.metrics.shared.cell import DEFAULT_K, Cell
from heval_core.metrics.shared.estimate import Estimate, differences
from heval_core.metrics.shared.measure import MirrorMetric
from heval_core.metrics.shared.measured import MeasuredMetric
from heval_core.records import CELL
from heval_core.statistics.bootstrap import percentile_interval
from heval_core.statistics.paired_tests import holm
from heval_core.store.summaries import PATTERN_COUNTS, pattern_shares

if TYPE_CHECKING:
    from heval_core.store.reader import Filter, Reader

BINS = 4
_CURVE = ["technique", "explainer"]
COLUMNS = [
    *CELL, "explainer", "metric", "part", "k", "value", "low", "high", "chance", "above_low", "above_high",
    "best", "normalised", "p", "n", "group_sizes", "details", "unavailable",
]  # fmt: skip


@dataclass(frozen=True, eq=False)
class Stored:
    """One model, dataset, regime and technique as it is stored, under a filter."""

    regime: Regime
    scored: Scored

    def common(self) -> tuple[Regime, dict[str, Cell]]:
        """The instances that every explainer has scores of, and their cells."""
        return self.scored.common(self.regime, self.scored.attributions["explainer"].unique())


def stored(reader: Reader, chosen: Filter) -> Iterator[Stored]:
    """What there is under a filter, regime by regime in stored order."""
    where, values = chosen.of_instances()
    instances = reader.query(
        "SELECT instance_id, fact_id, model, dataset, regime, technique, len(tokens) AS length, first_ranked, "
        'document_starts, document_ends, answer_tokens, first_mention, "group" '
        f"FROM instance WHERE dropped_because IS NULL AND {where} ORDER BY rowid",
        values,
    )
    for (_, dataset, *_), own in instances.groupby(list(CELL), sort=False):
        ids = [list(own["instance_id"])]
        attributions, towards = (
            reader.query(
                f"SELECT instance_id, explainer, scores, signed FROM {table} WHERE instance_id IN (SELECT unnest(?)) "
                "ORDER BY rowid",
                ids,
            )
            for table in ("attribution", "context_attribution")
        )
        measured = (
            reader.query(
                "SELECT instance_id, explainer, part, metric, value FROM score WHERE instance_id IN (SELECT unnest(?)) "
                "AND metric IN (SELECT unnest(?))",
                [*ids, list(measured_metrics())],
            )
            .pivot(index=["instance_id", "explainer", "part"], columns="metric", values="value")
            .reset_index()
        )
        yield Stored(regime_of(own, reader.resamples(dataset)), Scored(attributions, measured, towards))


def cells_of(reader: Reader, chosen: Filter, metric: str, k: int) -> pd.DataFrame:
    """Rows like those of `cell_metric`. Raises HEvalError for a metric that there is not."""
    plugin = catalogue.find("metric", metric)
    rows: list[dict[str, Any]] = []
    complete: dict[tuple[str, str, str, str], tuple[Regime, dict[str, Cell]]] = {}
    for one in stored(reader, chosen):
        whole, evaluated = cells.evaluate_all(one.regime, one.scored, [plugin], (k,))
        rows += evaluated.rows
        complete[one.regime.place] = (one.regime, whole)
    if isinstance(plugin, MirrorMetric):
        for (model, dataset, regime, technique), own in complete.items():
            swapped = complete.get((model, dataset, f"{regime}_swap", technique))
            rows += cells.swap_rows(own, swapped, [plugin], (k,)) if swapped else []
    return pd.DataFrame(rows, columns=COLUMNS).sort_values([*CELL, "part"], kind="stable", ignore_index=True)


def headline(reader: Reader, chosen: Filter) -> pd.DataFrame:
    """The leaderboard of the instances under a filter, technique by technique: rows like those of the table `headline`."""
    rows: list[dict[str, Any]] = []
    spread: dict[tuple[Any, ...], np.ndarray] = {}
    for one in stored(reader, chosen):
        for measure in metrics.headlines().values():
            plugin, k = catalogue.find("metric", measure.metric), measure.at(DEFAULT_K)
            _, evaluated = cells.evaluate_all(one.regime, one.scored, [plugin], (k,))
            rows += evaluated.rows
            spread |= {(*one.regime.place, *key): values for key, values in evaluated.replicates.items()}
    columns = ["question", "technique", "explainer", "metric", "k", "value", "low", "high", "chance", "cells", "n"]
    found = cells.headline_rows(pd.DataFrame(rows, columns=COLUMNS), spread) if rows else []
    return pd.DataFrame(found, columns=columns).sort_values(
        ["technique", "question", "value"], ascending=[True, True, False], ignore_index=True
    )


def _lengths(regime: Regime) -> np.ndarray:
    """(N,) tokens of each prompt."""
    ranked = regime.layout.ranked
    return np.asarray(ranked.shape[1] - np.argmax(ranked[:, ::-1], axis=1), dtype=np.float64)


def _places(regime: Regime) -> np.ndarray:
    """(N,) where the used document's answer first stands (the first document's where none was), in % of the prompt."""
    layout = regime.layout
    gold = layout.gold[0]
    if len(layout.gold) > 1:
        gold = np.where((layout.groups == "C2")[:, None], layout.gold[1], gold)
    return np.argmax(gold, axis=1) / np.maximum(_lengths(regime), 1) * 100


# What instances can be binned by, with (N,) values of each.
BINNED = {"tokens": _lengths, "answer_at": _places}


def binned(reader: Reader, chosen: Filter, metric: str, k: int, by: str = "tokens", bins: int = BINS) -> pd.DataFrame:
    """`cells_of` within bins of equally many instances by length of the prompt or by place of the answer (BINNED).

    Over instances that all explainers have scores of. Adds bin (from 0), least, most and mean of it. Instances of one length
    stay together.
    """
    frames = [
        pd.DataFrame(evaluated.rows, columns=COLUMNS).assign(
            bin=place, least=values.min(), most=values.max(), mean=float(values.mean())
        )
        for place, values, _, evaluated in _bins(reader, chosen, metric, k, by, bins)
    ]
    return pd.concat(frames, ignore_index=True) if frames else pd.DataFrame(columns=COLUMNS)


def _bins(
    reader: Reader, chosen: Filter, metric: str, k: int, by: str, bins: int
) -> Iterator[tuple[int, np.ndarray, Regime, cells.Evaluated]]:
    """(bin, what its instances are binned by, its instances, the metric) of every model, dataset and regime."""
    plugin = catalogue.find("metric", metric)
    for one in stored(reader, chosen):
        regime, everybody = one.common()
        if not len(regime.ids):
            continue
        values = BINNED[by](regime)
        edges = np.unique(np.quantile(values, np.linspace(0, 1, bins + 1)[1:-1], method="lower"))
        places = np.searchsorted(edges, values, side="left")
        for number, place in enumerate(np.unique(places)):
            inside = places == place
            part, own = regime.rows(inside), {key: cell.rows(inside) for key, cell in everybody.items()}
            yield number, values[inside], part, cells.evaluate(part, own, [plugin], (k,))


class Curve(NamedTuple):
    """Means over the cells of a technique within quarters, see `binned`.

    points: technique, explainer, bin, mean, value, low, high (95 %), chance, n, cells. changes: technique, explainer, change
    (from the first to the last quarter, of the value above chance), low, high. cells: those that took part, with the columns
    of CELL, part, bin, least and most of what it is along. asked: how many cells there were.
    """

    points: pd.DataFrame
    changes: pd.DataFrame
    cells: pd.DataFrame
    asked: int


def curve(
    reader: Reader, chosen: Filter, metric: str, parts: Collection[str], k: int, by: str = "tokens", bins: int = BINS
) -> Curve:
    """A metric along the quarters of each cell's instances.

    Only cells in which every bin is available for every explainer take part, so that every point is of the same cells. Their
    replicates are averaged, as for the headline: one resample draws the same questions in all cells of a dataset.
    """
    whole, asked = _along(reader, chosen, metric, parts, k, by, bins)
    measured = isinstance(catalogue.find("metric", metric), MeasuredMetric)
    found, spread = [], {}
    for (technique, explainer, place), own in pd.DataFrame(whole).groupby([*_CURVE, "bin"]) if whole else ():
        drawn = spread[technique, explainer, place] = np.mean(list(own["spread"]), axis=0)
        means = {name: float(own[name].astype(float).mean()) for name in ("value", "chance", "mean")}
        found.append(
            {
                "technique": technique, "explainer": explainer, "bin": place, **means,
                **percentile_interval(drawn)._asdict(), "n": cells.entering(own),
                "cells": len(own.drop_duplicates(list(CELL))),
            }
        )  # fmt: skip
    points = pd.DataFrame(found, columns=[*_CURVE, "bin", "mean", "value", "low", "high", "chance", "n", "cells"])
    changes = []
    for (technique, explainer), own in points.groupby(_CURVE):
        above = (own["value"] - own["chance"]).to_numpy()
        first, last = own["bin"].iloc[0], own["bin"].iloc[-1]
        by_chance = own["chance"].iloc[-1] - own["chance"].iloc[0]
        # Measured chance is the random control's, which was drawn along.
        if measured and (technique, "random", last) in spread:
            by_chance = spread[technique, "random", last] - spread[technique, "random", first]
        drawn = spread[technique, explainer, last] - spread[technique, explainer, first] - by_chance
        whole_change = {"change": above[-1] - above[0], **percentile_interval(drawn)._asdict()}
        changes.append({"technique": technique, "explainer": explainer, **whole_change})
    ends = pd.DataFrame(whole, columns=[*CELL, "part", "bin", "least", "most"]).drop_duplicates(ignore_index=True)
    return Curve(points, pd.DataFrame(changes, columns=[*_CURVE, "change", "low", "high"]), ends, asked)


def _along(
    reader: Reader, chosen: Filter, metric: str, parts: Collection[str], k: int, by: str, bins: int
) -> tuple[list[dict[str, Any]], int]:
    """The rows of all bins of those cells in which every bin is available for every explainer; how many cells there are."""
    rows: dict[tuple[str, ...], list[dict[str, Any]]] = defaultdict(list)
    for place, values, regime, evaluated in _bins(reader, chosen, metric, k, by, bins):
        for row in evaluated.rows:
            if row["part"] in parts:
                spread = evaluated.replicates[row["explainer"], row["metric"], row["part"], row["k"]]
                family = (*regime.place, row["part"])
                ends = {"least": float(values.min()), "most": float(values.max()), "mean": float(values.mean())}
                rows[family].append(row | {"bin": place, "spread": spread, **ends})
    return [row for own in rows.values() if _complete(own, bins) for row in own], len({family[:-1] for family in rows})


def _complete(rows: list[dict[str, Any]], bins: int) -> bool:
    return {row["bin"] for row in rows} == set(range(bins)) and all(row["unavailable"] is None for row in rows)


class Compared(NamedTuple):
    """Explainers in pairs, every difference first minus second, paired over the instances that all explainers have scores of.

    cells: one row for each cell, part and pair: the cell's columns, part, first, second, difference, low, high (95 %,
    questions resampled), p (sign flips over questions), p_holm (over its pairs), better (the one that is, at p_holm < .05;
    "" where neither is), n. overall: one row for each technique and pair: first, second, wins of the first, ties, losses,
    mean difference over cells and parts, low, high (95 %, the same questions resampled in all cells), comparisons, cells.
    """

    cells: pd.DataFrame
    overall: pd.DataFrame


def comparisons(reader: Reader, chosen: Filter, metric: str, parts: Collection[str], k: int) -> Compared:
    """Every pair of methods in every cell and part, and over all of them."""
    plugin = catalogue.find("metric", metric)
    rows: list[dict[str, Any]] = []
    spreads: list[np.ndarray] = []
    for one in stored(reader, chosen):
        regime, everybody = one.common()
        methods = {key: cell for key, cell in everybody.items() if key not in catalogue.explainers(control=True)}
        found = cells.estimates(plugin, methods, (k,))
        for part in parts:
            own = {
                explainer: estimate
                for (explainer, _), all_parts in found.items()
                for estimate in all_parts
                if estimate.part == part and estimate.unavailable is None
            }
            for row, spread in _pairs(regime, own, part, metrics.best_of(metric, part)):
                rows.append(row)
                spreads.append(spread)
    columns = [*CELL, "part", "first", "second", "difference", "low", "high", "p", "p_holm", "better", "n"]
    each = pd.DataFrame(rows, columns=columns)
    return Compared(each, _overall(each, spreads))


def patterns(reader: Reader, chosen: Filter) -> pd.DataFrame:
    """How often each pattern is on top under a filter: see `pattern_shares`; of all instances as published."""
    if chosen.is_all:
        where, values = chosen.where(("technique",))
        return reader.query(f"SELECT * EXCLUDE (place) FROM pattern_share WHERE {where} ORDER BY place", values)
    where, values = chosen.of_instances()
    return pattern_shares(reader.query(PATTERN_COUNTS.format(where), values), reader.resamples)


def _pairs(
    regime: Regime, found: Mapping[str, Estimate], part: str, best: str
) -> Iterator[tuple[dict[str, Any], np.ndarray]]:
    """(row, replicates of its difference) of every pair."""
    names = list(combinations(found, 2))
    apart = differences([(found[first], found[second]) for first, second in names], regime.weights, regime.numbers)
    adjusted = holm(np.array([own.p for own in apart]))
    for (first, second), own, p in zip(names, apart, adjusted, strict=True):
        difference = found[first].value - found[second].value
        ahead = second if (difference > 0) == (best == "low") else first
        better = ahead if p < 0.05 and best != "zero" else ""
        row = {
            **dict(zip(CELL, regime.place, strict=True)), "part": part, "first": first, "second": second,
            "difference": difference, **own.interval._asdict(), "p": own.p, "p_holm": p, "better": better,
            "n": sum(size for _, size in found[first].sizes),
        }  # fmt: skip
        yield row, own.replicates


def _overall(found: pd.DataFrame, spreads: list[np.ndarray]) -> pd.DataFrame:
    rows = []
    for (technique, first, second), own in found.groupby(["technique", "first", "second"]):
        low, high = percentile_interval(np.mean([spreads[place] for place in own.index], axis=0))
        rows.append(
            {
                "technique": technique, "first": first, "second": second, "wins": int((own["better"] == first).sum()),
                "ties": int((own["better"] == "").sum()), "losses": int((own["better"] == second).sum()),
                "mean difference": float(own["difference"].mean()), "low": low, "high": high, "comparisons": len(own),
                "cells": len(own.drop_duplicates(list(CELL))),
            }
        )  # fmt: skip
    columns = [
        "technique",
        "first",
        "second",
        "wins",
        "ties",
        "losses",
        "mean difference",
        "low",
        "high",
        "comparisons",
    ]
    return pd.DataFrame(rows, columns=[*columns, "cells"])
