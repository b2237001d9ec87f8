"""Contrastive direct logit attribution (cdla): what heads carry from each token to the answer's lead, directly.

Formula: phi_i = sum over layers and heads of A[gen,i] <v_i W_O, u>, u = W_U[a] - W_U[b] folded with the final norm and divided
by the std or RMS of the final residual at gen. So sum phi_i is the share of all heads in z_a - z_b, up to biases. For a target
of several tokens phi is summed over its positions; without a foil u = W_U[a].
Reference: ours; cf. ALTI-Logit (Ferrando et al. 2023, arXiv 2305.12535) and LOCOS (arXiv 2607.01002).
Departure: no roll-back through earlier layers: a token's score is its position's, whatever was mixed into it before.
Cost: the clean pass and its heads' reading, shared with attn and mechlight; then a few products over kept values.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from heval_core.explainers.shared.base import CleanPass, ReadsHeads
from heval_core.records import Target


@dataclass(frozen=True)
class DirectLogits(ReadsHeads):
    key = "cdla"
    title = "Direct logit attribution (ours)"
    family = "mechanistic"
    order = 8
    reference = "ours; cf. Ferrando et al. 2023 (arXiv 2305.12535)"

    def scored(self, clean: CleanPass, targets: Sequence[Target]) -> Any:
        return sum(layers.sum(1) for layers in clean.direct_effects(targets))


PLUGIN = DirectLogits()
