"""Fills the tables about techniques, over all test answers: cell_behaviour, pareto, technique_trial, feature_correlation."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pandas as pd

from heval_core import catalogue
from heval_core.evaluation.findings.cub import WANTED, Cell, Measured
from heval_core.evaluation.techniques import cells, features, front
from heval_core.evaluation.techniques.behaviours import Answers
from heval_core.records import TECHNIQUE
from heval_core.statistics.bootstrap import Resamples
from heval_core.statistics.values import Questions, Value
from heval_core.store.kinds import INSTANCE, TRIAL
from heval_core.store.shards import Entry, ShardRows, ShardStore
from heval_core.store.writer import Writer

_CELL = ["model", "dataset"]


def insert(
    writer: Writer, store: ShardStore, entries: Sequence[Entry], resamples: Mapping[str, Resamples], given: Answers
) -> list[Cell]:
    """Write all rows. given: the answers under every technique. Nothing is written where techniques were not compared.

    Returns what findings are made of.
    """
    trials = ShardRows(store, entries, TRIAL, [name for name in TRIAL.schema.names if name != "weights"]).rows
    trials = trials.iloc[_places(trials)]
    writer.insert_frame("technique_trial", trials[writer.columns("technique_trial")])
    answers = given.to_test_questions().sort_values("technique", key=lambda names: names.map(order), kind="stable")
    inputs = given.inputs()
    known = answers.assign(memory_strength=_memory_strength(answers, inputs))
    rows, points, told = [], [], []
    for (model, dataset), own in known.groupby(_CELL, sort=True):
        found = _of_cell(str(model), str(dataset), own, resamples[str(dataset)])
        rows += found[0]
        points += found[1]
        told.append(found[2])
    rows += _unavailable(trials, answers)
    writer.insert("cell_behaviour", [rows[place] for place in _places(pd.DataFrame(rows, columns=[*_CELL, "technique"]))])
    writer.insert("pareto", points)
    if len(answers):
        writer.insert("feature_correlation", features.rows_of(answers, inputs, _sizes(store, entries)))
    return told


def _sizes(store: ShardStore, entries: Sequence[Entry]) -> pd.DataFrame:
    """Model and number of parameters."""
    there = {(entry.model, entry.revision) for entry in entries if entry.kind == INSTANCE.name}
    lines = [line for line in store.journal("model") if (line["model"], line["revision"]) in there]
    newest = {(line["model"], line["revision"]): line.get("parameters") for line in lines}
    sizes = sorted({(model, parameters) for (model, _), parameters in newest.items()})
    return pd.DataFrame(sizes, columns=["model", "parameters"])


def _memory_strength(answers: pd.DataFrame, inputs: pd.DataFrame) -> Any:
    """(N,) of each answer's question; see `features`."""
    place = [*_CELL, "regime", "fact_id"]
    strength = inputs[place].assign(memory_strength=features.memory_strength(inputs))
    return answers[place].merge(strength, on=place, how="left")["memory_strength"].to_numpy()


def _of_cell(
    model: str, dataset: str, answers: pd.DataFrame, resamples: Resamples
) -> tuple[list[dict[str, Any]], list[dict[str, Any]], Cell]:
    """Rows of `cell_behaviour` and of `pareto` of one model and dataset, and the same for findings."""
    key = {"model": model, "dataset": dataset}
    questions = Questions(resamples, answers["fact_id"])
    regular = answers[answers["technique"] == TECHNIQUE]
    rows: list[dict[str, Any]] = []
    found: dict[str, cells.Means] = {}
    gains: dict[str, dict[Measured, Value]] = {}
    for technique in answers["technique"].unique():
        own = answers[answers["technique"] == technique]
        found[technique] = cells.means(own, questions)
        ahead = cells.gains(own, regular, questions) if len(regular) else {}
        rows += cells.rows_of({**key, "technique": technique}, found[technique], ahead)
        if ahead:
            gains[technique] = _wanted(ahead)
    conflicting = regular[regular["regime"] == "conflicting"]
    memory = questions.spearman(conflicting["fact_id"], conflicting["memory_strength"], conflicting["bcu"])
    told = Cell(model, dataset, {name: _wanted(own) for name, own in found.items()}, gains, memory)
    return rows, front.rows_of(key, found, answers), told


def _wanted(found: cells.Means) -> dict[Measured, Value]:
    """A store has many cells, and every number has its replicates."""
    return {measured: own for measured, own in found.items() if measured in WANTED}


def _unavailable(trials: pd.DataFrame, answers: pd.DataFrame) -> list[dict[str, Any]]:
    """A row for each technique that a model could not be asked with."""
    key = [*_CELL, "technique"]
    answered = set(answers[key].itertuples(index=False, name=None))
    failed = trials[trials["unavailable"].notna()].drop_duplicates(key)
    return [
        cells.unavailable_row({name: row[name] for name in key}, row["unavailable"])
        for row in failed.to_dict("records")
        if tuple(row[name] for name in key) not in answered
    ]


def order(technique: str) -> tuple[int, str]:
    """By which techniques are sorted: as the catalogue numbers them, those with options behind the one without."""
    known = list(catalogue.techniques())
    key = technique.split("(")[0]
    return known.index(key) if key in known else len(known), technique


def _places(rows: pd.DataFrame) -> list[int]:
    """The order of rows by model, dataset and technique; as they are within."""
    keys = zip(rows["model"], rows["dataset"], rows["technique"], strict=True)
    ordered = [(model, dataset, order(technique)) for model, dataset, technique in keys]
    return sorted(range(len(ordered)), key=ordered.__getitem__)
