"""What explanations and answers come to: each measure is a column of a frame of what it is the mean of, with its claims.

Formula, of explanations: omitted, the share of the passages that a writer was given which no sentence cites; uncited, the
share of sentences that cite none of these passages; retrieval_precision, recall and f1, of the passages that the writer was
given against those that people selected (the best chain for each by itself), means over explanations of claims with chains.
Of an annotator's answers: precision, recall, F1 of each (`heval_core.citations.scoring`), their means over (claim, passage)
pairs, and the mean over claims of the claims' mean F1; what several people answered about one pair counts as its mean.
transparent: the share of explanations all of whose cited passages have an F1 of at least .6. correct_rejection: of passages
that no sentence cites, the share for which the annotator chose no sentence. unreadable: the share of answers that could not
be read, which count as no sentence.
Of an explainer's sentences: a sentence rests on a passage if the explainer chose it for that passage, in the answers about
every passage. As shares of the sentences that cite a passage: supported, some passage that the sentence cites is one that it
rests on; wrong_marker, it rests on a passage, and on none that it cites. As shares of all sentences: unsupported_sentence, it
rests on no passage; omitted_citation, it rests on a passage that it does not cite, and is no wrong_marker. Only passages that
the writer was given count as cited. Where it is known what sentences were made from: source, of those made from passages the
share that rest on one of these; source_behind_wrong_marker, the same of those that cite passages, but none that they were
made from; no_source, of those made from no passage the share that rest on none. The truth's own first four stand beside.
Of people: helpfulness, the mean of the answers' sliders (0 to 100); helpfulness_z, the same of z-scores, each person's values
less their mean, in their standard deviations, over all that the person answered; entropy, of the sentences that the people
who were asked one question chose, in bits ("none" is one more), the mean over questions with two answers or more.
Chance: of an answer, the mean over all sets of as many sentences; of transparent, the product over its cited passages of the
probability that such a set, or the mean of several people's, has an F1 of at least .6 (hypergeometric); of correct_rejection,
how often the annotator chooses no sentence at all, whatever it is asked; of retrieval, as many of the claim's passages chosen
at random, again with the best chain for each; of sentences, for each passage as many at random, independently of the other
passages. Of people there is none: z-scores have mean 0 over everything, and entropy
depends on how many people answered.
Agreement: Krippendorff's alpha of two annotators over the questions that both answered, and of people two by two. Against
another annotator a person's sentences are joined with all other people's, and in both sets what no sentence of the gold set is
becomes one common label ({7, 9} with gold {9} becomes {other, 9}).
Interval: everything that belongs to a claim belongs together (`heval_core.statistics.bounded`; of values without ends, claims
are resampled, with the same resamples for all cells of a source of claims).
Reference: Xing, Baldwin and Lau (arXiv 2406.12645); they report no intervals and no chance levels, and nothing of explainers:
ragas, ALCE and others ask a judge.
Departure: a passage that no sentence cites counts in the means with 0, also where it is rejected: correct_rejection is the
other reading, and stands beside.
Cost: linear in sentences and answers, and one matrix product of resamples x claims for each cell.
"""

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from itertools import combinations
from math import comb
from typing import Any

import numpy as np
import pandas as pd

from heval_core.citations.agreement import Labels, alphas, entropy, outside_gold_as_one, z_scores
from heval_core.citations.scoring import ROUNDING, TRANSPARENT, chance_retrieval
from heval_core.evaluation.ranking import with_exceeds
from heval_core.records.vocabulary import OF_EXPLAINERS
from heval_core.statistics.bootstrap import Resamples
from heval_core.statistics.values import Resampled, Sums, Value

