"""A sentence, the evidence of a study that it is checked against, and what comes of it: a row of the table `finding`."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Generic, NamedTuple, Protocol, TypeVar

import numpy as np

from heval_core import catalogue
from heval_core.evaluation.findings.effects import Effect, Hypothesis, Number, Study, mean_of, reason, verdict
from heval_core.records import HEvalError
from heval_core.statistics.values import Value


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


class OfCell(Protocol):
    """What is stored of one model (of citations: one writer) on one dataset (or source of claims)."""

    @property
    def model(self) -> str: ...

    @property
    def dataset(self) -> str: ...


Cell = TypeVar("Cell", bound=OfCell)


class Evidence(Generic[Cell]):
    """The cells of one study, with replicates of their values. kind, keys: of the plug-ins that its sentences may name.

    One resample draws the same questions for everything of a dataset, so all differences are paired.
    """

    def __init__(self, cells: Iterable[Cell], kind: str = "explainer", keys: Iterable[str] = ()):
        self.cells = tuple(cells)
        self.plugins = {key: _plugin(kind, key) for key in sorted(set(keys))}

    def title(self, key: str) -> str:
        """As on pages."""
        return str(getattr(self.plugins.get(key), "title", key)).removesuffix(" (control)")

    def mean(
        self, label: str, of: Callable[[Cell], Value | None], within: Callable[[Cell], bool] = lambda cell: True
    ) -> Number | None:
        """Over the cells, those within a part of them, in which the value is defined; None without any."""
        return mean_of(label, (([cell.model], [cell.dataset], of(cell)) for cell in self.cells if within(cell)))


def _plugin(kind: str, key: str) -> object | None:
    """None if this program lacks it."""
    try:
        return catalogue.find(kind, key)
    except HEvalError:
        return None


@dataclass(frozen=True)
class Claim:
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


def find(claim: Claim, evidence: Any, study: Study, rule: RuleShares | None = None) -> dict[str, Any]:
    """A row of the table `finding`: the sentence, its verdict and reason, and its effects (JSON)."""
    implied = claim.effects(evidence)
    effects = [one.effect(len(implied)) for one in implied if isinstance(one, Hypothesis)]
    missing = list(dict.fromkeys(one for one in implied if isinstance(one, str))) if implied else [claim.lacking]
    decided = verdict(effects, missing, study)
    return {
        "study": study.key,
        "key": claim.key,
        "sentence": claim.sentence,
        "published": claim.published,
        "verdict": decided,
        "reason": reason(decided, effects, missing, study),
        "by_construction": by_construction(claim.construction, rule),
        "unit": claim.unit,
        "effects": json.dumps([plainly(effect) for effect in effects]),
        "levels": json.dumps(claim.levels(evidence)),
    }


def plainly(effect: Effect) -> dict[str, Any]:
    """JSON has no infinity: an open side of the range is null."""
    fields = asdict(effect).items()
    return {name: None if isinstance(value, float) and not np.isfinite(value) else value for name, value in fields}


def by_construction(about: str, rule: RuleShares | None) -> str | None:
    """What the rule that the demo models were taught makes true for a sentence, whatever an explainer says."""
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
