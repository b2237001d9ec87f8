"""Control: the k-th passage belongs to the k-th sentence. It reads nothing.

Formula: for the k-th selected passage the k-th sentence that is not empty; none where there are fewer sentences.
Reference: Xing et al., arXiv 2406.12645 (our control).
Departure: the k-th sentence, not the k-th that cites: which sentences cite is what masking hides.
Cost: none.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from heval_core.citations.annotators.shared.choice import TextControl
from heval_core.citations.records import Choice, Question


@dataclass(frozen=True)
class Position(TextControl):
    key = "position"
    title = "Position (control)"
    order = 2

    def annotate(self, questions: Sequence[Question], reader: Any) -> list[Choice]:
        return [_by_number(question) for question in questions]


def _by_number(question: Question) -> Choice:
    explained = question.explained
    written = [index for index, sentence in enumerate(explained.sentences) if sentence.bare.strip()]
    rank = explained.selected.index(question.passage)
    chosen = frozenset(written[rank : rank + 1])
    return Choice(chosen, tuple(float(index in chosen) for index in range(len(question.sentences))))


PLUGIN = Position()
