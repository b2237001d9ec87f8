"""Control: random scores, seeded by the instance. Shows what an uninformative explainer gets.

Formula: independent uniform scores in [0, 1). Reference: none. Cost: none; computed when results are published.
"""

import zlib
from dataclasses import dataclass

import numpy as np

from heval_core.records.stored_instances import PlainPrompt


@dataclass(frozen=True)
class Random:
    seed: int = 0

    key = "random"
    title = "Random (control)"
    signed = False
    family = "control"
    control = True
    order = 3
    reference = "control"

    def scores(self, prompt: PlainPrompt) -> np.ndarray:
        generator = np.random.default_rng([self.seed, zlib.crc32(prompt.instance_id.encode())])
        return generator.random(len(prompt.tokens), dtype=np.float32)


PLUGIN = Random()
