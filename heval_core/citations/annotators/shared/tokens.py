"""An explanation after its prompt as one model's tokens, and how likely each sentence is there."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from heval_core.citations.reading import Reading
from heval_core.prompts import CHAT
from heval_core.records import HEvalError, Span

if TYPE_CHECKING:
    from heval_core.lm.model import LanguageModel


@dataclass(frozen=True)
class Tokens:
    """passages, sentences: spans of tokens, one each; Span(0, 0) for an empty one. start: where the explanation begins."""

    ids: tuple[int, ...]
    passages: tuple[Span, ...]
    sentences: tuple[Span, ...]
    start: int


def tokens_of(lm: LanguageModel, found: Reading) -> Tokens:
    """In the model's own template. Raises HEvalError where there are more tokens than the model reads."""
    from heval_core.lm.chat import answers_bare, in_chat

    chat = lm.template == CHAT
    prompt = in_chat(found.prompt, lm.tokenizer) if chat else found.prompt
    bare = answers_bare(lm.tokenizer) if chat else not prompt.text or prompt.text[-1].isspace()
    text = prompt.text + ("" if bare else " ")
    sentences = [Span(len(text) + span.start, len(text) + span.end) for span in found.sentences]
    documents = (*prompt.documents, *sentences)
    whole = dataclasses.replace(prompt, text=text + found.explanation, documents=documents, answers=((),) * len(documents))
    tokenised = lm.tokenise(whole, check_length=False)
    if len(tokenised.ids) > lm.positions:
        raise HEvalError(
            f"The explanation and its prompt have {len(tokenised.ids)} tokens; {lm.key} reads at most {lm.positions}."
        )
    count = len(prompt.documents)
    # Before the first token nothing is read that could expect it.
    own = tuple(Span(max(1, span.start), span.end) if span.end > 1 else Span(0, 0) for span in tokenised.documents[count:])
    start = min((span.start for span in own if span.end), default=len(tokenised.ids))
    return Tokens(tokenised.ids, tokenised.documents[:count], own, start)


def sentence_logprobs(lm: LanguageModel, texts: Sequence[Tokens], together: int | None = None) -> np.ndarray:
    """(len(texts), S) float64: log p of each sentence, the sum over its tokens, given all before it. An empty one has 0.

    One forward pass over each text, whatever the number of sentences; texts run in batches.
    """
    from heval_core.lm.continuations import Continued, token_logprobs

    values = token_logprobs(lm, [Continued(text.ids, text.start) for text in texts], together)
    rows = []
    for text, own in zip(texts, values, strict=True):
        before = np.concatenate([[0.0], np.cumsum(own.numpy().astype(float))])
        rows.append([before[s.end - text.start] - before[s.start - text.start] if s.end else 0.0 for s in text.sentences])
    return np.array(rows)
