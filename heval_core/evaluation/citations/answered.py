"""Explanations and answers as frames: what is stored of them, and what follows from it for each."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd

from heval_core.citations.scoring import retrieval, scores
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
    """Columns of `explanation`, numbers and chains of the claim, and asked_writer (as the run named the writer). Writers whose
    explanations came with the claims come first, in the data's order."""
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
    return rows


def _ranks(claims: pd.DataFrame) -> dict[str, int]:
    """The writers whose explanations came with the claims, in the order that the data has them."""
    told = dict.fromkeys(own["writer"] for text in claims["written"] for own in json.loads(text))
    return {writer: place for place, writer in enumerate(told)}


def _none(column: pd.Series) -> Iterator[object]:
    return (None if pd.isna(value) else value for value in column)


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
    """One row per explanation and passage that can be asked about, in their order: with gold and source, the places of the
    sentences that cite the passage, or were made from it; source is None where that is not known."""
    key, told = ["explanation_id", *CELL, "claim_id"], ["selected", "sampled", "bare", "cited", "sources"]
    rows = []
    for *whose, selected, sampled, bare, cited, sources in explanations[[*key, *told]].itertuples(index=False, name=None):
        gold = json.loads(cited)
        source = json.loads(sources) if isinstance(sources, str) else None
        for number in selected:
            places = [None if own is None else tuple(at for at, n in enumerate(own) if number in n) for own in (gold, source)]
            rows.append((*whose, int(number), number == sampled, *places, len(bare), len(selected)))
    found = pd.DataFrame(rows, columns=[*key, "passage", "sampled", "gold", "source", "sentences", "passages"])
    return found.astype({"passage": np.int32, "sampled": bool, "sentences": np.int64, "passages": np.int64})


# Masking ▶ annotator, people together ▶ its rows.
Answers = dict[str, dict[str, pd.DataFrame]]


def answers_of(rows: pd.DataFrame) -> Answers:
    """To the sampled questions, and of the explanations of which all passages were asked, where there are any.

    rows: about one writer's explanations from one selector, as `recoveries_of` gives them.
    """
    pooled = rows["annotator"].mask(rows["annotator"].str.startswith(PERSON), PEOPLE)
    answered = rows.groupby([pooled.rename("own"), "explanation_id"], observed=True)["passage"].transform("nunique")
    # Whoever was asked about the sampled passages only was not asked about all, though an explanation may have no others;
    # but where no explanation has any, the two are the same questions.
    beyond = (~rows["sampled"]).groupby(pooled).transform("any") | (rows["passages"] == 1).all()
    parts = {SAMPLE: rows["sampled"].astype(bool), FULL: (answered == rows["passages"]) & beyond}
    return {
        masking: {str(annotator): own for annotator, own in rows[part].groupby(pooled[part], sort=True)}
        for masking, part in parts.items()
        if part.any()
    }
