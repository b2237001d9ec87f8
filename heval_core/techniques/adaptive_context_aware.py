"""AdaCAD: context-aware decoding whose factor is the conflict between the two distributions.

Formula: cad with alpha = the Jensen-Shannon divergence of softmax(z_c) and softmax(z_0), natural logarithm, from 0 (they
agree) to ln 2 (they share no token).
Reference: Wang et al. 2025, arXiv 2409.07394; not among CUB's techniques.
Departure: none. No hyper-parameter.
Cost: two passes, with the documents and without.
"""

from dataclasses import dataclass
from typing import Any

from heval_core.techniques.shared.base import Base, Setting, Tensor, divergence, on_arrays


@on_arrays
def adacad(z_c: Tensor, z_0: Tensor) -> Tensor:
    """Combine logits with context and without, as AdaCAD does.

    Args:
        z_c: (…, V) logits with context.
        z_0: (…, V) logits without.

    Returns:
        (…, V) scores, whose softmax is the answer's distribution.
    """
    alpha = divergence(z_c, z_0)
    return (1 + alpha) * z_c - alpha * z_0


@dataclass(frozen=True)
class AdaCad(Base):
    key = "adacad"
    title = "AdaCAD"
    family = "decoding"
    order = 6
    passes = 2.0
    reference = "Wang et al. 2025 (arXiv 2409.07394)"

    def combined(self, z_c: Tensor, z_0: Tensor, setting: Setting) -> Any:
        return adacad(z_c, z_0)


PLUGIN = AdaCad()
