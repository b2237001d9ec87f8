"""A sentence, the effects that it implies, and the verdict that follows: a row of the table `finding`.

An effect is a number over cells, with its interval and the range that it should lie in.

Formula: the largest of m numbers lies, at 95 %, between the highest of their lower limits, each at 1 - .05/m, and the highest
of their upper limits, each at 95 %. For the largest is nowhere below any of the numbers, and its own upper limit is nowhere
above the highest one. The least of them likewise, with the sides exchanged. So nothing is chosen first and then measured on
the same questions: the choice is in the interval. The value beside it is the number whose limit decides.
Worked by hand: an effect of 2 with the interval [1, 3] lies inside (0, inf) and outside (-inf, 0).

>>> verdict([Effect("a - b", 2.0, 1.0, 3.0, 0.9, 3.1, 0.0, np.inf, 4, 100)])
'supported'
>>> verdict([Effect("a - b", 2.0, 1.0, 3.0, 0.9, 3.1, -np.inf, 0.0, 4, 100)])
'contradicted'
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass
from itertools import chain
from typing import Any, NamedTuple

import numpy as np

from heval_core.plugins import catalogue
from heval_core.records import HEvalError
from heval_core.statistics.bootstrap import percentile_interval
from heval_core.statistics.values import Value

SUPPORTED, CONTRADICTED, UNDECIDED = "supported", "contradicted", "not enough data"
LARGEST, LEAST = "largest", "least"


class Scope(NamedTuple):
    """What a finding is about. key: as in the column `study`. models, datasets: one, and several, of what its cells are of.

    fewest: how many models and datasets a sentence needs to be supported.
    """

    key: str
    models: tuple[str, str] = ("model", "models")
    datasets: tuple[str, str] = ("dataset", "datasets")
    fewest: tuple[int, int] = (2, 2)

    def over(self, *numbers: int) -> str:
        counted = zip(numbers, (self.models, self.datasets), strict=True)
        return " and ".join(f"{number} {one if number == 1 else several}" for number, (one, several) in counted if number)

    def enough(self, effect: Effect) -> bool:
        return effect.models >= self.fewest[0] and effect.datasets >= self.fewest[1]


EXPLAINERS, TECHNIQUES = Scope("explainers"), Scope("techniques")
# Sources of claims are taken as they are: the paper itself has one.
CITATIONS = Scope("citations", ("writer", "writers"), ("source of claims", "sources of claims"), (2, 0))


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
    def inside(self) -> bool:
        return self.low > self.least and self.high < self.most

    @property
    def outside(self) -> bool:
        return self.strict_high < self.least or self.strict_low > self.most


class Number(NamedTuple):
    """A number over cells. drawn: (1 + R,) the number itself, and in each resample.

    values: (1 + R, V) what enters it, one per cell and measure, in the same way; comparable: whether one of them by itself may
    lie in the number's range. models, datasets: their names. cells, n: how many cells and instances.
    """

    label: str
    drawn: np.ndarray
    values: np.ndarray
    models: frozenset[str]
    datasets: frozenset[str]
    cells: int
    n: int
    comparable: bool = True


def mean_of(label: str, of_cells: Iterable[tuple[str, Iterable[str], Value | None]]) -> Number | None:
    """Return the mean over cells. of_cells: model, datasets and the value of each; None where it is defined in no cell."""
    known = [(model, datasets, value) for model, datasets, value in of_cells if value is not None and np.isfinite(value.value)]
    if not known:
        return None
    models, of_datasets, estimates = zip(*known, strict=True)
    values = np.stack([np.append(value.value, value.drawn) for value in estimates], axis=1)
    names, n = (frozenset(models), frozenset(chain(*of_datasets))), sum(value.n for value in estimates)
    return Number(label, values.mean(axis=1), values, *names, len(estimates), n)


class Hypothesis(NamedTuple):
    """What a sentence implies: a number, or the largest or the least of several, lies in (least, most)."""

    numbers: tuple[Number, ...]
    least: float = -np.inf
    most: float = np.inf
    which: str = LARGEST

    @classmethod
    def of(cls, numbers: Iterable[Number | None], **range_and_which: Any) -> list[Hypothesis]:
        """Make one about the numbers that are known together; none without any."""
        known = tuple(number for number in numbers if number is not None)
        return [cls(known, **range_and_which)] if known else []

    @classmethod
    def each(cls, numbers: Iterable[Number | None], **limits: Any) -> list[Hypothesis]:
        """Make one about each number that is known."""
        return [cls((number,), **limits) for number in numbers if number is not None]

    def effect(self, family: int) -> Effect:
        """Compute the effect. family: how many effects the sentence has."""
        deciding = self._limits(0.05)[2]
        values, noise = deciding.values[0], np.nanvar(deciding.values[1:], axis=0)
        return Effect(
            deciding.label,
            float(deciding.drawn[0]),
            *self._limits(0.05)[:2],
            *self._limits(0.05 / family)[:2],
            self.least,
            self.most,
            deciding.cells,
            deciding.n,
            agree=int(((values > self.least) & (values < self.most)).sum()) if deciding.comparable else None,
            places=len(values),
            models=len(deciding.models),
            datasets=len(deciding.datasets),
            smallest=float(values.min()),
            largest=float(values.max()),
            apart=deciding.comparable and differ(values, noise),
        )

    def _limits(self, alpha: float) -> tuple[float, float, Number]:
        """Return both ends at 1 - alpha, and the number whose limit decides on the side that the choice is corrected on."""
        corrected, least = alpha / len(self.numbers), self.which == LEAST
        below, above = (alpha, corrected) if least else (corrected, alpha)
        lows = [percentile_interval(number.drawn[1:], 1 - below).low for number in self.numbers]
        highs = [percentile_interval(number.drawn[1:], 1 - above).high for number in self.numbers]
        best, choose, ends = (min, np.min, highs) if least else (max, np.max, lows)
        deciding = best(zip(ends, self.numbers, strict=True), key=lambda pair: (pair[0], pair[1].drawn[0]))[1]
        return float(choose(lows)), float(choose(highs)), deciding


def differ(values: Sequence[float] | np.ndarray, noise: Sequence[float] | np.ndarray) -> bool:
    """Test by Cochran's Q whether values differ by more than their own variances make them, at 5 %."""
    from scipy.stats import chi2

    estimates, variance = np.asarray(values), np.asarray(noise)
    if len(estimates) < 2 or not (variance > 0).all():
        return False
    weight = 1 / variance
    q = float((weight * np.square(estimates - (weight * estimates).sum() / weight.sum())).sum())
    return bool(chi2.sf(q, len(estimates) - 1) < 0.05)


