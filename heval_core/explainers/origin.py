"""Origin: the document first, then the token.

Formula (ours): phi_i = E_d (.05 / n_d + .95 share_i) for a token i of document d with n_d tokens, 0 elsewhere.
E_d = D_a - max(0, D_b), with D_t = log p(t | x) - log p(t | x - d) and x - d the prompt from which d is deleted: what the
document gives the answer, less what it gives the competitor; without a competitor E_d = D_a. share_i = relu(r_i) / sum of
relu(r) within d, with r the relevance of `attnlrp`; equal shares where no r is above 0. So a document's scores sum to E_d.
With `sentences`, what a document gives is first shared among its sentences by relu(E_s), each sentence being left out by
itself, or by their lengths where no E_s is above 0; then among the tokens of each. Where no documents are marked, sentences
stand for them. Option `tokens`: the explainer that shares out a unit: attnlrp, cgim, gxi or fa; so it can be seen what the
hierarchy gives, and what the token part. A prompt with nothing before its question has scores of 0.
Reference: ours; cf. AttriBoT's hierarchical leave-one-out (arXiv 2411.15102) and RAG-E's Shapley values of documents.
Limits: it is told where documents begin, and the question gets no score. The control `document` shows what that alone gives.
Cost: the clean pass, one pass without each unit, and the token part: with attnlrp one pass forward and one backward.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from heval_core.explainers.shared import token_parts
from heval_core.explainers.shared.base import Base, CleanPass
from heval_core.explainers.shared.left_out import Units, effects, lost, units, units_of_each
from heval_core.lm.shared_passes import CLEAN
from heval_core.prompting.units import Matrix, Unit
from heval_core.records import Cost, HEvalError, Target

# The share that a unit's tokens get alike, so that also a token without relevance says to which unit it belongs.
EVENLY = 0.05


@dataclass(frozen=True)
class Origin(Base):
    tokens: str = "attnlrp"
    sentences: bool = False

    key = "origin"
    title = "Origin (ours)"
    family = "perturbation"
    needs = ("gradients", "softmax attention")
    order = 13
    choices = (("tokens", "token part", token_parts.PARTS),)
    reference = "ours"

    def cost(self, tokens: float) -> Cost:
        """Return the cost: of two documents, each pass without one of them running half of the prompt; with sentences, of five
        in each.
        """
        left_out, share = (12, 10 * 0.9 + 1) if self.sentences else (2, 1)
        part = token_parts.cost_of(self.tokens, tokens)
        return Cost(1 + left_out + part.passes, (1 + share) * tokens + part.tokens, (CLEAN,))

    def scored(self, clean: CleanPass, targets: Sequence[Target]) -> np.ndarray:
        parts = token_parts.part_scores(self.tokens, clean, targets)
        documents = units_of_each(clean, targets)
        contributions = effects(clean, targets, documents)
        whole = [[[(document, 1.0)] for document in in_prompt] for in_prompt in documents]
        divided = self._sentences(clean, targets, documents) if self.sentences else whole
        scores = np.zeros((clean.size, clean.length), dtype=np.float32)
        for row, relevance, in_prompt, nats in zip(scores, parts, divided, contributions, strict=True):
            for pieces, effect in zip(in_prompt, nats, strict=True):
                for piece, share in pieces:
                    row[piece.start : piece.end] = effect * share * shares(relevance[piece.start : piece.end])
        return scores

    def matrix(self, clean: CleanPass, target: Target, sentences: Sequence[range]) -> Matrix:
        """Divide what each document gives each token of the answer by the relevance of that token's sentence."""
        if self.sentences:
            raise HEvalError("origin(sentences) explains a single token; origin explains an answer.")
        self.check()
        (prompt,) = clean.prompts
        by_document = lost(clean, target, units(prompt, target=target), "document")
        scores = np.zeros((clean.length, len(target.ids)), dtype=np.float32)
        for columns in sentences:
            (relevance,) = token_parts.part_scores(self.tokens, clean, [target.part(columns)])
            for document, effect in zip(by_document.units, by_document.values, strict=True):
                span = slice(document.start, document.end)
                scores[span, columns.start : columns.stop] = np.outer(shares(relevance[span]), effect[columns])
        return Matrix.of_tokens(prompt, scores)

    def _sentences(
        self, clean: CleanPass, targets: Sequence[Target], documents: Sequence[Units]
    ) -> list[list[list[tuple[Unit, float]]]]:
        """Return the sentences of each prompt's documents, and the share that each has of its document's effect."""
        sentences = units_of_each(clean, targets, "sentence")
        by_prompt = []
        for of_prompt, inside, effect in zip(documents, sentences, effects(clean, targets, sentences), strict=True):
            divided = []
            for document in of_prompt:
                indices = [i for i, unit in enumerate(inside) if document.start <= unit.start and unit.end <= document.end]
                units, above = [inside[i] for i in indices], np.maximum(effect[indices], 0)
                weights = above if above.sum() > 0 else np.array([len(unit.indices) for unit in units], dtype=float)
                divided.append(list(zip(units, weights / weights.sum(), strict=True)))
            by_prompt.append(divided)
        return by_prompt


def shares(relevance: np.ndarray) -> np.ndarray:
    """Map (n,) relevance of a unit's tokens ▶ (n,) their shares of its effect, which sum to 1."""
    n = len(relevance)
    above = np.maximum(relevance.astype(float), 0)
    proportional = above / above.sum() if above.sum() > 0 else np.full(n, 1 / n)
    return EVENLY / n + (1 - EVENLY) * proportional


PLUGIN = Origin()
