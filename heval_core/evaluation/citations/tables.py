"""Fills the tables of the study: claim, explanation, recovery, cell_recovery, agreement."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

import pandas as pd

from heval_core import catalogue
from heval_core.evaluation.citations import agreements
from heval_core.evaluation.citations.answered import CELL, FULL, Answers, answers_of, asked_of, explanations_of, recoveries_of
from heval_core.evaluation.citations.measures import (
    NEEDS_FULL,
    of_answers,
    of_explanations,
    of_sentences,
    resamples_of,
    rows_of,
)
from heval_core.evaluation.citations.standing import Asked, Standing
from heval_core.statistics.bootstrap import Resamples
from heval_core.store.kinds import CLAIM
from heval_core.store.shards import ShardRows, ShardStore
from heval_core.store.writer import Writer
from heval_core.words import OF_EXPLAINERS

Cell = tuple[str, str, str]


class Studied(NamedTuple):
    """answers: by source of claims, writer and selector. resamples: by source of claims."""

    answers: Mapping[Cell, Answers]
    resamples: Mapping[str, Resamples]


def insert(writer: Writer, store: ShardStore, found: Standing, people: list[dict[str, Any]] | None = None) -> Studied | None:
    """Write all rows; nothing where no citations were studied. people: answers of people as rows of `recovery` without
    gold. Returns what findings are made from."""
    claims = ShardRows(store, found.entries, CLAIM, CLAIM.schema.names).rows
    if not len(claims):
        return None
    writer.insert_frame("claim", claims[writer.columns("claim")])
    explanations = explanations_of(store, found.entries, claims)
    writer.insert_frame("explanation", explanations[writer.columns("explanation")])
    recovery = recoveries_of(store, found.entries, explanations, people)
    writer.insert_frame("recovery", recovery[writer.columns("recovery")])
    there = explanations[explanations["unavailable"].isna()]
    resamples = resamples_of(there[["dataset", "claim_id"]].itertuples(index=False, name=None))
    answers = {names: answers_of(own) for names, own in recovery.groupby(CELL, sort=False, observed=True)}
    writer.insert("cell_recovery", [*cells(there, answers, resamples), *_unavailable(explanations, found.unavailable)])
    writer.insert("agreement", list(agreement(answers, resamples)))
    return Studied(answers, resamples)


def cells(
    explanations: pd.DataFrame, answers: Mapping[Cell, Answers], resamples: Mapping[str, Resamples]
) -> Iterator[dict[str, Any]]:
    """Rows of `cell_recovery`. explanations: those that there are, as `explanations_of` gives them."""
    for names, own in explanations.groupby(CELL, sort=False, observed=True):
        drawn = resamples[names[0]]
        for masking, given in answers.get(names, {FULL: {}}).items():
            key = {**dict(zip(CELL, names, strict=True)), "masking": masking}
            yield from rows_of({**key, "annotator": ""}, [*of_explanations(own), *_truth(own, masking)], drawn)
            for annotator, rows in given.items():
                units, missing = of_answers(rows, masking)
                if _explains(annotator):
                    further, reasons = _explained(rows, masking)
                    units, missing = units + further, missing | reasons
                yield from rows_of({**key, "annotator": annotator}, units, drawn, missing)


def _explained(rows: pd.DataFrame, masking: str) -> tuple[list[pd.DataFrame], dict[str, str]]:
    """What sentences rest on, by an explainer's answers; or why that is not known."""
    if masking != FULL:
        return [], dict.fromkeys(OF_EXPLAINERS, NEEDS_FULL)
    # An explanation that could not be read says nothing of what its sentences rest on.
    read = rows[~rows["explanation_id"].isin(rows["explanation_id"][rows["problem"].notna()])]
    if read.empty:
        return [], dict.fromkeys(OF_EXPLAINERS, "No explanation could be read.")
    return [of_sentences(read)], {}


def _truth(explanations: pd.DataFrame, masking: str) -> Iterator[pd.DataFrame]:
    """What sentences were made from, where that is known, in place of what an explainer finds."""
    asked = asked_of(explanations[explanations["sources"].notna()])
    if masking == FULL and len(asked):
        found = of_sentences(asked.assign(predicted=asked["source"]))
        yield found[["claim_id", *OF_EXPLAINERS]]


def agreement(answers: Mapping[Cell, Answers], resamples: Mapping[str, Resamples]) -> Iterator[dict[str, Any]]:
    """Rows of the table `agreement`."""
    for names, by_masking in answers.items():
        for masking, given in by_masking.items():
            key = {**dict(zip(CELL, names, strict=True)), "masking": masking}
            yield from agreements.rows_of(key, given, resamples[names[0]])


def _unavailable(explanations: pd.DataFrame, reasons: Mapping[Asked, str]) -> Iterator[dict[str, Any]]:
    """A row for each annotator that could not be asked about a writer's explanations."""
    asked_of = explanations[["asked_writer", *CELL]].drop_duplicates().itertuples(index=False, name=None)
    for asked_writer, dataset, author, selector in asked_of:
        for asked, reason in reasons.items():
            if (asked.dataset, asked.writer, asked.selector) == (dataset, asked_writer, selector):
                key = {"dataset": dataset, "writer": author, "selector": selector, "annotator": asked.annotator}
                yield {**key, "masking": "full", "measure": "f1", "n": 0, "claims": 0, "unavailable": reason}


def _explains(annotator: str) -> bool:
    """Whether an annotator is an explainer; one that this program lacks is none."""
    known = catalogue.plugins("annotator").get(annotator.split("(")[0])
    return known is not None and known.family == "explainer"
