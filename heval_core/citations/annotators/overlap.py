"""Control: words that a passage and a sentence share, all counting alike. It understands nothing.

Formula: overlap(k, i), the number of words that passage k and sentence i share; each word counts once. Sentence i is chosen
for passage k where k is its best passage and beats the random level, like an explainer's (`shared/choice.py`), as a share of
all words of the sentence, which must exceed 1/(K + 1). Of a single word it says whether it stands in the passage.
Reference: control; what `lexical` is without idf.
Departure: none of its own. It never sees which sentences cite.
Cost: none.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from heval_core.citations.annotators.shared.choice import TextControl, Weights, choices, words_of
from heval_core.citations.reading import shown
from heval_core.citations.records import Choice, Explained, Question


@dataclass(frozen=True)
class Overlap(TextControl):
    key = "overlap"
    title = "Words in common, all alike (control)"
    order = 5

    def annotate(self, questions: Sequence[Question], reader: Any) -> list[Choice]:
        return choices(self.key, questions, _counted)


def _counted(explained: Explained) -> Weights:
    passages = [words_of(shown(passage)) for passage in explained.passages]
    sentences = [words_of(sentence.bare) for sentence in explained.sentences]
    shared = np.array([[float(len(passage & sentence)) for sentence in sentences] for passage in passages])
    return Weights(shared, shared / np.maximum(1, [len(sentence) for sentence in sentences]), 1 / (len(passages) + 1))


PLUGIN = Overlap()
