"""A language model selects: it reads the claim, the verdict and all passages, and one example, and answers with numbers.

Formula: the prompt `selecting-1`, decoded greedily; the numbers of the answer, in the order of the claim's passages. An answer
that is anything else is told to the model, which is asked once more; then the claim has no passages, and the reason.
Reference: the machine-selected evidence of Xing, Baldwin and Lau (arXiv 2406.12645), after whose prompt ours is written.
Departure: the paper also asks for a justification, which nothing reads. Its example is a real claim, ours is invented.
Cost: one request a claim, two where the first answer could not be read; the model reads all passages.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from heval_core.citations.reading import explanation_prompt, layout
from heval_core.citations.records import Claim
from heval_core.citations.speaker import Selection, Speaker, ask_with_retry
from heval_core.records import HEvalError

# Every passage of a hundred could be named.
TOKENS = 400


@dataclass(frozen=True)
class LLM:
    prompt: str = "selecting-1"

    key = "llm"
    title = "Language model"
    order = 4
    asks = True
    reference = "Xing et al. 2024, arXiv 2406.12645"

    def check(self) -> None:
        layout(self.prompt)

    def select(self, claims: Sequence[Claim], speaker: Speaker | None) -> list[Selection]:
        """Select by asking the speaker. Raises HEvalError without one."""
        if speaker is None:
            raise HEvalError("The selector llm asks a language model, and none is given.")
        prompts = [explanation_prompt(claim, claim.passages, layout(self.prompt)).text for claim in claims]
        existing = [[passage.number for passage in claim.passages] for claim in claims]
        return [_selection(*numbers) for numbers in ask_with_retry(speaker, prompts, TOKENS, "passage", existing)]


def _selection(numbers: tuple[int, ...] | None, problem: str) -> Selection:
    return Selection(numbers or (), problem or ("" if numbers else "the model says that the verdict rests on no passage"))


PLUGIN = LLM()
