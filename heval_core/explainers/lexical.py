"""Control: string matching. Its reciprocal rank is 1 by construction, so every MRR has to be read beside it.

Formula: 1 if a token spells the answer's first token (ignoring white space), else 0. Reference: none. Cost: none;
computed when results are published.
"""

from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class Lexical:
    key = "lexical"
    title = "Lexical match (control)"
    signed = False
    family = "control"
    control = True
    order = 1
    reference = "control"

    def scores(self, words: tuple[str, ...], answer: str, instance_id: str) -> np.ndarray:
        stripped = answer.strip()
        return np.array([float(bool(stripped) and word.strip() == stripped) for word in words], dtype=np.float32)


PLUGIN = Lexical()