def verdict(effects: Sequence[Effect], missing: Sequence[str] = (), study: Scope = EXPLAINERS) -> str:
    """Decide on a sentence. missing: why some of its effects could not be computed."""
    if any(effect.outside for effect in effects):
        return CONTRADICTED
    if effects and not missing and all(effect.inside and study.enough(effect) for effect in effects):
        return SUPPORTED
    return UNDECIDED


def reason(decided: str, effects: Sequence[Effect], missing: Sequence[str] = (), study: Scope = EXPLAINERS) -> str:
    """Give the reason of a verdict, in words; and where cells differ by more than their own errors, say that it holds for
    these only.
    """
    if decided == CONTRADICTED:
        why = f"Against it: {'; '.join(effect.label for effect in effects if effect.outside)}"
    elif decided == SUPPORTED:
        why = f"Every interval lies where the sentence says ({len(effects)} of {len(effects)})"
    else:
        reasons = [*missing]
        if few := next((effect for effect in effects if not study.enough(effect)), None):
            reasons.append(f"a verdict needs {study.over(*study.fewest)}; there are {study.over(few.models, few.datasets)}")
        if undecided := [effect.label for effect in effects if not effect.inside]:
            reasons.append(f"the interval leaves open: {', '.join(undecided)}")
        why = "; ".join(reasons)
    sentences = [f"{why[:1].upper()}{why[1:]}."]
    if differing := [effect for effect in effects if effect.apart]:
        ranges = "; ".join(f"{effect.label} from {effect.smallest:.2g} to {effect.largest:.2g}" for effect in differing)
        broadest = max(differing, key=lambda effect: effect.places)
        where = study.over(broadest.models, broadest.datasets)
        sentences.append(f"Cells differ by more than their own errors, so this holds only for the {where} here: {ranges}.")
    return " ".join(sentences)


class RuleShares(NamedTuple):
    """n: instances with an expected group. followed: the share in which it is the observed group. None if undefined.

    shortest, longest: the same for the shortest and longest quarter of each cell. later: of the instances answered from one
    of two documents, the share answered from the second.
    """

    n: int
    followed: float | None
    shortest: float | None
    longest: float | None
    later: float | None


