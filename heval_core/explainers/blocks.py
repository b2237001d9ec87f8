"""Control: cgim's scores summed in each document, and nothing about its tokens; no document is left out.

Formula: S_d / n_d for every token of document d with n_d tokens, 0 elsewhere, with S_d the sum of `cgim`'s scores in d. So a
document's scores sum to what cgim gives it. Where no documents are marked, sentences stand for documents.
Reference: ours. It shows what a measure pays for scores that are alike within a document: it names the same document as cgim,
and where it gets more than cgim, the measure rewards that it was told where documents begin.
Departure: as a method it asks the model, unlike the other controls.
Cost: as cgim's.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from heval_core.explainers.shared import token_parts
from heval_core.explainers.shared.base import Base, CleanPass
from heval_core.explainers.shared.left_out import scores_of, units_of_each
from heval_core.records import Cost, Target

PART = "cgim"


@dataclass(frozen=True)
class Blocks(Base):
    key = "blocks"
    title = "Document sums (control)"
    family = "control"
    needs = ("gradients", "softmax attention")
    answers = "sentence"
    order = 15
    reference = "control"

    def cost(self, tokens: float) -> Cost:
        return token_parts.cost_of(PART, tokens)

    def scored(self, clean: CleanPass, targets: Sequence[Target]) -> np.ndarray:
        of_tokens, documents = token_parts.part_scores(PART, clean, targets), units_of_each(clean, targets)
        means = [
            [relevance[document.start : document.end].mean() for document in in_prompt]
            for relevance, in_prompt in zip(of_tokens, documents, strict=True)
        ]
        return scores_of(clean, documents, means)


PLUGIN = Blocks()
