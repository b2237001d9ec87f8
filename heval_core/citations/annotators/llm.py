"""A language model is asked which sentences should cite the passage, as a person is.

Formula: one prompt for each question, without examples: claim, verdict, the passage, the numbered sentences without this
passage's markers (the other markers stay); `prompts/recovery-1.txt` has the words. The answer: numbers of sentences, or -1.
Reference: Xing et al., arXiv 2406.12645 (zero-shot annotators).
Departure: our words, and numbers from 0. An answer that is anything else is told to the model, which is asked once more. If
that fails too, it counts as an answer without sentences, as its `problem` says. Who gave no answer at all is not asked again.
Cost: one answer for each question, seldom two. model: who is asked; "" for the writer of the explanation.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from heval_core.citations.annotators.shared import read_with
from heval_core.citations.reading import prompt_text, shown
from heval_core.citations.records import Choice, Question
from heval_core.citations.speaker import Speaker, ask_with_retry

PROMPT = "recovery-1"
# For numbers, their commas and spaces, even if all sentences are named.
TOKENS, TOKENS_EACH = 8, 4


@dataclass(frozen=True)
class LLM:
    model: str = ""

    key = "llm"
    family = "reader"
    control = False
    order = 1
    reads = "speaker"
    reference = "Xing et al. 2024 (arXiv 2406.12645)"

    @property
    def title(self) -> str:
        return read_with("Language model", self.model)

    def annotate(self, questions: Sequence[Question], reader: Speaker) -> list[Choice]:
        prompts = [prompt_of(question) for question in questions]
        counts = [len(question.sentences) for question in questions]
        tokens = TOKENS + TOKENS_EACH * max(counts, default=0)
        answers = ask_with_retry(reader, prompts, tokens, "sentence", [range(count) for count in counts])
        return [Choice(frozenset(chosen or ()), problem=problem) for chosen, problem in answers]


def prompt_of(question: Question) -> str:
    """Write the prompt of a question.

    Braces in a claim, a passage or a sentence are text, never a field; no sentence is read as several.
    """
    claim = question.explained.claim
    words = {
        "claim": claim.claim,
        "verdict": claim.verdict,
        "passage": shown(claim.passage(question.passage)),
        "sentences": "\n".join(f"{number}: {' '.join(text.split())}" for number, text in enumerate(question.sentences)),
    }
    return prompt_text(PROMPT).rstrip("\n").format(**words)


PLUGIN = LLM()
