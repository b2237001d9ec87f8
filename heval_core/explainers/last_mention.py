"""Control: the last place where the answer stands. Shows what a rule gets that knows only the order of the prompt.

Formula: 1 for the tokens of the last mention of the whole answer in documents and padding, else 0. Reference: none.
Cost: none; computed when results are published.
"""

from dataclasses import dataclass

import numpy as np

from heval_core.prompting.mentioned import mentions_in
from heval_core.records.stored_instances import PlainPrompt


@dataclass(frozen=True)
class LastMention:
    key = "last_mention"
    title = "Last mention (control)"
    signed = False
    family = "control"
    control = True
    order = 5
    reference = "control"

    def scores(self, prompt: PlainPrompt) -> np.ndarray:
        scores = np.zeros(len(prompt.tokens), dtype=np.float32)
        if spans := mentions_in(prompt):
            scores[spans[-1].start : spans[-1].end] = 1
        return scores


PLUGIN = LastMention()
