"""Prompts as tests ask them, and the usual target: the likeliest token against the runner-up."""

from __future__ import annotations

from heval_core.lm.clean_pass import CleanPass
from heval_core.lm.model import LanguageModel
from heval_core.prompts import assemble
from heval_core.records import Target, TokenisedPrompt

KENYA, PERU = "The capital of Kenya is Lisbon.", "The capital of Peru is Lima."
QUESTION = "Which capital is it?"


def asked(lm: LanguageModel, *documents: str, question: str = QUESTION) -> TokenisedPrompt:
    return lm.tokenise(assemble(documents, (None,) * len(documents), question))


def clean_of(lm: LanguageModel, *documents: str, question: str = QUESTION) -> CleanPass:
    return CleanPass(lm, [asked(lm, *documents, question=question)])


def runner_up(clean: CleanPass, row: int = 0) -> Target:
    return Target.next_token(*clean.logits[row].topk(2).indices.tolist(), "runner-up token")


def runner_ups(clean: CleanPass) -> list[Target]:
    """Of each prompt of the pass."""
    return [runner_up(clean, row) for row in range(clean.size)]
