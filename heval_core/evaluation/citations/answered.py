"""Explanations and answers as frames: what is stored of them, and what follows from it for each."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd

from heval_core.citations.retrieval import retrieval
from heval_core.citations.scoring import scores
from heval_core.store.kinds import EXPLANATION, RECOVERY
from heval_core.store.shards import Entry, ShardRows, ShardStore

SAMPLE, FULL = "sample", "full"
# All people together, and the beginning of one of them.
PEOPLE, PERSON = "people", "person:"
# Whose explanations are evaluated together, and what one answer is about.
CELL, QUESTION = ["dataset", "writer", "selector"], ["explanation_id", "passage"]
RETRIEVAL = ("precision", "recall", "f1")
_OF_CLAIM = ["dataset", "claim_id", "numbers", "chains"]


def explanations_of(store: ShardStore, entries: Sequence[Entry], claims: pd.DataFrame) -> pd.DataFrame:
    """Columns of `explanation`, numbers and chains of the claim, asked_writer (as the run named the writer), and per selected
    passage: golds_of, sources_of, the places of the sentences that cite it, or were made from it. Writers whose explanations
    came with the claims come first, in the data's order."""
    kept = [entry for entry in entries if entry.kind == EXPLANATION.name]
    stored = ShardRows(store, kept, EXPLANATION, EXPLANATION.schema.names)
    rows = stored.rows.assign(asked_writer=[kept[shard].model for shard in stored.rows["shard"]])
    order = claims[_OF_CLAIM].assign(place=range(len(claims)))
    rows = rows.merge(order, on=["dataset", "claim_id"], how="inner")
    rows["rank"] = rows["writer"].map(_ranks(claims)).fillna(np.inf)
    by = ["dataset", "rank", "writer", "selector", "place"]
    rows = rows.sort_values(by, kind="stable", ignore_index=True).drop(columns=["rank", "place"])
    found = [
        (None if unavailable else retrieval(list(selected), json.loads(chains))) or (None,) * 3
        for selected, chains, unavailable in zip(rows["selected"], rows["chains"], _none(rows["unavailable"]), strict=True)
    ]
    rows[list(RETRIEVAL)] = pd.DataFrame(found, columns=list(RETRIEVAL), index=rows.index, dtype=float)
    rows["golds_of"] = _per_passage(rows["selected"], rows["cited"])
    rows["sources_of"] = _per_passage(rows["selected"], rows["sources"])
    return rows


def _ranks(claims: pd.DataFrame) -> dict[str, int]:
    """The writers whose explanations came with the claims, in the order that the data has them."""
    told = dict.fromkeys(own["writer"] for text in claims["written"] for own in json.loads(text))
    return {writer: place for place, writer in enumerate(told)}


def _none(column: pd.Series) -> Iterator[object]:
    return (None if pd.isna(value) else value for value in column)


def _per_passage(selected: Iterable[Sequence[int]], told: Iterable[str | None]) -> list[list[tuple[int, ...] | None]]:
    """Per explanation and selected passage the places of the sentences that name it. told: JSON, per sentence its passages."""
    found: list[list[tuple[int, ...] | None]] = []
    for numbers, text in zip(selected, told, strict=True):
        if not isinstance(text, str):
            found.append([None] * len(numbers))
            continue
        places: dict[int, list[int]] = {int(number): [] for number in numbers}
        for place, named in enumerate(json.loads(text)):
            for number in dict.fromkeys(named):
                if number in places:
                    places[number].append(place)
        found.append([tuple(own) for own in places.values()])
    return found


def recoveries_of(
    store: ShardStore, entries: Iterable[Entry], explanations: pd.DataFrame, people: Sequence[Mapping[str, Any]] | None
) -> pd.DataFrame:
    """Columns of `recovery`, and of each answer passages (how many the writer was given), dataset, writer, selector,
    claim_id, source (see `sentences_of`), and the sizes chosen, golds, sentences. Answers about an explanation or a passage
    that there is not are left out."""
    stored = ShardRows(store, entries, RECOVERY, RECOVERY.schema.names).rows.drop(columns=["row", "shard"])
    answers = stored.assign(helpfulness=np.nan)
    if people:
        answers = pd.concat([answers, pd.DataFrame(people)], ignore_index=True)
    asked = asked_of(explanations[explanations["unavailable"].isna()])
    rows = answers.merge(asked.assign(place=range(len(asked))), on=QUESTION, how="inner")
    rows["place"] = rows["place"].astype(np.int64)
    rows = rows.sort_values(["place", "annotator"], kind="stable", ignore_index=True).drop(columns="place")
    rows["chosen"] = [len(own) for own in rows["predicted"]]
    rows["golds"] = [len(own) for own in rows["gold"]]
    rows["predicted"] = [tuple(int(place) for place in own) for own in rows["predicted"]]
    return rows.assign(**scores(list(rows["predicted"]), list(rows["gold"]), rows["sentences"].to_numpy(dtype=np.int64)))


def asked_of(explanations: pd.DataFrame) -> pd.DataFrame:
    """One row per explanation and passage that can be asked about, in their order."""
    each = explanations[["explanation_id", *CELL, "claim_id", "selected", "golds_of", "sources_of", "sampled"]].assign(
        sentences=explanations["bare"].map(len), passages=explanations["selected"].map(len)
    )
    rows = each.explode(["selected", "golds_of", "sources_of"], ignore_index=True)
    rows = rows[rows["selected"].notna()].rename(columns={"selected": "passage", "golds_of": "gold", "sources_of": "source"})
    rows["passage"] = rows["passage"].astype(np.int32)
    return rows.assign(sampled=rows["passage"] == rows["sampled"])


class Answers:
    """The answers about one writer's explanations from one selector. rows: as `recoveries_of` gives them."""

    def __init__(self, rows: pd.DataFrame):
        person = rows["annotator"].str.startswith(PERSON)
        pooled = rows["annotator"].mask(person, PEOPLE)
        answered = rows.groupby([pooled.rename("own"), "explanation_id"], observed=True)["passage"].transform("nunique")
        # Whoever was asked about the sampled passages only was not asked about all, though an explanation may have no others;
        # but where no explanation has any, the two are the same questions.
        beyond = (~rows["sampled"]).groupby(pooled).transform("any") | (rows["passages"] == 1).all()
        self._rows = rows.assign(pooled=pooled, whole=(answered == rows["passages"]) & beyond)

    def maskings(self) -> tuple[str, ...]:
        """Those for which there is an answer."""
        there = {SAMPLE: self._rows["sampled"].any(), FULL: self._rows["whole"].any()}
        return tuple(masking for masking, any_ in there.items() if any_)

    def of(self, masking: str) -> dict[str, pd.DataFrame]:
        """Annotators with their answers: to the sampled questions, or of the explanations of which all passages were asked."""
        rows = self._rows[self._rows["sampled" if masking == SAMPLE else "whole"]]
        return {str(annotator): own for annotator, own in rows.groupby("pooled", sort=True)}
