"""The paper's findings as statements that a store supports or contradicts.

Each sentence of Sun et al. 2025 (arXiv 2510.02629) about which explainer is right becomes one or more *effects*: a number over
cells of the store, and the range in which it has to lie if the sentence is true. The number is a mean (where the paper reports
a median: the median) over the cells in which every explainer that the sentence names is available, and in a cell over the
instances that all of them have scores of; its interval comes from the cells' own bootstrap replicates, in which one resample
draws the same questions for every explainer, model and regime of a dataset. So differences are paired. Intervals are over
questions: models and datasets are taken as they are.

Verdict: `supported` where the 95 % interval of every effect lies inside its range (all of them must, so nothing needs to be
corrected), over at least two models and two datasets; `contradicted` where the interval of one lies outside, at 95 % over all
effects of the sentence together (Bonferroni); `not enough data` in between, or where an effect has no cell, with the reason.
It holds for the models and datasets at hand: where an effect differs between cells by more than their own errors (Cochran's
Q, p < .05), the reason says over how many models and datasets, and how far.

The paper's sentences are about models that are asked plainly, so only cells of the technique `regular` are looked at,
whatever else a store holds.

Departures from the paper, which has no tests. Documents in turned order are left out, as in its main text, but for the biases,
where they balance what is in the documents. "Best overall" and "second" compare the mean of the three questions' normalised
values (0 chance, 1 best); "most variable" their standard deviation over cells, less what resampling alone makes of it; "near
zero" asks for a root mean square over cells, less the same, within NEAR_ZERO on that scale, so that cells of opposite sign do
not cancel. A bias is what is above the chance level, which is not 0 where documents are of unequal length, as a share of the
prompt. "Worse with longer contexts" is the slope within cells, per standard deviation of their lengths; the paper compares
datasets, in which more than length differs, and group margins, which have no value for an instance, are left out of it.

Worked by hand: an effect of 2 with the interval [1, 3] lies inside (0, inf) and outside (-inf, 0).

>>> outcome([Effect("a - b", 2.0, 1.0, 3.0, 0.9, 3.1, 0.0, np.inf, 4, 100)])
'supported'
>>> outcome([Effect("a - b", 2.0, 1.0, 3.0, 0.9, 3.1, -np.inf, 0.0, 4, 100)])
'contradicted'
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from itertools import pairwise
from typing import Any

import numpy as np
import pandas as pd

from heval_core.metrics.length_sensitivity import PER
from heval_core.records import DUAL_REGIMES, SINGLE_REGIMES, TECHNIQUE
from heval_core.statistics.bootstrap import percentile_interval

SUPPORTED, CONTRADICTED, UNDECIDED = "supported", "contradicted", "not enough data"
# Those that the paper compares: its sentences are about no others.
METHODS = ("mechlight", "fa", "ig", "attn")
NEAR_ZERO = 0.1
# Models, and datasets, without which no sentence is supported.
FEWEST = 2
K = 5
DUAL = DUAL_REGIMES[:2]
MAIN = SINGLE_REGIMES + DUAL

# model, dataset, regime, technique, explainer, metric, part, k
Place = tuple[str, str, str, str, str, str, str, int]


@dataclass(frozen=True)
class Effect:
    """A number over `cells` (model, dataset, regime) and `n` instances, and the open range (least, most) it should lie in.

    low, high: its 95 % interval. strict_low, strict_high: the same for all effects of the sentence together. agree: of how
    many of the `places` (cells, of each measure that takes part) the own value lies in the range; None for spreads.
    models, datasets: that the cells are of. smallest, largest: of the cells' own values; apart: whether these differ by more
    than their own errors.
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
        """Whether it may support a sentence about more than one model and one dataset."""
        return min(self.models, self.datasets) >= FEWEST

    @property
    def inside(self) -> bool:
        return self.low > self.least and self.high < self.most

    @property
    def outside(self) -> bool:
        return self.strict_high < self.least or self.strict_low > self.most


def outcome(effects: Sequence[Effect], missing: Sequence[str] = ()) -> str:
    """The verdict on a sentence. missing: why further effects of it could not be had."""
    if any(effect.outside for effect in effects):
        return CONTRADICTED
    if effects and not missing and all(effect.inside and effect.enough for effect in effects):
        return SUPPORTED
    return UNDECIDED


