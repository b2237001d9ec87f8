"""The data of simulatability metrics: an explanation's largest scores, and where the answer came from.

Features: the k largest scores of the document, descending; for two documents the first's, then the second's. Scores are as
metrics use them (fa and ig divided by their l1 norm). A document with fewer than k tokens is filled up with 0, the score of an
irrelevant token. Labels: 1 if the context (the first document) was used, 0 for memory (the second document); instances of
other groups are left out.

Two targets: the answer given, as everywhere (the explained token differs between the labels, so a string match alone finds the
label), and the first document's answer for all (`--target context`), where only the scores can reveal the label.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from heval_core.metrics.shared.cell import Cell
from heval_core.records import HEvalError
from heval_core.records.groups import compared_groups
from heval_core.statistics.bootstrap import priorities
from heval_core.statistics.subsampling import splits
from heval_core.statistics.values import Each, Value, too_small

SMALLEST_CLASS = 10
# Suffixes of parts, by what is explained: the answer given, or the first document's answer in every instance.
TARGETS = ("", "_context")


@dataclass(frozen=True, eq=False)
class Labelled:
    """Features and labels of M instances.

    features: (M, f). labels: (M,) of 0 and 1. sizes: group ▶ how many. splits: (S, 2, M // 2), see `subsampling`.

    questions: (M,) the same number for the same question. suffix: one of TARGETS, which a part's name ends with.
    """

    features: np.ndarray
    labels: np.ndarray
    sizes: tuple[tuple[str, int], ...]
    splits: np.ndarray
    questions: np.ndarray
    suffix: str = ""

    @property
    def reason(self) -> str | None:
        return too_small(self.sizes, SMALLEST_CLASS)

    def named(self, values: list[Value]) -> list[Value]:
        """Put this target's suffix on the parts of values."""
        return [value._replace(part=value.part + self.suffix) for value in values]

    def unavailable(self, parts: tuple[str, ...], reason: str) -> list[Value]:
        return self.named([Value(part, sizes=self.sizes, unavailable=reason) for part in parts])

    @property
    def digest(self) -> str:
        """A hash of all data behind a value on halves. Features as float32: their last bits differ between processors."""
        digest = hashlib.sha256(self.suffix.encode())
        for array in (self.features.astype(np.float32), self.labels, self.splits.astype(np.int32), self.questions):
            digest.update(repr(array.shape).encode() + np.ascontiguousarray(array).tobytes())
        return digest.hexdigest()

    def best(self, k: int, of: int) -> Labelled:
        """Keep the k highest scores of each document only; it has `of` of each."""
        kept = np.arange(self.features.shape[1]) % of < k
        return replace(self, features=np.ascontiguousarray(self.features[:, kept]))


class LearnedMetric:
    """A metric that learns from the instances of a cell, or compares them with one another; many cells at a time.

    It has values of cells only, in `parts`. A metric defines `of`, or `of_all` if it computes cells together.
    """

    key: ClassVar[str]
    higher_is_better = True
    uses_k = True
    parts: ClassVar[tuple[str, ...]]

    def each(self, cell: Cell, k: int) -> list[Each]:
        return []

    def over(self, cell: Cell, k: int) -> list[Value]:
        return [value for values in self.of_all(labelled(cell, k)) for value in values]

    def of_all(self, data: Sequence[Labelled]) -> list[list[Value]]:
        """Compute the values for several explainers, k and targets."""
        return [
            target.unavailable(self.parts, target.reason) if target.reason else target.named(self.of(target))
            for target in data
        ]

    def of(self, data: Labelled) -> list[Value]:
        """Compute the values of one target whose classes are large enough."""
        raise NotImplementedError


def labelled(cell: Cell, k: int) -> list[Labelled]:
    """Return the features and labels of a cell, for each of TARGETS that has scores."""
    everybody = np.ones(len(cell.layout.groups), dtype=bool)
    targets = [_labelled(cell, cell.scores, everybody, k, TARGETS[0])]
    if cell.fixed is not None:
        targets.append(_labelled(cell, cell.fixed.scores, cell.fixed.there, k, TARGETS[1]))
    return targets


def _labelled(cell: Cell, scores: np.ndarray, there: np.ndarray, k: int, suffix: str) -> Labelled:
    layout = cell.layout
    groups = compared_groups(max(len(layout.documents), 1))
    used = np.isin(layout.groups, groups) & there
    labels = (layout.groups[used] == groups[0]).astype(np.int8)
    of_documents = [largest(scores[used], (document & layout.ranked)[used], k) for document in layout.documents]
    sizes = tuple((group, int((layout.groups[used] == group).sum())) for group in groups)
    features = np.concatenate(of_documents, axis=1) if of_documents else np.zeros((int(used.sum()), 0))
    order = (priorities(len(used)) if cell.priorities is None else cell.priorities)[:, used]
    # The instances of a question share its place in every order. It has the number of its first one.
    _, first, inverse = np.unique(order[0], return_index=True, return_inverse=True)
    questions = first[inverse].astype(np.int32)
    return Labelled(features, labels, sizes, splits(order), questions, suffix)


def largest(scores: np.ndarray, segment: np.ndarray, k: int) -> np.ndarray:
    """Return each row's k largest scores within a (N, n) bool segment, descending, (N, k); filled up with 0."""
    keys = np.where(segment, scores, -np.inf)
    if keys.shape[1] > k:
        keys = np.partition(keys, keys.shape[1] - k, axis=1)[:, -k:]
    best = np.sort(keys, axis=1)[:, ::-1]
    best = np.pad(best, ((0, 0), (0, k - best.shape[1])), constant_values=-np.inf)
    return np.where(np.isfinite(best), best, 0.0)


def standardised(features: np.ndarray) -> np.ndarray:
    """Scale columns to mean 0 and standard deviation 1; a constant column becomes 0."""
    features = np.asarray(features, dtype=np.float64)
    centred = features - features.mean(axis=0)
    sd = centred.std(axis=0)
    constant = sd <= 1e-9 * np.maximum(np.abs(features).max(axis=0, initial=0.0), 1e-300)
    return np.where(constant, 0.0, centred / np.where(constant, 1.0, sd))


def check_labelled(features: np.ndarray, labels: np.ndarray, needed: int) -> None:
    """Raise HEvalError for data without a simulatability: wrong shapes, NaN, labels other than 0 and 1, a small class."""
    features, labels = np.asarray(features), np.asarray(labels)
    if features.ndim != 2 or labels.shape != features.shape[:1]:
        raise HEvalError(f"Features {features.shape} and labels {labels.shape} do not belong together.")
    if not np.isfinite(features).all():
        row = int(np.flatnonzero(~np.isfinite(features).all(axis=1))[0])
        raise HEvalError(f"The features of instance {row} are NaN or infinite.")
    if not np.isin(labels, (0, 1)).all():
        raise HEvalError("Labels must be 0 or 1.")
    smaller = min(int(labels.sum()), int(len(labels) - labels.sum()))
    if smaller < needed:
        raise HEvalError(f"The smaller class has {smaller} of the {needed} instances needed.")


def entropy(p: np.ndarray | float) -> np.ndarray:
    """Compute the binary entropy in nats."""
    p = np.asarray(p, dtype=np.float64)
    with np.errstate(divide="ignore", invalid="ignore"):
        return -np.nan_to_num(p * np.log(p)) - np.nan_to_num((1 - p) * np.log1p(-p))
