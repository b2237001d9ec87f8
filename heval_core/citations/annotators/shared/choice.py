"""Which passage a sentence rests on, if on any: the rule that turns weights into choices.

Formula: z, (K, S), has how much each passage weighs for each sentence, on a scale on which sentences compare. A sentence is
chosen for its best passage alone, and only where that one beats the random level: median + t s sqrt(1 + 1/n) of n values that
are not a sentence's best, s being 1.4826 times their median distance from their median, and t the quantile .95^(1/K) of
Student's distribution with n - 1 degrees of freedom. So the best of K passages that have nothing to do with a sentence stays
below it in 95 of 100 sentences. It is computed from all sentences and from the sentence's own values, and the higher counts: a
sentence that the model did not expect shakes more than others do.
Reference: ours; methods.md leaves the level open. 95 of 100 is the usual convention, and medians are there because a sentence
may rest on two passages, of which one is not its best.
Departure: fewer than `FEWEST` values give no level. With one passage, or two and hardly a sentence, there is none at all.
The level is not kept to exactly. On a model made by hand, which finds sentences from nothing most surprising, loo chooses 0 to
20 of 100 of these, attention and contextcite up to 33: what a passage does to them has heavier tails than Student's.
Of the sentences that it copied, loo and contextcite find 90 to 100 of 100, attention 40 to 100, more with more passages.
"""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import groupby

import numpy as np

from heval_core.citations.records import Choice, Explained, Question
from heval_core.records import HEvalError

FEWEST, CONFIDENCE, NORMAL = 3, 0.95, 1.4826


@dataclass(frozen=True, eq=False)
class Weights:
    """What each of K passages gives each of S sentences.

    phi: (K, S) as the method defines them. comparable: the same on a scale on which sentences compare.

    least: what `comparable` must exceed beside the random level; -inf for none.
    """

    phi: np.ndarray
    comparable: np.ndarray
    least: float = -np.inf


def words_of(text: str) -> set[str]:
    """Return the words of a text in lower case, each once."""
    return set(re.findall(r"\w+", text.lower()))


class TextControl:
    """What annotators declare that read nothing but what a reader sees."""

    family = "control"
    control = True
    model = ""
    reads = "nothing"
    reference = "control"


def choices(key: str, questions: Sequence[Question], weigh: Callable[[Explained], Weights]) -> list[Choice]:
    """Choose for each question by the weights of its passage.

    key: the annotator's. weigh: it may raise HEvalError, which is told; questions about one explanation share what it gives. A
    sentence without words is never chosen.
    """
    answers: list[Choice] = []
    for explained, group in groupby(questions, lambda question: question.explained):
        try:
            of_passage = _chosen(key, explained, weigh)
        except HEvalError as error:
            of_passage = dict.fromkeys(explained.selected, Choice(frozenset(), problem=str(error)))
        answers += [of_passage[question.passage] for question in group]
    return answers


def _chosen(key: str, explained: Explained, weigh: Callable[[Explained], Weights]) -> dict[int, Choice]:
    written = [index for index, sentence in enumerate(explained.sentences) if sentence.bare.strip()]
    if not written:
        return dict.fromkeys(explained.selected, Choice(frozenset(), (0.0,) * len(explained.sentences)))
    weights = weigh(explained)
    comparable = weights.comparable[:, written]
    levels = random_levels(comparable)
    if np.isinf(weights.least) and np.isnan(levels).all():
        raise HEvalError(
            f"There is no random level for {key}: {len(explained.selected)} passages and {len(written)} sentences have too "
            "few weights that are not a sentence's best. explainer(loo) can tell."
        )
    rests = resting(comparable, np.fmax(levels, weights.least))
    chosen = [frozenset(written[column] for column in np.flatnonzero(rests == row)) for row in range(len(weights.phi))]
    scores = [tuple(map(float, row)) for row in weights.phi]
    return {number: Choice(*pair) for number, pair in zip(explained.selected, zip(chosen, scores, strict=True), strict=True)}


def random_levels(weights: np.ndarray) -> np.ndarray:
    """Compute the level of each sentence, (K, S) ▶ (S,); NaN where too few values can tell."""
    sentences = weights.shape[1]
    others = np.ones(weights.shape, dtype=bool)
    others[weights.argmax(0), np.arange(sentences)] = False
    of_all = level_of(weights[others], len(weights))
    return np.array([np.fmax(of_all, level_of(weights[others[:, index], index], len(weights))) for index in range(sentences)])


def level_of(null: np.ndarray, passages: int) -> np.ndarray:
    """Compute what the best of some passages stays below in 95 of 100 cases, (…, n) values by chance ▶ (…); NaN where n is too
    small.
    """
    from scipy.stats import t

    count = null.shape[-1]
    if count < FEWEST:
        return np.full(null.shape[:-1], np.nan)
    middle = np.median(null, axis=-1)
    spread = NORMAL * np.median(np.abs(null - middle[..., None]), axis=-1)
    quantile = t.ppf(CONFIDENCE ** (1 / passages), count - 1)
    return np.asarray(middle + quantile * spread * np.sqrt(1 + 1 / count))


def resting(weights: np.ndarray, levels: np.ndarray) -> np.ndarray:
    """Return the index of the passage that each sentence rests on, (S,), -1 for none: its best, where that is above the level.

    A level that is NaN is beaten by nothing.
    """
    return np.where(weights.max(0) > levels, weights.argmax(0), -1)
