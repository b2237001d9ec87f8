"""python -m tests.metrics.calibration: do intervals hold the truth?

Explainers that are equally good, because their scores are drawn alike, are evaluated on cells of 60, 200 and 1,000 instances
with one document or two. They know either nothing, or something of the document and the token that was used. For every metric
that shows an interval or a p: in how many draws the interval holds the truth (the mean over all draws), the interval above
chance holds 0 where nothing is known, and the p of the value under chance is below .05. And shares such as BCU, their
differences and J, drawn with known truths from next to 0 to next to 1 (`--shares`: only these). Writes the tables of
docs/metrics.md; `--draws` and `--sizes` make it quick."""

from __future__ import annotations

import argparse
from collections import defaultdict
from collections.abc import Iterator
from itertools import chain
from typing import NamedTuple

import numpy as np

from heval_core.evaluation.cells import estimates
from heval_core.metrics.shared.cell import Cell, MeasuredValues, Positions
from heval_core.plugins import catalogue
from heval_core.statistics.bootstrap import priorities
from heval_core.statistics.values import Sums, Value, total
from tests.metrics.tables import DOC, put

K = 5
TOGETHER = 20  # explainers to a layout: nets are trained together
SIZES = (60, 200, 1000)
DRAWS = {60: 200, 200: 200, 1000: 100}
FEWER = {"mdl": 0.4}  # of what takes long, this share of the draws
QUICK = ("rank_at_k",)  # has no interval of its own
SHARES = (0.005, 0.01, 0.02, 0.05, 0.5, 0.95, 0.98, 0.99, 0.995)
QUESTIONS = (20, 55, 157, 500, 2000)
SHARE_DRAWS = 1000


class Calibrated(NamedTuple):
    """Shares of draws. covers: the truth is in the interval. chance: 0 is in that above chance (where nothing is known).
    above: p under chance below .05 (where nothing is known)."""

    covers: float
    chance: float
    above: float


