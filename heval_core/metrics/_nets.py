"""The nets of the MDL metric: many small ones, trained and used side by side.

Linear(f, 32)-ReLU-Linear(32, 1), Adam at 1e-3, mini-batches of ten; p clipped to [1e-4, 1 - 1e-4]; weights start uniform in
±1/sqrt(inputs). A library trains its nets one by one, which takes 476 times as long, and a
cell needs hundreds. `tests/metrics` compares them with scikit-learn's.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor

import numpy as np

HIDDEN, BATCH, EPOCHS, RATE, CLIP = 32, 10, 50, 1e-3, 1e-4
SMALLEST_FIRST = 20
# So many nets are trained together: their weights and Adam's two moments fit a processor's cache.
TOGETHER = 600


def first_block(instances: int) -> int:
    """Return how many labels are coded at 1 bit each."""
    return max(SMALLEST_FIRST, math.ceil(instances / 10))


def code_lengths(features: np.ndarray, orders: np.ndarray, told: np.ndarray, seed: int = 0, replay: int = 1) -> np.ndarray:
    """Compute the bits of every label under each of C feature sets, in each of several runs.

    features: (C, N, f) standardised; smaller feature sets are filled up with columns of 0. orders: (runs, n) the instances
    of each run, in its order. told: (runs, n) their labels, in that order. Returns (C, runs, n) bits, in that order. A run's
    draws depend only on its number and the seed, so that a feature set gets the same draws whatever is computed with it.
    """
    runs = len(orders)
    table = np.ascontiguousarray(features, dtype=np.float32)
    inputs = [max(1, int(np.flatnonzero(features_of.any(axis=0)).max(initial=0)) + 1) for features_of in table]
    size = max(1, TOGETHER // max(1, len(table)))
    bits = np.ones((len(table), *orders.shape), dtype=np.float64)

    def code(start: int) -> None:
        some = slice(start, min(start + size, runs))
        draws = [np.random.default_rng((seed, run)) for run in range(some.start, some.stop)]
        nets = _Nets(inputs, table.shape[2], draws)
        coded = _coded(nets, table, orders[some], told[some].astype(np.float32), replay, np.random.default_rng(seed))
        for first, stop, block in coded:
            bits[:, some, first:stop] = block

    with ThreadPoolExecutor(2) as pool:  # numpy releases the interpreter lock, so a second core halves the time
        list(pool.map(code, range(0, runs, size)))
    return bits


def _coded(
    nets: _Nets, table: np.ndarray, orders: np.ndarray, told: np.ndarray, replay: int, rng: np.random.Generator
) -> Iterator[tuple[int, int, np.ndarray]]:
    """Train and code: (start, stop, (C, runs, stop - start) bits) for each block after the first, in shuffled order."""
    count, first = orders.shape[1], first_block(orders.shape[1])
    rows = table[:, orders[:, :first]]
    seen = _Seen(rows)
    rows, labels = seen.scaled(rows), told[:, :first]
    for _ in range(EPOCHS):
        order = rng.permutation(first)
        for start in range(0, first, BATCH):
            chosen = order[start : start + BATCH]
            nets.step(rows[:, :, chosen], labels[:, chosen])
    starts = list(range(0, first, BATCH))
    for start in range(first, count, BATCH):
        stop = min(start + BATCH, count)
        raw, labels = table[:, orders[:, start:stop]], told[:, start:stop]
        block = seen.scaled(raw)
        yield start, stop, nets.bits(block, labels)
        nets.step(block, labels)
        for _ in range(replay):
            old = starts[int(rng.integers(len(starts)))]
            end = min(old + BATCH, first if old < first else count)
            nets.step(seen.scaled(table[:, orders[:, old:end]]), told[:, old:end])
        seen.add(raw)
        starts.append(start)


class _Seen:
    """Running mean and standard deviation of the features seen so far, per feature set and run."""

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

    Inputs that a feature set lacks are 0, so that their weights get no gradient.
    """

    def __init__(self, inputs: Sequence[int], width: int, runs: Sequence[np.random.Generator]):
        self._split, self._shape = (width + 1) * HIDDEN, (len(inputs), len(runs), width + 1, HIDDEN)
        self._weights = np.zeros((len(inputs), len(runs), self._split + HIDDEN + 1), dtype=np.float32)
        hidden = self._weights[..., : self._split].reshape(self._shape)
        for run, rng in enumerate(runs):
            last, bias, rows = (rng.uniform(-1, 1, size=size) for size in (HIDDEN + 1, HIDDEN, (width, HIDDEN)))
            self._weights[:, run, self._split :] = last / math.sqrt(HIDDEN)
            for index, count in enumerate(inputs):
                hidden[index, run, :count] = rows[:count] / math.sqrt(count)
                hidden[index, run, -1] = bias / math.sqrt(count)
        self._mean, self._square = np.zeros_like(self._weights), np.zeros_like(self._weights)
        self._steps = 0

    def _forward(self, rows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Run (C, runs, b, f) features ▶ (C, runs, b, hidden) activations and (C, runs, b) logits."""
        hidden = self._weights[..., : self._split].reshape(self._shape)
        active = rows @ hidden[..., :-1, :]
        active += hidden[..., -1:, :]
        np.maximum(active, 0, out=active)
        last = self._weights[..., self._split :]
        return active, (active @ last[..., :-1, None])[..., 0] + last[..., -1:]

    def bits(self, rows: np.ndarray, labels: np.ndarray) -> np.ndarray:
        """Compute (C, runs, b) code lengths of (runs, b) labels."""
        p = np.clip(_sigmoid(self._forward(rows)[1]), CLIP, 1 - CLIP)
        return -np.log2(np.where(labels, p, 1 - p))

    def step(self, rows: np.ndarray, labels: np.ndarray) -> None:
        """Take one step of Adam on the mean cross-entropy."""
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
