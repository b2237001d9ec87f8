"""How well each technique used its context, by kind of context and over all: rows of the table `cell_behaviour`.

Formula: every measure is a mean over test answers (`behaviours`); total pools the answers of all kinds, so that each answer
counts the same, except for memory_kept, where each question does. discrimination J = BCU conflicting + BCU irrelevant - 1, and
discrimination_off_topic with off-topic documents in place of irrelevant ones. delta: the technique's mean less Regular's, over
the instances that both answered.
Reference: CUB, arXiv 2505.16518; J, memory_kept and neither are ours.
Chance: 0 for both discriminations, what a technique gets that cannot tell whether a document is relevant.
Departure: intervals, which CUB lacks, over questions (`heval_core.statistics.bounded`): the answers of a question in all
kinds and under both techniques belong together.
Cost: one matrix product of resamples x questions for each technique.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pandas as pd

from heval_core.records import CONTEXT_KINDS
from heval_core.statistics.values import Questions, Value, total

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
Means = dict[tuple[str, str], Value]
# The least and the largest possible value; of other measures 0 and 1.
ENDS = {"ccu": (-1.0, 1.0)}
# The same of what an answer is ahead of another one, or behind it.
APART = {"ccu": (0.0, 2.0)}


def means(rows: pd.DataFrame, questions: Questions, ends: Mapping[str, tuple[float, float]] = ENDS) -> Means:
    """(regime, measure) ▶ its mean over answers of one technique. rows: their fact_id, regime, knew and metrics."""
    columns = {}
    for regime in (*CONTEXT_KINDS, TOTAL):
        own = rows if regime == TOTAL else rows[rows["regime"] == regime]
        for measure, name in MEASURES.items():
            values = own[name]
            if measure == "bcu_unknown":
                values = values.where(own["knew"].eq(False))
            once = measure == "memory_kept" and regime == TOTAL
            columns[regime, measure] = questions.column(own["fact_id"], values, once, ends.get(measure, (0.0, 1.0)))
    found = questions.means(columns)
    for measure, (followed, ignored) in DISCRIMINATIONS.items():
        both = [found.get((kind, "bcu")) for kind in (followed, ignored)]
        if both[0] and both[1]:
            found[TOTAL, measure] = total(((1.0, both[0]), (1.0, both[1])), shift=-1.0)
    return found


def gains(own: pd.DataFrame, regular: pd.DataFrame, questions: Questions) -> Means:
    """What a technique is ahead of Regular, over the instances that both answered: ahead on some of them, behind on others."""
    both = own.merge(regular, on=["regime", "fact_id"], suffixes=("", "_regular"))
    names = list(dict.fromkeys(MEASURES.values()))
    apart = both[names].to_numpy(dtype=float) - both[[f"{name}_regular" for name in names]].to_numpy(dtype=float)
    ahead, behind = (
        means(both.assign(**dict(zip(names, (sign * apart).clip(0).T, strict=True))), questions, APART) for sign in (1, -1)
    )
    return {key: total(((1.0, value), (-1.0, behind[key])), n=value.n) for key, value in ahead.items()}


def rows_of(key: Mapping[str, str], found: Means, ahead: Means) -> list[dict[str, Any]]:
    """The rows of one technique. key: model, dataset and technique. ahead: `gains`; empty where Regular was not asked."""
    asked = [(regime, measure) for regime in (*CONTEXT_KINDS, TOTAL) for measure in MEASURES]
    rows = []
    for regime, measure in [*asked, *((TOTAL, measure) for measure in DISCRIMINATIONS)]:
        row: dict[str, Any] = {**key, "regime": regime, "measure": measure, "n": 0}
        value = found.get((regime, measure))
        if value is None:
            row["unavailable"] = _reason(regime, measure, found)
        else:
            row |= value.named("value", "low", "high") | {"n": value.n}
            row["chance"] = 0.0 if measure in DISCRIMINATIONS else None
            if (regime, measure) in ahead:
                row |= ahead[regime, measure].named("delta", "delta_low", "delta_high")
        rows.append(row)
    return rows


def unavailable_row(key: Mapping[str, str], reason: str) -> dict[str, Any]:
    """The one row of a technique that a model cannot be asked with."""
    return {**key, "regime": TOTAL, "measure": "bcu", "n": 0, "unavailable": reason}


def _reason(regime: str, measure: str, found: Means) -> str:
    needed = DISCRIMINATIONS.get(measure, () if regime == TOTAL else (regime,))
    absent = [f"{kind.replace('_', '-')} documents" for kind in needed if (kind, "bcu") not in found]
    if absent:
        return f"No test question was asked with {' or '.join(absent)}."
    return _MISSING.get(measure, "Nothing is stored to compute it from.")