SAMPLE, FULL = "sample", "full"
# All people together, and the beginning of one of them.
PEOPLE, PERSON = "people", "person:"
# Whose explanations are evaluated together, and what one answer is about.
CELL, QUESTION = ["dataset", "writer", "selector"], ["explanation_id", "passage"]
RETRIEVAL = ("precision", "recall", "f1")
# Behind the name of a measure: the column of what is expected of a random choice.
CHANCE = " chance"
# The least and the largest possible value where these are not 0 and 1; None where there are none.
_ENDS = {"helpfulness": (0.0, 100.0), "helpfulness_z": None, "entropy": None}
NEEDS_FULL = "It needs answers about every passage; people are asked about one, others with --masking full."
# Why a measure has no value, where it has none.
_REASONS = {
    **dict.fromkeys(("omitted", "uncited"), "There is no sentence."),
    **dict.fromkeys((f"retrieval_{name}" for name in RETRIEVAL), "Nobody selected passages for these claims."),
    **dict.fromkeys(("transparent", "supported", "wrong_marker"), "No sentence cites a passage."),
    "correct_rejection": "Every passage that a writer was given is cited.",
    "source": "Of no sentence the passage that it was made from is known.",
    "source_behind_wrong_marker": "Of no sentence with a wrong marker the passage that it was made from is known.",
    "no_source": "No sentence is known to be made from no passage.",
    "entropy": "No question was answered by two people.",
}


def rows_of(
    key: Mapping[str, Any], units: Sequence[pd.DataFrame], resamples: Resamples, missing: Mapping[str, str] | None = None
) -> Iterator[dict[str, Any]]:
    """Yield rows of `cell_recovery` of one cell, with replicates as `drawn`.

    key: dataset, writer, selector, annotator and masking.
    units: claim_id, and a column for each measure, NaN where it is undefined. missing: measure ▶ why it was not computed.
    """
    questions = Resampled(resamples, (claim for unit in units for claim in unit["claim_id"]))
    columns: dict[str, Sums] = {}
    used: dict[str, pd.Series] = {}
    for unit in units:
        for name in unit.columns.difference(["claim_id"], sort=False):
            measure = name.removesuffix(CHANCE)
            used[name] = unit[measure].notna()
            ends = _ENDS.get(measure, (0.0, 1.0)) if name == measure else None
            once = measure == "f1_of_claims"  # every claim counts once
            columns[name] = questions.column(unit["claim_id"], unit[name].where(used[name]), once, ends)
    means, reasons = questions.means(columns), {**_REASONS, **(missing or {})}
    for measure in (*(name for name in columns if not name.endswith(CHANCE)), *(missing or ())):
        row = {**key, "measure": measure, "n": 0, "claims": 0}
        if mean := means.get(measure):
            chance = means.get(f"{measure}{CHANCE}")
            row |= {"n": int(used[measure].sum()), "claims": columns[measure].units, "chance": chance and chance.value}
            yield row | mean.named("value", "low", "high") | {"drawn": mean.drawn}
        else:
            yield row | {"unavailable": reasons.get(measure, "Nothing is stored.")}


def resamples_of(claims: Iterable[tuple[str, str]]) -> dict[str, Resamples]:
    """Make resamples by source of claims. claims: all (dataset, claim_id) that have an explanation."""
    frame = pd.DataFrame(list(claims), columns=["dataset", "claim_id"])
    return {str(of): Resamples(str(of), dict(zip(ids, ids, strict=True))) for of, ids in frame.groupby("dataset")["claim_id"]}


def of_explanations(explanations: pd.DataFrame) -> list[pd.DataFrame]:
    """Measure before anybody is asked about them: by passage, by sentence, and by explanation.

    explanations: with claim_id, selected, cited (JSON), precision, recall, f1, numbers and chains (JSON) of their claims.
    """
    omitted, uncited, expected = [], [], []
    for claim, selected, cited, numbers, chains in _each(explanations, "claim_id", "selected", "cited", "numbers", "chains"):
        marker_sets = [set(passages) for passages in json.loads(cited)]
        omitted += [(claim, float(number not in set().union(*marker_sets))) for number in selected]
        uncited += [(claim, float(not passages)) for passages in marker_sets]
        chain_sets = [set(chain) & set(numbers) for chain in json.loads(chains)]
        expected.append(chance_retrieval(len(selected), numbers, chain_sets) or (np.nan,) * 3)
    chances = pd.DataFrame(expected, columns=[f"{name}{CHANCE}" for name in RETRIEVAL], index=explanations.index)
    retrieved = explanations[list(RETRIEVAL)].join(chances).add_prefix("retrieval_")
    by_part = {"omitted": omitted, "uncited": uncited}
    return [
        *(pd.DataFrame(rows, columns=["claim_id", name]) for name, rows in by_part.items()),
        retrieved.assign(claim_id=explanations["claim_id"]),
    ]