@dataclass(frozen=True)
class Series:
    """What is compared: a metric's cells. parts: one of which each regime has.

    scale: `best`, 0 for chance and 1 for the best there can be; the name of one of the metric's details, by which the value
    above chance is divided (`tokens`) or multiplied (`length_sd`, of a slope per 100 tokens); as it is where empty.
    """

    title: str
    metric: str
    parts: tuple[str, ...]
    regimes: tuple[str, ...] = MAIN
    k: int = 0
    scale: str = ""


MRR = Series("MRR", "mrr", ("C", "balanced"))
MARGIN = Series("group margin", "group_rank_margin", ("c",), SINGLE_REGIMES, K, "best")
BETWEEN = Series("instance margin", "instance_rank_margin", ("balanced",), DUAL, K, "best")
OVERALL = (MARGIN, BETWEEN, Series("MRR", "mrr", ("C", "balanced"), scale="best"))
SLOPES = (
    Series("slope of MRR", "length_sensitivity", ("mrr",), MAIN, K, "length_sd"),
    Series("slope of the instance margin", "length_sensitivity", ("instance_rank_margin",), DUAL, K, "length_sd"),
)
BIAS = Series("position bias", "position_bias", ("tilt",), DUAL_REGIMES, K, "tokens")
# Everything a finding needs the replicates of: (metric, part, k).
WANTED = frozenset(
    {(one.metric, part, one.k) for one in (MRR, *OVERALL, *SLOPES, BIAS) for part in one.parts}
    | {("nmutinf", "raw", K)}
)
METRICS = frozenset(metric for metric, _, _ in WANTED)


class Evidence:
    """What a store's cells of the technique TECHNIQUE say. rows: those of `cell_metric`, all of a cell over the
    same instances. spread: (resamples,) replicates of each value, by place.
    """

    def __init__(self, rows: pd.DataFrame, spread: Mapping[Place, np.ndarray]):
        self._spread = spread
        own = rows[rows["unavailable"].isna() & rows["value"].notna() & (rows["technique"] == TECHNIQUE)]
        self._rows = {
            (row.model, row.dataset, row.regime, TECHNIQUE, row.explainer, row.metric, row.part, int(row.k)): row
            for row in own.itertuples()
            if (row.metric, row.part, int(row.k)) in WANTED
        }

    def places(self, series: Series, explainers: Iterable[str]) -> list[tuple[str, str, str, str]]:
        """(model, dataset, regime, part) in which all these explainers have a value, in order."""
        found: dict[tuple[str, str, str, str], set[str]] = {}
        for (model, dataset, regime, _, explainer, metric, part, k), row in self._rows.items():
            wanted = metric == series.metric and part in series.parts and k == series.k and regime in series.regimes
            if wanted and (series.scale != "best" or pd.notna(row.normalised)):
                found.setdefault((model, dataset, regime, part), set()).add(explainer)
        return sorted(place for place, own in found.items() if own >= set(explainers))

    def values(
        self, series: Series, explainer: str, places: Sequence[tuple[str, str, str, str]]
    ) -> tuple[np.ndarray, np.ndarray]:
        """(cells,) values and (resamples, cells) replicates."""
        keys = [(*place[:3], TECHNIQUE, explainer, series.metric, place[3], series.k) for place in places]
        rows = [self._rows[key] for key in keys]
        value = np.array([row.value for row in rows], dtype=float)
        spread = np.stack([np.asarray(self._spread[key], dtype=float) for key in keys], axis=1)
        if not series.scale:
            return value, spread
        chance = self.chance(series, explainer, places)
        if series.scale == "best":
            unit = np.array([row.best for row in rows], dtype=float) - chance
        else:
            detail = np.array([json.loads(row.details)[series.scale] for row in rows], dtype=float)
            unit = detail if series.scale == "tokens" else PER / detail
        return (value - chance) / unit, (spread - chance) / unit

    def chance(self, series: Series, explainer: str, places: Sequence[tuple[str, str, str, str]]) -> np.ndarray:
        """(cells,) the chance levels of `values`, before any scale."""
        keys = [(*place[:3], TECHNIQUE, explainer, series.metric, place[3], series.k) for place in places]
        return np.array([self._rows[key].chance for key in keys], dtype=float)

    def instances(self, series: Series, explainer: str, place: tuple[str, str, str, str]) -> int:
        return int(self._rows[*place[:3], TECHNIQUE, explainer, series.metric, place[3], series.k].n)


# Of (…, cells) values, and (cells,) how much of their variance is made by resampling alone: (…) numbers.
Statistic = Callable[[np.ndarray, np.ndarray], Any]


def _mean(values: np.ndarray, noise: np.ndarray) -> Any:
    return np.mean(values, axis=-1)


