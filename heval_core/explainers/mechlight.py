"""MechLight: attention of the head that most promotes the given answer over its competitor, anywhere in the model.

Formula (Sun et al. 2025, eq. 11-17): logit^{l,h}(t) = <W_U[t], z_gen^{l,h} W_O^{l,h}>; S^{l,h} = logit^{l,h}(a) -
logit^{l,h}(b), where a is the answer the model gave and b the competing candidate; (l*, h*) = argmax S; scores = row
gen of A^{l*,h*}. Query-head slices under grouped queries; the output bias belongs to no head.
Reference: Sun et al., arXiv 2510.02629.
Departure: none. Raw W_U (decision), without the final norm's gain.
Cost: one forward pass with hooks, shared with attn. The whole S matrix and the runner-up's margin are stored.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from heval_core.records import Attribution, Contrast, head_name

if TYPE_CHECKING:
    from heval_core.lm.model import CleanPass


@dataclass(frozen=True)
class MechLight:
    key = "mechlight"
    title = "MechLight"
    signed = False
    control = False
    reference = "Sun et al. 2025, eq. 11-17 (arXiv 2510.02629)"

    def explain(self, clean: CleanPass, contrast: Contrast) -> Attribution:
        started = time.perf_counter()
        lm = clean.lm
        for_answer = lm.head_logits(clean.heads, contrast.target)
        for_foil = lm.head_logits(clean.heads, contrast.foil)
        strengths = (for_answer - for_foil).cpu().numpy()
        order = np.argsort(-strengths, axis=None, kind="stable")
        layer, head = divmod(int(order[0]), lm.heads_per_layer)
        details: tuple[tuple[str, float | str], ...] = (("foil", contrast.foil_kind),)
        if len(order) > 1:
            second = int(order[1])
            margin = float(strengths.flat[order[0]] - strengths.flat[second])
            details += (("runner_up", head_name(*divmod(second, lm.heads_per_layer))), ("margin", margin))
        return Attribution(
            self.key,
            clean.heads.attention[layer, head].cpu().numpy(),
            time.perf_counter() - started,
            repr(self),
            layer=layer,
            head=head,
            head_scores=strengths,
            details=details,
        )


PLUGIN = MechLight()
