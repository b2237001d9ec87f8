"""ContextCite: which sentences or words of the documents an answer depends on, by a sparse linear surrogate.

Formula: 64 prompts each keep half of the units, drawn at random (all subsets where these are not more). A Lasso (alpha .01)
fits the log-odds of the answer's tokens on which units are there. Tokens have the coefficient of their unit, or 0.
Reference: Cohen-Wang et al. 2024 (arXiv 2409.00729). Units that are not kept are deleted, as there.
Departure: the text that is explained is the answer's token, or the target's tokens, not a whole response. Masks are drawn by a
seed made from the prompt. Where no documents are marked, what precedes the question's last sentence stands for them.
Cost: up to 64 passes over prompts with half of the documents' text, and the clean pass, whose first tokens are kept.
"""

import zlib
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from heval_core.explainers.shared.base import Base, CleanPass
from heval_core.explainers.shared.left_out import Units, logprobs, logprobs_without, scores_of, units, units_of_each
from heval_core.lm.shared_passes import CLEAN
from heval_core.prompting.units import Matrix
from heval_core.records import Cost, Target
from heval_core.statistics.sparse_fit import MASKS, log_odds, masks, weights

UNITS = ("sentence", "word")


@dataclass(frozen=True)
class ContextCite(Base):
    unit: str = "sentence"

    key = "contextcite"
    title = "ContextCite"
    family = "perturbation"
    needs = ()
    order = 11
    choices = (("unit", "unit", UNITS),)
    reference = "Cohen-Wang et al. 2024 (arXiv 2409.00729)"

    def cost(self, tokens: float) -> Cost:
        """Return the cost, as if the documents were nearly all of the prompt."""
        return Cost(1 + MASKS, tokens + MASKS * tokens / 2, (CLEAN,))

    def scored(self, clean: CleanPass, targets: Sequence[Target]) -> np.ndarray:
        sources = units_of_each(clean, targets, self.unit)
        rows = [masks(len(in_prompt), _seed(prompt.ids)) for in_prompt, prompt in zip(sources, clean.prompts, strict=True)]
        removed = [left_out(*each) for each in zip(sources, rows, strict=True)]
        fits = [
            weights(rows, log_odds(values[:, 0])) if in_prompt else ()
            for in_prompt, rows, values in zip(sources, rows, logprobs(clean, targets, removed), strict=True)
        ]
        return scores_of(clean, sources, fits)

    def matrix(self, clean: CleanPass, target: Target, sentences: Sequence[range]) -> Matrix:
        """Fit each token of the answer, in its log-odds, all from the same passes."""
        self.check()
        (prompt,) = clean.prompts
        parts = units(prompt, self.unit, target)
        rows = masks(len(parts), _seed(prompt.ids[: target.positions[0] + 1]))
        (answer,) = logprobs_without(clean, [target], [left_out(parts, rows)])
        fits = [weights(rows, log_odds(values)) for values in answer.logprobs[:, 0].T] if parts else []
        return Matrix(self.unit, parts, np.array(fits, dtype=np.float32).reshape(len(target.ids), len(parts)).T)


def left_out(units: Units, rows: np.ndarray) -> list[Units]:
    """Return the units that each of the (masks, U) rows leaves out."""
    return [tuple(unit for unit, stays in zip(units, row, strict=True) if not stays) for row in rows]


def _seed(ids: Sequence[int]) -> int:
    return zlib.crc32(np.array(ids).astype("<i8").tobytes())


PLUGIN = ContextCite()
