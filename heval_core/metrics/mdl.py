"""Minimum description length: how many bits tell the answer's origin to somebody who has the explanation's largest scores?

Formula (Sun et al. 2025, eq. 4; Voita & Titov 2020; Blier & Ollivier 2018): prequential code length. The first 10 % of the
labels (at least 20) cost 1 bit each; a net is trained on them; then ten labels at a time are coded with the current net,
-log2 p(y), and the net is updated on them. The mean over 10 reshuffles. Features as for nmutinf. Reference: arXiv 2510.02629.
Net (decision, methods.md): Linear(f, 32)-ReLU-Linear(32, 1), Adam at 1e-3, 50 epochs of mini-batches of ten on the first
block; for each later block one step on it and one on a random earlier block (option `replay=0`: none). Features are
standardised by what has been seen; p is clipped to [1e-4, 1 - 1e-4]. Weights start uniform in ±1/sqrt(inputs).
Departure: none. Reported: `compression` = N H2(Y)/bits (higher is better), `bits_per_label` and `bits` (lower is better);
bits of unequal N do not compare. sd: over the reshuffles.
Chance: the same code for permuted labels, 3 reshuffles. Best: nothing but the first block costs bits.
The smaller class needs 10 instances, and there must be labels beyond the first block; else not available.
Cost: all reshuffles, explainers and k of a regime are one batch of small nets: about 1,400 steps for 2,000 instances.

Worked by hand: twenty labels at a bit each are the first block, and five more are all that the net has to tell. A net that is
sure pays next to nothing for them, so that a label costs about 20/25 = .8 bits.

>>> labels = np.tile([0, 1], 13)[:25]
>>> found = mdl(np.repeat(labels[:, None] * 9.0, 2, axis=1), labels)
>>> 20 < found.bits < 23, bool(found.compression > 1)
(True, True)
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from heval_core.metrics._cell import Cell, Column, Each, Estimate
from heval_core.metrics._features import (
    SMALLEST_CLASS,
    Labelled,
    check_labelled,
    entropy,
    labelled,
    standardised,
)
from heval_core.records import HEvalError

HIDDEN, BATCH, EPOCHS, RATE, CLIP = 32, 10, 50, 1e-3, 1e-4
SMALLEST_FIRST = 20
PARTS = ("compression", "bits_per_label", "bits")


class Mdl(NamedTuple):
    """bits: of all labels. compression: N H2(Y)/bits. sd: of bits, over the reshuffles."""

    bits: float
    bits_per_label: float
    compression: float
    sd: float


def first_block(instances: int) -> int:
    """How many labels are coded at 1 bit each."""
    return max(SMALLEST_FIRST, math.ceil(instances / 10))


def mdl(
    features: np.ndarray,
    labels: np.ndarray,
    seed: int = 0,
    reshuffles: int = 10,
    replay: int = 1,
    smallest_class: int = SMALLEST_CLASS,
) -> Mdl:
    """Code length of one cell's labels. features: (N, f). labels: (N,) of 0 and 1.

    Raises HEvalError for features that are not finite, a class below `smallest_class`, or no labels beyond the first block.
    """
    check_labelled(features, labels, smallest_class)
    if len(labels) <= first_block(len(labels)):
        raise HEvalError(_too_few(len(labels)))
    bits = code_lengths([np.asarray(features)], np.asarray(labels), reshuffles, 0, seed, replay)[0][0]
    return _of(bits, np.asarray(labels))


def _too_few(instances: int) -> str:
    return f"{instances} instances are no more than the first block's {first_block(instances)}, which is coded blindly"


def _of(bits: np.ndarray, labels: np.ndarray) -> Mdl:
    """From (reshuffles, N) bits of every label."""
    totals = bits.sum(axis=1)
    mean, count = float(totals.mean()), len(labels)
    sd = float(totals.std(ddof=1)) if len(totals) > 1 else float("nan")
    return Mdl(mean, mean / count, count * _doubt(labels) / mean, sd)


def _doubt(labels: np.ndarray) -> float:
    """H2(Y) in bits."""
    return float(entropy(labels.mean())) / math.log(2)


def code_lengths(
    features: Sequence[np.ndarray],
    labels: np.ndarray,
    reshuffles: int,
    chance_reshuffles: int,
    seed: int = 0,
    replay: int = 1,
) -> list[tuple[np.ndarray, np.ndarray]]:
    """Bits of every label under each of C feature sets of the same N instances, all nets trained as one batch.

    features: C of (N, f), f may differ. Returns per set (reshuffles, N) bits, and (chance_reshuffles, N) of permuted labels.
    Every set meets the same reshuffles, permutations and initial nets, whatever others it is computed with.
    """
    labels = np.asarray(labels)
    count, width = len(labels), max(own.shape[1] for own in features)
    runs = [np.random.default_rng((seed, number)) for number in range(reshuffles + chance_reshuffles)]
    orders = np.stack([rng.permutation(count) for rng in runs])
    # Affine maps of a feature change nothing, for it is standardised anyway; this keeps float32 exact enough for it.
    table = np.zeros((len(features), count, width), dtype=np.float32)
    for index, own in enumerate(features):
        table[index, :, : own.shape[1]] = standardised(own)
    shuffled = np.stack([labels if run < reshuffles else rng.permutation(labels) for run, rng in enumerate(runs)])
    told = np.take_along_axis(shuffled, orders, axis=1).astype(np.float32)
    nets = _Nets([own.shape[1] for own in features], width, runs)
    bits = np.ones((len(features), len(runs), count), dtype=np.float64)
    for start, stop, found in _coded(nets, table, orders, told, replay, np.random.default_rng(seed)):
        bits[:, :, start:stop] = found
    back = np.empty_like(bits)
    np.put_along_axis(back, np.broadcast_to(orders, bits.shape), bits, axis=2)
    return [(own[:reshuffles], own[reshuffles:]) for own in back]


def _coded(
    nets: _Nets, table: np.ndarray, orders: np.ndarray, told: np.ndarray, replay: int, rng: np.random.Generator
) -> Iterator[tuple[int, int, np.ndarray]]:
    """Train and code: (start, stop, (C, runs, stop - start) bits) for each block after the first, in shuffled order."""
    count, first = orders.shape[1], first_block(orders.shape[1])
    rows = table[:, orders[:, :first]]
    seen = _Seen(rows)
    rows, own = seen.scaled(rows), told[:, :first]
    for _ in range(EPOCHS):
        order = rng.permutation(first)
        for start in range(0, first, BATCH):
            chosen = order[start : start + BATCH]
            nets.step(rows[:, :, chosen], own[:, chosen])
    starts = list(range(0, first, BATCH))
    for start in range(first, count, BATCH):
        stop = min(start + BATCH, count)
        raw, own = table[:, orders[:, start:stop]], told[:, start:stop]
        block = seen.scaled(raw)
        yield start, stop, nets.bits(block, own)
        nets.step(block, own)
        for _ in range(replay):
            old = starts[int(rng.integers(len(starts)))]
            end = min(old + BATCH, first if old < first else count)
            nets.step(seen.scaled(table[:, orders[:, old:end]]), told[:, old:end])
        seen.add(raw)
        starts.append(start)


class _Seen:
    """Mean and standard deviation of the features seen so far, per feature set and run."""

    def __init__(self, rows: np.ndarray):
        self._count, self._sum, self._squares = 0, np.float32(0), np.float32(0)
        self.add(rows)

    def add(self, rows: np.ndarray) -> None:
        self._count += rows.shape[2]
        self._sum = self._sum + rows.sum(axis=2, keepdims=True)
        self._squares = self._squares + np.square(rows).sum(axis=2, keepdims=True)
        self._mean = self._sum / self._count
        variance = self._squares / self._count - np.square(self._mean)
        self._factor = np.where(variance > 1e-6, 1 / np.sqrt(np.maximum(variance, 1e-6)), 1.0).astype(np.float32)

    def scaled(self, rows: np.ndarray) -> np.ndarray:
        return (rows - self._mean) * self._factor


class _Nets:
    """C x runs nets of one hidden layer, trained side by side with Adam in float32; a layer's bias is its last row.

    Inputs beyond a feature set's own are 0, so that their weights get no gradient.
    """

    def __init__(self, inputs: Sequence[int], width: int, runs: Sequence[np.random.Generator]):
        self._split, self._shape = (width + 1) * HIDDEN, (len(inputs), len(runs), width + 1, HIDDEN)
        self._weights = np.zeros((len(inputs), len(runs), self._split + HIDDEN + 1), dtype=np.float32)
        hidden = self._weights[..., : self._split].reshape(self._shape)
        for run, rng in enumerate(runs):
            last, bias, rows = (rng.uniform(-1, 1, size=size) for size in (HIDDEN + 1, HIDDEN, (width, HIDDEN)))
            self._weights[:, run, self._split :] = last / math.sqrt(HIDDEN)
            for index, own in enumerate(inputs):
                hidden[index, run, :own] = rows[:own] / math.sqrt(own)
                hidden[index, run, -1] = bias / math.sqrt(own)
        self._mean, self._square = np.zeros_like(self._weights), np.zeros_like(self._weights)
        self._steps = 0

    def _forward(self, rows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """(C, runs, b, f) features ▶ (C, runs, b, hidden) activations and (C, runs, b) logits."""
        hidden = self._weights[..., : self._split].reshape(self._shape)
        active = rows @ hidden[..., :-1, :]
        active += hidden[..., -1:, :]
        np.maximum(active, 0, out=active)
        last = self._weights[..., self._split :]
        return active, (active @ last[..., :-1, None])[..., 0] + last[..., -1:]

    def bits(self, rows: np.ndarray, labels: np.ndarray) -> np.ndarray:
        """(C, runs, b) code lengths of (runs, b) labels."""
        p = np.clip(_sigmoid(self._forward(rows)[1]), CLIP, 1 - CLIP)
        return -np.log2(np.where(labels, p, 1 - p))

    def step(self, rows: np.ndarray, labels: np.ndarray) -> None:
        """One step of Adam on the mean cross-entropy."""
        active, logits = self._forward(rows)
        error = (_sigmoid(logits) - labels) / np.float32(labels.shape[-1])
        gradient = np.empty_like(self._weights)
        gradient[..., self._split : -1] = (error[..., None, :] @ active)[..., 0, :]
        gradient[..., -1] = error.sum(axis=-1)
        back = error[..., None] * self._weights[..., None, self._split : -1]
        back *= active > 0
        into = gradient[..., : self._split].reshape(self._shape)
        np.matmul(rows.swapaxes(-1, -2), back, out=into[..., :-1, :])
        back.sum(axis=-2, out=into[..., -1, :])
        self._adam(gradient)

    def _adam(self, gradient: np.ndarray) -> None:
        self._steps += 1
        self._mean *= np.float32(0.9)
        self._mean += np.float32(0.1) * gradient
        np.square(gradient, out=gradient)
        gradient *= np.float32(0.001)
        self._square *= np.float32(0.999)
        self._square += gradient
        np.sqrt(self._square, out=gradient)
        correction = math.sqrt(1 - 0.999**self._steps)
        gradient += np.float32(1e-8 * correction)
        np.divide(self._mean, gradient, out=gradient)
        gradient *= np.float32(RATE * correction / (1 - 0.9**self._steps))
        self._weights -= gradient


def _sigmoid(logits: np.ndarray) -> np.ndarray:
    return 1 / (1 + np.exp(-np.clip(logits, -30, 30)))


@dataclass(frozen=True)
class MinimumDescriptionLength:
    reshuffles: int = 10
    replay: int = 1
    chance_reshuffles: int = 3
    seed: int = 0
    smallest_class: int = SMALLEST_CLASS

    key = "mdl"
    title = "Minimum description length"
    question = "RQ1"
    higher_is_better = True
    uses_k = True
    reference = "Sun et al. 2025, eq. 4 (arXiv 2510.02629); Voita & Titov 2020"

    def each(self, cell: Cell, k: int) -> list[Each]:
        return []

    def over(self, cell: Cell, k: int) -> list[Estimate]:
        return self.over_all([cell], [k])[0, k]

    def over_all(self, cells: Sequence[Cell], ks: Sequence[int]) -> dict[tuple[int, int], list[Estimate]]:
        """The estimates of several explainers over one layout, by (index of the cell, k)."""
        data = {(index, k): labelled(cell, k) for index, cell in enumerate(cells) for k in ks}
        one = next(iter(data.values()))
        count = len(one.labels)
        reason = one.reason or (_too_few(count) if count <= first_block(count) else None)
        if reason:
            return {place: own.unavailable(PARTS, reason) for place, own in data.items()}
        found = code_lengths(
            [own.features for own in data.values()],
            one.labels, self.reshuffles, self.chance_reshuffles, self.seed, self.replay,
        )  # fmt: skip
        return {place: self._estimates(own, *bits) for (place, own), bits in zip(data.items(), found, strict=True)}

    def _estimates(self, data: Labelled, bits: np.ndarray, by_chance: np.ndarray) -> list[Estimate]:
        found, chance, count = _of(bits, data.labels), _of(by_chance, data.labels), len(data.labels)
        own, blind = data.spread(bits.mean(axis=0)), first_block(count)
        columns = (Column(own, data.used), Column(data.spread(data.labels), data.used))
        details = (("sd", found.sd),)

        def total(means: np.ndarray) -> np.ndarray:
            return means[..., 0] * count

        best = count * _doubt(data.labels) / blind
        common = (data.sizes, None, columns)
        return [
            # Of compression itself an instance has no share; of the bits it is made of, it has.
            Estimate("compression", found.compression, chance.compression, best, *common, _compression, -own),
            Estimate("bits_per_label", found.bits_per_label, chance.bits_per_label, blind / count, *common, _first,
                     own / count, details=(("sd", found.sd / count),)),
            Estimate("bits", found.bits, chance.bits, float(blind), *common, total, own, details=details),
        ]  # fmt: skip


def _first(means: np.ndarray) -> np.ndarray:
    return means[..., 0]


def _compression(means: np.ndarray) -> np.ndarray:
    return entropy(means[..., 1]) / math.log(2) / means[..., 0]


PLUGIN = MinimumDescriptionLength()
