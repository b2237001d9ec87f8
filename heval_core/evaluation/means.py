"""Means of cells' values, with intervals: what tables, figures, boards and the headline show.

A cell (model, dataset, regime and part) counts if more than half of the methods have a number in it. Every mean is over these
and no others, so that nobody gains by running where it is easy; a row that lacks some of them is not compared. A number over
other instances than those of most methods (a part of a run failed) is none: it would be of easier or harder prompts.
A mean's interval is made of the cells' own (`bounded.mean_interval`), everywhere by this one rule: of a single cell it is the
cell's own, and none passes the best possible value. How far cells move together comes from questions that are resampled in all
of them, since cells share questions. Of published cells the instances' stored values are resampled
(`metrics.shared.measure`); under a filter that cuts cells, everything is computed anew. Where an error comes from halves,
or a value from pairs of mirrored prompts, no replicates are stored, and the ends are averaged.
"""

import json
from collections.abc import Callable, Collection, Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np
import pandas as pd

from heval_core.evaluation.cells import cells_of
from heval_core.evaluation.ranking import COMPARED, ROUNDING, ahead, within
from heval_core.metrics.shared.cell import DEFAULT_K
from heval_core.metrics.shared.measure import Mean, Measure, SumOfMeans, given_at
from heval_core.plugins import catalogue
from heval_core.plugins.measures import headlines
from heval_core.records import CELL
from heval_core.records.groups import MEMORY, compared_groups, context_groups, document_of
from heval_core.records.regime_keys import ordered_regimes, read_key
from heval_core.records.vocabulary import BY_CONSTRUCTION
from heval_core.statistics.bootstrap import resampled_sums
from heval_core.statistics.bounded import mean_interval
from heval_core.statistics.values import normalised
from heval_core.store.filters import Filter
from heval_core.store.kinds import TABLES
from heval_core.store.reader import Reader

RESAMPLED, OF_CELL, BOUND = "resampled", "cell", "bound"
CELL_COLUMNS = ["model", "dataset", "regime", "part"]
# Question ▶ the groups of the instances that its measures are of.
MEASURED_ON = {"RQ1": compared_groups(1), "RQ2": compared_groups(2), "RQ3": (*context_groups(1), *context_groups(2))}
_MEANS = ("value", "chance", "best", "normalised")
# A mean less its chance level, and the ends of its interval, for which both vary together where chance was measured too.
ABOVE = ("above", "above_low", "above_high")
VALUE = ("value", "low", "high")
_NUMBERS = [
    *("value", "low", "high", "chance", "best", "normalised", "normalised_low", "normalised_high"),
    *(*ABOVE, "cells", "n", "interval"),
]


def means(values: pd.DataFrame, by: Sequence[str]) -> pd.DataFrame:
    """Compute the mean over the cells of each group, a row each.

    values: available rows of `cell_metric`, with (resamples,) replicates in the column `drawn`, where there are any. by: the
    columns that make a group. Columns after these: value, low, high (95 %), chance, best; normalised (0 at chance, 1 at best;
    the mean over cells), normalised_low, normalised_high; `ABOVE`; cells; n, the instances in them; interval: `resampled`,
    `cell` (of the only cell, as published), or `bound` (the mean of the cells' ends: 95 % or more); of what is 1 by
    construction there is none (`without_sure_intervals`).
    """
    # As arrays: a table of a few rows takes longer to make than its mean.
    numbers = {name: values[name].to_numpy(dtype=float) for name in (*_MEANS, "low", "high", *ABOVE[1:]) if name in values}
    resampled = values["drawn"].to_numpy() if "drawn" in values else np.full(len(values), None)
    cells = values.groupby(list(CELL)).ngroup().to_numpy() if len(values) else np.zeros(0)
    rows = []
    for names, group in indices_of(values, by):
        mean = _mean({name: column[group] for name, column in numbers.items()}, resampled[group])
        count = len(np.unique(cells[group]))
        instances = int(values["n"].to_numpy()[group].sum()) if count == len(group) else entering(values.iloc[group])
        rows.append(dict(zip(by, names, strict=True)) | mean | {"cells": count, "n": instances})
    return pd.DataFrame(rows, columns=[*by, *_NUMBERS])


