"""Control: string matching. Its reciprocal rank is 1 by construction, so every MRR has to be read beside it.

Formula: 1 if a token spells the answer's first token (ignoring white space), else 0. Reference: none. Cost: none;
computed when results are published.
"""

from dataclasses import dataclass

import numpy as np

from heval_core.records.stored_instances import PlainPrompt


@dataclass(frozen=True)
class Lexical:
    key = "lexical"
    title = "Lexical match (control)"
    signed = False
    family = "control"
    control = True
    order = 1
    reference = "control"

    def scores(self, prompt: PlainPrompt) -> np.ndarray:
        stripped = prompt.first_token.strip()
        return np.array([float(bool(stripped) and token.strip() == stripped) for token in prompt.tokens], dtype=np.float32)


PLUGIN = Lexical()
