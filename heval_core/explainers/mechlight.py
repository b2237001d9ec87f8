"""MechLight: where the one head that most pushed this answer over the other one was looking.

Formula (Sun et al. 2025, eq. 11-17): logit^{l,h}(t) = <W_U[t], z_gen^{l,h} W_O^{l,h}>; S^{l,h} = logit^{l,h}(a) -
logit^{l,h}(b), where a is the answer the model gave and b the competing candidate; (l*, h*) = argmax S; scores = row
gen of A^{l*,h*}. Query-head slices under grouped queries; the output bias belongs to no head.
Reference: Sun et al., arXiv 2510.02629.
Departure: where a norm stands behind attention (Gemma 2 and 3, OLMo 2), a head adds s z W_O to the
stream, with the norm's gain in W_O (see `heval_core/lm/heads.py`), and S is of that. A target of several tokens sums S over
its positions and averages the head's rows; without a foil, S is logit^{l,h}(a) alone. Raw W_U (our decision); option `fold`
folds the final norm's gain into it, and centres it for LayerNorm.
Option `kv` sums S over the query heads that share keys and values, and takes the mean of their attention (the stored S of each
of these heads is the group's mean, and the group is named by its first head). The S of a pruned head is 0; it is never chosen,
nor part of a mean, nor names a group.
Cost: one pass with hooks over the last token, shared with attn. The whole S matrix and the runner-up's margin are stored.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from heval_core.explainers.shared.base import ReadsHeads
from heval_core.records import Target, head_name

if TYPE_CHECKING:
    import torch

    from heval_core.lm.clean_pass import CleanPass
    from heval_core.lm.heads import HeadReading
    from heval_core.lm.model import LanguageModel


@dataclass(frozen=True)
class MechLight(ReadsHeads):
    fold: bool = False
    kv: bool = False

    key = "mechlight"
    title = "MechLight"
    signed = False
    family = "mechanistic"
    default = True
    needs = ("softmax attention", "heads", "float32")
    order = 1
    reference = "Sun et al. 2025, eq. 11-17 (arXiv 2510.02629)"

    def scored(self, clean: CleanPass, targets: Sequence[Target]) -> Any:
        from heval_core.lm.heads import working

        lm = clean.lm
        lm.direct_effects.check_stream()
        attention = clean.attention_of(targets)
        strengths = sum(self._strengths(lm, *each, targets) for each in enumerate(clean.heads_of(targets))).cpu().numpy()
        group = lm.heads_per_layer // lm.kv_heads if self.kv else 1
        alive = working(lm).cpu().numpy()
        chosen = [_chosen(by_head, alive, group) for by_head in strengths]
        rows = [
            attention[index, layer, _members(alive, layer, head, group)].mean(0).cpu().numpy()
            for index, (layer, head, _) in enumerate(chosen)
        ]
        extras = [
            {
                "layer": layer,
                "head": head,
                "head_scores": _shared(by_head, alive, group),
                "details": (("foil", target.foil_kind or "none"), *details),
            }
            for by_head, target, (layer, head, details) in zip(strengths, targets, chosen, strict=True)
        ]
        return rows, extras

    def _strengths(self, lm: LanguageModel, index: int, reading: HeadReading, targets: Sequence[Target]) -> torch.Tensor:
        """Compute S, (B, L, H), at one of the targets' positions, the one with this index."""
        for_answer = lm.heads.logits(reading, [target.ids[index] for target in targets], self.fold)
        foils = [target.foils[index] if target.foils else target.ids[index] for target in targets]
        for_foil = lm.heads.logits(reading, foils, self.fold)
        for_foil[[not target.foils for target in targets]] = 0
        return for_answer - for_foil


def _chosen(strengths: np.ndarray, alive: np.ndarray, group: int) -> tuple[int, int, tuple[tuple[str, float | str], ...]]:
    """Return layer and head of the largest S, and details: the runner-up and its margin.

    strengths: (L, H) S. alive: not pruned.
    """
    units = strengths.reshape(strengths.shape[0], -1, group).sum(-1)
    usable = alive.reshape(*units.shape, group).any(-1)
    order = np.argsort(-np.where(usable, units, -np.inf), axis=None, kind="stable")[: usable.sum()]
    (layer, unit), *others = (divmod(int(index), units.shape[1]) for index in order[:2])
    details: tuple[tuple[str, float | str], ...] = ()
    if others:
        ((second_layer, second),) = others
        margin = float(units[layer, unit] - units[second_layer, second])
        runner_up = head_name(second_layer, _members(alive, second_layer, second * group, group)[0])
        details = (("runner_up", runner_up), ("margin", margin))
    return layer, _members(alive, layer, unit * group, group)[0], details


def _members(alive: np.ndarray, layer: int, head: int, group: int) -> list[int]:
    """Return the heads of this one's group that are not pruned."""
    first = head // group * group
    return [other for other in range(first, first + group) if alive[layer, other]]


def _shared(strengths: np.ndarray, alive: np.ndarray, group: int) -> np.ndarray:
    """Replace every head's S, (L, H), by the mean of its group, which keeps the sum of each group.

    A pruned head keeps its 0, and counts in no mean.
    """
    if group == 1:
        return strengths
    sums, count = (by_head.reshape(by_head.shape[0], -1, group).sum(-1) for by_head in (strengths, alive))
    return np.repeat(sums / np.maximum(count, 1), group, axis=1) * alive


PLUGIN = MechLight()
