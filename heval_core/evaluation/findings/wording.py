"""How a verdict is told: its reason, and what the demo models' taught rule makes true anyway."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from heval_core.evaluation.findings.effects import CONTRADICTED, FEWEST, SUPPORTED, Effect
from heval_core.store.writer import RuleShares


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


def rule_of(shares: RuleShares) -> Rule | None:
    """None where no model was taught a rule."""
    if not shares.n:
        return None
    return Rule(shares.n, *(np.nan if share is None else share for share in shares[1:]))


def reason(verdict: str, effects: Sequence[Effect], missing: Sequence[str]) -> str:
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
