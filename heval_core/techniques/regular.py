"""Regular: the model answers as it does by itself. Every other technique is compared with it.

Formula: the softmax of the logits z_c after the prompt with its documents.
Reference: CUB, arXiv 2505.16518 ("Regular").
Departure: none.
Cost: one pass.
"""

from dataclasses import dataclass

from heval_core.techniques.shared.base import Base


@dataclass(frozen=True)
class Regular(Base):
    key = "regular"
    title = "Regular"
    family = "none"
    order = 1
    reference = "CUB (arXiv 2505.16518)"


PLUGIN = Regular()
