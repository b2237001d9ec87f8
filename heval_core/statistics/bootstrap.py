"""Intervals: a paired bootstrap over questions.

Whole questions are resampled, with the same resamples for every explainer, model and regime of a dataset. So the intervals of
differences and of averages over cells respect the pairing.
Cost: one (resamples x questions) matrix per dataset, one matrix product for all values of a model, dataset and regime.
"""

import functools
import zlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

import numpy as np

RESAMPLES = 2000
# Numbers of a block of a matrix product, 32 MB as float64, and of a block of anything else, 4 MB.
BLOCK, SMALL_BLOCK = 4_000_000, 2**19
# How often the questions are split into two halves (`heval_core.statistics.subsampling`).
SPLITS = 50


class Interval(NamedTuple):
    low: float
    high: float


NAN = float("nan")
UNKNOWN = Interval(NAN, NAN)


def row_blocks(rows: int, columns: int, numbers: int | None = None) -> Iterator[slice]:
    """Yield consecutive rows of a (rows, columns) matrix, about `numbers` (SMALL_BLOCK) at a time.

    Without rows, one empty block.
    """
    height = max(1, (numbers or SMALL_BLOCK) // max(1, columns))
    return (slice(start, min(start + height, rows)) for start in range(0, max(1, rows), height))


def resample_weights(questions: int, resamples: int = RESAMPLES, seed: int = 0) -> np.ndarray:
    """Sample how often each question is drawn in each resample: (resamples, questions) uint8.

    A byte is enough: no question is drawn more often than there are questions, and with many questions none nearly as often.
    """
    generator = np.random.default_rng(seed)
    weights = np.empty((resamples, questions), dtype=np.uint8)
    for rows in row_blocks(resamples, questions, BLOCK):
        weights[rows] = generator.multinomial(questions, np.full(questions, 1 / questions), size=rows.stop - rows.start)
    return weights


def priorities(questions: int, seed: int = 0) -> np.ndarray:
    """Sample a random order of the questions for each split, (SPLITS, questions); a set of them is cut in the middle of its
    order.
    """
    generator = np.random.default_rng([seed, 1])
    return generator.permuted(np.tile(np.arange(questions), (SPLITS, 1)), axis=1)


class Resamples:
    """The same resamples of a dataset's questions for all its cells, so that they stay paired.

    Each dataset has its own seed: two datasets of equal size must not be resampled alike. questions: fact (or claim) ▶ its
    question, of all that was asked of the dataset, including dropped instances. Facts with one question, but other false
    answers, are drawn together.
    """

    def __init__(self, dataset: str, questions: Mapping[str, str]):
        texts = {text: index for index, text in enumerate(sorted(set(questions.values())))}
        self._column = {fact: texts[text] for fact, text in questions.items()}
        self._seed, self._count = zlib.crc32(dataset.encode()), len(texts)
        self._matrix = resample_weights(self._count, seed=self._seed)

    def of(self, facts: Iterable[str]) -> np.ndarray:
        """Return how often each of N instances' questions is drawn, (resamples, N)."""
        return self._matrix[:, self.questions(facts)]

    def questions(self, facts: Iterable[str]) -> list[int]:
        """Return the same number for the same question, (N,)."""
        return [self._column[fact] for fact in facts]

    def order(self, facts: Iterable[str]) -> np.ndarray:
        """Return the position of N instances' questions in the order of each split (`priorities`), (SPLITS, N)."""
        return self._order[:, self.questions(facts)]

    @functools.cached_property
    def _order(self) -> np.ndarray:
        return priorities(self._count, self._seed)


def resampled_sums(weights: np.ndarray, columns: np.ndarray) -> np.ndarray:
    """Sum (N, C) columns under each row of (resamples, N) weights ▶ (resamples, C).

    In float64: in float32 the last digit printed depends on the number of threads.
    """
    sums = np.empty((len(weights), columns.shape[1]))
    for rows in row_blocks(len(weights), weights.shape[1], BLOCK):
        sums[rows] = weights[rows].astype(np.float64) @ columns
    return sums


def resampled_means(weights: np.ndarray, columns: Sequence[tuple[np.ndarray, np.ndarray]]) -> np.ndarray:
    """Average under each row of (resamples, U) weights ▶ (resamples, C). columns: C of (U,) sums of values and their numbers.

    NaN if none of them was drawn. One product for all columns is far cheaper than one for each, and columns that count the
    same units share one count.
    """
    if not columns:
        return np.empty((len(weights), 0))
    distinct: dict[bytes, int] = {}
    counted = [distinct.setdefault(counts.tobytes(), len(distinct)) for _, counts in columns]
    numbers = [np.frombuffer(counts) for counts in distinct]
    totals = resampled_sums(weights, np.stack([*(sums for sums, _ in columns), *numbers], axis=1))
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.asarray(totals[:, : len(columns)] / totals[:, len(columns) :][:, counted])


def percentile_interval(replicates: np.ndarray, level: float = 0.95) -> Interval:
    """Return the middle `level` of the replicates; NaN if fewer than half of them are defined."""
    defined = replicates[np.isfinite(replicates)]
    if len(defined) * 2 < len(replicates) or not len(defined):
        return UNKNOWN
    low, high = np.quantile(defined, [(1 - level) / 2, (1 + level) / 2])
    return Interval(float(low), float(high))


def skewed_interval(value: float, influence: np.ndarray, df: float) -> Interval:
    """Compute the 95 % interval of a value from its (N,) influences: how much each question moves it, summing to 0.

    NaN if df < 1.

    Hall's transformation (1992, J. R. Statist. Soc. B 54, 221-228): an invertible cubic that removes the skewness of Student's
    ratio. The skewness is the sum of the cubed influences, divided by the sum of the squared influences to the power 1.5.
    """
    variance = float(np.square(influence).sum())
    if df < 1 or not np.isfinite(variance):
        return UNKNOWN
    se = np.sqrt(variance)
    # Influences that are only rounding errors have no meaningful skewness.
    if se <= 1e-12 * max(abs(value), 1e-300):
        return Interval(value, value)
    skewness = float((influence**3).sum()) / variance**1.5
    ends = np.array([1.0, -1.0]) * student_quantile(0.975, df)
    if abs(skewness) > 1e-6:
        ends = 3 / skewness * (np.cbrt(1 + skewness * (ends - skewness / 6)) - 1)
    return Interval(float(value - se * ends[0]), float(value - se * ends[1]))


@functools.lru_cache(maxsize=4096)
def student_quantile(share: float, df: float) -> float:
    from scipy.special import stdtrit  # what scipy.stats computes it by, which takes a second to import

    return float(stdtrit(df, share))
