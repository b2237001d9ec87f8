"""Norms and activations whose backward pass is changed, as modules that stand in for those of a copy; and gated products.

Values are the original modules' own. Backwards: a norm divides by a detached std or RMS; an activation f(x) passes x times the
detached f(x)/x; gate x up gives half of its relevance to each factor.
Reference: Achtibat et al. 2024 (arXiv 2402.05602), eq. 7, 9 and section 3.3, in their form as gradients.
"""

import copy
from typing import Any

import torch
from transformers.activations import ACT2CLS

# `loading` puts torch's GELU in the place of slower ones.
ACTIVATIONS = (torch.nn.GELU, *{entry[0] if isinstance(entry, tuple) else entry for entry in ACT2CLS.values()})
# A product of a gate and another projection is read by `down_proj`, beside projections of these names.
GATED = ({"gate_proj", "up_proj", "down_proj"}, {"gate_up_proj", "down_proj"})
# Activations of less than this pass what they pass here: f(x)/x has no value at 0.
NEARLY_ZERO = 1e-6
# How far a norm's values may be from those by the rule that is found for it: a share of the largest.
SAME = 1e-4


class UnknownPart(ValueError):
    """A part of a model whose backward rule is not known; its text begins with a verb, after the model's name."""


def change(model: torch.nn.Module) -> None:
    """Put changed modules in the place of a copy's norms, activations and products. Raises UnknownPart."""
    for name, module in list(model.named_modules(remove_duplicate=False)):  # layers may share one activation
        if isinstance(module, ACTIVATIONS):
            model.set_submodule(name, Activation(module))
        elif "Norm" in type(module).__name__ and not list(module.children()):
            model.set_submodule(name, Norm(module))
        elif any(names <= {child for child, _ in module.named_children()} for names in GATED):
            model.get_submodule(f"{name}.down_proj").register_forward_pre_hook(halved)


class Changed(torch.nn.Module):
    """A module with the values of an inner one, and a backward rule of its own."""

    def __init__(self, inner: torch.nn.Module):
        super().__init__()
        self.inner = inner

    def passed_back(self, states: torch.Tensor, gradient: torch.Tensor) -> torch.Tensor:
        """Return the gradient at its states, from that at its values."""
        raise NotImplementedError

    def forward(self, states: torch.Tensor) -> torch.Tensor:
        values: torch.Tensor = _Rule.apply(states, self)
        return values


class _Rule(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, states: torch.Tensor, changed: Changed) -> torch.Tensor:
        ctx.save_for_backward(states)
        ctx.changed = changed
        values: torch.Tensor = changed.inner(states)
        return values

    @staticmethod
    def backward(ctx: Any, *grads: torch.Tensor) -> tuple[torch.Tensor, None]:
        (states,) = ctx.saved_tensors
        return ctx.changed.passed_back(states, grads[0]).to(states.dtype), None


class Norm(Changed):
    """A LayerNorm or RMSNorm of any name. Which of them, and how its gain is stored, is found by a trial of its values."""

    def __init__(self, inner: torch.nn.Module):
        super().__init__(inner)
        self.eps = next((float(eps) for name in ("variance_epsilon", "eps") if (eps := getattr(inner, name, None))), 0.0)
        self.centred, self.offset = self._measured()

    @property
    def weight(self) -> torch.Tensor | None:
        return getattr(self.inner, "weight", None)

    @property
    def bias(self) -> torch.Tensor | None:
        return getattr(self.inner, "bias", None)

    @property
    def gain(self) -> torch.Tensor | float:
        """What the standardised states are multiplied by."""
        return 1.0 if self.weight is None else self.weight.float() + self.offset

    @torch.no_grad()
    def _measured(self) -> tuple[bool, float]:
        """Measure whether it subtracts the mean, and what it adds to its weight. Raises UnknownPart."""
        like = self.weight
        shape = tuple(getattr(self.inner, "normalized_shape", ())) if like is None else tuple(like.shape)
        sampled = torch.randn((3, *shape), generator=torch.Generator().manual_seed(0)) + 0.5
        # Small states too: they show where the norm's epsilon stands.
        states = torch.cat([sampled, 1e-3 * sampled]).to(None if like is None else like.device)
        # In float32: in bfloat16 a weight of 40 and 1 + 40 are hardly told apart, nor a small gain beside a bias.
        values = copy.deepcopy(self.inner).float()(states)
        for centred in (False, True):
            for offset in (0.0, 1.0):
                self.centred, self.offset = centred, offset
                wide, scale = self.standardised(states)
                result = wide * scale * self.gain + (0.0 if self.bias is None else self.bias.float())
                if float((result - values).abs().max()) <= SAME * float(values.abs().max()):
                    return centred, offset
        raise UnknownPart(f"has a norm, {type(self.inner).__name__}, whose rule is not known")

    def _middle(self, vectors: torch.Tensor) -> torch.Tensor:
        """Centre vectors, (…, d), if the norm centres; float32."""
        wide = vectors.float()
        return wide - wide.mean(-1, keepdim=True) if self.centred else wide

    def standardised(self, states: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        """Return the states, (…, d), centred if the norm centres, and one over their std or RMS, (…, 1); float32."""
        wide = self._middle(states)
        return wide, torch.rsqrt(wide.square().mean(-1, keepdim=True) + self.eps)

    def linear(self, states: torch.Tensor) -> torch.Tensor:
        """Apply the norm without its scale and its bias to (…, d): centred if it centres, times the gain; float32."""
        return self._middle(states) * self.gain

    def folded(self, directions: torch.Tensor) -> torch.Tensor:
        """Fold the norm into directions after it, (…, d): <folded(u), x> = <u, linear(x)>; float32."""
        return self._middle(directions.float() * self.gain)

    def passed_back(self, states: torch.Tensor, gradient: torch.Tensor) -> torch.Tensor:
        return self.folded(gradient.float() * self.standardised(states)[1])


class Activation(Changed):
    """An activation that is 0 at 0."""

    def __init__(self, inner: torch.nn.Module):
        super().__init__(inner)
        if float(inner(torch.zeros(1))) != 0:
            raise UnknownPart(f"has an activation, {type(inner).__name__}, that is not 0 at 0")

    def passed_back(self, states: torch.Tensor, gradient: torch.Tensor) -> torch.Tensor:
        wide = states.float()
        wide = torch.where(wide.abs() < NEARLY_ZERO, NEARLY_ZERO, wide)
        return gradient * (self.inner(wide) / wide)


def halved(_: torch.nn.Module, inputs: tuple[torch.Tensor]) -> torch.Tensor:
    """Halve the gradient before a projection that reads a product of two factors, for the other factor."""
    product = inputs[0].view_as(inputs[0])
    if product.requires_grad:
        product.register_hook(lambda gradient: gradient / 2)
    return product
