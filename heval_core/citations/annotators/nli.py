"""An entailment model says which sentences follow from the passage.

Formula: premise = the passage, hypothesis = the sentence without any marker; chosen where entailment is the likeliest label.
Scores are the probabilities of entailment. With a seq2seq model (TRUE), the prompt "premise: … hypothesis: …" is answered
greedily, chosen where "1" is the likeliest first token, and the score is that token's probability.
Reference: Xing et al., arXiv 2406.12645; Honovich et al. 2022 (TRUE, arXiv 2204.04991).
Departure: none. A pair that is too long loses the end of its premise, as is usual; empty sentences are not asked about.
Cost: one pass for each pair of passage and sentence, in batches. model: a Hugging Face id or a folder; it must be named.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from heval_core.citations.annotators.shared import read_with
from heval_core.citations.reading import shown
from heval_core.citations.records import Choice, Question

if TYPE_CHECKING:
    from heval_core.lm.entailment import Entailment


@dataclass(frozen=True)
class NLI:
    model: str = ""

    key = "nli"
    family = "reader"
    control = False
    order = 2
    reads = "entailment"
    reference = "Xing et al. 2024 (arXiv 2406.12645); Honovich et al. 2022 (arXiv 2204.04991)"

    @property
    def title(self) -> str:
        return read_with("Entailment model", self.model)

    def annotate(self, questions: Sequence[Question], reader: Entailment) -> list[Choice]:
        pairs = [[(premise, index, text) for index, text in hypotheses] for premise, hypotheses in map(_asked, questions)]
        distinct = list(dict.fromkeys((premise, text) for of_question in pairs for premise, _, text in of_question))
        judged = dict(zip(distinct, reader.judge(distinct), strict=True))
        choices = []
        for question, of_question in zip(questions, pairs, strict=True):
            found = {index: judged[premise, text] for premise, index, text in of_question}
            chosen = frozenset(index for index, judgement in found.items() if judgement.entailed)
            scores = (found[index].probability if index in found else 0.0 for index in range(len(question.sentences)))
            choices.append(Choice(chosen, tuple(scores)))
        return choices


def _asked(question: Question) -> tuple[str, list[tuple[int, str]]]:
    """The premise, and place and text of each sentence that has one."""
    explained = question.explained
    texts = [(index, sentence.bare.strip()) for index, sentence in enumerate(explained.sentences)]
    return shown(explained.claim.passage(question.passage)), [(index, text) for index, text in texts if text]


PLUGIN = NLI()