def _median(values: np.ndarray, noise: np.ndarray) -> Any:
    return np.median(values, axis=-1)


def _deviation(values: np.ndarray, noise: np.ndarray) -> Any:
    """Standard deviation over cells without what their own uncertainty adds to it."""
    return np.sqrt(np.maximum(0.0, np.var(values, axis=-1, ddof=1) - np.mean(noise)))


def _size(values: np.ndarray, noise: np.ndarray) -> Any:
    """Root mean square over cells without what their own uncertainty adds to it."""
    return np.sqrt(np.maximum(0.0, np.mean(np.square(values), axis=-1) - np.mean(noise)))


@dataclass(frozen=True)
class Part:
    """One effect that a sentence claims, before it is looked up.

    `first` minus `second` (alone where empty), of a statistic over the cells of each series, averaged over the series; it
    should lie in (least, most). fewest: cells that it takes.
    """

    series: tuple[Series, ...]
    first: str
    second: str = ""
    statistic: Statistic = _mean
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
        """The effect, or why there is none. family: how many its sentence has. explainers: that its cells must have."""
        value, spread, seen = 0.0, np.zeros(1), dict[tuple[str, ...], int]()
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
                # A replicate has the noise of the cells, and that of being drawn from them.
                spread = spread + sign * self.statistic(replicates, 2 * noise) / len(self.series)
                single += sign * own
                drawn = drawn + sign * replicates
            own_values += list(single)
            own_noise += list(np.nanvar(drawn, axis=0))
            for place in places:
                seen[place[:3]] = max(seen.get(place[:3], 0), evidence.instances(series, self.first, place))
        agree = (
            sum(bool(self.least < one < self.most) for one in own_values)
            if self.statistic in (_mean, _median)
            else None
        )
        strict = percentile_interval(spread, 1 - 0.05 / family)
        models, datasets = (len({place[number] for place in seen}) for number in (0, 1))
        return Effect(
            self.label, value, *percentile_interval(spread), *strict, self.least, self.most, len(seen), sum(seen.values()),
            agree=agree, places=len(own_values), models=models, datasets=datasets, smallest=min(own_values),
            largest=max(own_values), apart=agree is not None and _differ(own_values, own_noise),
        )  # fmt: skip


def _differ(values: Sequence[float], noise: Sequence[float]) -> bool:
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
        return f"{found} {'cell' if found == 1 else 'cells'} with {series.title} in {where}, of {fewest} needed"
    return f"no cell with {series.title} in {where} that has all of {', '.join(sorted(explainers))}"


@dataclass(frozen=True)
class Claim:
    """A sentence of the paper. published: its numbers. parts: what has to be true of a store for it to hold there.

    levels: what the paper reports a value of, with that value; shown beside, and no part of the verdict. construction: what
    the demo models' taught rule makes true, a key of `Rule.says`.
    """

    key: str
    sentence: str
    published: str
    unit: str
    parts: tuple[Part, ...]
    construction: str = "origin"
    levels: tuple[tuple[Part, float], ...] = ()

    @property
    def explainers(self) -> frozenset[str]:
        """All that it names: every effect of it is over the same cells."""
        return frozenset(name for part in self.parts for name in part.names)


def _ordered(series: Series, names: Sequence[str], statistic: Statistic = _mean) -> tuple[Part, ...]:
    """Each is above the next."""
    return tuple(Part((series,), one, other, statistic) for one, other in pairwise(names))


def _levels(series: Series, statistic: Statistic = _mean, **published: float) -> tuple[tuple[Part, float], ...]:
    return tuple((Part((series,), name, statistic=statistic), value) for name, value in published.items())


def _above(best: str, others: Iterable[str], **more: Any) -> tuple[Part, ...]:
    return tuple(Part(OVERALL, best, other, **more) for other in others)


def _nmutinf(regime: str) -> Series:
    return Series("NMutInf", "nmutinf", ("raw",), (regime,), K)


def _bias(name: str, earlier: bool) -> Part:
    return Part((BIAS,), name, least=0.0 if earlier else -np.inf, most=np.inf if earlier else 0.0)


