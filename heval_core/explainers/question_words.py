"""Control: words of the question. It compares sentences with the question, as a search would, and never asks the model.

Formula: a mention of the whole answer has as its sum of scores the number of different words of the question, in any case,
that stand in its sentence, function words too; its tokens share it evenly. All else is 0. Reference: none. Cost: none;
computed when results are published.
"""

from dataclasses import dataclass

import numpy as np

from heval_core.prompting.mentioned import mentions_in, words_shared
from heval_core.records.stored_instances import PlainPrompt


@dataclass(frozen=True)
class QuestionWords:
    key = "question_words"
    title = "Words of the question (control)"
    signed = False
    family = "control"
    control = True
    order = 6
    reference = "control"

    def scores(self, prompt: PlainPrompt) -> np.ndarray:
        scores, spans = np.zeros(len(prompt.tokens), dtype=np.float32), mentions_in(prompt)
        for span, count in zip(spans, words_shared(prompt, spans), strict=True):
            scores[span.start : span.end] = count / (span.end - span.start)
        return scores


PLUGIN = QuestionWords()
