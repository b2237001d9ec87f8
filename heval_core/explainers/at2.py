"""AT2: attention to each token, summed over all heads with weights that were fitted to what ablations do.

Formula: phi_i = sum over layers l and heads h of theta[l,h] A^{l,h}[gen,i]. theta makes the sum of phi over kept sources
correlate with the model's log-odds of its answer when the other sources are ablated: of each of some thousand prompts,
`masks` random halves of the sources (`unit`: words or sentences of documents) are kept. With x the heads' attention summed
over the kept sources (L H numbers), centred within its prompt, and y the log-odds, centred and divided by its norm:
theta = (sum x x' + r I)^-1 sum x y, with r = RIDGE times the mean of the diagonal. This maximises the correlation within
prompts, pooled over them.
Reference: Cohen-Wang et al., Learning to Attribute with Attention, arXiv 2504.13752.
Departure: the pooled correlation, which has a closed form, in place of the mean of the prompts' correlations by gradient
steps; a source is ablated by fa's baseline token, not deleted, so that all ablations of a prompt make one batch. For a
target of several tokens, log-odds are summed over its positions, and attention averaged. Tokens outside of documents get
a score by the same weights.
Cost: the clean pass and one with hooks over the last token, shared with attn and mechlight. The fit: `masks` + 2 passes for
each of its prompts, once per model.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from heval_core.explainers.shared.base import ReadsHeads
from heval_core.explainers.shared.left_out import units
from heval_core.prompting.units import Unit, passages_of
from heval_core.records import BASELINE, Attribution, HEvalError, Target, TokenisedPrompt

if TYPE_CHECKING:
    import torch

    from heval_core.lm.clean_pass import CleanPass

UNITS = ("word", "sentence")
RIDGE = 1e-2
# Fewer sources than this leave no halves to choose from.
LEAST_SOURCES = 3


class Observed(NamedTuple):
    """One prompt under its ablations. attention: (masks, L H), of the kept sources. odds: (masks,), the answer's log-odds."""

    attention: np.ndarray
    odds: np.ndarray


@dataclass(frozen=True)
class AT2(ReadsHeads):
    unit: str = "word"
    masks: int = 32
    baseline: str = BASELINE

    key = "at2"
    title = "AT2"
    family = "attention"
    needs_fit = True
    order = 12
    choices = (("unit", "unit", UNITS),)
    reference = "Cohen-Wang et al. 2025 (arXiv 2504.13752)"

    def check(self) -> None:
        """Raise HEvalError for an unknown unit, or too few masks for a correlation."""
        super().check()
        if self.masks < 2:
            raise HEvalError(f"at2 needs at least 2 masks for a correlation, not {self.masks}.")

    def explain(self, clean: CleanPass, targets: Sequence[Target]) -> list[Attribution]:
        """Explain by the fit to this model. Raises HEvalError for a model that it is not fitted to."""
        import torch

        fit = clean.lm.fits.of(self)  # perhaps read from its file: no part of a prompt's seconds
        clock = clean.clock()
        weights = torch.from_numpy(fit.array).view(1, clean.lm.layers, -1, 1).to(clean.lm.device)
        scores = (_attention(clean, targets) * weights).sum((1, 2)).cpu().numpy()
        seconds = clock.stop()
        settings = f"{self!r} fit {fit.digest}"
        return [Attribution(self.key, row, seconds, settings, details=(("fit", fit.digest),)) for row in scores]

    def observed(self, clean: CleanPass, targets: Sequence[Target]) -> list[Observed]:
        """Return what the fit learns from the prompts of a pass; nothing from one with too few sources."""
        self.check()
        sources = [units(prompt, self.unit) if passages_of(prompt) else () for prompt in clean.prompts]
        attention = _attention(clean, targets).flatten(1, 2).cpu().double().numpy()
        observations = []
        for index, ours in enumerate(sources):
            if len(ours) < LEAST_SOURCES:
                continue
            halves = self._random_halves(clean.prompts[index], ours)
            observations.append(Observed(halves @ attention[index].T, self._odds(clean, index, targets[index], ours, halves)))
        return observations

    def fitted(self, observed: Sequence[Observed]) -> np.ndarray:
        """Solve for the weights, (L H,). Raises HEvalError where no ablation changed anything."""
        size = observed[0].attention.shape[1] if observed else 0
        gram, along = np.zeros((size, size)), np.zeros(size)
        for attention, odds in observed:
            x, y = attention - attention.mean(0), odds - odds.mean()
            norm = np.linalg.norm(y)
            if norm > 0:
                gram += x.T @ x
                along += x.T @ (y / norm)
        ridge = RIDGE * gram.trace() / max(size, 1)
        if not ridge:
            raise HEvalError("at2 cannot be fitted: none of the prompts has sources whose ablation changes the answer's odds.")
        return np.linalg.solve(gram + ridge * np.eye(size), along)

    def _random_halves(self, prompt: TokenisedPrompt, units: Sequence[Unit]) -> np.ndarray:
        """Sample masks, (masks, n): 1 for the tokens of the half of the sources that stays.

        They are the same for a prompt in any batch.
        """
        seed = hashlib.sha256(repr(prompt.ids).encode()).digest()
        rng = np.random.default_rng(list(seed))
        halves = np.zeros((self.masks, len(prompt.ids)))
        for row in halves:
            for index in rng.permutation(len(units))[: len(units) // 2]:
                row[units[index].start : units[index].end] = 1
        return halves

    def _odds(self, clean: CleanPass, index: int, target: Target, units: Sequence[Unit], halves: np.ndarray) -> np.ndarray:
        """Compute the target's log-odds, (masks,), while the other half of the sources is ablated, as many prompts at once as
        fit.
        """
        import torch

        lm, (masks, n) = clean.lm, halves.shape
        source = np.zeros(n, dtype=bool)
        for unit in units:
            source[unit.start : unit.end] = True
        removed = torch.from_numpy(source & (halves == 0)).to(lm.device)
        ids = torch.where(removed, lm.baseline(self.baseline), clean.ids[index])
        together = lm.budget.batch_size(n)
        with torch.no_grad():
            parts = [
                _log_odds(lm.forward.checked(lm.forward.logits_at(ids[start : start + together], target.positions)), target)
                for start in range(0, masks, together)
            ]
        return torch.cat(parts).cpu().double().numpy()


def _attention(clean: CleanPass, targets: Sequence[Target]) -> torch.Tensor:
    """Average the attention from the targets' positions, (B, L, H, n); a pruned head's is 0."""
    from heval_core.lm.heads import working

    return clean.attention_of(targets) * working(clean.lm)[:, :, None]


def _log_odds(logits: torch.Tensor, target: Target) -> torch.Tensor:
    """Map (m, P, V) ▶ (m,): log p / (1 - p) of the target's token, summed over its positions."""
    import torch

    ids = torch.tensor(target.ids, device=logits.device)[None, :, None].expand(len(logits), -1, 1)
    others = logits.scatter(-1, ids, -torch.inf).logsumexp(-1)
    return (logits.gather(-1, ids)[..., 0] - others).sum(-1)


PLUGIN = AT2()