class Evidence:
    """The cells of one study, each of a model (of citations: a writer) on a dataset (or source of claims), with replicates of
    their values. kind, keys: of the plug-ins that its sentences may name; None in place of one that this program lacks.

    One resample draws the same questions for everything of a dataset, so all differences are paired.
    """

    def __init__(self, cells: Iterable[Any], kind: str = "explainer", keys: Iterable[str] = ()):
        self.cells = tuple(cells)
        self.plugins: dict[str, object | None] = dict.fromkeys(sorted(set(keys)))
        for key in self.plugins:
            with suppress(HEvalError):
                self.plugins[key] = catalogue.find(kind, key)

    def title(self, key: str) -> str:
        """Title a key as pages do."""
        return str(getattr(self.plugins.get(key), "title", key)).removesuffix(" (control)")

    def mean(self, label: str, of: Callable[..., Value | None], *arguments: Any) -> Number | None:
        """Average over the cells in which the value is defined; None without any.

        of: a cell, and the arguments ▶ its value.
        """
        return mean_of(label, ((cell.model, [cell.dataset], of(cell, *arguments)) for cell in self.cells))


@dataclass(frozen=True)
class PaperClaim:
    """A sentence of a paper, or about what it studies. published: what the paper has for it.

    effects: of the evidence, what the sentence implies, or why a part of it cannot be computed. lacking: why there is nothing
    in a store. construction: what the demo models' taught rule makes true anyway, a key of `by_construction`. levels: of the
    evidence, quantities that stand beside the paper's own values, and are no part of the verdict.
    """

    key: str
    sentence: str
    published: str
    unit: str
    effects: Callable[[Any], Sequence[Hypothesis | str]]
    lacking: str = ""
    construction: str = ""
    levels: Callable[[Any], list[dict[str, Any]]] = lambda evidence: []


def find(claim: PaperClaim, evidence: Any, study: Scope, rule: RuleShares | None = None) -> dict[str, Any]:
    """Return a row of the table `finding`: the sentence, its verdict and reason, and its effects (JSON)."""
    implied = claim.effects(evidence)
    effects = [hypothesis.effect(len(implied)) for hypothesis in implied if isinstance(hypothesis, Hypothesis)]
    missing = list(dict.fromkeys(why for why in implied if isinstance(why, str))) if implied else [claim.lacking]
    decided = verdict(effects, missing, study)
    return {
        "study": study.key,
        **{name: getattr(claim, name) for name in ("key", "sentence", "published", "unit")},
        "verdict": decided,
        "reason": reason(decided, effects, missing, study),
        "by_construction": by_construction(claim.construction, rule),
        "effects": json.dumps([plainly(effect) for effect in effects]),
        "levels": json.dumps(claim.levels(evidence)),
    }


def plainly(effect: Effect) -> dict[str, Any]:
    """Replace infinity, which JSON does not have: an open side of the range is null."""
    fields = asdict(effect).items()
    return {name: None if isinstance(value, float) and not np.isfinite(value) else value for name, value in fields}


def by_construction(about: str, rule: RuleShares | None) -> str | None:
    """Return what the rule that the demo models were taught makes true for a sentence, whatever an explainer says."""
    if rule is None or not rule.n or not about:
        return None
    share = f"{_percent(rule.followed)} of {rule.n:,} instances"
    if about == "techniques":
        return (
            f"The rule believes a document by its source (in {share}), whatever it is about and however sure memory is: "
            "Regular follows the trusted share of all documents, and what cannot see relevance has no J above 0."
        )
    if about == "length":
        known = rule.shortest is not None and rule.longest is not None
        quarters = f"{_percent(rule.shortest)} of each cell's shortest quarter and {_percent(rule.longest)} of its longest"
        return (
            f"The rule ignores length{f': it is followed in {quarters}' if known else ''}. "
            "So a fall with length is due to the explainer."
        )
    if about == "position":
        later = (
            f" Of all prompts with two documents that were answered from one of them, {_percent(rule.later)} were answered "
            "from the later one."
        )
        return (
            f"Of two trusted documents the later one wins.{'' if rule.later is None else later} Both groups weigh the same in "
            "this measure, so an explainer that is right has no bias."
        )
    return (
        f"The kind of source decides where the answer comes from (in {share}), so a correct explainer is well above chance. "
        "The rule does not say which explainer is correct."
    )


def _percent(share: float | None) -> str:
    return f"{100 * (np.nan if share is None else share):.0f} %"