def indices_of(table: pd.DataFrame, by: Sequence[str]) -> list[tuple[tuple[Any, ...], np.ndarray]]:
    """Return each group's keys and the places of its rows, in the order of the keys."""
    if not len(table):
        return []
    grouped = table.groupby(list(by), sort=True)
    number, order = grouped.ngroup().to_numpy(), grouped.ngroup().argsort(kind="stable").to_numpy()
    groups = np.split(order, np.flatnonzero(np.diff(number[order])) + 1)
    columns = [table[name].to_numpy() for name in by]
    return [(tuple(column[group[0]] for column in columns), group) for group in groups]


def _mean(numbers: Mapping[str, np.ndarray], cell_replicates: np.ndarray) -> dict[str, Any]:
    """Compute the mean of some cells' numbers. cell_replicates: of each, or what stands for none."""
    resampled = stacked(cell_replicates)
    sides = np.stack([normalised(numbers[end], numbers["chance"], numbers["best"]) for end in ("low", "high")])
    moved = None if resampled is None else scaled(numbers, resampled)
    ends = mean_interval(numbers["value"], numbers["low"], numbers["high"], resampled)
    of_scaled = mean_interval(numbers["normalised"], sides.min(axis=0), sides.max(axis=0), moved)
    apart = numbers["value"] - numbers["chance"]
    beyond = [numbers[end] if end in numbers else numbers[end[6:]] - numbers["chance"] for end in ABOVE[1:]]
    return {
        **{name: float(numbers[name].mean()) for name in _MEANS},
        **dict(zip(("low", "high", "normalised_low", "normalised_high"), (*ends, *of_scaled), strict=True)),
        **dict(zip(ABOVE, (apart.mean(), *mean_interval(apart, beyond[0], beyond[1], resampled)), strict=True)),
        "interval": OF_CELL if len(apart) == 1 else BOUND if resampled is None else RESAMPLED,
    }


def replicates_of(values: pd.DataFrame) -> np.ndarray | None:
    """Return (resamples, K) replicates of K values; None where one has none."""
    return stacked(values["drawn"].to_numpy() if "drawn" in values else np.zeros(0))


def stacked(columns: np.ndarray) -> np.ndarray | None:
    """Return the same of a column of replicates."""
    return np.stack(list(columns), axis=1) if len(columns) and all(isinstance(one, np.ndarray) for one in columns) else None


def scaled(values: Mapping[str, np.ndarray] | pd.DataFrame, resampled: np.ndarray) -> np.ndarray:
    """Scale (resamples, K) replicates: 0 at chance, 1 at the best possible value."""
    chance, best = (np.asarray(values[name], dtype=float) for name in ("chance", "best"))
    return np.asarray(normalised(resampled, *np.broadcast_arrays(chance, best, resampled)[:2]))


def replicates(counted: pd.DataFrame, by: Sequence[str]) -> dict[Any, np.ndarray]:
    """Return group ▶ (resamples, cells) normalised replicates; nothing of a group in which a cell has none."""
    groups = ((names, cells, replicates_of(cells)) for names, cells in counted.groupby(list(by)))
    return {names: scaled(cells, matrix) for names, cells, matrix in groups if matrix is not None and len(matrix) > 1}


def available(values: pd.DataFrame, parts: Sequence[str] = ()) -> pd.DataFrame:
    """Select rows with a value; of some parts, if any are named."""
    rows = values[values["unavailable"].isna() & values["value"].notna()]
    return rows[rows["part"].isin(list(parts))] if parts else rows


def entering(values: pd.DataFrame) -> int:
    """Count the instances behind rows of `cell_metric`: in each cell the groups that any part uses, counted once."""
    total = 0
    for _, cell in values.dropna(subset=["value"]).groupby(list(CELL)):
        sizes: dict[str, int] = {}
        for group_sizes in cell["group_sizes"].unique():
            for group, size in json.loads(group_sizes).items():
                sizes[group] = max(size, sizes.get(group, 0))
        groups = [size for group, size in sizes.items() if group == MEMORY or document_of(group) is not None]
        total += sum(groups) if groups else max(sizes.values())
    return total