_CONFLICTING = Series("MRR", "mrr", ("C",), ("conflicting",))
_TWO = Series("MRR", "mrr", ("balanced",), DUAL)
CLAIMS: tuple[Claim, ...] = (
    Claim(
        "mrr_conflicting", "With one conflicting document MechLight has the highest MRR, then IG, then FA.",
        "median MRR over models and datasets: mechlight .345, ig .310, fa .175 (attn: mean .147)", "MRR",
        (*_ordered(_CONFLICTING, ("mechlight", "ig", "fa"), _median), Part((_CONFLICTING,), "mechlight", "attn", _median)),
        levels=(*_levels(_CONFLICTING, _median, mechlight=0.345, ig=0.310, fa=0.175), *_levels(_CONFLICTING, attn=0.147)),
    ),
    Claim(
        "mrr_dual", "With two documents MechLight has the highest MRR, then IG, then attention.",
        "mean MRR: mechlight .526, ig .436, attn .162", "MRR", _ordered(_TWO, ("mechlight", "ig", "attn")),
        levels=_levels(_TWO, mechlight=0.526, ig=0.436, attn=0.162),
    ),
    Claim(
        "nmutinf_conflicting", "With one conflicting document FA removes most of the doubt about the answer's origin, then "
        "MechLight, then IG and attention.",
        "NMutInf: fa 19.8 %, mechlight 16.5 %, ig and attn 9 %", "share of the doubt",
        (*_ordered(_nmutinf("conflicting"), ("fa", "mechlight", "ig")), Part((_nmutinf("conflicting"),), "mechlight", "attn")),
        levels=_levels(_nmutinf("conflicting"), fa=0.198, mechlight=0.165, ig=0.09, attn=0.09),
    ),
    Claim(
        "nmutinf_double_conflicting", "With two conflicting documents MechLight removes more of the doubt about the answer's "
        "origin than FA.",
        "NMutInf: mechlight 24.9 %, fa 17.9 %", "share of the doubt",
        (Part((_nmutinf("double_conflicting"),), "mechlight", "fa"),),
        levels=_levels(_nmutinf("double_conflicting"), mechlight=0.249, fa=0.179),
    ),
    Claim(
        "best_overall", "MechLight is the best of the four over all three questions.", "MechLight best overall",
        "normalised", _above("mechlight", ("fa", "ig", "attn")),
    ),
    Claim(
        "fa_second", "FA is the second best over all three questions: behind MechLight, before IG and attention.",
        "FA second", "normalised",
        (*_above("mechlight", ("fa",)), *_above("fa", ("ig", "attn"))),
    ),
    Claim(
        "fa_variable", "FA is the most variable over models, datasets and regimes.", "FA most variable",
        "standard deviation, normalised", _above("fa", ("mechlight", "ig", "attn"), statistic=_deviation, fewest=2),
    ),
    Claim(
        "near_zero", "IG and attention are near zero on whether context or memory, and on which document.",
        "IG and attention near zero on RQ1 and RQ2", "normalised, root mean square over cells",
        tuple(
            Part((one,), name, statistic=_size, least=-np.inf, most=NEAR_ZERO)
            for name in ("ig", "attn") for one in (MARGIN, BETWEEN)
        ),
    ),
    Claim(
        "length", "All four get worse with longer contexts.", "everything gets worse with longer contexts",
        "normalised value per standard deviation of the lengths",
        tuple(Part((one,), name, least=-np.inf, most=0.0) for name in METHODS for one in SLOPES), "length",
    ),
    Claim(
        "earlier", "The attention methods favour the earlier document.", "attention methods favour the earlier document",
        "share of the prompt", (_bias("attn", True), _bias("mechlight", True)), "position",
    ),
    Claim(
        "later", "FA and IG favour the later document.", "FA and IG favour the later document", "share of the prompt",
        (_bias("fa", False), _bias("ig", False)), "position",
    ),
)  # fmt: skip


@dataclass(frozen=True)
class Rule:
    """How the demo models' taught rule shows in a store: n instances with an expected group, and shares of them.

    followed: in which the observed group is the expected one; shortest and longest: the same of the shortest and longest
    quarter of each cell. later: of the instances with two documents, where one was used, those where it was the second.
    """

    n: int
    followed: float
    shortest: float
    longest: float
    later: float

    def says(self, construction: str) -> str:
        """What the rule makes true for a sentence, whatever an explainer says."""
        share = f"{100 * self.followed:.0f} % of {self.n:,} instances"
        if construction == "length":
            ends = (
                ""
                if np.isnan(self.shortest) or np.isnan(self.longest)
                else f": it is followed in {100 * self.shortest:.0f} % of each cell's shortest quarter and "
                f"{100 * self.longest:.0f} % of its longest"
            )
            return f"The rule does not look at length{ends}. What falls with length is the explainer's doing."
        if construction == "position":
            later = (
                ""
                if np.isnan(self.later)
                else f" Over all prompts with two documents, also those with one trusted one, the later was used in "
                f"{100 * self.later:.0f} % of those answered from either."
            )
            return (
                f"Of two trusted documents the later one wins.{later} Both groups weigh the same in this measure, so an "
                "explainer that is right has no bias."
            )
        return (
            f"The kind of source decides the origin (so in {share}), so an explainer that is right is clear of chance. "
            "Which explainer that is, the rule does not say."
        )


