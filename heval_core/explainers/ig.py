"""Integrated gradients over the input embeddings.

Formula (Sun et al. 2025, eq. 8): (x - x') * mean over k = 1..m of the gradient of z_a at x' + k/m (x - x'), summed over
the embedding's width, signed; m = 10 (right Riemann sum); x' is the sequence of baseline tokens; position embeddings
are not interpolated. z_a: the logit of the answer's first token at the last prompt position.
Reference: Sundararajan et al. 2017; Sun et al., arXiv 2510.02629. Engine: captum's LayerIntegratedGradients on the
embedding layer, `method="riemann_right"`, with a forward that asks for the last position's logits only.
Departure: none (captum's own default is Gauss-Legendre: option `method`).
Cost: m forward and backward passes over n tokens, as one batch where the budget of tokens allows it.
`completeness_gap` = |sum phi - (f(x) - f(x'))| / |f(x) - f(x')| is stored with the scores.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import TYPE_CHECKING

from heval_core.records import Attribution, Contrast

if TYPE_CHECKING:
    from heval_core.lm.model import CleanPass


@dataclass(frozen=True)
class IntegratedGradients:
    steps: int = 10
    method: str = "riemann_right"
    baseline_id: int | None = None

    key = "ig"
    title = "Integrated gradients"
    signed = True
    control = False
    reference = "Sun et al. 2025, eq. 8 (arXiv 2510.02629); Sundararajan et al. 2017"

    def explain(self, clean: CleanPass, contrast: Contrast) -> Attribution:
        import torch
        from captum.attr import LayerIntegratedGradients

        started = time.perf_counter()
        lm = clean.lm
        baseline = lm.baseline_id if self.baseline_id is None else self.baseline_id
        baselines = torch.full_like(clean.ids, baseline)
        engine = LayerIntegratedGradients(lambda ids: lm.forward(ids)[:, contrast.target], lm.embedding_layer)
        rows = max(1, lm.batch_tokens // clean.ids.shape[1])
        with torch.enable_grad():
            attributions = engine.attribute(
                clean.ids, baselines, n_steps=self.steps, method=self.method, internal_batch_size=rows
            )
        scores = attributions[0].detach().float().sum(-1).cpu().numpy()
        change = float(clean.logits[contrast.target] - lm.logits(baselines)[0, contrast.target])
        gap = abs(float(scores.sum()) - change) / abs(change) if change else float("nan")
        return Attribution(
            self.key,
            scores,
            time.perf_counter() - started,
            repr(self),
            details=(("completeness_gap", gap), ("baseline_id", float(baseline))),
        )


PLUGIN = IntegratedGradients()
