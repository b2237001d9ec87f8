"""Formulas of logits for NumPy arrays and torch tensors alike: computed by torch, given back as they came."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any


def on_arrays(formula: Callable[..., Any]) -> Callable[..., Any]:
    """A formula of the two logits (…, V), with context and without, that takes arrays, nested lists or tensors.

    Raises ValueError if their shapes differ. Computed and given back in float64: a sharp distribution's entropy, and which
    tokens stand at the edge of an interval, are below the rounding of float32.
    """

    @wraps(formula)
    def given(z_c: Any, z_0: Any, *options: Any, **named: Any) -> Any:
        import torch

        as_arrays = not isinstance(z_c, torch.Tensor)
        with_context, alone = (torch.as_tensor(one).double() for one in (z_c, z_0))
        if with_context.shape != alone.shape or not with_context.ndim:
            raise ValueError(
                f"The logits with context and without must have the same shape (…, V); they have {tuple(with_context.shape)} "
                f"and {tuple(alone.shape)}."
            )
        scores = formula(with_context, alone, *options, **named)
        return scores.numpy() if as_arrays else scores

    return given
