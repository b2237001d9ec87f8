"""What BCU depends on: features of a question with its document and of a model, and rows of the table `feature_correlation`.

Formula: length, tokens of the document. flesch = 206.835 - 1.015 words/sentences - 84.6 syllables/words; a sentence ends at
`.`, `!` or `?`; the syllables of a word are its runs of vowels (a, e, i, o, u, y), less a last `e` behind a consonant other
than `l`, and at least one. overlap: share of the question's different content words (all but `words.FUNCTION_WORDS`) that
stand in the document. answer_position: the answer's first token in the document, 0 at its beginning, 1 at its end.
distractors: share of the relation's other answers in the data that the document mentions, word for word. memory_strength:
probability of Regular's own next token without documents. judged_relevance: 1 where the model, asked as an agent, called the
document relevant, 0 where it called it irrelevant. parameters: log10 of their number. instruct: 1 if the model's name
says that it follows instructions (a part `instruct`, `chat` or `it`), else 0.
rho is Spearman's, of BCU with a feature, over the answers of all models pooled. rho_stratified: within each model and
dataset, ranks of both (ties averaged) less their mean and divided by the number of answers; Pearson's correlation of these,
over all models and datasets in which neither is constant. A feature that differs only between models or datasets has none.
Reference: CUB, arXiv 2505.16518, for features and rho; Flesch 1948; rho_stratified is ours.
Departure: a judgement of relevance that cannot be parsed is unknown, though the agents go on as if it were `relevant`. p is
Student's, as in CUB, as if all answers were independent; for a feature of the model it counts answers, not models, and is far
too small. p_stratified is Student's over questions: what the answers to one question add to the correlation is summed first,
so that several models' answers to it do not count as several questions. Both are corrected by Holm over the features of the
same dataset, regime and technique.
Chance: 0.
Cost: one pass over the texts, and a sort per feature.
"""

import json
import re
from collections.abc import Set as AbstractSet
from functools import lru_cache
from typing import Any

import numpy as np
import pandas as pd

from heval_core.records import CONTEXT_KINDS
from heval_core.records.vocabulary import FUNCTION_WORDS
from heval_core.statistics.bootstrap import NAN
from heval_core.statistics.correlation import holm, spearman
from heval_core.statistics.scores import average_ranks
from heval_core.statistics.values import defined

OF_MODELS = ("parameters", "instruct")
OF_INPUTS = ("memory_strength", "length", "flesch", "overlap", "answer_position", "distractors", "judged_relevance")
_WORD = re.compile(r"\w+(?:['’]\w+)*")
_INSTRUCT = re.compile(r"(^|[-_/. ])(instruct|chat|it)($|[-_/. ])", re.IGNORECASE)
_VOWELS = re.compile(r"[aeiouy]+")
_ENDS = re.compile(r"[.!?]+(?=\s|$)")


def syllables(word: str) -> int:
    """Count syllables by the rule above: `capital` has 3, `table` 2, `made` 1."""
    word = word.lower()
    silent = word.endswith("e") and not word.endswith("le") and len(word) > 1 and word[-2] not in "aeiouy"
    return max(1, len(_VOWELS.findall(word)) - silent)


@lru_cache(maxsize=100_000)
def flesch(text: str) -> float:
    """Compute Flesch reading ease: higher is easier. NaN for a text without words."""
    words = _WORD.findall(text)
    if not words:
        return NAN
    sentences = max(1, len(_ENDS.findall(text.strip())) + (_ENDS.search(text.strip()[-1:]) is None))
    return 206.835 - 1.015 * len(words) / sentences - 84.6 * sum(map(syllables, words)) / len(words)


def overlap(question: str, text: str) -> float:
    """Compute the share of the question's content words that stand in a text; NaN for a question without any."""
    content = {word.lower() for word in _WORD.findall(question)} - FUNCTION_WORDS
    return len(content & {word.lower() for word in _WORD.findall(text)}) / len(content) if content else NAN


def distractors(text: str, answers: AbstractSet[str], answer: str) -> float:
    """Compute the share of the answers that a document mentions, other than its own; NaN if there are no others.

    answers: as `spelled`. answer: its own.
    """
    others = answers - {spelled(answer), ""}
    if not others:
        return NAN
    words, longest = _WORD.findall(text), max(len(other.split(" ")) for other in others)
    spans = {" ".join(words[start : start + size]) for size in range(1, longest + 1) for start in range(len(words) - size + 1)}
    return len(others & spans) / len(others)


def spelled(answer: str) -> str:
    """Spell an answer as its words, one space between them."""
    return " ".join(_WORD.findall(answer))


def of_models(sizes: pd.DataFrame) -> pd.DataFrame:
    """Compute features by model. sizes: model and parameters."""
    parameters = sizes["parameters"].astype(float).where(lambda number: number > 0)
    named = [float(bool(_INSTRUCT.search(model))) for model in sizes["model"]]
    return pd.DataFrame({"model": sizes["model"], "parameters": np.log10(parameters), "instruct": named})


def of_inputs(inputs: pd.DataFrame) -> pd.DataFrame:
    """Compute features by model, dataset, regime and question. inputs: see `Writer.inputs`."""
    answers = {
        relation: {spelled(answer) for name in ("answer", "true_answer") for answer in group[name].dropna()}
        for relation, group in inputs.groupby(["dataset", "relation"], dropna=False)
    }
    rows = inputs.to_dict("records")
    return inputs[["model", "dataset", "regime", "fact_id", "length", "answer_position", "memory_strength"]].assign(
        flesch=[flesch(row["document"]) for row in rows],
        overlap=[overlap(row["question"], row["document"]) for row in rows],
        distractors=[
            distractors(row["document"], answers.get((row["dataset"], row["relation"]), set()), row["answer"]) for row in rows
        ],
        judged_relevance=[judged_relevance(row["trace"]) for row in rows],
    )


