"""Targets as tensors: the logits that they read, and their values."""

from collections.abc import Sequence

import torch

from heval_core.records import HEvalError, Target

SCALES = ("logit", "logprob", "prob", "contrast")


def positions_of(targets: Sequence[Target]) -> tuple[int, ...]:
    """Return the positions of the targets of one pass. Raises HEvalError if they differ."""
    if len({target.positions for target in targets}) != 1:
        raise HEvalError("The targets of one pass must have the same positions; explain these prompts one by one.")
    return targets[0].positions


def token_ids(targets: Sequence[Target], device: torch.device) -> torch.Tensor:
    """Return the tokens that are explained, (B, P)."""
    return torch.tensor([target.ids for target in targets], device=device)


def foil_ids(targets: Sequence[Target], device: torch.device) -> torch.Tensor:
    """Return the tokens that they compete with, (B, P). Raises HEvalError for a target without foils."""
    if not all(target.foils for target in targets):
        raise HEvalError("A contrast needs a foil at each position of its target; a target here has none.")
    return torch.tensor([target.foils for target in targets], device=device)


def values(logits: torch.Tensor, targets: Sequence[Target], scale: str = "logit") -> torch.Tensor:
    """Compute each target's value, summed over its positions: (B, …, P, V) logits at the targets' positions ▶ (B, …).

    scale: one of SCALES. `prob` is the probability of all tokens together, `contrast` the logit's lead over the foil's.
    """
    total = values_of_each(logits, targets, "logprob" if scale == "prob" else scale).sum(-1)
    return total.exp() if scale == "prob" else total


def in_float64(logits: torch.Tensor) -> torch.Tensor:
    """Convert logits to float64; on the processor where the device has no such numbers (Apple's)."""
    return (logits.cpu() if logits.device.type == "mps" else logits).double()


def values_of_each(logits: torch.Tensor, targets: Sequence[Target], scale: str) -> torch.Tensor:
    """Compute each position's part of the values: (B, …, P, V) logits ▶ (B, …, P). scale: `logit`, `logprob` or `contrast`."""
    value = _chosen(logits, token_ids(targets, logits.device))
    if scale == "contrast":
        return value - _chosen(logits, foil_ids(targets, logits.device))
    return value if scale == "logit" else value - logits.logsumexp(-1)


def leads(logits: torch.Tensor, targets: Sequence[Target]) -> torch.Tensor:
    """Compute the contrast where a target has foils, and the logit where it has none: (B, …, P, V) logits ▶ (B, …)."""
    value = values(logits, targets)
    if not any(target.foils for target in targets):
        return value
    device = logits.device
    foils = torch.tensor([target.foils or target.ids for target in targets], device=device)
    contrasted = torch.tensor([bool(target.foils) for target in targets], device=device)
    against = _chosen(logits, foils).sum(-1)
    return value - torch.where(contrasted.view(-1, *[1] * (against.ndim - 1)), against, torch.zeros_like(against))


def _chosen(logits: torch.Tensor, ids: torch.Tensor) -> torch.Tensor:
    """Pick the logit of each position's token: (B, …, P, V), (B, P) ▶ (B, …, P)."""
    between = [1] * (logits.ndim - 3)
    index = ids.view(ids.shape[0], *between, ids.shape[1], 1)
    return logits.gather(-1, index.expand(*logits.shape[:-1], 1))[..., 0]
