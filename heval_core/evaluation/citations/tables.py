"""Fills the tables of the study: claim, explanation, recovery, cell_recovery, agreement."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, NamedTuple

import pandas as pd

from heval_core import catalogue
from heval_core.evaluation.citations import agreements, measured, recovered, support, written
from heval_core.evaluation.citations.answered import Answers, explanations_of, recoveries_of
from heval_core.evaluation.citations.standing import Asked, Standing
from heval_core.statistics.bootstrap import Resamples
from heval_core.store.kinds import CLAIM
from heval_core.store.shards import ShardRows, ShardStore
from heval_core.store.writer import Writer

MASKINGS = ("sample", "full")
_STUDY = ["dataset", "writer", "selector"]
_NOT_FULL = recovered.NEEDS_FULL


class Studied(NamedTuple):
    """recovery: as `recoveries_of` gives it. resamples: by source of claims."""

    recovery: pd.DataFrame
    resamples: Mapping[str, Resamples]


def insert(writer: Writer, store: ShardStore, found: Standing, people: pd.DataFrame | None = None) -> Studied | None:
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
    resamples = measured.resamples_of(there[["dataset", "claim_id"]].itertuples(index=False, name=None))
    writer.insert("cell_recovery", [*cells(there, recovery, resamples), *_unavailable(explanations, found.unavailable)])
    writer.insert("agreement", list(agreement(recovery, resamples)))
    return Studied(recovery, resamples)


def cells(explanations: pd.DataFrame, recovery: pd.DataFrame, resamples: Mapping[str, Resamples]) -> Iterator[dict[str, Any]]:
    """Rows of `cell_recovery`. explanations: those that there are, as `explanations_of` gives them."""
    answers = dict(list(recovery.groupby(_STUDY, sort=False, observed=True)))
    for names, own in explanations.groupby(_STUDY, sort=False, observed=True):
        given = Answers(answers[names]) if names in answers else None
        drawn = resamples[names[0]]
        study = dict(zip(_STUDY, names, strict=True))
        for masking in given.maskings() if given else ("full",):
            key = {**study, "annotator": "", "masking": masking}
            yield from measured.rows_of(key, [*written.measures(own), *_known(own, masking)], drawn)
            for annotator, rows in given.of(masking) if given else ():
                own_key = {**study, "annotator": annotator, "masking": masking}
                yield from measured.rows_of(own_key, list(_measures(annotator, rows, masking)), drawn)


def _measures(annotator: str, rows: pd.DataFrame, masking: str) -> Iterator[measured.Values]:
    yield from recovered.measures(rows, masking)
    if not _explains(annotator):
        return
    if masking != "full":
        for name in support.KINDS:
            yield measured.unavailable(name, _NOT_FULL)
        return
    # An explanation that could not be read says nothing of what its sentences rest on.
    unread = rows["explanation_id"][rows["problem"].notna()]
    read = rows[~rows["explanation_id"].isin(unread)]
    if read.empty:
        for name in support.KINDS:
            yield measured.unavailable(name, "No explanation could be read.")
        return
    sentences = support.sentences_of(read)
    yield from support.support(sentences)
    yield from support.sources(sentences)


def _known(explanations: pd.DataFrame, masking: str) -> Iterable[measured.Values]:
    """What is known of the truth: what sentences were made from, in place of what an explainer finds."""
    told = explanations[explanations["sources"].notna()]
    if masking != "full" or not len(told):
        return ()
    rows = told[["explanation_id", "claim_id", "selected", "golds_of", "sources_of"]].explode(
        ["selected", "golds_of", "sources_of"]
    )
    rows = rows[rows["selected"].notna()]
    lengths = told.set_index("explanation_id")["bare"].map(len)
    rows = rows.assign(predicted=rows["sources_of"], source=rows["sources_of"], gold=rows["golds_of"])
    rows = rows.assign(sentences=lengths.loc[rows["explanation_id"]].to_numpy())
    return support.support(support.sentences_of(rows), by_chance=False)


def agreement(recovery: pd.DataFrame, resamples: Mapping[str, Resamples]) -> Iterator[dict[str, Any]]:
    """Rows of the table `agreement`."""
    for names, own in recovery.groupby(_STUDY, sort=False, observed=True):
        given = Answers(own)
        for masking in given.maskings():
            key = {**dict(zip(_STUDY, names, strict=True)), "masking": masking}
            rows = pd.concat([rows for _, rows in given.of(masking)])
            yield from agreements.rows_of(key, rows, resamples[names[0]])


def _unavailable(explanations: pd.DataFrame, reasons: Mapping[Asked, str]) -> Iterator[dict[str, Any]]:
    """A row for each annotator that could not be asked about a writer's explanations."""
    asked_of = explanations[["asked_writer", *_STUDY]].drop_duplicates().itertuples(index=False, name=None)
    for asked_writer, dataset, author, selector in asked_of:
        for asked, reason in reasons.items():
            if (asked.dataset, asked.writer, asked.selector) == (dataset, asked_writer, selector):
                key = {"dataset": dataset, "writer": author, "selector": selector, "annotator": asked.annotator}
                yield {**key, "masking": "full", "measure": "f1", "n": 0, "claims": 0, "unavailable": reason}


def _explains(annotator: str) -> bool:
    """Whether an annotator is an explainer; one that this program lacks is none."""
    known = catalogue.plugins("annotator").get(annotator.split("(")[0])
    return known is not None and known.family == "explainer"
