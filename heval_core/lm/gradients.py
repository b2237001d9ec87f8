"""Gradients of the answer's logit at the input embeddings. Modified backward rules belong here too."""

from __future__ import annotations

import torch

from heval_core.lm.facts import ModelFacts
from heval_core.lm.forward import Forward


class Gradients:
    """Backward passes through one model, for gradient methods."""

    def __init__(self, facts: ModelFacts, forward: Forward):
        self._facts, self._forward = facts, forward

    @property
    def embedding_layer(self) -> torch.nn.Module:
        """The layer whose output (b, n, d) is attributed to. Position embeddings are added after it."""
        return self._facts.model.get_input_embeddings()

    def logits(self, ids: torch.Tensor) -> torch.Tensor:
        """(b, n) ids ▶ (b, V) logits of the last position, float32, through which gradients flow."""
        return self._forward.last_logits(ids)

    def integrated(
        self, ids: torch.Tensor, baselines: torch.Tensor, targets: torch.Tensor, steps: int, method: str
    ) -> torch.Tensor:
        """(B, n) float32: integrated gradients of each prompt's target, summed over the embedding's width.

        baselines: (B, n) ids where the paths begin. targets: (B,). method: one of captum's. As many points of the paths run
        together as the budget of tokens allows.
        """
        from captum.attr import LayerIntegratedGradients

        together = max(len(ids), self._facts.budget.tokens // ids.shape[1])
        engine = LayerIntegratedGradients(self.logits, self.embedding_layer)
        with torch.enable_grad():
            attributions = engine.attribute(
                ids, baselines, target=targets, n_steps=steps, method=method, internal_batch_size=together
            )
        return attributions.detach().float().sum(-1)