def of_answers(rows: pd.DataFrame, masking: str, explainer: bool = False) -> tuple[list[pd.DataFrame], dict[str, str]]:
    """Measure by question and by explanation, and of an explainer by sentence; also say why measures were not computed.

    rows: of `recovery` of one annotator, with claim_id, and sizes: chosen, golds, sentences.
    """
    chosen, golds, sentences = (rows[name].to_numpy(dtype=float) for name in ("chosen", "golds", "sentences"))
    numbers = rows[["precision", "recall", "f1"]].assign(
        f1_of_claims=rows["f1"],
        unreadable=rows["problem"].notna().astype(float),
        none=(chosen == 0).astype(float),
        golds=golds,
        **{
            f"precision{CHANCE}": np.where(chosen > 0, golds / np.maximum(sentences, 1), 0.0),
            f"recall{CHANCE}": np.where(golds > 0, chosen / np.maximum(sentences, 1), 0.0),
            **dict.fromkeys((f"f1{CHANCE}", f"f1_of_claims{CHANCE}"), rows["chance"]),
        },
    )
    # What several people answered about one question counts once, as their mean.
    questions = numbers.groupby([rows[name] for name in QUESTION], sort=False, observed=True).mean()
    questions["claim_id"] = rows.groupby(QUESTION, sort=False, observed=True)["claim_id"].first()
    none, golds_of = questions.pop("none"), questions.pop("golds")
    of_sentence = OF_EXPLAINERS if explainer else ()
    if masking != FULL:
        return [questions], dict.fromkeys(("correct_rejection", "transparent", *of_sentence), NEEDS_FULL)
    rejected = {"correct_rejection": none.where(golds_of == 0), f"correct_rejection{CHANCE}": none.mean()}
    units = [questions.assign(**rejected), _transparent(rows)]
    # An explanation that could not be read says nothing of what its sentences rest on.
    read = rows[~rows["explanation_id"].isin(rows["explanation_id"][rows["problem"].notna()])]
    if explainer and len(read):
        return [*units, of_sentences(read)], {}
    return units, dict.fromkeys(of_sentence, "No explanation could be read.")


def _transparent(rows: pd.DataFrame) -> pd.DataFrame:
    """Measure by explanation that cites a passage."""
    cited = rows[rows["golds"] > 0]
    pairs: dict[tuple[Any, ...], list[tuple[int, ...]]] = {}
    for explanation, passage, *of_answer in _each(cited, *QUESTION, "chosen", "golds", "sentences"):
        pairs.setdefault((explanation, passage), []).append(tuple(of_answer))
    mean = cited.groupby(QUESTION, sort=False, observed=True).agg(claim_id=("claim_id", "first"), f1=("f1", "mean"))
    more = {"above": mean["f1"] >= TRANSPARENT - ROUNDING, "level": [_above(tuple(sorted(sizes))) for sizes in pairs.values()]}
    by_explanation = mean.assign(**more).groupby("explanation_id", sort=False, observed=True)
    explanations = by_explanation.agg(claim_id=("claim_id", "first"), transparent=("above", "all"), level=("level", "prod"))
    return explanations.astype({"transparent": float}).rename(columns={"level": f"transparent{CHANCE}"})


@lru_cache(maxsize=65536)
def _above(sizes: tuple[tuple[int, int, int], ...]) -> float:
    """Return the probability that the mean F1 of random answers is at least TRANSPARENT.

    sizes: chosen, golds, sentences of each.
    """
    sums = {0.0: 1.0}
    for chosen, golds, sentences in sizes:
        ways = comb(sentences, chosen)
        outcomes = [
            (2 * hits / (chosen + golds), comb(golds, hits) * comb(sentences - golds, chosen - hits) / ways)
            for hits in range(max(0, chosen + golds - sentences), min(chosen, golds) + 1)
        ]
        together: dict[float, float] = {}
        for total, weight in sums.items():
            for f1, chance in outcomes:
                key = round(total + f1, 9)
                together[key] = together.get(key, 0.0) + weight * chance
        sums = together
    return sum(weight for total, weight in sums.items() if total >= len(sizes) * (TRANSPARENT - ROUNDING))


