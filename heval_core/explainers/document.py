"""Control: which document gives the answer, and nothing about its tokens.

Formula: E_d = D_a - max(0, D_b) for every token of document d, 0 elsewhere, with D_t = log p(t | x) - log p(t | x - d) and
x - d the prompt from which d is deleted: what d gives the answer, less what it gives the competitor. Without a competitor
E_d = D_a; log-probabilities of several tokens are summed. Where no documents are marked, sentences stand for documents.
Reference: ours. It shows what an explainer gets that only knows where documents begin.
Departure: as a method it asks the model, unlike the other controls.
Cost: the clean pass, and one pass without each document; HEval's prompts have one or two.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from heval_core.explainers.shared.left_out import effects, units
from heval_core.records import Attribution, Cost, Target
from heval_core.shared_passes import CLEAN

if TYPE_CHECKING:
    from heval_core.lm.clean_pass import CleanPass


@dataclass(frozen=True)
class DocumentEffect:
    key = "document"
    title = "Document alone (control)"
    signed = True
    family = "control"
    control = False
    default = False
    needs = ()
    order = 14
    reference = "control"

    def cost(self, tokens: float) -> Cost:
        """Of two documents: each pass without one of them runs half of the prompt."""
        return Cost(3, 2 * tokens, (CLEAN,))

    def explain(self, clean: CleanPass, targets: Sequence[Target]) -> list[Attribution]:
        clock = clean.clock()
        documents = [units(prompt, target=target) for prompt, target in zip(clean.prompts, targets, strict=True)]
        scores = np.zeros((clean.size, clean.length), dtype=np.float32)
        for row, own, found in zip(scores, documents, effects(clean, targets, documents), strict=True):
            for document, effect in zip(own, found.lead, strict=True):
                row[document.start : document.end] = effect
        seconds = clock.stop()
        return [Attribution(self.key, row, seconds, repr(self)) for row in scores]


PLUGIN = DocumentEffect()
