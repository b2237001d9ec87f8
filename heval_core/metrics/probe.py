"""A linear probe: how well do an explanation's largest scores predict the answer's origin, on held-out questions?

Formula: a logistic regression (scikit-learn's, L2 with C = 1, features standardised on the training folds) in 5 folds, classes
spread evenly, each question's instances in one: its false answers would give it away. `accuracy`: share of instances predicted
correctly. `information`: usable information in bits, H2(Y) minus the mean -log2 p(y) of held-out instances. Features as for
nmutinf. Reference: Xu et al. 2020 (V-information, arXiv 2002.10689); Hewitt et al. 2021.
Departure: not in the paper, whose NMutInf has a high chance level; held-out instances avoid this.
Range: accuracy [0, 1], information up to H2(Y), both higher is better; information below 0 means that the probe misleads.
Chance: measured on 40 permutations of the labels, with its own error. Learning from uninformative features costs bits, so
chance information is below 0, and chance accuracy below the larger class's share. p: Student's t of the value against these.
Best: 1, and H2(Y).
The smaller class needs 10 instances; otherwise the value is not available. Interval: halves of the questions
(`statistics.subsampling`). Cost: 700 small regressions per explainer and k, solved together by Newton's method;
scikit-learn's own solver takes them one by one, some 2 s per value.

Worked by hand: two distant groups are separated without a mistake.

>>> x, y = np.repeat([[0.0], [9.0]], 20, axis=0), np.repeat([[0, 1]], 20, axis=1)
>>> bool(((held_out(x[None], y, fold_of(y, np.arange(40)[None], 5)) > 0.5) == y).all())
True
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from heval_core.metrics._features import SMALLEST_CLASS, Labelled, LearnedMetric, entropy
from heval_core.metrics.shared.measure import of_origin
from heval_core.statistics.subsampling import Runs
from heval_core.statistics.values import Value

STEPS, ENOUGH = 30, 1e-8
# So many numbers of training data are solved at once: more do not fit a processor's cache.
TOGETHER = 400_000
# Shares and bits that differ by less count as equal.
SAME = 1e-9


def fold_of(labels: np.ndarray, questions: np.ndarray, folds: int, seed: int = 0) -> np.ndarray:
    """Deal (B, N) labels and questions ▶ (B, N) the fold in which an instance is held out, with all of its question.

    Questions are dealt out by their share of label 1, and in random order within it: classes are spread evenly.
    """
    rng, fold = np.random.default_rng(seed), np.empty(labels.shape, dtype=int)
    for row, (label, asked) in enumerate(zip(labels, questions, strict=True)):
        question = np.unique(asked, return_inverse=True)[1]
        share = np.bincount(question, label) / np.bincount(question)
        order = np.lexsort((rng.random(len(share)), share))
        fold[row] = np.argsort(order)[question] % folds
    return fold


def held_out(features: np.ndarray, labels: np.ndarray, fold: np.ndarray) -> np.ndarray:
    """Compute (B, N) probability of label 1 for every instance of B samples, from a probe that did not see it.

    features: (B, N, f), or (1, N, f) for all. labels, fold: (B, N). One half where all that it saw has one label.
    """
    held = np.empty(labels.shape)
    size = max(1, TOGETHER // max(1, features.shape[1] * features.shape[2]))
    for start in range(0, len(labels), size):
        samples = slice(start, start + size)
        rows = features if len(features) == 1 else features[samples]
        for number in range(int(fold.max(initial=0)) + 1):
            told, out = labels[samples].astype(np.float64), fold[samples] == number
            seen = np.where(out, np.nan, told)
            both = np.nanmin(seen, axis=1, keepdims=True) < np.nanmax(seen, axis=1, keepdims=True)
            held[samples] = np.where(out, np.where(both, _fitted(rows, told, ~out), 0.5), held[samples])
    return held


def _fitted(features: np.ndarray, labels: np.ndarray, train: np.ndarray) -> np.ndarray:
    """Fit regressions on the (B, N) instances to train on ▶ (B, N) probabilities; minimises sum of log losses + |w|²/2."""
    weight = train.astype(np.float64)
    total = weight.sum(axis=1)[:, None, None]
    mean = (weight[:, None, :] @ features) / total
    sd = np.sqrt((weight[:, None, :] @ np.square(features - mean)) / total)
    rows = np.concatenate([(features - mean) / np.where(sd > 1e-12, sd, 1.0), np.ones((*labels.shape, 1))], axis=2)
    penalty = np.ones(rows.shape[2])
    penalty[-1] = 1e-9  # the intercept is free
    beta = np.zeros((len(labels), rows.shape[2], 1))
    for _ in range(STEPS):
        p = _sigmoid((rows @ beta)[..., 0])
        gradient = rows.swapaxes(1, 2) @ (weight * (p - labels))[..., None] + penalty[:, None] * beta
        curvature = rows.swapaxes(1, 2) @ (rows * (weight * p * (1 - p))[..., None]) + np.diag(penalty)
        step = np.linalg.solve(curvature, gradient)
        # Far from the minimum a full step may overshoot if the classes are separable; a damped one still converges.
        step /= np.maximum(1.0, np.abs(step).max(axis=1, keepdims=True) / 4)
        beta -= step
        if np.abs(step).max() < ENOUGH:
            break
    return _sigmoid((rows @ beta)[..., 0])


def _sigmoid(logits: np.ndarray) -> np.ndarray:
    return np.asarray(1 / (1 + np.exp(-np.clip(logits, -40, 40))))


def _contributions(
    features: np.ndarray, labels: np.ndarray, questions: np.ndarray, folds: int, seed: int
) -> tuple[np.ndarray, np.ndarray]:
    """Compute accuracy and information of B samples, as (B, N) contributions whose means they are.

    features: (B, N, f) or (1, N, f). labels, questions: (B, N).
    """
    p = held_out(features, labels, fold_of(labels, questions, folds, seed))
    of_label = np.where(labels > 0, p, 1 - p)
    bits = -np.log2(np.clip(of_label, 1e-12, 1))
    # A probability of exactly one half predicts neither label.
    right = (of_label > 0.5) + (of_label == 0.5) / 2
    return right, entropy(labels.mean(axis=1))[:, None] / math.log(2) - bits


@dataclass(frozen=True)
class LinearProbe(LearnedMetric):
    folds: int = 5
    permutations: int = 40
    seed: int = 0
    smallest_class: int = SMALLEST_CLASS

    key = "probe"
    title = "Linear probe, held out"
    parts = ("accuracy", "information")
    reference = "Xu et al. 2020 (arXiv 2002.10689)"
    measures = (
        *of_origin(
            "probe_accuracy",
            "Probe accuracy",
            "accuracy",
            "share predicted correctly",
            "How often a logistic regression on the k largest scores of {documents} predicts where the answer came from, on "
            "questions that it was not trained on. Chance is the same with permuted labels.",
            order=44,
            sections=False,
        ),
        *of_origin(
            "probe_information",
            "Probe information",
            "information",
            "bits",
            "How many bits of information the probe's probabilities give about the answer's origin, on questions that it was "
            "not trained on. Below 0 they mislead, as they do with permuted labels (chance).",
            order=46,
            sections=False,
        ),
    )

    def of(self, data: Labelled) -> list[Value]:
        features, labels, questions = data.features[None], data.labels[None], data.questions[None]
        whole = _contributions(features, labels, questions, self.folds, self.seed)
        shuffled = np.random.default_rng(self.seed).permuted(np.repeat(labels, self.permutations, axis=0), axis=1)
        by_chance = _contributions(features, shuffled, np.repeat(questions, self.permutations, axis=0), self.folds, self.seed)
        halves = data.splits.reshape(-1, data.splits.shape[2])
        of_halves = _contributions(features[0, halves], labels[0, halves], questions[0, halves], self.folds, self.seed)
        best = (1.0, float(entropy(labels.mean())) / math.log(2))
        columns = zip(self.parts, whole, by_chance, of_halves, best, strict=True)
        return [self._estimate(data, *column) for column in columns]

    def _estimate(
        self, data: Labelled, part: str, whole: np.ndarray, by_chance: np.ndarray, of_halves: np.ndarray, best: float
    ) -> Value:
        from scipy.stats import t

        number, _, size = data.splits.shape
        value, draws = float(whole.mean()), by_chance.mean(axis=1)
        chance, spread = float(draws.mean()), float(draws.std(ddof=1))
        # Constant features give every permutation the same value, up to rounding.
        apart = (value - chance) / (spread * math.sqrt(1 + 1 / len(draws))) if spread > SAME else 0.0
        p = float(t.sf(apart, len(draws) - 1))
        runs = Runs(np.array([value]), of_halves.mean(axis=1).reshape(number, 2, 1), 2 * size / len(data.labels), whole[0])
        return Value(
            part,
            value,
            chance,
            best,
            data.sizes,
            error=runs.error(),
            p=p,
            bound=best,
            counted=len(data.labels) * (part == "accuracy"),
            chance_se=spread / math.sqrt(len(draws)),
        )


PLUGIN = LinearProbe()
