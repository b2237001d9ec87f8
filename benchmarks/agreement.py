"""Whether the other prompts of a batch change the scores a prompt gets."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import torch

from benchmarks.models import SMALL, prompts_of, random_model
from benchmarks.timing import Figure, explain
from heval_core.explainers import attn, fa, ig, mechlight
from heval_core.lm.clean_pass import CleanPass
from heval_core.lm.model import LanguageModel
from heval_core.statistics.correlation import spearman


def agreement(lm: LanguageModel, clean: CleanPass) -> dict[str, list[float]]:
    """Explainer ▶ per prompt the Spearman correlation of the scores it gets together with others and alone."""
    explainers: tuple[Any, ...] = (fa.PLUGIN, ig.PLUGIN, attn.PLUGIN, mechlight.PLUGIN)
    together = explain(clean, *explainers)
    alone = [explain(CleanPass(lm, [prompt]), *explainers) for prompt in clean.prompts]
    return {
        explainer.key: [
            spearman(in_batch.scores, alone[row][number][0].scores) for row, in_batch in enumerate(together[number])
        ]
        for number, explainer in enumerate(explainers)
    }


def rounding_figures(name: str) -> Iterator[Figure]:
    """In bfloat16, whether the batch a prompt is in changes the order of its tokens; 8 prompts of 40 tokens."""
    lm = random_model(name, SMALL[name](), torch.device("cpu"), torch.bfloat16)
    for key, correlations in agreement(lm, prompts_of(lm, 40, 8)).items():
        what, detail = f"bfloat16, Spearman in a batch / alone, {key}", f"lowest of 8 prompts {min(correlations):.4f}"
        yield Figure(name, 40, what, float(np.mean(correlations)), detail=detail)
