"""Fills the tables about techniques: behaviour, of single answers; and over all test answers cell_behaviour, pareto,
technique_trial, feature_correlation.

Formula, of an answer: BCU and CCU as in `heval_core.techniques.shared.context_use`. Gold and conflicting documents ask for
t_C, the others for t_M. correct: the predicted token is one of the first tokens of the true answer. memory_kept: the
technique's next token without documents is Regular's. neither: the predicted token is neither accepted nor that one.
Of `cell_behaviour`: a measure is a mean over test answers; total pools the answers of all kinds, so that each answer counts
the same, except for memory_kept, where each question does. discrimination J = BCU conflicting + BCU irrelevant - 1, and
discrimination_off_topic with off-topic documents in place of irrelevant ones. delta: the technique's mean less Regular's,
over the instances that both answered.
Reference: CUB, arXiv 2505.16518; J, memory_kept and neither are ours.
Chance: 0 for both discriminations, what a technique gets that cannot tell whether a document is relevant.
Departure: correct is undefined for questions whose true answer is not known. Intervals, which CUB lacks, over questions
(`heval_core.statistics.bounded`): the answers of a question in all kinds and under both techniques belong together.
Cost: one pass over the stored rows, and one matrix product of resamples x questions for each technique; no model.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import pandas as pd

from heval_core.evaluation.findings.cub import WANTED, CubCell
from heval_core.evaluation.ranking import with_exceeds
from heval_core.evaluation.techniques import features, front
from heval_core.plugins import catalogue
from heval_core.records import CELL, CONTEXT_KINDS, EVERY_REGIME, FOLLOWED, TECHNIQUE, HEvalError
from heval_core.statistics.bootstrap import Resamples
from heval_core.statistics.values import Resampled, total
from heval_core.store.kinds import BEHAVIOUR, INSTANCE, TRIAL
from heval_core.store.shards import Entry, ShardRows, ShardStore
from heval_core.store.writer import Writer
from heval_core.techniques.shared.context_use import bcu, ccu

# What softmax may exceed 1 by.
_ROUNDING = 1e-6
_METRICS = ["bcu", "ccu", "correct", "memory_kept", "neither"]
_INSTANCE_COLUMNS = ("place", "fact_id", *CELL, "predicted_id")
_CELL = ["model", "dataset"]
TOTAL = "total"
# What a measure is the mean of.
MEASURES = {
    "bcu": "bcu",
    "bcu_unknown": "bcu",
    "ccu": "ccu",
    "accuracy": "correct",
    "memory_kept": "memory_kept",
    "neither": "neither",
}
# Both are BCU under one kind plus BCU under the other, less 1.
DISCRIMINATIONS = {"discrimination": ("conflicting", "irrelevant"), "discrimination_off_topic": ("conflicting", "off_topic")}
_MISSING = {
    "bcu_unknown": "The model knew every one of these answers from memory.",
    "accuracy": "The true answer of none of these questions is known.",
}
# The least and the largest possible value; of other measures 0 and 1.
ENDS = {"ccu": (-1.0, 1.0)}
# The same of what an answer is ahead of another one, or behind it.
APART = {"ccu": (0.0, 2.0)}


def insert_answers(writer: Writer, store: ShardStore, entries: Sequence[Entry]) -> None:
    """Write the rows of `behaviour` of one model, dataset and technique; nothing where techniques were not compared.

    Raises HEvalError, naming the instance, for a probability that is none.
    """
    stored = ShardRows(store, entries, BEHAVIOUR, BEHAVIOUR.schema.names).rows
    if len(stored):
        instances = ShardRows(store, entries, INSTANCE, _INSTANCE_COLUMNS).rows
        answers = stored.merge(instances.drop(columns=["row", "shard"]), on="instance_id")
        answers = answers.assign(order=answers["regime"].map(EVERY_REGIME.index))
        answers = measured(answers.sort_values(["order", "place", "instance_id"], ignore_index=True))
        writer.insert_frame("behaviour", answers[writer.columns("behaviour")])


def measured(answers: pd.DataFrame) -> pd.DataFrame:
    """Return the answers of one model, dataset and technique, with their metrics as columns.

    answers: the columns of a behaviour shard, and fact_id, regime and predicted_id of the instance. No token, no metrics.
    """
    metrics = [_metrics(row) for row in answers.to_dict("records")]
    return pd.concat([answers, pd.DataFrame(metrics, index=answers.index, columns=_METRICS, dtype=float)], axis=1)


def _metrics(row: Mapping[str, Any]) -> list[float | None]:
    if pd.isna(row["predicted_id"]):
        return [None] * len(_METRICS)
    predicted, memory = int(row["predicted_id"]), int(row["memory_id"])
    wanted = row["accepted"] if row["regime"] in FOLLOWED else (memory,)
    return [
        bcu(predicted, wanted),
        _ccu(row),
        bcu(predicted, row["true_ids"]) if len(row["true_ids"]) else None,
        None if pd.isna(row["alone_id"]) else bcu(int(row["alone_id"]), (memory,)),
        1 - bcu(predicted, (*row["accepted"], memory)),
    ]


def _ccu(row: Mapping[str, Any]) -> float | None:
    probabilities = [row["probability"], row["alone_probability"]]
    if pd.isna(probabilities).any():
        return None
    try:
        return ccu(*(1.0 if 1 < probability <= 1 + _ROUNDING else probability for probability in probabilities))
    except ValueError as error:
        raise HEvalError(f"Instance {row['instance_id']}: {error}") from error


def insert(writer: Writer, store: ShardStore, entries: Sequence[Entry], resamples: Mapping[str, Resamples]) -> list[CubCell]:
    """Write all rows, once `behaviour` and `instance` have theirs; nothing where techniques were not compared.

    Returns what findings are made of.
    """
    trials = ShardRows(store, entries, TRIAL, [name for name in TRIAL.schema.names if name != "weights"]).rows
    trials = _in_order(trials).sort_values(_CELL, kind="stable")
    writer.insert_frame("technique_trial", trials[writer.columns("technique_trial")])
    answers = _in_order(writer.test_answers())
    inputs = writer.inputs()
    keys = [*_CELL, "regime", "fact_id"]
    known = answers.merge(inputs[[*keys, "memory_strength"]], on=keys, how="left")
    rows, points, cells = [], [], []
    for (model, dataset), cell_answers in known.groupby(_CELL, sort=True):
        cell_rows, cell_points, cell = _of_cell(str(model), str(dataset), cell_answers, resamples[str(dataset)])
        rows += cell_rows
        points += cell_points
        cells.append(cell)
    rows += _unavailable(trials, answers)
    rows.sort(key=lambda row: (row["model"], row["dataset"], order(row["technique"])))
    writer.insert("cell_behaviour", rows)
    writer.insert("pareto", points)
    if len(answers):
        writer.insert("feature_correlation", features.rows_of(answers, inputs, _sizes(store, entries)))
    return cells


def _sizes(store: ShardStore, entries: Sequence[Entry]) -> pd.DataFrame:
    revisions = {(entry.model, entry.revision) for entry in entries if entry.kind == INSTANCE.name}
    lines = [line for line in store.journal("model") if (line["model"], line["revision"]) in revisions]
    newest = {(line["model"], line["revision"]): line.get("parameters") for line in lines}
    sizes = sorted({(model, parameters) for (model, _), parameters in newest.items()})
    return pd.DataFrame(sizes, columns=["model", "parameters"])


def _of_cell(
    model: str, dataset: str, answers: pd.DataFrame, resamples: Resamples
) -> tuple[list[dict[str, Any]], list[dict[str, Any]], CubCell]:
    """Return rows of `cell_behaviour` and of `pareto` of one model and dataset, and the same for findings."""
    key = {"model": model, "dataset": dataset}
    questions = Resampled(resamples, answers["fact_id"])
    rows_of_technique = {str(technique): rows for technique, rows in answers.groupby("technique", sort=False)}
    regular = rows_of_technique.get(TECHNIQUE, answers[:0])
    by_technique = {technique: means(rows, questions) for technique, rows in rows_of_technique.items()}
    ahead = {technique: gains(rows, regular, questions) for technique, rows in rows_of_technique.items()}
    rows = [row for name, numbers in by_technique.items() for row in rows_of({**key, "technique": name}, numbers, ahead[name])]
    rows = with_exceeds(rows, "technique", ("regime", "measure"))
    conflicting = regular[regular["regime"] == "conflicting"]
    memory = questions.spearman(conflicting["fact_id"], conflicting["memory_strength"], conflicting["bcu"])
    cell = CubCell(model, dataset, _wanted(by_technique), _wanted(ahead), memory)
    return rows, front.rows_of(key, by_technique, answers, resamples), cell


def _wanted(by_technique: Mapping[str, front.Means]) -> dict[str, front.Means]:
    """Select by technique what findings need: a store has many cells, and every number has its replicates."""
    needed = {name: {key: value for key, value in values.items() if key in WANTED} for name, values in by_technique.items()}
    return {name: values for name, values in needed.items() if values}


def _unavailable(trials: pd.DataFrame, answers: pd.DataFrame) -> list[dict[str, Any]]:
    """Return a row for each technique that a model could not be asked with."""
    key = [*_CELL, "technique"]
    answered = set(answers[key].itertuples(index=False, name=None))
    failed = trials[trials["unavailable"].notna()].drop_duplicates(key)
    return [
        {name: row[name] for name in (*key, "unavailable")} | {"regime": TOTAL, "measure": "bcu", "n": 0}
        for row in failed.to_dict("records")
        if tuple(row[name] for name in key) not in answered
    ]


def order(technique: str) -> tuple[int, str]:
    """Return what techniques are sorted by: as the catalogue numbers them, those with options behind the one without."""
    known = list(catalogue.techniques())
    key = technique.split("(")[0]
    return known.index(key) if key in known else len(known), technique


def _in_order(rows: pd.DataFrame) -> pd.DataFrame:
    """Sort by technique; as they are within."""
    return rows.sort_values("technique", key=lambda techniques: techniques.map(order), kind="stable")


def means(rows: pd.DataFrame, questions: Resampled, ends: Mapping[str, tuple[float, float]] = ENDS) -> front.Means:
    """Compute (regime, measure) ▶ its mean over answers of one technique. rows: their fact_id, regime, knew and metrics."""
    columns = {}
    for regime in (*CONTEXT_KINDS, TOTAL):
        of_regime = rows if regime == TOTAL else rows[rows["regime"] == regime]
        for measure, name in MEASURES.items():
            values = of_regime[name]
            if measure == "bcu_unknown":
                values = values.where(of_regime["knew"].eq(False))
            once = measure == "memory_kept" and regime == TOTAL
            columns[regime, measure] = questions.column(of_regime["fact_id"], values, once, ends.get(measure, (0.0, 1.0)))
    by_measure = questions.means(columns)
    for measure, (followed, ignored) in DISCRIMINATIONS.items():
        both = [by_measure.get((kind, "bcu")) for kind in (followed, ignored)]
        if both[0] and both[1]:
            by_measure[TOTAL, measure] = total(((1.0, both[0]), (1.0, both[1])), shift=-1.0)
    return by_measure


def gains(rows: pd.DataFrame, regular: pd.DataFrame, questions: Resampled) -> front.Means:
    """Return what a technique is ahead of Regular, over the instances that both answered: ahead on some of them, behind on
    others.
    """
    matched = rows.merge(regular, on=["regime", "fact_id"], suffixes=("", "_regular"))
    names = list(dict.fromkeys(MEASURES.values()))
    apart = matched[names].to_numpy(dtype=float) - matched[[f"{name}_regular" for name in names]].to_numpy(dtype=float)
    ahead, behind = (
        means(matched.assign(**dict(zip(names, (sign * apart).clip(0).T, strict=True))), questions, APART) for sign in (1, -1)
    )
    return {key: value.less(behind[key]) for key, value in ahead.items()}


def rows_of(key: Mapping[str, str], numbers: front.Means, ahead: front.Means) -> list[dict[str, Any]]:
    """Return the rows of one technique, with replicates as `drawn`.

    key: model, dataset and technique. numbers: its means. ahead: `gains`; empty where Regular was not asked.
    """
    pairs = [(regime, measure) for regime in (*CONTEXT_KINDS, TOTAL) for measure in MEASURES]
    rows = []
    for regime, measure in [*pairs, *((TOTAL, measure) for measure in DISCRIMINATIONS)]:
        row: dict[str, Any] = {**key, "regime": regime, "measure": measure, "n": 0}
        value = numbers.get((regime, measure))
        if value is None:
            row["unavailable"] = _reason(regime, measure, numbers)
        else:
            row |= value.named("value", "low", "high") | {"n": value.n, "drawn": value.drawn}
            row["chance"] = 0.0 if measure in DISCRIMINATIONS else None
            if (regime, measure) in ahead:
                row |= ahead[regime, measure].named("delta", "delta_low", "delta_high")
        rows.append(row)
    return rows


def _reason(regime: str, measure: str, values: front.Means) -> str:
    needed = DISCRIMINATIONS.get(measure, () if regime == TOTAL else (regime,))
    absent = [f"{kind.replace('_', '-')} documents" for kind in needed if (kind, "bcu") not in values]
    if absent:
        return f"No test question was asked with {' or '.join(absent)}."
    return _MISSING.get(measure, "Nothing is stored to compute it from.")
