"""Control: how near a sentence's embedding is to a passage's. It looks into no writer.

Formula: cosine of the sentence embeddings of all-MiniLM-L6-v2. Sentence i is chosen for passage k where k is its nearest,
the cosine beats the random level (`shared/choice.py`), and it exceeds `least`.
Reference: Reimers & Gurevych 2019 (Sentence-BERT, arXiv 1908.10084); the weights of sentence-transformers/all-MiniLM-L6-v2.
Departure: `least` is ours. A passage is read up to its 256th word piece.
Cost: one pass of a model of 22 million parameters for each passage and sentence. It needs `requirements-minilm.txt`.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from heval_core.citations.annotators.shared.choice import TextControl, Weights, choices
from heval_core.citations.reading import shown
from heval_core.citations.records import Choice, Explained, Question


@dataclass(frozen=True)
class MiniLM(TextControl):
    least: float = 0.3

    key = "minilm"
    title = "Sentence embeddings (control)"
    order = 4
    reference = "Reimers & Gurevych 2019 (arXiv 1908.10084)"

    def annotate(self, questions: Sequence[Question], reader: Any) -> list[Choice]:
        """Answer questions. Raises NotHere where its package is not installed."""
        from heval_core.lm.embedding import embed

        if questions:
            embed(())  # what is missing is no answer without sentences
        return choices(self.key, questions, self._weighed)

    def _weighed(self, explained: Explained) -> Weights:
        from heval_core.lm.embedding import embed

        texts = [shown(passage) for passage in explained.passages], [sentence.bare for sentence in explained.sentences]
        passages, sentences = map(embed, texts)
        cosines = passages @ sentences.T
        return Weights(cosines, cosines, self.least)


PLUGIN = MiniLM()
