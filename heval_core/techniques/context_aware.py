"""CAD, context-aware decoding: what the context changes is amplified by a fixed factor.

Formula: softmax((1 + alpha) z_c - alpha z_0), with z_c and z_0 the logits with the documents and without them.
Reference: Shi et al. 2024, arXiv 2305.14739; not among CUB's techniques.
Departure: none. alpha is .5, as the paper recommends; it is not searched.
Cost: two passes, with the documents and without.
"""

from dataclasses import dataclass
from typing import Any

from heval_core.records import HEvalError
from heval_core.techniques.shared.base import Base, Setting, Tensor, on_arrays


@on_arrays
def cad(z_c: Tensor, z_0: Tensor, alpha: float = 0.5) -> Tensor:
    """Combine logits with context and without, as CAD does.

    Args:
        z_c: (…, V) logits with context.
        z_0: (…, V) logits without.
        alpha: how far the context is stressed, from 0.

    Returns:
        (…, V) scores, whose softmax is the answer's distribution.

    Raises:
        HEvalError: for an alpha below 0.
    """
    Cad(alpha).check()
    return (1 + alpha) * z_c - alpha * z_0


@dataclass(frozen=True)
class Cad(Base):
    alpha: float = 0.5

    key = "cad"
    title = "CAD"
    family = "decoding"
    order = 5
    passes = 2.0
    reference = "Shi et al. 2024 (arXiv 2305.14739)"

    def check(self) -> None:
        """Raise HEvalError for an alpha below 0."""
        if self.alpha < 0:
            raise HEvalError(f"cad needs an alpha of at least 0, not {self.alpha}.")

    def combined(self, z_c: Tensor, z_0: Tensor, setting: Setting) -> Any:
        return cad(z_c, z_0, self.alpha)


PLUGIN = Cad()