def of_sentences(rows: pd.DataFrame) -> pd.DataFrame:
    """Return claim_id and the measures of each sentence, with their chance levels (`measures.rows_of`).

    rows: one per explanation and passage, all passages that the writer was given: explanation_id, claim_id, predicted,
    gold, source (indices of the sentences made from the passage; None where that is not known), sentences.
    """
    pairs = _pairs(rows)
    sentence = pairs.groupby(["explanation_id", "place"], sort=False).ngroup()

    def some(which: pd.Series) -> pd.Series:
        """Return whether there is such a passage."""
        return which.groupby(sentence).any()

    def none(which: pd.Series) -> pd.Series:
        """Return the probability that no such passage is chosen at random."""
        return pairs["missed"].where(which, 1.0).groupby(sentence).prod()

    chosen, cited, source = pairs["chosen"], pairs["cited"], pairs["source"]
    cites, rests, supported, sourced = some(cited), some(chosen), some(chosen & cited), some(source)
    none_cited, none_other, none_source = none(cited), none(~cited), none(source)
    wrong = cites & rests & ~supported
    first = pairs.groupby(sentence)[["claim_id", "known"]].first()
    known = first["known"].astype(bool)
    has_source, behind = known & sourced, cites & ~some(cited & source)
    any_beyond = (1 - none_other) * (1 - none_cited).where(cites, 1.0)
    # Measure ▶ among which sentences, in which it holds, and in which it would by chance.
    shares = {
        "supported": (cites, supported, 1 - none_cited),
        "wrong_marker": (cites, wrong, none_cited * (1 - none_other)),
        "unsupported_sentence": (cites | True, ~rests, none_cited * none_other),
        "omitted_citation": (cites | True, some(chosen & ~cited) & ~wrong, any_beyond),
    }
    if known.any():
        on_source = some(chosen & source)
        shares |= {
            "source": (has_source, on_source, 1 - none_source),
            "source_behind_wrong_marker": (has_source & behind, on_source, 1 - none_source),
            "no_source": (known & ~sourced, ~rests, none_cited * none_other),
        }
    measured = {name: holds.astype(float).where(among) for name, (among, holds, _) in shares.items()}
    chances = {f"{name}{CHANCE}": chance for name, (_, _, chance) in shares.items()}
    return pd.DataFrame({"claim_id": first["claim_id"], **measured, **chances})


def _pairs(rows: pd.DataFrame) -> pd.DataFrame:
    """Return a row for each passage and sentence. missed: the probability that the sentence is not chosen at random."""
    names = ("explanation_id", "claim_id", "predicted", "gold", "source", "sentences")
    return pd.DataFrame(
        [
            (explanation, index, claim, index in chosen, index in gold, index in (source or ()), source is not None, missed)
            for explanation, claim, chosen, gold, source, count in _each(rows, *names)
            for missed in [1 - len(chosen) / max(count, 1)]
            for index in range(count)
        ],
        columns=["explanation_id", "place", "claim_id", "chosen", "cited", "source", "known", "missed"],
    )


def of_people(answers: pd.DataFrame, claims: Iterable[tuple[str, str]]) -> list[dict[str, Any]]:
    """Return rows like those of `cell_recovery`, with people: how many answered.

    answers: of people (`CitationQueries.people_answers`). claims: all (dataset, claim_id) that have an explanation.
    """
    if not len(answers):
        return []
    resamples = resamples_of(claims)
    sliders = answers["helpfulness"].dropna()
    z = sliders.groupby(answers["annotator"]).transform(lambda values: z_scores(values.tolist()))
    rows: list[dict[str, Any]] = []
    for names, cell_answers in answers.assign(helpfulness_z=z).groupby(CELL, sort=False):
        key = {**dict(zip(CELL, names, strict=True)), "annotator": "people", "masking": ""}
        questions = cell_answers.groupby(QUESTION, sort=False)
        entropies = [entropy(map(list, chosen)) if len(chosen) > 1 else np.nan for _, chosen in questions["predicted"]]
        by_question = pd.DataFrame({"claim_id": questions["claim_id"].first(), "entropy": entropies})
        units = [cell_answers[["claim_id", "helpfulness", "helpfulness_z"]], by_question]
        rows += rows_of({**key, "people": cell_answers["annotator"].nunique()}, units, resamples[names[0]])
    return with_exceeds(rows, "annotator", (*CELL, "measure"))


