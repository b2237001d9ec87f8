"""The sentences of Sun et al. 2025 about explainers, the effects that each implies, and the values that these are made of."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np

from heval_core.evaluation.cells import CellValue
from heval_core.evaluation.findings.claims import Hypothesis, Number, PaperClaim, plainly
from heval_core.metrics.length_sensitivity import PER
from heval_core.records import DUAL_REGIMES, SINGLE_REGIMES, TECHNIQUE, RegimeKey

METHODS = ("mechlight", "fa", "ig", "attn")
K = 5
NEAR_ZERO = 0.1
DUAL = DUAL_REGIMES[:2]
MAIN = SINGLE_REGIMES + DUAL

# (…, cells) values, and (cells,) their variance from resampling alone ▶ (…) numbers.
Statistic = Callable[[np.ndarray, np.ndarray], Any]


def mean(values: np.ndarray, noise: np.ndarray) -> Any:
    return np.mean(values, axis=-1)


def median(values: np.ndarray, noise: np.ndarray) -> Any:
    return np.median(values, axis=-1)


def deviation(values: np.ndarray, noise: np.ndarray) -> Any:
    """Compute the standard deviation over cells, minus what the values' own uncertainty adds to it."""
    return np.sqrt(np.maximum(0.0, np.var(values, axis=-1, ddof=1) - np.mean(noise)))


def size(values: np.ndarray, noise: np.ndarray) -> Any:
    """Compute the root mean square over cells, minus what the values' own uncertainty adds to it."""
    return np.sqrt(np.maximum(0.0, np.mean(np.square(values), axis=-1) - np.mean(noise)))


def over_cells(values: np.ndarray, statistic: Statistic) -> np.ndarray:
    """Compute (1 + R,) of (1 + R, cells) values: the statistic itself, and in each resample.

    Replicates carry sampling variance twice: once from the cell, once from the draw. Hence twice the noise is taken off.
    """
    noise = np.nanvar(values[1:], axis=0)
    return np.concatenate([[statistic(values[0], noise)], statistic(values[1:], 2 * noise)])


# The values that sentences are about, in order; and explainer ▶ its value of one part of a metric in one regime.
EvidenceCells = Sequence[CellValue]
RowsByExplainer = dict[str, CellValue]


@dataclass(frozen=True)
class Series:
    """What is compared: a metric's cells. parts: each regime has one of them.

    scale: `best` sets chance to 0 and the best possible value to 1; the name of a detail of the metric divides the value above
    chance by it (`tokens`) or multiplies (`length_sd`, for a slope per 100 tokens); empty leaves the value as it is.
    """

    title: str
    metric: str
    parts: tuple[str, ...]
    regimes: tuple[str, ...] = MAIN
    k: int = 0
    scale: str = ""

    def complete_cells(self, evidence: EvidenceCells, explainers: frozenset[str]) -> list[RowsByExplainer]:
        """Return the cells in which all these explainers have a value."""
        numbers, by_cell = {(self.metric, part, self.k) for part in self.parts}, dict[tuple[object, str], RowsByExplainer]()
        for one in evidence:
            scaled = self.scale != "best" or np.isfinite(one.value.normalised)
            if one.name in numbers and one.cell.regime in self.regimes and scaled:
                by_cell.setdefault((one.cell.of_regime, one.value.part), {})[one.cell.explainer] = one
        return [cell for cell in by_cell.values() if cell.keys() >= explainers]

    def of(self, cell_value: CellValue) -> np.ndarray:
        """Return (1 + R,) a value on its scale, and in each resample."""
        value = cell_value.value
        values = np.concatenate([[value.value], np.asarray(value.drawn)])
        if not self.scale:
            return values
        if self.scale == "best":
            return np.asarray((values - value.chance) / (value.best - value.chance))
        detail = dict(value.details)[self.scale]
        return np.asarray((values - value.chance) / (detail if self.scale == "tokens" else PER / detail))


MRR = Series("MRR", "mrr", ("C", "balanced"))
MARGIN = Series("group margin", "group_rank_margin", ("c",), SINGLE_REGIMES, K, "best")
BETWEEN = Series("instance margin", "instance_rank_margin", ("balanced",), DUAL, K, "best")
OVERALL = (MARGIN, BETWEEN, Series("MRR", "mrr", ("C", "balanced"), scale="best"))
SLOPES = (
    Series("slope of MRR", "length_sensitivity", ("mrr",), MAIN, K, "length_sd"),
    Series("slope of the instance margin", "length_sensitivity", ("instance_rank_margin",), DUAL, K, "length_sd"),
)
BIAS = Series("position bias", "position_bias", ("tilt",), DUAL_REGIMES, K, "tokens")
# The values whose replicates findings need: (metric, part, k).
WANTED = frozenset(
    {(one.metric, part, one.k) for one in (MRR, *OVERALL, *SLOPES, BIAS) for part in one.parts} | {("nmutinf", "raw", K)}
)
METRICS = frozenset(metric for metric, _, _ in WANTED)