def judged_relevance(trace: str | None) -> float:
    """Read what the relevance agent of a trace (JSON: a list of calls with agent and verdict) said; NaN if it said neither."""
    try:
        verdicts = [call.get("verdict") for call in json.loads(trace or "[]") if call.get("agent") == "relevance"]
    except (ValueError, TypeError, AttributeError):
        return NAN
    return {"relevant": 1.0, "irrelevant": 0.0}.get(verdicts[0] if verdicts else "", NAN)


# What stands in the column `dataset` where several are pooled.
EVERY_DATASET = "all"
_INPUT_KEY = ["model", "dataset", "regime", "fact_id"]
_GROUPS = {"stratum": ("model", "dataset"), "asked": ("dataset", "fact_id")}


def rows_of(answers: pd.DataFrame, inputs: pd.DataFrame, sizes: pd.DataFrame) -> list[dict[str, Any]]:
    """Return the rows of each dataset, and of all together where there are several.

    answers: the test answers. inputs, sizes: see `of_inputs` and `of_models`.
    """
    joined = answers.merge(of_inputs(inputs), on=_INPUT_KEY, how="left")
    joined = joined.merge(of_models(sizes), on="model", how="left")
    joined = joined.assign(**{name: joined.groupby(list(by), sort=False).ngroup() for name, by in _GROUPS.items()})
    datasets = sorted(joined["dataset"].unique())
    rows = []
    for dataset in [*datasets, *([EVERY_DATASET] if len(datasets) > 1 else [])]:
        of_dataset = joined if dataset == EVERY_DATASET else joined[joined["dataset"] == dataset]
        for technique in of_dataset["technique"].unique():
            for kind in CONTEXT_KINDS:
                chosen = of_dataset[(of_dataset["technique"] == technique) & (of_dataset["regime"] == kind)]
                if len(chosen):
                    rows += _family({"dataset": dataset, "regime": kind, "technique": technique}, chosen)
    return rows


def _family(key: dict[str, str], answers: pd.DataFrame) -> list[dict[str, Any]]:
    rows = [key | _row(name, answers) for name in (*OF_MODELS, *OF_INPUTS)]
    for name in ("p", "p_stratified"):
        adjusted = holm(np.array([row[name] for row in rows], dtype=float))
        for row, p in zip(rows, adjusted, strict=True):
            row[f"{name}_holm"] = defined(p)
            row[name] = defined(row[name])
    return rows


def _row(feature: str, answers: pd.DataFrame) -> dict[str, Any]:
    numbers = answers[[feature, "bcu", "stratum", "asked"]].to_numpy(dtype=float)
    values, bcu, strata, questions = numbers[np.isfinite(numbers).all(axis=1)].T
    rho = spearman(values, bcu)
    within, p = stratified(values, bcu, strata, questions)
    row = {"feature": feature, "rho": defined(rho), "p": student_p(rho, len(values) - 2), "n": len(values)}
    row |= {"rho_stratified": defined(within), "p_stratified": p}
    return row | {"unavailable": None if np.isfinite(rho) else _reason(values)}


def stratified(first: np.ndarray, second: np.ndarray, strata: np.ndarray, questions: np.ndarray) -> tuple[float, float]:
    """Compute rho_stratified and its p of two (N,) samples. strata, questions: (N,) numbers of their groups.

    NaN, NaN if in every stratum one of the two is constant. Its p is NaN for fewer than three questions.
    """
    varying, x, y = [], [], []
    for stratum in np.unique(strata):
        members = np.flatnonzero(strata == stratum)
        samples = np.stack([first[members], second[members]])
        if np.ptp(samples, axis=1).all():
            ranks = (average_ranks(samples) - (len(members) + 1) / 2) / len(members)
            varying.append(members)
            x.append(ranks[0])
            y.append(ranks[1])
    if not varying:
        return NAN, NAN
    of_question, ranks_x, ranks_y = questions[np.concatenate(varying)], np.concatenate(x), np.concatenate(y)
    xx, yy = ranks_x @ ranks_x, ranks_y @ ranks_y
    rho = float(np.clip(ranks_x @ ranks_y / np.sqrt(xx * yy), -1, 1))
    # What each answer adds to rho; these sum to 0.
    adds = ranks_x * ranks_y / np.sqrt(xx * yy) - rho / 2 * (ranks_x**2 / xx + ranks_y**2 / yy)
    _, question_index = np.unique(of_question, return_inverse=True)
    sums = np.bincount(question_index, adds)
    if len(sums) < 3:
        return rho, NAN
    return rho, _two_sided(rho, float(np.sqrt(np.square(sums).sum() * len(sums) / (len(sums) - 1))), len(sums) - 2)


def student_p(rho: float, df: int) -> float:
    """Compute the two-sided p of Spearman's rho, by Student's distribution; NaN without degrees of freedom."""
    if not np.isfinite(rho) or df < 1:
        return NAN
    return _two_sided(rho, float(np.sqrt(max(0.0, 1 - rho**2) / df)), df)


def _two_sided(value: float, se: float, df: int) -> float:
    from scipy.stats import t

    if se <= 1e-12:
        return 0.0 if abs(value) > 1e-12 else 1.0
    return float(2 * t.sf(abs(value) / se, df))


def _reason(values: np.ndarray) -> str:
    if not len(values):
        return "The feature is known for none of these answers."
    if len(values) < 3:
        return f"A correlation needs at least 3 answers; there are {len(values)}."
    return f"{'BCU' if np.ptp(values) else 'The feature'} is the same for all of these answers."
