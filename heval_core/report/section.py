"""A section of a report."""

from __future__ import annotations

from dataclasses import dataclass

import pandas as pd

from heval_core.report.drawing import Drawing

# What stands where there is no value.
MISSING = "–"


@dataclass(frozen=True, eq=False)
class Section:
    """paper: what it is in the paper. chapter: the heading it stands under. figures: (caption, drawing)."""

    key: str
    chapter: str
    title: str
    paper: str
    text: str
    figures: tuple[tuple[str, Drawing], ...]
    table: pd.DataFrame
    shown: pd.DataFrame
    gaps: tuple[str, ...]
