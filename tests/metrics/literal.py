"""Slow, separately written versions of the metrics' formulas, to hold the fast ones against."""

from __future__ import annotations

import itertools
import math

import numpy as np


def of_ranks(scores, places, k, value=lambda rank: rank) -> float:
    """Mean of a value of the k best ranks among `places`, over every way to break every tie."""
    above = taken = 0
    total = 0.0
    for score in sorted(set(scores), reverse=True):
        tied = [i for i, own in enumerate(scores) if own == score]
        inside = sum(i in places for i in tied)
        ways = list(itertools.combinations(range(above + 1, above + len(tied) + 1), inside))
        total += sum(sum(value(rank) for rank in way[: max(0, k - taken)]) for way in ways) / len(ways)
        above, taken = above + len(tied), taken + inside
    return total / min(k, len(places))


def entropy(p) -> float:
    return 0.0 if p in (0, 1) else -p * math.log(p) - (1 - p) * math.log(1 - p)


def nmutinf(features, labels, neighbours=5) -> float:
    """Distances one by one; only for features without ties."""
    columns = list(zip(*features, strict=True))
    means = [sum(c) / len(c) for c in columns]
    sds = [math.sqrt(sum((v - m) ** 2 for v in c) / len(c)) for c, m in zip(columns, means, strict=True)]
    points = [[(v - m) / s for v, m, s in zip(row, means, sds, strict=True)] for row in features]
    total = 0.0
    for i, point in enumerate(points):
        others = sorted((math.dist(point, other), j) for j, other in enumerate(points) if j != i)[:neighbours]
        total += entropy(sum(labels[j] for _, j in others) / neighbours)
    return 1 - total / len(points) / entropy(sum(labels) / len(labels))


def mdl_bits(features, labels, rng, replay=1) -> float:
    """Prequential bits of one reshuffle, with scikit-learn's net."""
    from sklearn.neural_network import MLPClassifier

    order = rng.permutation(len(labels))
    x, y = features[order], labels[order]
    first = max(20, math.ceil(len(y) / 10))

    def scaled(rows, seen):
        sd = x[:seen].std(axis=0)
        return (rows - x[:seen].mean(axis=0)) / np.where(sd > 0, sd, 1)

    net = MLPClassifier((32,), alpha=0.0, batch_size=10, random_state=int(rng.integers(1 << 30)))
    net.partial_fit(np.zeros((10, x.shape[1])), np.tile([0, 1], 5), classes=[0, 1])
    for values, inputs in zip((*net.coefs_, *net.intercepts_), (x.shape[1], 32) * 2, strict=True):
        values[...] = rng.uniform(-1, 1, size=values.shape) / math.sqrt(inputs)  # in place of its own first weights
    for _ in range(50):
        chosen = rng.permutation(first)
        for start in range(0, first, 10):
            rows = chosen[start : start + 10]
            net.partial_fit(scaled(x[rows], first), y[rows], classes=[0, 1])
    bits, starts = float(first), list(range(0, first, 10))
    for start in range(first, len(y), 10):
        stop = min(start + 10, len(y))
        block = scaled(x[start:stop], start)
        p = np.clip(net.predict_proba(block)[:, 1], 1e-4, 1 - 1e-4)
        bits -= np.log2(np.where(y[start:stop] == 1, p, 1 - p)).sum()
        net.partial_fit(block, y[start:stop])
        for _ in range(replay):
            old = starts[int(rng.integers(len(starts)))]
            end = min(old + 10, first if old < first else len(y))
            net.partial_fit(scaled(x[old:end], start), y[old:end])
        starts.append(start)
    return bits