def layout(count: int, dual: bool, rng: np.random.Generator) -> Positions:
    """Prompts of 30 to 60 tokens; either group has at least 30 instances of the smallest cells."""
    lengths = rng.integers(30, 61, count)
    groups = rng.permutation(np.repeat(["C1", "C2"] if dual else ["C", "M"], [count // 2, count - count // 2]))
    ends = [(0, int(own) // 3, 2 * int(own) // 3) for own in lengths]
    documents = [[(a, b), (b, c)] if dual else [(a, c)] for a, b, c in ends]
    gold = [[(int(rng.integers(start, end)),) for start, end in own] for own in documents]
    return Positions.of(list(lengths), [0] * count, documents, gold, list(groups))


def cell(where: Positions, strength: float, order: np.ndarray, rng: np.random.Generator) -> Cell:
    """An explainer that knows as much as `strength` says; a fifth of its scores is tied."""
    scores = rng.standard_normal(where.ranked.shape)
    for number, (document, gold) in enumerate(zip(where.documents, where.gold, strict=True), start=1):
        used = (where.groups == ("C" if len(where.documents) == 1 else f"C{number}"))[:, None]
        scores += strength * (document & used) * (0.7 + 0.6 * rng.random((len(scores), 1))) + 2 * strength * (gold & used)
    scores[rng.random(scores.shape) < 0.2] = 0.0
    measured = {
        (key, "all"): MeasuredValues(strength + rng.exponential(1, len(scores)), rng.exponential(1, len(scores)))
        for key in ("comprehensiveness", "sufficiency")
    }
    return Cell(where, np.where(where.ranked, scores, 0.0), measured, order)


def evaluated(found: list[Cell], metric) -> list[list[Value]]:
    own = estimates([metric], ((str(place), one) for place, one in enumerate(found)), (K,))[metric.key]
    return [own[str(place), K if metric.uses_k else 0] for place in range(len(found))]


class Drawn(NamedTuple):
    """One estimate of one draw: its place (metric, part), value, interval, that above chance, and p under chance."""

    place: tuple[str, str]
    value: float
    interval: tuple[float, float]
    above: tuple[float, float]
    p: float


def draws(count: int, dual: bool, strength: float, layouts: int, metrics: list[str]) -> Iterator[Drawn]:
    for number in range(layouts):
        rng = np.random.default_rng((count, dual, int(strength * 100), number))
        where = layout(count, dual, rng)
        cells = [cell(where, strength, priorities(count, number), rng) for _ in range(TOGETHER)]
        for key in metrics:
            for one in chain.from_iterable(evaluated(cells, catalogue.find("metric", key))):
                if not one.unavailable:
                    yield Drawn((key, one.part), one.value, *one.intervals(), one.p)


def calibrate(count: int, dual: bool, strength: float, layouts: int, metrics: list[str]) -> dict[tuple[str, str], Calibrated]:
    by_place: dict[tuple[str, str], list[Drawn]] = defaultdict(list)
    for one in draws(count, dual, strength, layouts, metrics):
        by_place[one.place].append(one)
    out = {}
    for place, own in by_place.items():
        truth = np.mean([one.value for one in own])
        known = np.isfinite([one.p for one in own])
        out[place] = Calibrated(
            float(np.mean([low <= truth <= high for _, _, (low, high), _, _ in own])),
            float(np.mean([low <= 0 <= high for _, _, _, (low, high), _ in own])) if not strength else np.nan,
            float(np.mean([one.p < 0.05 for one in own])) if not strength and known.all() else np.nan,
        )
    return out


def drawn_shares(share: float, count: int, rng: np.random.Generator) -> dict[str, tuple[float, Value]]:
    """What a table of techniques has of one draw, with the truth. A fifth of the questions is answered alike under all four
    kinds of context, three fifths alike under two techniques."""
    own = np.where(rng.random((count, 1)) < 0.2, rng.random((count, 1)), rng.random((count, 4)))
    other = np.where(rng.random((count, 4)) < 0.6, own, rng.random((count, 4)))
    right, lower = own < share, 0.5 * min(share, 1 - share)
    first, second = mean_of(right[:, 0]), mean_of(right[:, 1])
    return {
        "share": (share, first),
        "of four kinds": (share, mean_of(right.sum(axis=1), np.full(count, 4.0))),
        "of equals": (0.0, ahead_of(right[:, 0], other[:, 0] < share)),
        "less a lower one": (lower, ahead_of(right[:, 0], other[:, 0] < share - lower)),
        "J": (2 * share - 1, total(((1.0, first), (1.0, second)), -1.0)),
    }


def mean_of(sums: np.ndarray, counts: np.ndarray | None = None) -> Value:
    own = Sums(sums.astype(float), np.ones(len(sums)) if counts is None else counts, ends=(0.0, 1.0))
    return Value("", own.mean(), sizes=(("used", own.n),), columns=(own,))


def ahead_of(first: np.ndarray, second: np.ndarray) -> Value:
    """A paired difference, as `evaluation.techniques.tables.gains` has it."""
    return mean_of(first & ~second).less(mean_of(second & ~first))


def share_table(draws: int) -> str:
    """Coverage by kind of number and share, p or 1 - p: lowest and highest over numbers of questions."""
    pairs = [sorted({share, round(1 - share, 3)}) for share in SHARES if share <= 0.5]
    heads = ["p = " + ", ".join(f"{share:g}".removeprefix("0") for share in pair) for pair in pairs]
    lines = ["| number | " + " | ".join(heads) + " |", "|" + "---|" * (1 + len(heads))]
    held: dict[str, dict[float, list[float]]] = defaultdict(lambda: defaultdict(list))
    for count in QUESTIONS:
        for share in SHARES:
            rng = np.random.default_rng((count, int(share * 1000)))
            found = [drawn_shares(share, count, rng) for _ in range(draws)]
            for name in found[0]:
                ends = [own[name][1].interval() for own in found]
                inside = [low <= own[name][0] <= high for own, (low, high) in zip(found, ends, strict=True)]
                held[name][share].append(float(np.mean(inside)))
            print(count, share, *(f"{name} {held[name][share][-1]:.3f}" for name in found[0]), flush=True)
    for name, own in held.items():
        covers = [[value for share in pair for value in own[share]] for pair in pairs]
        lines.append(f"| {name} | " + " | ".join(f"{short(min(values))}–{short(max(values))}" for values in covers) + " |")
    return "\n".join(lines)


def short(share: float) -> str:
    return f"{share:.3f}".removeprefix("0")


def metrics() -> list[str]:
    return [key for key in catalogue.plugins("metric") if key not in QUICK]


def as_table(found: dict[tuple[int, bool, float], dict[tuple[str, str], Calibrated]], sizes: list[int]) -> str:
    """One line a metric, the worst of its parts: coverage by size, knowing nothing and something."""
    metrics = sorted({(dual, metric) for (_, dual, _), own in found.items() for metric, _ in own})
    heads = [f"{what}, N = {size:,}" for what in ("nothing", "something") for size in sizes]
    lines = ["| documents | metric | " + " | ".join(heads) + " |", "|" + "---|" * (2 + len(heads))]
    for dual, metric in metrics:
        cells = []
        for strength in (0.0, 1.0):
            for size in sizes:
                of_parts = [own for (key, _), own in found.get((size, dual, strength), {}).items() if key == metric]
                cells.append("/".join(short(value) for value in worst(of_parts) if not np.isnan(value)))
        lines.append(f"| {2 if dual else 1} | {metric} | " + " | ".join(cells) + " |")
    return "\n".join(lines)


def worst(of_parts: list[Calibrated]) -> list[float]:
    """The lowest coverage, the lowest coverage of chance, and the most p below .05."""
    columns = np.array(of_parts, dtype=float).T.reshape(3, -1)
    return [pick(own) for pick, own in zip((min, min, max), columns, strict=True) if len(own)]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sizes", type=int, nargs="+", default=list(SIZES))
    parser.add_argument("--draws", type=int, help="by default 200, and 100 of the largest size; of mdl two fifths of that")
    parser.add_argument("--metrics", nargs="+", default=metrics())
    parser.add_argument("--print", action="store_true", help="leave docs/metrics.md as it is, as with some metrics or sizes")
    parser.add_argument("--shares", action="store_true", help="only shares, their differences and J")
    options = parser.parse_args()
    shares = share_table(options.draws or SHARE_DRAWS)
    print(shares)
    if not options.print:
        DOC.write_text(put(DOC.read_text(encoding="utf-8"), "shares", shares), encoding="utf-8")
    if options.shares:
        return
    found = {}
    for size in options.sizes:
        wanted = options.draws or DRAWS.get(size, 200)
        for dual in (False, True):
            for strength in (0.0, 1.0):
                found[size, dual, strength] = {}
                for metric in options.metrics:
                    layouts = max(1, round(wanted * FEWER.get(metric, 1) / TOGETHER))
                    found[size, dual, strength] |= calibrate(size, dual, strength, layouts, [metric])
                for place, own in found[size, dual, strength].items():
                    print(size, "two" if dual else "one", strength, *place, *(f"{value:.3f}" for value in own), flush=True)
    table = as_table(found, options.sizes)
    print(table)
    if not options.print and (options.metrics, options.sizes) == (metrics(), list(SIZES)):
        DOC.write_text(put(DOC.read_text(encoding="utf-8"), "calibration", table), encoding="utf-8")


if __name__ == "__main__":
    main()
