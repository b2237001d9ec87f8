"""Minimum description length: how many bits encode the answer's origin, given the explanation's largest scores?

Formula (Sun et al. 2025, eq. 4; Voita & Titov 2020; Blier & Ollivier 2018): prequential code length. The first 10 % of the
labels (at least 20) cost 1 bit each; a net is trained on them; then ten labels at a time are coded with the current net,
-log2 p(y), and the net is updated on them. The mean over 10 reshuffles. Features as for nmutinf. Reference: arXiv 2510.02629.
Net (our decision): Linear(f, 32)-ReLU-Linear(32, 1), Adam at 1e-3, 50 epochs of mini-batches of ten on the first block; for
each later block one step on it and one on a random earlier block (option `replay=0`: none). Features are standardised with
the data seen so far; p is clipped to [1e-4, 1 - 1e-4]. Weights start uniform in ±1/sqrt(inputs).
Departure: the net, and the step on an earlier block, are ours; the paper names neither. Reported: `compression` = N H2(Y)/bits
(higher is better), `bits_per_label` and `bits` (lower is better); bits for different N cannot be compared. sd: over the
reshuffles.
Chance: the same code for permuted labels, 20 reshuffles; its own error is part of the interval above chance. p: Student's t of
the value against these. Best: only the first block costs bits.
Interval: halves of the questions (`statistics.subsampling`), each coded in 2 to 8 orders (fewer with more instances). What
varies is the mean cost of a label beyond the first block, weighted by the share of such labels among all N.
The smaller class needs 10 instances, and each half ten labels beyond its first block, so 60 instances in all; otherwise the
value is not available. Cost: all orders, explainers and k of a regime run as batches of small nets: .1 to .3 s per explainer
and k, most of it for the interval.

Worked by hand: the first block is twenty labels at one bit each; the net has to encode only five more. A net that is sure pays
almost nothing for them, so a label costs about 20/25 = .8 bits.

>>> labels = np.tile([0, 1], 13)[:25]
>>> found = mdl(np.repeat(labels[:, None] * 9.0, 2, axis=1), labels)
>>> 20 < found.bits < 23, bool(found.compression > 1)
(True, True)
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from heval_core.metrics._features import SMALLEST_CLASS, Labelled, LearnedMetric, check_labelled, entropy, standardised
from heval_core.metrics._nets import BATCH, SMALLEST_FIRST, code_lengths, first_block
from heval_core.metrics.shared.measure import Measure, of_origin
from heval_core.records import HEvalError
from heval_core.statistics.subsampling import Runs
from heval_core.statistics.values import Value

SMALLEST = 2 * (SMALLEST_FIRST + BATCH)


class Mdl(NamedTuple):
    """The code length of one cell's labels.

    bits: of all labels. compression: N H2(Y)/bits. sd: of bits, over the reshuffles.
    """

    bits: float
    bits_per_label: float
    compression: float
    sd: float


def mdl(
    features: np.ndarray,
    labels: np.ndarray,
    seed: int = 0,
    reshuffles: int = 10,
    replay: int = 1,
    smallest_class: int = SMALLEST_CLASS,
) -> Mdl:
    """Compute the code length of one cell's labels.

    Args:
        features: (N, f), of N instances.
        labels: (N,) of 0 and 1.
        seed: of the orders and of the nets.
        reshuffles: how many orders are averaged.
        replay: steps on a random earlier block after each block.
        smallest_class: the fewest instances that each label needs.

    Raises:
        HEvalError: for features that are not finite, a class below `smallest_class`, or no labels beyond the first block.
    """
    check_labelled(features, labels, smallest_class)
    labels = np.asarray(labels)
    if len(labels) <= first_block(len(labels)):
        raise HEvalError(
            f"{len(labels)} instances are no more than the first block's {first_block(len(labels))}, which is coded blindly"
        )
    orders = _orders(len(labels), reshuffles, seed)
    return _of(code_lengths(standardised(features)[None], orders, labels[orders], seed, replay)[0], labels)


def _orders(count: int, reshuffles: int, seed: int) -> np.ndarray:
    return np.stack([np.random.default_rng((seed, number, 1)).permutation(count) for number in range(reshuffles)])


def _of(bits: np.ndarray, labels: np.ndarray) -> Mdl:
    """Compute the code length, from (reshuffles, N) bits of every label."""
    totals = bits.sum(axis=1)
    mean, count = float(totals.mean()), len(labels)
    sd = float(totals.std(ddof=1)) if len(totals) > 1 else float("nan")
    return Mdl(mean, mean / count, count * _doubt(labels) / mean, sd)


def _doubt(labels: np.ndarray) -> float:
    """Compute H2(Y) in bits."""
    return float(entropy(labels.mean())) / math.log(2)


@dataclass(frozen=True)
class MinimumDescriptionLength(LearnedMetric):
    reshuffles: int = 10
    replay: int = 1
    chance_reshuffles: int = 20
    seed: int = 0
    smallest_class: int = SMALLEST_CLASS

    key = "mdl"
    title = "Minimum description length"
    parts = ("compression", "bits_per_label", "bits")
    reference = "Sun et al. 2025, eq. 4 (arXiv 2510.02629); Voita & Titov 2020"
    measures = (
        *of_origin(
            "mdl",
            "MDL",
            "compression",
            "compression",
            "How many times shorter the code of the labels gets with a net that sees the k largest scores of {documents} and "
            "learns as it goes; below 1, learning costs more than it saves.",
            order=42,
        ),
        Measure(
            "mdl_bits_per_label",
            "MDL, bits per label",
            ("bits_per_label", "bits_per_label_context"),
            "bits",
            "The length of the labels' code, per label.",
            best="low",
        ),
        Measure("mdl_bits", "MDL, bits", ("bits", "bits_context"), "bits", "The length of the labels' code.", best="low"),
    )

    def of_all(self, data: Sequence[Labelled]) -> list[list[Value]]:
        """Compute the estimates for several explainers, k and targets. Nets for the same instances are trained together."""
        together: dict[bytes, list[int]] = {}
        for index, target in enumerate(data):
            together.setdefault(target.labels.tobytes() + target.splits.tobytes(), []).append(index)
        estimates: list[list[Value]] = [[] for _ in data]
        for indices in together.values():
            for index, trained in zip(indices, self._trained([data[index] for index in indices]), strict=True):
                estimates[index] = data[index].named(trained)
        return estimates

    def _trained(self, data: list[Labelled]) -> list[list[Value]]:
        """Compute the estimates of targets with the same labels and splits."""
        labels, count = data[0].labels, len(data[0].labels)
        reason = data[0].reason or (f"{count} of the {SMALLEST} instances needed" if count < SMALLEST else None)
        if reason:
            return [[Value(part, sizes=target.sizes, unavailable=reason) for part in self.parts] for target in data]
        table = np.zeros((len(data), count, max(target.features.shape[1] for target in data)))
        for row, target in zip(table, data, strict=True):
            row[:, : target.features.shape[1]] = standardised(target.features)
        columns = zip(data, *self._whole(table, labels), self._of_halves(table, labels, data[0].splits), strict=True)
        return [self._estimates(*column) for column in columns]

    def _whole(self, table: np.ndarray, labels: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Compute (C, reshuffles, N) bits, and (C, chance_reshuffles, N) of permuted labels."""
        orders = _orders(len(labels), self.reshuffles + self.chance_reshuffles, self.seed)
        told = labels[orders]
        told[self.reshuffles :] = np.random.default_rng(self.seed).permuted(told[self.reshuffles :], axis=1)
        bits = code_lengths(table, orders, told, self.seed, self.replay)
        return bits[:, : self.reshuffles], bits[:, self.reshuffles :]

    def _of_halves(self, table: np.ndarray, labels: np.ndarray, splits: np.ndarray) -> np.ndarray:
        """Compute (C, S, 2, r) mean bits of the labels beyond the first block, on the halves of S splits."""
        number, _, size = splits.shape
        draws = int(np.clip(round(800 / len(labels)), 2, 8))
        rng = np.random.default_rng((self.seed, 2))
        orders = rng.permuted(np.repeat(splits.reshape(-1, size), draws, axis=0), axis=1)
        bits = code_lengths(table, orders, labels[orders], self.seed, self.replay)
        return bits[:, :, first_block(size) :].mean(axis=2).reshape(len(table), number, 2, draws)

    def _estimates(self, data: Labelled, bits: np.ndarray, by_chance: np.ndarray, of_halves: np.ndarray) -> list[Value]:
        coded, chance, count = _of(bits, data.labels), _of(by_chance, data.labels), len(data.labels)
        blind, doubt = first_block(count), _doubt(data.labels)
        per_label = (blind + (count - blind) * of_halves) / count
        share = 2 * data.splits.shape[2] / count
        runs = Runs(bits.mean(axis=1), per_label, share)
        noise = float(by_chance.mean(axis=1).std(ddof=1) / math.sqrt(len(by_chance)))
        p = _p(coded, chance, by_chance.mean(axis=1))
        # Compression rises with H2(Y) and falls with the bits. To first order, so that halves with few labels stay finite.
        of_half = np.array([[_doubt(data.labels[half]) for half in split] for split in data.splits]) / doubt
        factor = coded.compression
        compression = Runs(
            factor * (2 - runs.whole / coded.bits_per_label),
            factor * (1 + of_half[:, :, None] - per_label / coded.bits_per_label),
            share,
        )

        def estimate(part: str, best: float, runs: Runs, scale: float, **details: float) -> Value:
            return Value(
                part,
                getattr(coded, part),
                getattr(chance, part),
                best,
                data.sizes,
                error=runs.error(),
                p=p,
                bound=0.0,
                chance_se=noise * scale,
                details=tuple(details.items()),
            )

        bits_runs = Runs(runs.whole * count, runs.parts * count, share)
        return [
            estimate("compression", count * doubt / blind, compression, chance.compression / chance.bits_per_label),
            estimate("bits_per_label", blind / count, runs, 1.0, sd=coded.sd / count),
            estimate("bits", float(blind), bits_runs, float(count), sd=coded.sd),
        ]


def _p(coded: Mdl, chance: Mdl, by_chance: np.ndarray) -> float:
    """Compute the one-sided p of needing fewer bits than permuted labels do: Student's t with the permutations' spread."""
    from scipy.stats import t

    spread = float(by_chance.std(ddof=1)) * math.sqrt(1 + 1 / len(by_chance))
    return float(t.sf((chance.bits_per_label - coded.bits_per_label) / spread, len(by_chance) - 1))


PLUGIN = MinimumDescriptionLength()
