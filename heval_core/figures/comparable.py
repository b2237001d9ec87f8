"""Which means may be set side by side: those over nearly the same cells. Others would compare cells, not explainers."""

from __future__ import annotations

import pandas as pd

# A cell in ten may be missing, such as where a run failed in part.
NEARLY_ALL = 0.9


def comparable(counts: pd.Series) -> pd.Series:
    """Whether each of some rows is over nearly as much as the most complete. counts: cells, or instances, of each."""
    return counts >= NEARLY_ALL * counts.max()
