"""A linear probe: how well is the answer's origin told from an explanation's largest scores, by somebody who trains on others?

Formula: a logistic regression (scikit-learn, L2 with C = 1, features standardised on the training folds) in 5 stratified
folds. `accuracy`: share of instances predicted rightly. `information`: usable information in bits, H2(Y) minus the mean
-log2 p(y) of the held-out instances. Features as for nmutinf. Reference: Xu et al. 2020 (V-information, arXiv 2002.10689);
Hewitt et al. 2021. Departure: beyond the paper, whose NMutInf has a high chance level; held-out instances have none.
Range: accuracy [0, 1], information up to H2(Y), both higher is better; information below 0 means that the probe misleads.
Chance: accuracy the larger class' share, information 0. Best: 1, and H2(Y).
The smaller class needs 10 instances; else not available. Interval: over questions, with everybody's prediction as it is.
Cost: 5 small regressions per explainer and k.

Worked by hand: two far groups are told apart without a mistake.

>>> x, y = np.repeat([[0.0], [9.0]], 20, axis=0), np.repeat([0, 1], 20)
>>> probe(x, y).accuracy
1.0
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from heval_core.metrics._cell import Cell, Column, Each, Estimate
from heval_core.metrics._features import SMALLEST_CLASS, check_labelled, entropy, labelled

PARTS = ("accuracy", "information")


class Probe(NamedTuple):
    """accuracy: share of 1. information: bits."""

    accuracy: float
    information: float


def held_out(features: np.ndarray, labels: np.ndarray, folds: int = 5, seed: int = 0) -> np.ndarray:
    """(N,) probability of label 1 for every instance, from a probe that did not see it."""
    from sklearn.linear_model import LogisticRegression
    from sklearn.model_selection import StratifiedKFold
    from threadpoolctl import threadpool_limits

    found = np.empty(len(labels))
    # These systems are tiny: a linear-algebra library's threads only wait for one another, for minutes on a busy machine.
    with threadpool_limits(1):
        for train, test in StratifiedKFold(folds, shuffle=True, random_state=seed).split(features, labels):
            mean, sd = features[train].mean(axis=0), features[train].std(axis=0)
            sd = np.where(sd > 1e-12, sd, 1.0)
            engine = LogisticRegression(max_iter=500).fit((features[train] - mean) / sd, labels[train])
            found[test] = engine.predict_proba((features[test] - mean) / sd)[:, 1]
    return found


def probe(features: np.ndarray, labels: np.ndarray, folds: int = 5, seed: int = 0) -> Probe:
    """Accuracy and usable information of one cell. features: (N, f). labels: (N,) of 0 and 1.

    Raises HEvalError for features that are not finite, or a class too small.
    """
    check_labelled(features, labels, max(SMALLEST_CLASS, folds))
    right, bits = _told(held_out(np.asarray(features, dtype=np.float64), np.asarray(labels), folds, seed), labels)
    return Probe(float(right.mean()), float(_doubt(np.asarray(labels).mean()) - bits.mean()))


def _told(p: np.ndarray, labels: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Per instance whether it was predicted rightly, and its code length in bits."""
    of_label = np.where(labels, p, 1 - p)
    return (of_label > 0.5).astype(float), -np.log2(np.clip(of_label, 1e-12, 1))


def _doubt(share: np.ndarray | float) -> np.ndarray:
    return entropy(share) / math.log(2)


@dataclass(frozen=True)
class LinearProbe:
    folds: int = 5
    seed: int = 0
    smallest_class: int = SMALLEST_CLASS

    key = "probe"
    title = "Linear probe, held out"
    question = "RQ1"
    higher_is_better = True
    uses_k = True
    reference = "Xu et al. 2020 (arXiv 2002.10689)"

    def each(self, cell: Cell, k: int) -> list[Each]:
        return []

    def over(self, cell: Cell, k: int) -> list[Estimate]:
        data = labelled(cell, k)
        if data.reason:
            return data.unavailable(PARTS, data.reason)
        right, bits = _told(held_out(data.features, data.labels, self.folds, self.seed), data.labels)
        share, count = float(data.labels.mean()), len(data.labels)
        doubt = float(_doubt(share))
        hits, cost, labels = (data.spread(own) for own in (right, bits, data.labels))
        accuracy = Estimate(
            "accuracy", float(right.mean()), max(share, 1 - share), 1.0, data.sizes, None,
            (Column(hits, data.used),), _first, hits / count,
        )  # fmt: skip
        information = Estimate(
            "information", doubt - float(bits.mean()), 0.0, doubt, data.sizes, None,
            (Column(cost, data.used), Column(labels, data.used)), _information, -cost / count,
        )  # fmt: skip
        return [accuracy, information]


def _first(means: np.ndarray) -> np.ndarray:
    return means[..., 0]


def _information(means: np.ndarray) -> np.ndarray:
    return _doubt(means[..., 1]) - means[..., 0]


PLUGIN = LinearProbe()
