"""How much each passage weighs for each sentence of an explanation: (K, S) for K passages and S sentences."""

from __future__ import annotations

import zlib
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from heval_core.citations.annotators.shared.choice import Weights
from heval_core.citations.annotators.shared.tokens import Tokens, sentence_logprobs, tokens_of
from heval_core.citations.reading import reading
from heval_core.citations.records import Explained
from heval_core.records import Span, Target
from heval_core.statistics import sparse_fit

if TYPE_CHECKING:
    from heval_core.lm.model import LanguageModel

# A surprise of less than a bit counts as one: of a sentence that is certain anyway, shares would be shares of rounding.
BIT = float(np.log(2))
TINY = 1e-9


def left_one_out(lm: LanguageModel, explained: Explained, together: int | None = None) -> Weights:
    """phi = log p(sentence | all) - log p(sentence | without the passage). K + 1 passes, which all sentences share.

    Comparable is the share of the sentence's surprise, -log p, that the passage takes away (or adds, below 0): of the surprise
    with or without the passage, whichever is larger. The least is an even share of the K passages and of all else that the
    model knows.
    """
    texts = [_without(lm, explained, left_out) for left_out in ((), *((number,) for number in explained.selected))]
    values = sentence_logprobs(lm, texts, together)
    phi = values[0] - values[1:]
    surprise = -np.minimum(values[0], values[1:])
    return Weights(phi, phi / np.maximum(surprise, BIT), 1 / (len(phi) + 1))


def contextcite(lm: LanguageModel, explained: Explained, together: int | None = None) -> Weights:
    """phi = the coefficients of a Lasso fit (alpha .01) of the sentence's log-odds on which passages are there.

    Comparable is the share of the mean size of the sentence's log-odds; the least is that of `left_one_out`.
    """
    kept = sparse_fit.masks(len(explained.selected), zlib.crc32(explained.claim.id.encode()))
    gone = [[number for number, there in zip(explained.selected, row, strict=True) if not there] for row in kept]
    values = sentence_logprobs(lm, [_without(lm, explained, left_out) for left_out in gone], together)
    odds = sparse_fit.log_odds(values)
    phi = np.array([sparse_fit.weights(kept, own) for own in odds.T]).T
    return Weights(phi, phi / np.maximum(np.abs(odds).mean(0), BIT), 1 / (len(phi) + 1))


def by_gradient(lm: LanguageModel, explained: Explained) -> Weights:
    """phi = the length of the gradient of log p(sentence) at the embeddings, summed over the passage's tokens.

    How large gradients are differs a lot between sentences. Comparable is the logarithm of how many times the sentence's
    median passage it is.
    """
    text = _without(lm, explained, ())
    found = np.zeros((len(text.sentences), len(text.ids)))
    written = [place for place, span in enumerate(text.sentences) if span.end]
    if written:
        spans = [text.sentences[place] for place in written]
        targets = [Target.of_text(text.ids, span.start, span.end) for span in spans]
        found[written] = lm.gradients.lengths(lm.ids(text.ids), targets).cpu().numpy()
    phi = _by_passage(found, text.passages)
    logs = np.log(np.maximum(phi, TINY))
    return Weights(phi, logs - np.median(logs, 0))


def by_attention(lm: LanguageModel, explained: Explained) -> Weights:
    """phi = the attention that the rows which predict a sentence pay to a passage; the mean over rows, layers and heads.

    It varies by factors, not by differences: comparable is its logarithm.
    """
    text = _without(lm, explained, ())
    found = np.zeros((len(text.sentences), len(text.ids)))
    if text.start < len(text.ids):
        ids = lm.ids(text.ids)
        rows = lm.heads.mean_attention(ids, lm.forward.clean(ids)[1], text.start - 1).cpu().numpy()
        for place, span in enumerate(text.sentences):
            if span.end:
                found[place] = rows[span.start - text.start : span.end - text.start].mean(0)
    phi = _by_passage(found, text.passages)
    return Weights(phi, np.log(np.maximum(phi, TINY)))


def _without(lm: LanguageModel, explained: Explained, left_out: Sequence[int]) -> Tokens:
    return tokens_of(lm, reading(explained, left_out))


def _by_passage(rows: np.ndarray, passages: Sequence[Span]) -> np.ndarray:
    """(S, n) per token ▶ (K, S)"""
    return np.stack([rows[:, span.start : span.end].sum(1) for span in passages])
