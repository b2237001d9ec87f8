"""The words of a verdict: its reason, and what the demo models' taught rule makes true anyway."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from heval_core.evaluation.findings.effects import CONTRADICTED, SUPPORTED, Effect
from heval_core.store.writer import RuleShares


@dataclass(frozen=True)
class Rule:
    """How often a store's instances follow the demo models' taught rule. n: instances with an expected group.

    followed: the share in which it is the observed group; shortest, longest: the same for the shortest and longest quarter of
    each cell. later: of the instances answered from one of two documents, the share answered from the second.
    """

    n: int
    followed: float
    shortest: float
    longest: float
    later: float

    def says(self, construction: str) -> str:
        """What the rule makes true for a sentence, whatever an explainer says."""
        share = f"{100 * self.followed:.0f} % of {self.n:,} instances"
        if construction == "techniques":
            return (
                f"The rule believes a document by its source (in {share}), whatever it is about and however sure memory is: "
                "Regular follows the trusted share of all documents, and what cannot see relevance has no J above 0."
            )
        if construction == "length":
            ends = (
                ""
                if np.isnan(self.shortest) or np.isnan(self.longest)
                else f": it is followed in {100 * self.shortest:.0f} % of each cell's shortest quarter and "
                f"{100 * self.longest:.0f} % of its longest"
            )
            return f"The rule ignores length{ends}. So a fall with length is due to the explainer."
        if construction == "position":
            later = (
                ""
                if np.isnan(self.later)
                else f" Of all prompts with two documents that were answered from one of them, {100 * self.later:.0f} % were "
                "answered from the later one."
            )
            return (
                f"Of two trusted documents the later one wins.{later} Both groups weigh the same in this measure, so an "
                "explainer that is right has no bias."
            )
        return (
            f"The kind of source decides where the answer comes from (in {share}), so a correct explainer is well above "
            "chance. The rule does not say which explainer is correct."
        )


def rule_of(shares: RuleShares) -> Rule | None:
    """None if no model was taught a rule."""
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
        return f"Every interval lies where the sentence says ({len(effects)} of {len(effects)})."
    open_ones = [effect.label for effect in effects if not effect.inside]
    few = next((effect for effect in effects if not effect.enough), None)
    reasons = [*missing]
    if few is not None:
        reasons.append(f"a verdict needs {few.needed}; there are {few.over}")
    if open_ones:
        reasons.append(f"the interval leaves open: {', '.join(open_ones)}")
    sentence = "; ".join(reasons)
    return f"{sentence[:1].upper()}{sentence[1:]}."


def _scattered(effects: Sequence[Effect]) -> list[str]:
    """If cells differ by more than their own errors, a mean over them holds for these models and datasets only."""
    apart = [effect for effect in effects if effect.apart]
    if not apart:
        return []
    ranges = "; ".join(f"{effect.label} from {effect.smallest:.2g} to {effect.largest:.2g}" for effect in apart)
    most = max(apart, key=lambda effect: effect.places)
    return [f"Cells differ by more than their own errors, so this holds only for the {most.over} here: {ranges}."]