def evidence_of(values: Iterable[CellValue]) -> EvidenceCells:
    """Select values of the technique TECHNIQUE, in order. values: of WANTED, of a regime all over the same instances."""
    known = (one for one in values if one.cell.technique == TECHNIQUE and np.isfinite(one.value.value))
    return sorted(known, key=lambda one: (one.cell.of_regime, one.value.part))


@dataclass(frozen=True)
class Claimed:
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

    def hypothesis(self, evidence: EvidenceCells, explainers: frozenset[str]) -> Hypothesis | str:
        """Return the hypothesis over the cells in which all these explainers have a value; or why there is none."""
        total: Any = 0.0
        differences, sizes = list[np.ndarray](), dict[RegimeKey, int]()
        for series in self.series:
            cells = series.complete_cells(evidence, explainers)
            if len(cells) < self.fewest:
                return _missing(series, len(cells), self.fewest, explainers)
            values = [np.stack([series.of(cell[name]) for cell in cells], axis=1) for name in self.names]
            signed = list(zip((1, -1), values, strict=False))
            total = total + sum(sign * over_cells(of_cells, self.statistic) for sign, of_cells in signed) / len(self.series)
            differences.append(np.asarray(sum(sign * of_cells for sign, of_cells in signed)))
            for cell_value in (cell[self.first] for cell in cells):
                regime = cell_value.cell.of_regime
                sizes[regime] = max(sizes.get(regime, 0), cell_value.value.n)
        number = Number(
            self.label,
            total,
            np.concatenate(differences, axis=1),
            frozenset(regime.model for regime in sizes),
            frozenset(regime.dataset for regime in sizes),
            len(sizes),
            sum(sizes.values()),
            self.statistic in (mean, median),
        )
        return Hypothesis((number,), self.least, self.most)


def _missing(series: Series, count: int, fewest: int, explainers: Iterable[str]) -> str:
    where = " and ".join(series.regimes)
    if count:
        return f"{count} of the {fewest} cells needed with {series.title} in {where}"
    return f"no cell with {series.title} in {where} has all of {', '.join(sorted(explainers))}"


Levels = Sequence[tuple[Claimed, float]]


def _claim(
    key: str,
    sentence: str,
    published: str,
    unit: str,
    parts: Sequence[Claimed],
    construction: str = "origin",
    levels: Levels = (),
) -> PaperClaim:
    """Make a claim. All effects of a sentence are over the cells that have every explainer that it names.

    levels: quantities with the values that the paper reports.
    """
    explainers = frozenset(name for part in parts for name in part.names)
    return PaperClaim(
        key,
        sentence,
        published,
        unit,
        lambda evidence: [part.hypothesis(evidence, explainers) for part in parts],
        construction=construction,
        levels=lambda evidence: [level for part, value in levels if (level := _level(evidence, part, value, explainers))],
    )


def _level(evidence: EvidenceCells, part: Claimed, published: float, explainers: frozenset[str]) -> dict[str, Any]:
    """Return what stands beside the paper's value: label, value, low, high, cells, n, chance, published; {} without any."""
    hypothesis = part.hypothesis(evidence, explainers)
    if isinstance(hypothesis, str):
        return {}
    effect = plainly(hypothesis.effect(1))
    (series,) = part.series
    chances = np.array([cell[part.first].value.chance for cell in series.complete_cells(evidence, explainers)], dtype=float)
    chance = float(part.statistic(chances, np.zeros(len(chances))))
    named = {name: effect[name] for name in ("label", "value", "low", "high", "cells", "n")}
    return {**named, "chance": chance, "published": published}


def _ordered(series: Series, names: Sequence[str], statistic: Statistic = mean) -> tuple[Claimed, ...]:
    return tuple(Claimed((series,), first, second, statistic) for first, second in pairwise(names))


def _levels(series: Series, statistic: Statistic = mean, **published: float) -> tuple[tuple[Claimed, float], ...]:
    return tuple((Claimed((series,), name, statistic=statistic), value) for name, value in published.items())


