"""Control: as many sentences as the right answer has, drawn at random.

Formula: each sentence gets a uniform number, seeded by the explanation and the passage; chosen are the |gold| largest.
Reference: Xing et al., arXiv 2406.12645 (our control).
Departure: it is told the size of the right answer, and nothing else of it; so it knows of an omitted citation. Read rejections
of omitted citations beside other controls.
Cost: none.
"""

import zlib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from heval_core.citations.annotators.shared.choice import TextControl
from heval_core.citations.records import Choice, Question


@dataclass(frozen=True)
class Random(TextControl):
    seed: int = 0

    key = "random"
    title = "Random (control)"
    order = 3

    def annotate(self, questions: Sequence[Question], reader: Any) -> list[Choice]:
        return [self._sampled(question) for question in questions]

    def _sampled(self, question: Question) -> Choice:
        explained = question.explained
        words = (explained.claim.id, explained.writer, explained.selector, *(part.bare for part in explained.sentences))
        seed = [self.seed, zlib.crc32("\n".join(words).encode()), question.passage % 2**32]
        scores = np.random.default_rng(seed).random(len(question.sentences))
        chosen = np.argsort(-scores, kind="stable")[: len(question.gold)]
        return Choice(frozenset(map(int, chosen)), tuple(map(float, scores)))


PLUGIN = Random()
