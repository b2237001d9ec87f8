"""Fills the tables of the study: claim, explanation, recovery, cell_recovery, agreement."""

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd

from heval_core.citations.scoring import retrieval, scores
from heval_core.evaluation.citations import measures
from heval_core.evaluation.citations.standing import Newest, StudyKey
from heval_core.evaluation.ranking import with_exceeds
from heval_core.plugins import catalogue
from heval_core.records.vocabulary import OF_EXPLAINERS
from heval_core.statistics.bootstrap import Resamples
from heval_core.store.kinds import CLAIM, EXPLANATION, RECOVERY
from heval_core.store.shards import Entry, ShardRows, ShardStore
from heval_core.store.writer import Writer

CitationKey = tuple[str, str, str]
# Masking ▶ annotator, people together ▶ its rows.
AnswerTables = dict[str, dict[str, pd.DataFrame]]
_OF_CLAIM = ["dataset", "claim_id", "numbers", "chains"]


def insert(
    writer: Writer, store: ShardStore, newest: Newest, people: Sequence[Mapping[str, Any]]
) -> tuple[Mapping[CitationKey, AnswerTables], Mapping[str, Resamples]] | None:
    """Write all rows; nothing where no citations were studied. people: answers of people as rows of `recovery` without
    gold. Returns what findings are made from: answers by source of claims, writer and selector, and resamples by source."""
    claims = ShardRows(store, newest.entries, CLAIM, CLAIM.schema.names).rows
    if not len(claims):
        return None
    writer.insert_frame("claim", claims[writer.columns("claim")])
    explanations = explanations_of(store, newest.entries, claims)
    writer.insert_frame("explanation", explanations[writer.columns("explanation")])
    recovery = recoveries_of(store, newest.entries, explanations, people)
    writer.insert_frame("recovery", recovery[writer.columns("recovery")])
    available = explanations[explanations["unavailable"].isna()]
    resamples = measures.resamples_of(available[["dataset", "claim_id"]].itertuples(index=False, name=None))
    answers = {names: answers_of(rows) for names, rows in recovery.groupby(measures.CELL, sort=False, observed=True)}
    rows = with_exceeds([*cells(available, answers, resamples)], "annotator", (*measures.CELL, "masking", "measure"))
    writer.insert("cell_recovery", [*rows, *_unavailable(explanations, newest.unavailable)])
    writer.insert("agreement", list(agreement(answers, resamples)))
    return answers, resamples


def cells(
    explanations: pd.DataFrame, answers: Mapping[CitationKey, AnswerTables], resamples: Mapping[str, Resamples]
) -> Iterator[dict[str, Any]]:
    """Yield rows of `cell_recovery`. explanations: those that there are, as `explanations_of` gives them."""
    for names, in_cell in explanations.groupby(measures.CELL, sort=False, observed=True):
        dataset_resamples = resamples[names[0]]
        for masking, by_annotator in answers.get(names, {measures.FULL: {}}).items():
            key = {**dict(zip(measures.CELL, names, strict=True)), "masking": masking}
            yield from measures.rows_of(
                {**key, "annotator": ""}, [*measures.of_explanations(in_cell), *_truth(in_cell, masking)], dataset_resamples
            )
            for annotator, rows in by_annotator.items():
                # One that this program lacks is no explainer.
                plugin = catalogue.plugins("annotator").get(annotator.split("(")[0])
                units, missing = measures.of_answers(rows, masking, getattr(plugin, "family", "") == "explainer")
                yield from measures.rows_of({**key, "annotator": annotator}, units, dataset_resamples, missing)


def _truth(explanations: pd.DataFrame, masking: str) -> Iterator[pd.DataFrame]:
    """Yield what sentences were made from, where that is known, in place of what an explainer finds."""
    questions = questions_of(explanations[explanations["sources"].notna()])
    if masking == measures.FULL and len(questions):
        sentences = measures.of_sentences(questions.assign(predicted=questions["source"]))
        yield sentences[["claim_id", *OF_EXPLAINERS]]


def agreement(answers: Mapping[CitationKey, AnswerTables], resamples: Mapping[str, Resamples]) -> Iterator[dict[str, Any]]:
    for names, by_masking in answers.items():
        for masking, by_annotator in by_masking.items():
            key = {**dict(zip(measures.CELL, names, strict=True)), "masking": masking}
            yield from measures.agreement_rows(key, by_annotator, resamples[names[0]])


def _unavailable(explanations: pd.DataFrame, reasons: Mapping[StudyKey, str]) -> Iterator[dict[str, Any]]:
    """Yield a row for each annotator that could not be asked about a writer's explanations."""
    writers = explanations[["asked_writer", *measures.CELL]].drop_duplicates().itertuples(index=False, name=None)
    for asked_writer, dataset, author, selector in writers:
        for study_key, reason in reasons.items():
            if (study_key.dataset, study_key.writer, study_key.selector) == (dataset, asked_writer, selector):
                key = {"dataset": dataset, "writer": author, "selector": selector, "annotator": study_key.annotator}
                yield {**key, "masking": "full", "measure": "f1", "n": 0, "claims": 0, "unavailable": reason}


