"""Control: later tokens score higher. Shows what a method gets that only prefers the end of the prompt.

Formula: score of token i (from 0) = (i + 1) / n. Reference: none. Cost: none; computed when results are published.
"""

from dataclasses import dataclass

import numpy as np

from heval_core.records.stored_instances import PlainPrompt


@dataclass(frozen=True)
class Position:
    key = "position"
    title = "Position (control)"
    signed = False
    family = "control"
    control = True
    order = 2
    reference = "control"

    def scores(self, prompt: PlainPrompt) -> np.ndarray:
        return (np.arange(1, len(prompt.tokens) + 1) / max(len(prompt.tokens), 1)).astype(np.float32)


PLUGIN = Position()
