"""What an explanation gives to pieces of a prompt: the sums of their tokens' scores, as shares of the whole explanation."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from heval_core.metrics.shared.cell import Layout

# Sums are rounded to so many digits: those that differ by rounding only, such as those of scores in another order, are equal.
DIGITS = 9


def segment_shares(layout: Layout, scores: np.ndarray, segments: Sequence[np.ndarray], positive: bool = False) -> np.ndarray:
    """(N, n) scores and S bool segments (N, n) ▶ (N, S): the sum of each segment's scores over that of all absolute scores.

    Only ranked tokens count. positive: scores below 0 count as 0. A prompt whose scores are all 0 gives every segment 0.
    """
    ranked = np.where(layout.ranked, scores, 0.0)
    whole = np.abs(ranked).sum(axis=1)
    counted = np.maximum(ranked, 0.0) if positive else ranked
    sums = np.stack([np.where(segment, counted, 0.0).sum(axis=1) for segment in segments], axis=1)
    shares = np.divide(sums, whole[:, None], out=np.zeros_like(sums), where=whole[:, None] > 0)
    return np.round(shares, DIGITS)