def explanations_of(store: ShardStore, entries: Sequence[Entry], claims: pd.DataFrame) -> pd.DataFrame:
    """Return columns of `explanation`, numbers and chains of the claim, and asked_writer (as the run named the writer).

    Writers whose explanations came with the claims come first, in the data's order.
    """
    explanation_entries = [entry for entry in entries if entry.kind == EXPLANATION.name]
    stored = ShardRows(store, explanation_entries, EXPLANATION, EXPLANATION.schema.names)
    rows = stored.rows.assign(asked_writer=[explanation_entries[shard].model for shard in stored.rows["shard"]])
    order = claims[_OF_CLAIM].assign(place=range(len(claims)))
    rows = rows.merge(order, on=["dataset", "claim_id"], how="inner")
    came = dict.fromkeys(explanation["writer"] for text in claims["written"] for explanation in json.loads(text))
    rows["rank"] = rows["writer"].map({writer: rank for rank, writer in enumerate(came)}).fillna(np.inf)
    by = ["dataset", "rank", "writer", "selector", "place"]
    rows = rows.sort_values(by, kind="stable", ignore_index=True).drop(columns=["rank", "place"])
    retrieved = [
        (retrieval(list(selected), json.loads(chains)) if available else None) or (None,) * 3
        for selected, chains, available in zip(rows["selected"], rows["chains"], rows["unavailable"].isna(), strict=True)
    ]
    rows[list(measures.RETRIEVAL)] = pd.DataFrame(retrieved, columns=list(measures.RETRIEVAL), index=rows.index, dtype=float)
    return rows


def recoveries_of(
    store: ShardStore, entries: Iterable[Entry], explanations: pd.DataFrame, people: Sequence[Mapping[str, Any]]
) -> pd.DataFrame:
    """Return columns of `recovery`, and of each answer passages (how many the writer was given), dataset, writer, selector,
    claim_id, source (see `sentences_of`), and the sizes chosen, golds, sentences. Answers about an explanation or a passage
    that there is not are left out.
    """
    stored = ShardRows(store, entries, RECOVERY, RECOVERY.schema.names).rows.drop(columns=["row", "shard"])
    answers = stored.assign(helpfulness=np.nan)
    if people:
        answers = pd.concat([answers, pd.DataFrame(people)], ignore_index=True)
    questions = questions_of(explanations[explanations["unavailable"].isna()])
    rows = answers.merge(questions.assign(place=range(len(questions))), on=measures.QUESTION, how="inner")
    rows["place"] = rows["place"].astype(np.int64)
    rows = rows.sort_values(["place", "annotator"], kind="stable", ignore_index=True).drop(columns="place")
    rows["chosen"] = [len(chosen) for chosen in rows["predicted"]]
    rows["golds"] = [len(gold) for gold in rows["gold"]]
    rows["predicted"] = [tuple(int(sentence) for sentence in chosen) for chosen in rows["predicted"]]
    return rows.assign(**scores(list(rows["predicted"]), list(rows["gold"]), rows["sentences"].to_numpy(dtype=np.int64)))


def questions_of(explanations: pd.DataFrame) -> pd.DataFrame:
    """Return one row per explanation and passage that can be asked about, in their order: with gold and source, the indices of
    the sentences that cite the passage, or were made from it; source is None where that is not known.
    """
    key, contents = ["explanation_id", *measures.CELL, "claim_id"], ["selected", "sampled", "bare", "cited", "sources"]
    rows = []
    for *names, selected, sampled, bare, cited, sources in explanations[[*key, *contents]].itertuples(index=False, name=None):
        gold = json.loads(cited)
        source = json.loads(sources) if isinstance(sources, str) else None
        for number in selected:
            pair = [None if sets is None else tuple(at for at, n in enumerate(sets) if number in n) for sets in (gold, source)]
            rows.append((*names, int(number), number == sampled, *pair, len(bare), len(selected)))
    questions = pd.DataFrame(rows, columns=[*key, "passage", "sampled", "gold", "source", "sentences", "passages"])
    return questions.astype({"passage": np.int32, "sampled": bool, "sentences": np.int64, "passages": np.int64})


def answers_of(rows: pd.DataFrame) -> AnswerTables:
    """Select answers to the sampled questions, and of the explanations of which all passages were asked, where there are any.

    rows: about one writer's explanations from one selector, as `recoveries_of` gives them.
    """
    pooled = rows["annotator"].mask(rows["annotator"].str.startswith(measures.PERSON), measures.PEOPLE)
    answered = rows.groupby([pooled.rename("own"), "explanation_id"], observed=True)["passage"].transform("nunique")
    # Whoever was asked about the sampled passages only was not asked about all, though an explanation may have no others;
    # but where no explanation has any, the two are the same questions.
    beyond = (~rows["sampled"]).groupby(pooled).transform("any") | (rows["passages"] == 1).all()
    parts = {measures.SAMPLE: rows["sampled"].astype(bool), measures.FULL: (answered == rows["passages"]) & beyond}
    return {
        masking: {str(annotator): answers for annotator, answers in rows[part].groupby(pooled[part], sort=True)}
        for masking, part in parts.items()
        if part.any()
    }