# (claim, explanation, passage) ▶ the sentences that an annotator chose.
Sets = dict[tuple[Any, ...], Labels]


def agreement_rows(key: dict[str, str], annotators: dict[str, pd.DataFrame], resamples: Resamples) -> Iterator[dict[str, Any]]:
    """Yield rows of the table `agreement`, for any two annotators of the same explanations, and people among themselves.

    key: dataset, writer, selector and masking. annotators: key ▶ its rows of `recovery`, with claim_id; all people's are those
    of PEOPLE, who have the annotator `person:NAME`.
    """
    people = annotators.get(PEOPLE)
    for first, second in combinations(annotators, 2):
        beside = people if PEOPLE in (first, second) else None
        yield _row(key, first, second, alpha_of(annotators[first], annotators[second], beside, resamples))
    if people is not None:
        persons = [_sets(rows) for _, rows in people.groupby("annotator")]
        yield _row(key, PEOPLE, PEOPLE, _alpha(persons, resamples))


def alpha_of(first: pd.DataFrame, second: pd.DataFrame, people: pd.DataFrame | None, resamples: Resamples) -> Value | None:
    """Compute Krippendorff's alpha of two annotators, with replicates; None where no question was answered by both.

    first, second: their rows of `recovery`. people: those of the two that are of people, all of them together, if any are.
    """
    pair = [_sets(first), _sets(second)]
    if people is not None:
        gold = dict(zip(_each(people, "claim_id", *QUESTION), people["gold"], strict=True))
        pair = [
            {question: outside_gold_as_one(chosen, gold[question]) for question, chosen in sets.items() if question in gold}
            for sets in pair
        ]
    return _alpha(pair, resamples)


def _each(rows: pd.DataFrame, *names: str) -> Iterator[tuple[Any, ...]]:
    """Yield each row's values in some columns."""
    return zip(*(rows[name] for name in names), strict=True)


def _sets(rows: pd.DataFrame) -> Sets:
    """Collect all that several people chose together."""
    sets: Sets = {}
    for question, chosen in zip(_each(rows, "claim_id", *QUESTION), rows["predicted"], strict=True):
        sets[question] = sets.get(question, frozenset()).union(chosen)
    return sets


def _alpha(annotators: Sequence[Sets], resamples: Resamples) -> Value | None:
    questions = dict.fromkeys(question for sets in annotators for question in sets)
    by_question = {question: [sets[question] for sets in annotators if question in sets] for question in questions}
    by_question = {question: answers for question, answers in by_question.items() if len(answers) > 1}
    if not by_question:
        return None
    claims = sorted({claim for claim, *_ in by_question})
    index_of = {claim: number for number, claim in enumerate(claims)}
    weights = Resampled(resamples, claims).weights
    owners = [index_of[claim] for claim, *_ in by_question]
    estimates = alphas(list(by_question.values()), owners, np.concatenate([np.ones((1, len(claims)), weights.dtype), weights]))
    return Value("", float(estimates[0]), sizes=(("used", len(by_question)),), drawn=estimates[1:])


def _row(key: dict[str, str], first: str, second: str, alpha: Value | None) -> dict[str, Any]:
    row: dict[str, Any] = {**key, "first": first, "second": second, "n": alpha.n if alpha else 0}
    if alpha is None or np.isnan(alpha.value):
        return row | {
            "unavailable": "All chose the same sentences everywhere." if alpha else "No question was answered by both."
        }
    return row | alpha.named("alpha", "low", "high")
