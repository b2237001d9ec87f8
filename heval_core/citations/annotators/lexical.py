"""Control: words that a passage and a sentence share, rare ones counting more. It understands nothing.

Formula: overlap(k, i) = sum of idf over the words that passage k and sentence i share, idf(w) = ln((1 + N) / (1 + n_w)) over
the N selected passages and sentences of the claim, n_w of them with w; each word counts once. Sentence i is chosen for passage
k where k is its best passage and beats the random level, like an explainer's (`shared/choice.py`), as a share of the idf of
all words of the sentence, which must exceed 1/(K + 1).
Reference: Xing et al., arXiv 2406.12645 (our control); Spärck Jones 1972 (idf).
Departure: none of its own. It never sees which sentences cite.
Cost: none.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from math import log
from typing import Any

import numpy as np

from heval_core.citations.annotators.shared.choice import TextControl, Weights, choices, words_of
from heval_core.citations.reading import shown
from heval_core.citations.records import Choice, Explained, Question


@dataclass(frozen=True)
class Lexical(TextControl):
    key = "lexical"
    title = "Lexical overlap (control)"
    order = 1

    def annotate(self, questions: Sequence[Question], reader: Any) -> list[Choice]:
        return choices(self.key, questions, _weighed)


def overlaps(passages: Sequence[str], sentences: Sequence[str]) -> tuple[np.ndarray, np.ndarray]:
    """Sum the idf of the words shared, (K, S), and that of all words of a sentence, (S,)."""
    of_passages, of_sentences = [words_of(text) for text in passages], [words_of(text) for text in sentences]
    count = len(passages) + len(sentences)
    seen = Counter(word for words in (*of_passages, *of_sentences) for word in words)
    idf = {word: log((1 + count) / (1 + times)) for word, times in seen.items()}

    def weight(words: set[str]) -> float:
        return sum(idf[word] for word in sorted(words))

    shared = [[weight(of_passage & of_sentence) for of_sentence in of_sentences] for of_passage in of_passages]
    return np.array(shared).reshape(len(passages), len(sentences)), np.array([weight(words) for words in of_sentences])


def _weighed(explained: Explained) -> Weights:
    shared, whole = overlaps([shown(passage) for passage in explained.passages], [part.bare for part in explained.sentences])
    return Weights(shared, shared / np.maximum(whole, 1e-9), 1 / (len(shared) + 1))


PLUGIN = Lexical()