def counting(cells: pd.DataFrame, controls: Collection[str], by: Sequence[str] = ()) -> pd.DataFrame:
    """Select the rows that count, of available cells; of all explainers where there is no method.

    by: columns that make a group; in each group half of its methods decide.
    """
    keys, method = ["technique", *CELL_COLUMNS], ~cells["explainer"].isin(list(controls))
    judges = cells[method] if method.any() else cells
    by_group, by_cell = (judges.groupby(["technique", *columns])["explainer"] for columns in (by, CELL_COLUMNS))
    usual = judges[by_cell.transform("nunique") > by_group.transform("nunique") / 2].groupby(keys)["n"]
    counted = cells.merge(usual.agg(lambda sizes: sizes.mode().max()).rename("usual").reset_index(), on=keys)
    return counted[counted["n"] == counted["usual"]].drop(columns="usual").reset_index(drop=True)


def questions_behind(questions: pd.DataFrame, cells: pd.DataFrame, question: str) -> int:
    """Count the different questions of some cells, whatever their models, regimes and false answers.

    questions: see `Reader.questions`. cells: rows with model, dataset and regime. question: a key of QUESTIONS; its groups
    count.
    """
    rows = questions.merge(cells[["model", "dataset", "regime"]].drop_duplicates())
    groups = MEASURED_ON.get(question)
    return len((rows[rows["group"].isin(groups)] if groups else rows)[["dataset", "question"]].drop_duplicates())


def controls_of(results: Reader) -> list[str]:
    explainers = results.catalogue("explainer")
    return list(explainers[explainers["control"].astype(bool)]["key"])


WantedParts = tuple[tuple[str, ...], tuple[str, ...]]


def cells_and_means(
    results: Reader, chosen: Filter, metric: str, k: int, wanted: Sequence[WantedParts], question: str = ""
) -> tuple[pd.DataFrame, list[pd.DataFrame]]:
    """Return a metric's cells, those that are not available too, and for each (parts, by) the means over those that count.

    See `means_of`. by: any of model, dataset, regime and part. Raises HEvalError for an unknown metric.
    The questions are resampled once for all of them.
    """
    parts = tuple(dict.fromkeys(part for parts_of_mean, _ in wanted for part in parts_of_mean))
    values, controls, questions = values_of(results, chosen, metric, k, parts), controls_of(results), results.questions(chosen)
    tables = [means_of(values, *parts_and_by, controls, question, questions) for parts_and_by in wanted]
    return values.drop(columns="drawn"), tables


def values_of(results: Reader, chosen: Filter, metric: str, k: int, parts: Sequence[str]) -> pd.DataFrame:
    """Return a metric's cells, those that are not available too, with replicates of some parts' values, if any, as `drawn`."""
    plugin = catalogue.find("metric", metric)
    if chosen.cuts_cells or metric not in catalogue.plugins("metric"):
        return cells_of(results, chosen, metric, k, with_replicates=True)
    cells = results.cells(chosen, metric, k)
    resampled: dict[Any, np.ndarray] = {}
    if isinstance(plugin, SumOfMeans):
        resampled = _resampled(results, chosen, plugin, k, available(cells, parts))
    return cells.assign(drawn=pd.Series(resampled, dtype=object).reindex(cells.index))


def computed_values(values: pd.DataFrame, metric: str, k: int, parts: Sequence[str]) -> pd.DataFrame:
    """Return the same of values that were just computed (`cells.frame_of`), in the order of published ones."""
    cells = values[(values["metric"] == metric) & (values["k"] == k)].sort_values([*CELL, "part", "explainer"], kind="stable")
    summed = cells.index.isin(available(cells, parts).index) & isinstance(catalogue.find("metric", metric), SumOfMeans)
    return cells.assign(drawn=cells["drawn"].where(summed))