def _above(best: str, others: Iterable[str], **more: Any) -> tuple[Claimed, ...]:
    return tuple(Claimed(OVERALL, best, other, **more) for other in others)


def _nmutinf(regime: str) -> Series:
    return Series("NMutInf", "nmutinf", ("raw",), (regime,), K)


def _bias(name: str, earlier: bool) -> Claimed:
    return Claimed((BIAS,), name, least=0.0 if earlier else -np.inf, most=np.inf if earlier else 0.0)


_CONFLICTING = Series("MRR", "mrr", ("C",), ("conflicting",))
_TWO = Series("MRR", "mrr", ("balanced",), DUAL)
CLAIMS: tuple[PaperClaim, ...] = (
    _claim(
        "mrr_conflicting", "With one conflicting document MechLight has the highest MRR, then IG, then FA.",
        "median MRR over models and datasets: mechlight .345, ig .310, fa .175 (attn: mean .147)", "MRR",
        (*_ordered(_CONFLICTING, ("mechlight", "ig", "fa"), median), Claimed((_CONFLICTING,), "mechlight", "attn", median)),
        levels=(*_levels(_CONFLICTING, median, mechlight=0.345, ig=0.310, fa=0.175), *_levels(_CONFLICTING, attn=0.147)),
    ),
    _claim(
        "mrr_dual", "With two documents MechLight has the highest MRR, then IG, then attention.",
        "mean MRR: mechlight .526, ig .436, attn .162", "MRR", _ordered(_TWO, ("mechlight", "ig", "attn")),
        levels=_levels(_TWO, mechlight=0.526, ig=0.436, attn=0.162),
    ),
    _claim(
        "nmutinf_conflicting", "With one conflicting document FA removes the most uncertainty about the answer's origin, then "
        "MechLight, then IG and attention.",
        "NMutInf: fa 19.8 %, mechlight 16.5 %, ig and attn 9 %", "share of the uncertainty",
        (*_ordered(_nmutinf("conflicting"), ("fa", "mechlight", "ig")),
         Claimed((_nmutinf("conflicting"),), "mechlight", "attn")),
        levels=_levels(_nmutinf("conflicting"), fa=0.198, mechlight=0.165, ig=0.09, attn=0.09),
    ),
    _claim(
        "nmutinf_double_conflicting", "With two conflicting documents MechLight removes more of the uncertainty about the "
        "answer's origin than FA.",
        "NMutInf: mechlight 24.9 %, fa 17.9 %", "share of the uncertainty",
        (Claimed((_nmutinf("double_conflicting"),), "mechlight", "fa"),),
        levels=_levels(_nmutinf("double_conflicting"), mechlight=0.249, fa=0.179),
    ),
    _claim(
        "best_overall", "MechLight is the best of the four over all three questions.", "MechLight best overall",
        "normalised", _above("mechlight", ("fa", "ig", "attn")),
    ),
    _claim(
        "fa_second", "FA is second best over all three questions: behind MechLight, ahead of IG and attention.",
        "FA second", "normalised",
        (*_above("mechlight", ("fa",)), *_above("fa", ("ig", "attn"))),
    ),
    _claim(
        "fa_variable", "FA is the most variable over models, datasets and regimes.", "FA most variable",
        "standard deviation, normalised", _above("fa", ("mechlight", "ig", "attn"), statistic=deviation, fewest=2),
    ),
    _claim(
        "near_zero", "IG and attention are near zero on \"context or memory?\" and on \"which document?\".",
        "IG and attention near zero on RQ1 and RQ2", "normalised, root mean square over cells",
        tuple(
            Claimed((series,), name, statistic=size, least=-np.inf, most=NEAR_ZERO)
            for name in ("ig", "attn") for series in (MARGIN, BETWEEN)
        ),
    ),
    _claim(
        "length", "All four get worse with longer contexts.", "everything gets worse with longer contexts",
        "normalised value per standard deviation of the lengths",
        tuple(Claimed((series,), name, least=-np.inf, most=0.0) for name in METHODS for series in SLOPES), "length",
    ),
    _claim(
        "earlier", "The attention methods favour the earlier document.", "attention methods favour the earlier document",
        "share of the prompt", (_bias("attn", True), _bias("mechlight", True)), "position",
    ),
    _claim(
        "later", "FA and IG favour the later document.", "FA and IG favour the later document", "share of the prompt",
        (_bias("fa", False), _bias("ig", False)), "position",
    ),
)  # fmt: skip
