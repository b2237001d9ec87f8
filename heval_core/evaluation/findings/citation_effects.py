"""Effects about citations: over writers and sources of claims, instead of models and datasets.

A sentence is supported with at least two writers. Sources of claims are taken as they are: the paper itself has one.
"""

from __future__ import annotations

from dataclasses import dataclass, fields

from heval_core.evaluation.findings.effects import FEWEST, Effect, counted
from heval_core.evaluation.findings.technique_effects import Asked


@dataclass(frozen=True)
class CitationEffect(Effect):
    """models: how many writers. datasets: how many sources of claims."""

    @property
    def enough(self) -> bool:
        return self.models >= FEWEST

    @property
    def needed(self) -> str:
        return f"{FEWEST} writers"

    @property
    def over(self) -> str:
        return f"{counted(self.models, 'writer')} and {counted(self.datasets, 'source')} of claims"


def effect_of(asked: Asked, family: int) -> CitationEffect:
    """family: how many effects the sentence has."""
    found = asked.effect(family)
    return CitationEffect(**{one.name: getattr(found, one.name) for one in fields(Effect)})