def means_of(
    values: pd.DataFrame,
    parts: Sequence[str],
    by: Sequence[str],
    controls: Collection[str],
    question: str = "",
    questions: pd.DataFrame | None = None,
) -> pd.DataFrame:
    """Compute the means of some parts over the cells that count: a row for each technique, `by` and explainer.

    whole: whether it has a number in all of these cells, so that it compares with the others. exceeds, within: those whose
    numbers, from chance to best where there is a best, its own exceeds, or is level with (`ranking.ahead`, `within`).
    questions: how many, see `questions_behind`; where `Reader.questions` are given.
    """
    counted, keys = counting(available(values, parts), controls, by), ["technique", *by, "explainer"]
    names = {"regime": ordered_regimes(set(counted["regime"])), "part": parts}
    rank = {column: {name: index for index, name in enumerate(ordered)} for column, ordered in names.items()}
    cell_counts = counted.drop_duplicates(["technique", *CELL_COLUMNS]).groupby(keys[:-1]).size().rename("cells")
    sizes = counted.groupby(keys).size().rename("size").reset_index().join(cell_counts, on=keys[:-1])
    table = means(counted, keys).assign(whole=sizes["size"] == sizes["cells"])
    table = table.join(compared(table, counted, keys, controls, question))
    if questions is not None:
        counts = {key: questions_behind(questions, rows, question) for key, rows in counted.groupby(["technique", *by])}
        table["questions"] = [counts[key] for key in table[["technique", *by]].itertuples(index=False, name=None)]
    return without_sure_intervals(table).sort_values(
        keys, key=lambda text: text.map(rank[str(text.name)]) if text.name in rank else text, kind="stable", ignore_index=True
    )


def without_sure_intervals(table: pd.DataFrame) -> pd.DataFrame:
    """Take the intervals from controls that read the text alone and have the best possible value in every cell.

    The prompts are built so, and other questions would not change it. table: of `means`, with the explainer as a column.
    """
    sure = table["explainer"].isin(list(catalogue.explainers(control=True))) & (table["normalised"] > 1 - ROUNDING)
    ends = [name for name in _NUMBERS if name.endswith(("low", "high"))]
    interval = table["interval"].mask(sure, BY_CONSTRUCTION)
    return table.assign(interval=interval, **{name: table[name].mask(sure) for name in ends})


def compared(
    table: pd.DataFrame, counted: pd.DataFrame, keys: Sequence[str], controls: Collection[str], question: str = ""
) -> pd.DataFrame:
    """Return `exceeds` and `within` of rows of a table of `means`, see `means_of`: empty for those that do not compare, since
    they lack cells or are right by construction at the question.

    keys: the last of them is the explainer; the others make a ranking.
    """
    cell_replicates = counted["drawn"].to_numpy() if "drawn" in counted else np.full(len(counted), None)
    scale_of = {name: counted[name].to_numpy(dtype=float) for name in ("chance", "best")}
    groups = dict(indices_of(counted, keys))
    result = pd.DataFrame({name: pd.Series([[] for _ in table.index], table.index, dtype=object) for name in COMPARED})
    compares = table["whole"] & ~table["explainer"].map(partial(given_at, question)).astype(bool)
    for _, rows in table[compares].groupby(list(keys[:-1]) or (lambda _: 0)):
        scale = rows["normalised"].notna().any()
        names = ("normalised", "normalised_low", "normalised_high") if scale else VALUE
        numbers = rows.set_index("explainer")[list(names)].set_axis(VALUE, axis=1)
        mean_replicates = dict[str, np.ndarray]()
        for row in rows[list(keys)].itertuples(index=False, name=None):
            group = groups[row]
            if (resampled := stacked(cell_replicates[group])) is not None:
                of_cells = {name: column[group] for name, column in scale_of.items()}
                mean_replicates[row[-1]] = (scaled(of_cells, resampled) if scale else resampled).mean(axis=1)
        relations = ahead(numbers, mean_replicates, controls), within(numbers, mean_replicates) if scale else {}
        for name, by_key in zip(COMPARED, relations, strict=True):
            lists = [by_key.get(key, []) for key in rows["explainer"]]
            result.loc[rows.index, name] = pd.Series(lists, rows.index, dtype=object)
    return result