def find(evidence: Evidence, claim: Claim, rule: Rule | None = None) -> dict[str, Any]:
    """A row of the table `finding`: the sentence, its verdict and reason, and its effects (JSON)."""
    found = [part.find(evidence, len(claim.parts), claim.explainers) for part in claim.parts]
    effects = [one for one in found if isinstance(one, Effect)]
    missing = list(dict.fromkeys(one for one in found if isinstance(one, str)))
    verdict = outcome(effects, missing)
    return {
        "key": claim.key,
        "sentence": claim.sentence,
        "published": claim.published,
        "verdict": verdict,
        "reason": _reason(verdict, effects, missing),
        "by_construction": rule.says(claim.construction) if rule else None,
        "unit": claim.unit,
        "effects": json.dumps([_plainly(effect) for effect in effects]),
        "levels": json.dumps(_levels_of(evidence, claim)),
    }


def _levels_of(evidence: Evidence, claim: Claim) -> list[dict[str, Any]]:
    """What stands beside the paper's own values: label, value, low, high, chance, published; those that the store has."""
    kept = ("label", "value", "low", "high", "cells", "n")
    found = []
    for part, published in claim.levels:
        one = part.find(evidence, 1, claim.explainers)
        if isinstance(one, Effect):
            (series,) = part.series
            chances = evidence.chance(series, part.first, evidence.places(series, claim.explainers))
            chance = float(part.statistic(chances, np.zeros(len(chances))))
            found.append({**{name: _plainly(one)[name] for name in kept}, "chance": chance, "published": published})
    return found


def _plainly(effect: Effect) -> dict[str, Any]:
    """JSON has no infinity: an open side of the range is null."""
    own = asdict(effect).items()
    return {name: None if isinstance(value, float) and not np.isfinite(value) else value for name, value in own}


def _reason(verdict: str, effects: Sequence[Effect], missing: Sequence[str]) -> str:
    return " ".join([_why(verdict, effects, missing), *_scattered(effects)])


def _why(verdict: str, effects: Sequence[Effect], missing: Sequence[str]) -> str:
    if verdict == CONTRADICTED:
        against = [effect.label for effect in effects if effect.outside]
        return f"Against it: {'; '.join(against)}."
    if verdict == SUPPORTED:
        return f"Every interval lies where the sentence has it ({len(effects)} of {len(effects)})."
    open_ones = [effect.label for effect in effects if not effect.inside]
    few = next((effect for effect in effects if not effect.enough), None)
    reasons = [*missing]
    if few is not None:
        reasons.append(
            f"it takes {FEWEST} models and {FEWEST} datasets, and here are {_counted(few.models, 'model')} and "
            f"{_counted(few.datasets, 'dataset')}"
        )
    if open_ones:
        reasons.append(f"not settled by the interval: {', '.join(open_ones)}")
    told = "; ".join(reasons)
    return f"{told[:1].upper()}{told[1:]}."


def _scattered(effects: Sequence[Effect]) -> list[str]:
    """Where cells differ by more than their own errors, a mean over them is of these models and datasets."""
    apart = [effect for effect in effects if effect.apart]
    if not apart:
        return []
    told = "; ".join(f"{effect.label} from {effect.smallest:.2g} to {effect.largest:.2g}" for effect in apart)
    most = max(apart, key=lambda effect: effect.places)
    return [
        f"Cells differ by more than their own errors, so this is said of the {_counted(most.models, 'model')} and "
        f"{_counted(most.datasets, 'dataset')} at hand: {told}."
    ]


def _counted(number: int, what: str) -> str:
    return f"{number} {what}" if number == 1 else f"{number} {what}s"


def findings(rows: pd.DataFrame, spread: Mapping[Place, np.ndarray], rule: Rule | None = None) -> list[dict[str, Any]]:
    """All sentences, in the order of CLAIMS. rule: of stores whose models were taught one."""
    evidence = Evidence(rows, spread)
    return [find(evidence, claim, rule) for claim in CLAIMS]
