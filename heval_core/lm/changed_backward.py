"""Relevance: embedding times gradient, in a copy of the model that shares its weights and follows other backward rules.

The copy's norms and activations are changed modules, and its products pass half back (`changed_modules`); its attention is
registered with the library (`changed_attention`). Its values are the model's own.
Checked when the copy is made, on twelve tokens, whatever the architecture: its logits equal the model's; and with attention as
a fixed mixture of values (`rules.FIXED_ATTENTION`) relevance is complete: the parts of all token and position embeddings and
of all biases sum to the logit. That holds exactly, because each rule then keeps what comes in: norms, activations and mixtures
are linear once their factors are detached, and a product of two halves is homogeneous of degree one. It fails for a norm, an
activation, a gate or attention that was not changed. Under the other rules the softmax passes on what its scores change, which
is no share of anything: no sum is known there, and tests compare with literal rules instead.
Where a model has a soft cap on its logits (Gemma 2), relevance is of the logits before it, whose order is the same.
Memory: above KEPT_WHOLE tokens each layer's states are computed again in the backward pass, but for the last layer's. For
4,000 tokens and a model of 3B in bfloat16 (28 layers, d = 3072, m = 8192, 24 heads, V = 128,000): weights 6.4 GB; kept between
layers 28 n d numbers = .7 GB; in one layer some 16 n d + 5 n m = .7 GB; patterns, in blocks of at most 1 GiB, six at a time,
6.4 GB; logits of the last position 1 MB. Together 15 GB of 80.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from functools import cached_property, partial
from typing import Any

import torch
from transformers import PreTrainedModel
from transformers.modeling_layers import GradientCheckpointingLayer

from heval_core.lm.changed_attention import registered
from heval_core.lm.changed_modules import UnknownPart, change
from heval_core.lm.facts import ModelFacts
from heval_core.lm.forward import Forward
from heval_core.lm.gradients import Gradients
from heval_core.lm.needs import lacks, require, unknown_to_library
from heval_core.lm.read_out import ReadOut
from heval_core.lm.rules import FIXED_ATTENTION, MOST_SAVED, Rules
from heval_core.records import Target

NEED = "a changed backward pass"
TRIAL = 12
# How far logits may be from the model's, and parts from their sum: shares of the logits' norm and of the parts' sizes.
SAME, SAME_ROUNDINGS = 1e-4, 8


class ChangedBackward:
    """One model under changed backward rules. Raises HEvalError for a model in which they do not hold."""

    def __init__(self, facts: ModelFacts):
        self._facts = facts

    def relevance(
        self,
        rules: Rules,
        ids: torch.Tensor,
        targets: Sequence[Target],
        contrast: bool = False,
        against: torch.Tensor | None = None,
        ends: torch.Tensor | None = None,
    ) -> torch.Tensor:
        """Compute each token's embedding times its gradient under the rules, summed over the width: (B, n) ids ▶ (B, n)
        float32.

        contrast: of each target's lead over its foils, where it has any (`targets.leads`), in place of its logits' sum.
        against: (B, n) ids whose embeddings are taken off. ends: of a padded pass. Raises HEvalError if a logit is not finite.
        """
        with self.copy.under(rules, ids.shape[1]):
            return self.copy.gradients.times_input(ids, targets, contrast, against, ends)

    @cached_property
    def copy(self) -> Copy:
        """Made and checked when it is first needed."""
        require(self._facts, ("gradients", "softmax attention"))
        with unknown_to_library(self._facts, NEED, "cannot be run under changed rules"):
            try:
                copied = Copy(self._facts)
                check(self._facts, copied)
            except UnknownPart as error:
                raise lacks(self._facts, NEED, str(error)) from error
        return copied


class Copy:
    """The copy of a model. Raises UnknownPart, or what the library raises."""

    def __init__(self, facts: ModelFacts):
        self.model: PreTrainedModel = facts.twin()
        change(self.model)
        self.model.config.get_text_config().final_logit_softcapping = None
        copied = replace(facts, model=self.model)
        self.forward = Forward(copied, ReadOut(copied))
        self.gradients = Gradients(copied, self.forward)
        self._layers: list[GradientCheckpointingLayer] = []
        if self.model.supports_gradient_checkpointing:
            self.model.activation_checkpointing_enable()  # of layers that train, as none does yet
            self.model.disable_input_require_grads()  # passes keep their own embeddings
            self._layers += [module for module in self.model.modules() if isinstance(module, GradientCheckpointingLayer)]
        for layer in self._layers:
            layer._gradient_checkpointing_func = partial(_computed_again, layer, layer._gradient_checkpointing_func)

    @contextmanager
    def under(self, rules: Rules, length: int) -> Iterator[None]:
        """Make attention follow the rules inside; a prompt of this length then keeps what fits."""
        name = registered(rules)
        if self.model.config._attn_implementation != name:
            self.model.set_attn_implementation(name)
        if self.model.config._attn_implementation != name:
            raise UnknownPart("does not run its attention through the library's interface, where its rule would be changed")
        # The backward pass begins with the last layer: to compute that one again would save nothing.
        again = self._layers[:-1] if length > MOST_SAVED else []
        try:
            for layer in again:
                layer.training = True  # which asks for it; inside, `_computed_again` ends it
            yield
        finally:
            for layer in again:
                layer.training = False


def _computed_again(layer: torch.nn.Module, checkpoint: Any, run: Any, *inputs: Any) -> Any:
    """Run a layer that computes its states again, as one that does not train: some layers (OPT's) would apply dropout."""

    def computed(*inputs: Any) -> Any:
        layer.training = False
        try:
            return run(*inputs)
        finally:
            layer.training = True

    return checkpoint(computed, *inputs)


@torch.no_grad()
def check(facts: ModelFacts, copied: Copy) -> None:
    """Raise HEvalError if a copy's logits are not the model's, or if its relevance is not complete."""
    ids = (torch.arange(1, TRIAL + 1, device=facts.device) % facts.vocabulary)[None]
    allowed = max(SAME, SAME_ROUNDINGS * torch.finfo(facts.model.dtype).eps)
    with copied.under(FIXED_ATTENTION, TRIAL):
        changed = copied.forward.checked(copied.forward.last_logits(ids))
        reading = ReadOut(facts)
        plain = reading.uncapped(Forward(facts, reading).last_logits(ids))
        apart = float((changed - plain).norm() / (plain - plain.mean()).norm().clamp_min(torch.finfo(plain.dtype).tiny))
        if not apart <= allowed:
            raise lacks(facts, NEED, f"gives other logits under changed rules: they differ by {apart:.2%}")
        parts, value = _parts(copied, ids)
    missing = abs(float(parts.sum()) - value) / max(float(parts.abs().sum()), abs(value), torch.finfo(torch.float32).tiny)
    if not missing <= allowed:
        raise lacks(
            facts, NEED, f"has parts whose backward rule is not known: {missing:.2%} of its relevance is not accounted for"
        )


def _parts(copied: Copy, ids: torch.Tensor) -> tuple[torch.Tensor, float]:
    """Return what each embedding and each bias contributes to the largest logit, and that logit."""
    outputs: list[torch.Tensor] = []
    sources: list[torch.Tensor] = []

    def keep(module: Any, _: Any, output: Any) -> torch.Tensor | None:
        if isinstance(module, torch.nn.Embedding):
            leaf: torch.Tensor = output.detach().requires_grad_()
            outputs.append(leaf)
            sources.append(leaf.detach())
            return leaf
        if isinstance(output, torch.Tensor) and output.requires_grad:
            outputs.append(output)
            sources.append(module.bias)
        return None

    biased = [module for module in copied.model.modules() if isinstance(getattr(module, "bias", None), torch.Tensor)]
    added = [*biased, *(module for module in copied.model.modules() if isinstance(module, torch.nn.Embedding))]
    with ExitStack() as hooks, torch.enable_grad():
        for module in added:
            hooks.enter_context(module.register_forward_hook(keep))
        value = copied.forward.last_logits(ids).max()
        gradients = torch.autograd.grad(value, outputs, allow_unused=True)
    pairs = [(g, source) for g, source in zip(gradients, sources, strict=True) if g is not None]
    return torch.stack([(g.float() * source.float()).sum() for g, source in pairs]), float(value.detach())
