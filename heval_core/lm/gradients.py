"""Gradients of a target's logits at the input embeddings. `changed_backward` has those of other backward rules."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import torch

from heval_core.lm.facts import ModelFacts
from heval_core.lm.forward import Forward, Prefix
from heval_core.lm.targets import leads, positions_of, token_ids, values
from heval_core.records import Target

# A pass with gradients keeps every layer's states. On a CPU a quarter of the tokens is as fast, with a seventh of the memory.
# A GPU's budget may then grow as other passes need it: 10 times 1,000 tokens of Qwen2.5-7B take 33 GB with gradients.
TOKENS_PER_PATH_TOKEN = 4


class Gradients:
    """Backward passes through one model, for gradient methods."""

    def __init__(self, facts: ModelFacts, forward: Forward):
        self._facts, self._forward = facts, forward

    @property
    def embedding_layer(self) -> torch.nn.Module:
        """The layer whose output (b, n, d) is attributed to. Position embeddings are added after it."""
        return self._facts.model.get_input_embeddings()

    def integrated(
        self,
        ids: torch.Tensor,
        baselines: torch.Tensor,
        targets: Sequence[Target],
        steps: int,
        method: str,
        prefix: Prefix,
        ends: torch.Tensor | None = None,
    ) -> torch.Tensor:
        """Compute integrated gradients of each prompt's target (its logits' sum), summed over the embedding's width: (B, n)
        float32.

        baselines: (B, n) ids where the paths begin. method: one of captum's. As many points of the paths run together as the
        budget of tokens allows. prefix: kept from the clean pass: the tokens before the first that changes are not run again.
        ends: of a padded pass; what stands behind them is the same in `baselines`.
        """
        from captum.attr import LayerIntegratedGradients

        positions = positions_of(targets)
        changed = (ids != baselines).any(0).nonzero().flatten().tolist()
        read = [position % ids.shape[1] for position in positions] if ends is None else ends.tolist()
        cached = min((*changed[:1], *read)) if prefix.layers else 0
        changing = ids[:, cached:]

        def value(ids: torch.Tensor, wanted: torch.Tensor) -> torch.Tensor:
            """Map (b, n - cached) ids, (b, P) tokens ▶ (b,) the sum of these tokens' logits."""
            in_turn = [row % len(changing) for row in range(len(ids))]
            with self.embedding_layer.register_forward_hook(lambda _, inputs, states: states.clone()):  # as in `_embedded`
                each = None if ends is None else ends[in_turn]
                logits = self._forward.suffix_logits(prefix, cached, ids, positions, in_turn, each)
            return logits.gather(-1, wanted[..., None])[..., 0].sum(-1)

        together = max(len(ids), self._facts.budget.batch_size(TOKENS_PER_PATH_TOKEN * ids.shape[1]))
        with torch.enable_grad():
            attributions = LayerIntegratedGradients(value, self.embedding_layer).attribute(
                changing,
                baselines[:, cached:],
                additional_forward_args=(token_ids(targets, ids.device),),
                n_steps=steps,
                method=method,
                internal_batch_size=together,
            )
        return torch.nn.functional.pad(attributions.detach().float().sum(-1), (cached, 0))

    def times_input(
        self,
        ids: torch.Tensor,
        targets: Sequence[Target],
        contrast: bool = False,
        against: torch.Tensor | None = None,
        ends: torch.Tensor | None = None,
    ) -> torch.Tensor:
        """Compute each token's embedding times the gradient of its prompt's target there, summed over the width: (B, n)
        float32.

        contrast: of the target's lead over its foils (`targets.leads`) in place of its logits' sum. against: (B, n) ids
        whose embeddings are taken off. ends: of a padded pass. One forward and one backward pass. Raises HEvalError if a logit
        is not finite.
        """
        with self._embedded() as embedded, torch.enable_grad():
            logits = self._forward.checked(self._forward.logits_at(ids, positions_of(targets), ends))
            value = leads(logits, targets) if contrast else values(logits, targets)
            (gradient,) = torch.autograd.grad(value.sum(), embedded[0])
        embeddings = embedded[0].detach().float()
        if against is not None:
            with torch.no_grad():
                embeddings = embeddings - self.embedding_layer(against).float()
        return (embeddings * gradient.float()).sum(-1)

    @contextmanager
    def _embedded(self) -> Iterator[list[torch.Tensor]]:
        """Make a pass inside begin at its embeddings (b, n, d), the one in the list: gradients flow to them.

        A model's first pass runs trials before it (`Forward.last_mlp`): the last pass counts.
        """
        embedded: list[torch.Tensor] = []

        def keep(_: torch.nn.Module, inputs: Any, output: torch.Tensor) -> torch.Tensor:
            embedded[:] = [output.detach().requires_grad_()]
            return embedded[0].clone()  # CTRL multiplies its embeddings in place, which what gradients flow to may not be

        with self.embedding_layer.register_forward_hook(keep):
            yield embedded

    def lengths(self, ids: torch.Tensor, targets: Sequence[Target]) -> torch.Tensor:
        """Compute the length of the gradient of the log-probability of each target's tokens together: (T, n) float32.

        ids: (1, n). One forward pass, and one backward pass for each target. Raises HEvalError if a logit is not finite.
        """
        positions = tuple(sorted({position for target in targets for position in target.positions}))
        with self._embedded() as embedded, torch.enable_grad():
            logits = self._forward.checked(self._forward.logits_at(ids, positions))
        lengths = []
        for target in targets:
            with torch.enable_grad():
                at = logits[:, [positions.index(position) for position in target.positions]]
                (gradient,) = torch.autograd.grad(values(at, [target], "logprob").sum(), embedded[0], retain_graph=True)
            lengths.append(gradient[0].detach().float().norm(dim=-1))
        return torch.stack(lengths)
