"""Control: which document gives the answer, and nothing about its tokens.

Formula: E_d = D_a - max(0, D_b) for every token of document d, 0 elsewhere, with D_t = log p(t | x) - log p(t | x - d) and
x - d the prompt from which d is deleted: what d gives the answer, less what it gives the competitor. Without a competitor
E_d = D_a; log-probabilities of several tokens are summed. Where no documents are marked, sentences stand for documents.
Reference: ours. It shows what an explainer gets that only knows where documents begin.
Departure: as a method it asks the model, unlike the other controls.
Option `unit`: what is left out: a document, or each sentence, word or token of it.
Cost: the clean pass, and one pass without each unit; HEval's prompts have one or two documents.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from heval_core.explainers.shared.base import Base, CleanPass
from heval_core.explainers.shared.left_out import effects, lost, scores_of, units, units_of_each
from heval_core.lm.shared_passes import CLEAN
from heval_core.prompting.units import LEVELS, Matrix
from heval_core.records import Cost, Target


@dataclass(frozen=True, repr=False)
class DocumentEffect(Base):
    unit: str = "document"

    key = "document"
    family = "control"
    needs = ()
    order = 14
    choices = (("unit", "unit", LEVELS),)
    reference = "control"

    @property
    def title(self) -> str:
        return f"{'Document alone' if self.unit == 'document' else f'{self.unit.capitalize()}s left out'} (control)"

    def __repr__(self) -> str:
        """Return the repr as it was before there were units: stored results are found by it."""
        return "DocumentEffect()" if self.unit == "document" else f"DocumentEffect(unit={self.unit!r})"

    def cost(self, tokens: float) -> Cost:
        """Return the cost: of two documents, or ten sentences: each pass without one of them runs half of the prompt on
        average.
        """
        passes = {"document": 2, "sentence": 10, "word": tokens * 0.7, "token": tokens}[self.unit]
        return Cost(1 + passes, (1 + passes / 2) * tokens, (CLEAN,))

    def scored(self, clean: CleanPass, targets: Sequence[Target]) -> np.ndarray:
        parts = units_of_each(clean, targets, self.unit)
        return scores_of(clean, parts, effects(clean, targets, parts))

    def matrix(self, clean: CleanPass, target: Target, sentences: Sequence[range]) -> Matrix:
        """Compute D_a of each token of the answer: the nats that it loses without each unit."""
        self.check()
        parts = units(clean.prompts[0], self.unit, target)
        return lost(clean, target, parts, self.unit if clean.prompts[0].documents else "sentence")


PLUGIN = DocumentEffect()
