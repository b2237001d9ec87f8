"""How much each passage weighs for each sentence of an explanation: (K, S) for K passages and S sentences.

An explanation after its prompt is one model's `Tokens`, which say where passages and sentences stand.
"""

from __future__ import annotations

import dataclasses
import zlib
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from heval_core.citations.annotators.shared.choice import Weights
from heval_core.citations.reading import explanation_prompt, layout
from heval_core.citations.records import Explained
from heval_core.prompting.prompts import CHAT
from heval_core.records import HEvalError, Span, Target
from heval_core.statistics import sparse_fit

if TYPE_CHECKING:
    from heval_core.lm.model import LanguageModel

# A surprise of less than a bit counts as one: of a sentence that is certain anyway, shares would be shares of rounding.
BIT = float(np.log(2))
TINY = 1e-9


@dataclass(frozen=True)
class Tokens:
    """A prompt and its explanation in tokens.

    passages, sentences: spans of tokens, one each; Span(0, 0) for an empty one. start: where the explanation begins.
    """

    ids: tuple[int, ...]
    passages: tuple[Span, ...]
    sentences: tuple[Span, ...]
    start: int


def tokens_of(lm: LanguageModel, explained: Explained, left_out: Collection[int] = ()) -> Tokens:
    """Tokenise the bare sentences in one line, after the prompt they were written to, less some passages; in the model's own
    template.

    No marker is there, so that none can tell where a sentence comes from. The numbers of the passages that remain stay.
    left_out: numbers of passages. Raises HEvalError as `layout`, and where there are more tokens than the model reads.
    """
    from heval_core.lm.chat import answers_bare, in_chat

    passages = [passage for passage in explained.passages if passage.number not in left_out]
    prompt, chat = explanation_prompt(explained.claim, passages, layout(explained.prompt)), lm.template == CHAT
    prompt = in_chat(prompt, lm.tokenizer) if chat else prompt
    bare = answers_bare(lm.tokenizer) if chat else not prompt.text or prompt.text[-1].isspace()
    text = before = prompt.text + ("" if bare else " ")
    sentences = list[Span]()
    for sentence in (sentence.bare.strip() for sentence in explained.sentences):
        text += " " if sentence and text != before else ""
        sentences.append(Span(len(text), len(text) + len(sentence)))
        text += sentence
    documents = (*prompt.documents, *sentences)
    whole = dataclasses.replace(prompt, text=text, documents=documents, answers=((),) * len(documents))
    tokenised = lm.tokenise(whole, check_length=False)
    if len(tokenised.ids) > lm.positions:
        raise HEvalError(
            f"The explanation and its prompt have {len(tokenised.ids)} tokens; {lm.key} reads at most {lm.positions}."
        )
    count = len(prompt.documents)
    # Before the first token nothing is read that could expect it.
    spans = tuple(Span(max(1, span.start), span.end) if span.end > 1 else Span(0, 0) for span in tokenised.documents[count:])
    start = min((span.start for span in spans if span.end), default=len(tokenised.ids))
    return Tokens(tokenised.ids, tokenised.documents[:count], spans, start)


def sentence_logprobs(lm: LanguageModel, texts: Sequence[Tokens]) -> np.ndarray:
    """Compute log p of each sentence, (len(texts), S) float64: the sum over its tokens, given all before it.

    An empty one has 0.

    One forward pass over each text, whatever the number of sentences; texts run in batches.
    """
    from heval_core.lm.continuations import token_logprobs

    values = token_logprobs(lm, [(text.ids, text.start) for text in texts])
    rows = []
    for text, logprobs in zip(texts, values, strict=True):
        before = np.concatenate([[0.0], np.cumsum(logprobs.numpy().astype(float))])
        rows.append([before[s.end - text.start] - before[s.start - text.start] if s.end else 0.0 for s in text.sentences])
    return np.array(rows)


def left_one_out(lm: LanguageModel, explained: Explained) -> Weights:
    """Compute phi = log p(sentence | all) - log p(sentence | without the passage). K + 1 passes, which all sentences share.

    Comparable is the share of the sentence's surprise, -log p, that the passage takes away (or adds, below 0): of the surprise
    with or without the passage, whichever is larger. The least: an even share of K passages and all else that it knows.
    """
    texts = [tokens_of(lm, explained, left_out) for left_out in ((), *((number,) for number in explained.selected))]
    values = sentence_logprobs(lm, texts)
    phi = values[0] - values[1:]
    surprise = -np.minimum(values[0], values[1:])
    return Weights(phi, phi / np.maximum(surprise, BIT), 1 / (len(phi) + 1))


def contextcite(lm: LanguageModel, explained: Explained) -> Weights:
    """Compute phi = the coefficients of a Lasso fit (alpha .01) of the sentence's log-odds on which passages are there.

    Comparable is the share of the mean size of the sentence's log-odds; the least is that of `left_one_out`.
    """
    rows = sparse_fit.masks(len(explained.selected), zlib.crc32(explained.claim.id.encode()))
    removed = [[number for number, present in zip(explained.selected, row, strict=True) if not present] for row in rows]
    values = sentence_logprobs(lm, [tokens_of(lm, explained, left_out) for left_out in removed])
    odds = sparse_fit.log_odds(values)
    phi = np.array([sparse_fit.weights(rows, column) for column in odds.T]).T
    return Weights(phi, phi / np.maximum(np.abs(odds).mean(0), BIT), 1 / (len(phi) + 1))


def by_gradient(lm: LanguageModel, explained: Explained) -> Weights:
    """Compute phi = the length of the gradient of log p(sentence) at the embeddings, summed over the passage's tokens.

    Sizes of gradients differ a lot between sentences. Comparable: the logarithm of how many times the median passage it is.
    """
    text = tokens_of(lm, explained)
    by_token = np.zeros((len(text.sentences), len(text.ids)))
    written = [index for index, span in enumerate(text.sentences) if span.end]
    if written:
        spans = [text.sentences[index] for index in written]
        targets = [Target.of_text(text.ids, span.start, span.end) for span in spans]
        by_token[written] = lm.gradients.lengths(lm.ids(text.ids), targets).cpu().numpy()
    phi = _by_passage(by_token, text.passages)
    logs = np.log(np.maximum(phi, TINY))
    return Weights(phi, logs - np.median(logs, 0))


def by_attention(lm: LanguageModel, explained: Explained) -> Weights:
    """Compute phi = the attention that the rows which predict a sentence pay to a passage; the mean over rows, layers and
    heads.

    It varies by factors, not by differences: comparable is its logarithm.
    """
    text = tokens_of(lm, explained)
    by_token = np.zeros((len(text.sentences), len(text.ids)))
    if text.start < len(text.ids):
        ids = lm.ids(text.ids)
        rows = lm.heads.mean_attention(ids, lm.forward.clean(ids)[1], text.start - 1).cpu().numpy()
        for index, span in enumerate(text.sentences):
            if span.end:
                by_token[index] = rows[span.start - text.start : span.end - text.start].mean(0)
    phi = _by_passage(by_token, text.passages)
    return Weights(phi, np.log(np.maximum(phi, TINY)))


def _by_passage(rows: np.ndarray, passages: Sequence[Span]) -> np.ndarray:
    """Sum (S, n) per token ▶ (K, S) per passage."""
    return np.stack([rows[:, span.start : span.end].sum(1) for span in passages])
