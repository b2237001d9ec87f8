"""What a question with its document is like, and what its model is like: features that BCU may depend on.

Formula: length, tokens of the document. flesch = 206.835 - 1.015 words/sentences - 84.6 syllables/words; a sentence ends at
`.`, `!` or `?`; the syllables of a word are its runs of vowels (a, e, i, o, u, y), less a last `e` behind a consonant other
than `l`, and at least one. overlap: share of the question's different content words (all but `patterns.FUNCTION_WORDS`) that
stand in the document. answer_position: the answer's first token in the document, 0 at its beginning, 1 at its end.
distractors: share of the relation's other answers in the data that the document mentions, word for word. memory_strength:
probability of Regular's own next token without documents. judged_relevance: 1 where the model, asked as an agent, called the
document relevant, 0 where it called it irrelevant. parameters: log10 of their number. instruct: 1 if the model's name
says that it follows instructions (a part `instruct`, `chat` or `it`), else 0.
Reference: CUB, arXiv 2505.16518; Flesch 1948.
Departure: a judgement of relevance that cannot be parsed is unknown, though the agents go on as if it were `relevant`.
Cost: one pass over the texts.
"""

from __future__ import annotations

import json
import re
from collections.abc import Set as AbstractSet
from functools import lru_cache

import numpy as np
import pandas as pd

from heval_core.evaluation.patterns import FUNCTION_WORDS

OF_MODELS = ("parameters", "instruct")
OF_INPUTS = ("memory_strength", "length", "flesch", "overlap", "answer_position", "distractors", "judged_relevance")
_WORD = re.compile(r"\w+(?:['’]\w+)*")
_INSTRUCT = re.compile(r"(^|[-_/. ])(instruct|chat|it)($|[-_/. ])", re.IGNORECASE)
_VOWELS = re.compile(r"[aeiouy]+")
_ENDS = re.compile(r"[.!?]+(?=\s|$)")


def syllables(word: str) -> int:
    """By the rule above: `capital` has 3, `table` 2, `made` 1."""
    word = word.lower()
    silent = word.endswith("e") and not word.endswith("le") and len(word) > 1 and word[-2] not in "aeiouy"
    return max(1, len(_VOWELS.findall(word)) - silent)


@lru_cache(maxsize=100_000)
def flesch(text: str) -> float:
    """Flesch reading ease: higher is easier. NaN for a text without words."""
    words = _WORD.findall(text)
    if not words:
        return float("nan")
    sentences = max(1, len(_ENDS.findall(text.strip())) + (_ENDS.search(text.strip()[-1:]) is None))
    return 206.835 - 1.015 * len(words) / sentences - 84.6 * sum(map(syllables, words)) / len(words)


def overlap(question: str, text: str) -> float:
    """Share of the question's content words that stand in a text; NaN for a question without any."""
    asked = {word.lower() for word in _WORD.findall(question)} - FUNCTION_WORDS
    return len(asked & {word.lower() for word in _WORD.findall(text)}) / len(asked) if asked else float("nan")


def distractors(text: str, answers: AbstractSet[str], own: str) -> float:
    """Share of the answers other than a document's own one that it mentions; NaN if there are no others.

    answers: as `spelled`.
    """
    others = answers - {spelled(own), ""}
    if not others:
        return float("nan")
    words, longest = _WORD.findall(text), max(len(other.split(" ")) for other in others)
    said = {" ".join(words[start : start + size]) for size in range(1, longest + 1) for start in range(len(words) - size + 1)}
    return len(others & said) / len(others)


def spelled(answer: str) -> str:
    """An answer as its words, one space between them."""
    return " ".join(_WORD.findall(answer))


def of_models(sizes: pd.DataFrame) -> pd.DataFrame:
    """Features by model. sizes: model and parameters."""
    parameters = sizes["parameters"].astype(float).where(lambda number: number > 0)
    named = [float(bool(_INSTRUCT.search(model))) for model in sizes["model"]]
    return pd.DataFrame({"model": sizes["model"], "parameters": np.log10(parameters), "instruct": named})


def of_inputs(inputs: pd.DataFrame) -> pd.DataFrame:
    """Features by model, dataset, regime and question. inputs: see `heval_core.store.writer.Writer.inputs`."""
    answers = {
        place: {spelled(answer) for name in ("answer", "true_answer") for answer in own[name].dropna()}
        for place, own in inputs.groupby(["dataset", "relation"], dropna=False)
    }
    rows = inputs.to_dict("records")
    return inputs[["model", "dataset", "regime", "fact_id", "length", "answer_position"]].assign(
        flesch=[flesch(row["document"]) for row in rows],
        overlap=[overlap(row["question"], row["document"]) for row in rows],
        distractors=[
            distractors(row["document"], answers.get((row["dataset"], row["relation"]), set()), row["answer"]) for row in rows
        ],
        memory_strength=memory_strength(inputs),
        judged_relevance=[judged_relevance(row["trace"]) for row in rows],
    )


def judged_relevance(trace: str | None) -> float:
    """What the relevance agent of a trace (JSON: a list of calls with agent and verdict) said; NaN if it said neither."""
    try:
        said = [call.get("verdict") for call in json.loads(trace or "[]") if call.get("agent") == "relevance"]
    except (ValueError, TypeError, AttributeError):
        return float("nan")
    return {"relevant": 1.0, "irrelevant": 0.0}.get(said[0] if said else "", float("nan"))


def memory_strength(inputs: pd.DataFrame) -> pd.Series:
    """(N,) of each input. Where a document is to be ignored, the compared token is Regular's own; its probability is the
    question's everywhere.
    """
    question = ["model", "dataset", "fact_id"]
    known = inputs.dropna(subset=["memory_probability"]).drop_duplicates(question)
    found = inputs[question].merge(known[[*question, "memory_probability"]], on=question, how="left")
    return found["memory_probability"].set_axis(inputs.index)