def _resampled(results: Reader, chosen: Filter, metric: SumOfMeans, k: int, cells: pd.DataFrame) -> dict[Any, np.ndarray]:
    """Return (resamples,) replicates of published cells' values, by index, from the stored values of their instances."""
    parts = cells[["part", "regime"]].astype(str).itertuples(name=None)
    by_index = {index: metric.means(part, read_key(regime).documents) for index, part, regime in parts}
    read = {mean for summands in by_index.values() for mean in summands}
    table = results.values_by_question(chosen, sorted({mean.metric for mean in read}), sorted({mean.part for mean in read}), k)
    if all(mean.groups for mean in read):
        table = table[table["group"].isin({group for mean in read for group in mean.groups})]
    limits: tuple[float, float] = getattr(metric, "limits", (-np.inf, np.inf))
    resampled: dict[Any, np.ndarray] = {}
    for dataset, dataset_rows in table.groupby("dataset"):
        sums = _sums(results, str(dataset), dataset_rows)
        for index, *cell in cells.loc[cells["dataset"] == dataset, [*CELL, "explainer"]].itertuples(name=None):
            terms = [mean.factor * _pooled(sums.get((*cell, mean.metric, mean.part), {}), mean) for mean in by_index[index]]
            if terms:
                resampled[index] = np.clip(np.sum(terms, axis=0), *limits)
    return resampled


# Group ▶ (resamples,) sums of stored values, and their numbers.
GroupSums = dict[str, tuple[np.ndarray, np.ndarray]]


def _sums(results: Reader, dataset: str, stored: pd.DataFrame) -> dict[tuple[str, ...], GroupSums]:
    """Resample the sums by regime, explainer, metric and part."""
    names = [*CELL, "explainer", "metric", "part", "group"]
    of_columns = stored.groupby(names, sort=False)
    columns, count = of_columns.ngroup().to_numpy(), of_columns.ngroups
    questions, rows = np.unique(stored["fact_id"].to_numpy(dtype=object), return_inverse=True)
    cell = rows * count + columns
    totals = [
        np.bincount(cell, weights=stored[name], minlength=len(questions) * count).reshape(len(questions), count)
        for name in ("total", "n")
    ]
    # Explainers of a regime have the same numbers of instances, which are counted once.
    numbers, inverse = np.unique(totals[1], axis=1, return_inverse=True)
    resampled = resampled_sums(results.resamples(dataset).of(questions), np.concatenate([totals[0], numbers], axis=1))
    sums: dict[tuple[str, ...], GroupSums] = {}
    for column, (*key, group) in enumerate(stored[names].drop_duplicates().itertuples(index=False, name=None)):
        pair = resampled[:, column], resampled[:, count + inverse.ravel()[column]]
        sums.setdefault(tuple(key), {})[group] = pair
    return sums


def _pooled(of_groups: GroupSums, mean: Mean) -> np.ndarray:
    pairs = [pair for group, pair in of_groups.items() if not mean.groups or group in mean.groups]
    if not pairs:
        return np.full(1, np.nan)
    total, number = (np.sum(terms, axis=0) for terms in zip(*pairs, strict=True))
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.asarray(total / number)


def headline(values_of: Callable[[Measure, int], pd.DataFrame], controls: Collection[str]) -> pd.DataFrame:
    """Compute the means of the headline measures; nothing of a question that no cell can answer.

    values_of: a measure and k ▶ its cells, see `means.means`.
    """
    tables = []
    for question, measure in headlines().items():
        k = measure.at(DEFAULT_K)
        rows = means_of(values_of(measure, k), measure.together, (), controls, question)
        tables.append(rows[rows["whole"].astype(bool)].assign(question=question, metric=measure.metric, k=k))
    return pd.concat(tables)[TABLES["headline"].names]
