"""ACD, adaptive contrastive decoding: the less certain the model is without the context, the more the context counts.

Formula: alpha = H(p_0) / (H(p_0) + H(p_c)), .5 if both entropies are 0; softmax(z_0 + alpha (z_c - z_0)), with p_0 and p_c the
distributions without the documents and with them.
Reference: Kim et al. 2024, arXiv 2408.01084, as in CUB (arXiv 2505.16518).
Departure: none. No hyper-parameter.
Cost: two passes, with the documents and without.
"""

from dataclasses import dataclass
from typing import Any

from heval_core.techniques.shared.base import Base, Setting, Tensor, on_arrays


def entropy(z: Tensor) -> Tensor:
    """Compute the entropy of the softmax of logits, in nats: (…, V) ▶ (…, 1).

    log(1 + s) + sum of e^-d d / (1 + s), with d how far each logit is below the largest, and s the sum of e^-d without the
    largest: all terms are positive, so that also next to nothing keeps its digits.
    """
    top, index = z.max(-1, keepdim=True)
    powers = (z - top).exp().scatter(-1, index, 0)
    rest = powers.sum(-1, keepdim=True)
    return rest.log1p() - powers.xlogy(powers).sum(-1, keepdim=True) / (1 + rest)


@on_arrays
def acd(z_c: Tensor, z_0: Tensor) -> Tensor:
    """Combine logits with context and without, as ACD does.

    Args:
        z_c: (…, V) logits with context.
        z_0: (…, V) logits without.

    Returns:
        (…, V) scores, whose softmax is the answer's distribution.
    """
    entropy_alone, total = entropy(z_0), entropy(z_0) + entropy(z_c)
    certain = total <= 0
    alpha = (entropy_alone / total.masked_fill(certain, 1)).masked_fill(certain, 0.5)
    return z_0 + alpha * (z_c - z_0)


@dataclass(frozen=True)
class Acd(Base):
    key = "acd"
    title = "ACD"
    family = "decoding"
    order = 4
    passes = 2.0
    reference = "Kim et al. 2024 (arXiv 2408.01084)"

    def combined(self, z_c: Tensor, z_0: Tensor, setting: Setting) -> Any:
        return acd(z_c, z_0)


PLUGIN = Acd()
