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
        premises = [shown(question.explained.claim.passage(question.passage)) for question in questions]
        hypotheses = [[sentence.bare.strip() for sentence in question.explained.sentences] for question in questions]
        batches = list(zip(premises, hypotheses, strict=True))
        pairs = list(dict.fromkeys((premise, text) for premise, texts in batches for text in texts if text))
        judged = dict(zip(pairs, reader.judge(pairs), strict=True))
        by_question = [[judged.get((premise, text)) for text in texts] for premise, texts in batches]
        return [
            Choice(
                frozenset(index for index, judgement in enumerate(judgements) if judgement and judgement.entailed),
                tuple(judgement.probability if judgement else 0.0 for judgement in judgements),
            )
            for judgements in by_question
        ]


PLUGIN = NLI()
