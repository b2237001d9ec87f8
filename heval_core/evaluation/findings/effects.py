"""An effect: a number over cells, its interval, and the range it should lie in; the verdict that follows.

Worked by hand: an effect of 2 with the interval [1, 3] lies inside (0, inf) and outside (-inf, 0).

>>> outcome([Effect("a - b", 2.0, 1.0, 3.0, 0.9, 3.1, 0.0, np.inf, 4, 100)])
'supported'
>>> outcome([Effect("a - b", 2.0, 1.0, 3.0, 0.9, 3.1, -np.inf, 0.0, 4, 100)])
'contradicted'
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from heval_core.evaluation.findings.evidence import Evidence, Series
from heval_core.records import RegimeKey
from heval_core.statistics.bootstrap import percentile_interval

SUPPORTED, CONTRADICTED, UNDECIDED = "supported", "contradicted", "not enough data"
# A sentence is supported only with at least this many models, and this many datasets.
FEWEST = 2


@dataclass(frozen=True)
class Effect:
    """A number over `cells` (model, dataset, regime) and `n` instances, and the open range (least, most) it should lie in.

    low, high: its 95 % interval. strict_low, strict_high: at 95 % for all effects of the sentence together. places: how many
    values enter (one per cell and measure). agree: how many of these lie in the range; None for spreads. models, datasets: how
    many there are. smallest, largest: of these values; apart: whether these differ by more than their own errors.
    """

    label: str
    value: float
    low: float
    high: float
    strict_low: float
    strict_high: float
    least: float
    most: float
    cells: int
    n: int
    agree: int | None = None
    places: int = 0
    models: int = 2
    datasets: int = 2
    smallest: float = np.nan
    largest: float = np.nan
    apart: bool = False

    @property
    def enough(self) -> bool:
        """Whether there are enough models and datasets to support a sentence."""
        return min(self.models, self.datasets) >= FEWEST

    @property
    def needed(self) -> str:
        """How many that is, in words."""
        return f"{FEWEST} models and {FEWEST} datasets"

    @property
    def over(self) -> str:
        """How many there are, in words."""
        return f"{counted(self.models, 'model')} and {counted(self.datasets, 'dataset')}"

    @property
    def inside(self) -> bool:
        return self.low > self.least and self.high < self.most

    @property
    def outside(self) -> bool:
        return self.strict_high < self.least or self.strict_low > self.most


def counted(number: int, what: str) -> str:
    return f"{number} {what}" if number == 1 else f"{number} {what}s"


def outcome(effects: Sequence[Effect], missing: Sequence[str] = ()) -> str:
    """The verdict on a sentence. missing: why some of its effects could not be computed."""
    if any(effect.outside for effect in effects):
        return CONTRADICTED
    if effects and not missing and all(effect.inside and effect.enough for effect in effects):
        return SUPPORTED
    return UNDECIDED


# (…, cells) values, and (cells,) their variance from resampling alone ▶ (…) numbers.
Statistic = Callable[[np.ndarray, np.ndarray], Any]


def mean(values: np.ndarray, noise: np.ndarray) -> Any:
    return np.mean(values, axis=-1)


def median(values: np.ndarray, noise: np.ndarray) -> Any:
    return np.median(values, axis=-1)


def deviation(values: np.ndarray, noise: np.ndarray) -> Any:
    """Standard deviation over cells, minus what the values' own uncertainty adds to it."""
    return np.sqrt(np.maximum(0.0, np.var(values, axis=-1, ddof=1) - np.mean(noise)))


def size(values: np.ndarray, noise: np.ndarray) -> Any:
    """Root mean square over cells, minus what the values' own uncertainty adds to it."""
    return np.sqrt(np.maximum(0.0, np.mean(np.square(values), axis=-1) - np.mean(noise)))


@dataclass(frozen=True)
class Part:
    """One effect that a sentence claims, before it is looked up.

    `first` minus `second` (or `first` alone), of a statistic over the cells of each series, averaged over the series; it
    should lie in (least, most). fewest: how many cells it needs.
    """

    series: tuple[Series, ...]
    first: str
    second: str = ""
    statistic: Statistic = mean
    least: float = 0.0
    most: float = np.inf
    fewest: int = 1

    @property
    def label(self) -> str:
        name = f"{self.first} − {self.second}" if self.second else self.first
        return f"{name}, {self.series[0].title}" if len(self.series) == 1 else name

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(name for name in (self.first, self.second) if name)

    def find(self, evidence: Evidence, family: int, explainers: Iterable[str]) -> Effect | str:
        """The effect, or why there is none. family: how many effects the sentence has. explainers: required in each cell."""
        value, spread, seen = 0.0, np.zeros(1), dict[RegimeKey, int]()
        own_values: list[float] = []
        own_noise: list[float] = []
        for series in self.series:
            places = evidence.places(series, explainers)
            if len(places) < self.fewest:
                return _missing(series, len(places), self.fewest, explainers)
            single, drawn = np.zeros(len(places)), np.zeros((1, len(places)))
            for name, sign in zip(self.names, (1, -1), strict=False):
                own, replicates = evidence.values(series, name, places)
                noise = np.nanvar(replicates, axis=0)
                value += sign * float(self.statistic(own, noise)) / len(self.series)
                # A replicate has the cells' own noise, and once more that of resampling.
                spread = spread + sign * self.statistic(replicates, 2 * noise) / len(self.series)
                single += sign * own
                drawn = drawn + sign * replicates
            own_values += list(single)
            own_noise += list(np.nanvar(drawn, axis=0))
            for place in places:
                seen[place.key] = max(seen.get(place.key, 0), evidence.instances(series, self.first, place))
        agree = sum(bool(self.least < one < self.most) for one in own_values) if self.statistic in (mean, median) else None
        strict = percentile_interval(spread, 1 - 0.05 / family)
        models, datasets = len({key.model for key in seen}), len({key.dataset for key in seen})
        return Effect(
            self.label,
            value,
            *percentile_interval(spread),
            *strict,
            self.least,
            self.most,
            len(seen),
            sum(seen.values()),
            agree=agree,
            places=len(own_values),
            models=models,
            datasets=datasets,
            smallest=min(own_values),
            largest=max(own_values),
            apart=agree is not None and differ(own_values, own_noise),
        )


def differ(values: Sequence[float], noise: Sequence[float]) -> bool:
    """Cochran's Q: whether values differ by more than their own variances make them, at 5 %."""
    from scipy.stats import chi2

    own, variance = np.asarray(values), np.asarray(noise)
    if len(own) < 2 or not (variance > 0).all():
        return False
    weight = 1 / variance
    q = float((weight * np.square(own - (weight * own).sum() / weight.sum())).sum())
    return bool(chi2.sf(q, len(own) - 1) < 0.05)


def _missing(series: Series, found: int, fewest: int, explainers: Iterable[str]) -> str:
    where = " and ".join(series.regimes)
    if found:
        return f"{found} of the {fewest} cells needed with {series.title} in {where}"
    return f"no cell with {series.title} in {where} has all of {', '.join(sorted(explainers))}"
