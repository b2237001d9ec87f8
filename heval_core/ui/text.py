"""Words on pages. Text that comes from data is never markup: `plain` takes the meaning out of every Markdown sign."""

from __future__ import annotations

import re
from typing import Any

import pandas as pd

# Also `:` (icons, colours), `$` (LaTeX) and `&`, `<` (HTML), which Streamlit's Markdown gives a meaning.
_SIGNS = re.compile(r"([\\`*_{}\[\]()#+\-.!|~:$^=])")
_INVISIBLE = {"\n": "⏎", "\t": "⇥", "\r": "␍", "\x00": "␀", "\u202e": "⟲"}


def plain(text: Any) -> str:
    """Text for st.markdown, st.caption and labels, shown as it is."""
    visible = "".join(_INVISIBLE.get(c, c) for c in str(text))
    escaped = _SIGNS.sub(r"\\\1", visible)
    return escaped.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


def number(value: float | None, digits: int = 2) -> str:
    """Two significant digits, as in .42, 3.1 or 17; a dash for what is not there."""
    if value is None or pd.isna(value):
        return "–"
    if abs(value) >= 10:
        return f"{value:,.0f}"
    return f"{value:.{digits}f}" if abs(value) < 1 else f"{value:.1f}"


def percent(share: float) -> str:
    return f"{100 * share:.0f} %"


REGIME_TITLES = {
    "conflicting": "Conflicting",
    "irrelevant": "Irrelevant",
    "double_conflicting": "Double conflicting",
    "mixed": "Mixed",
    "double_conflicting_swap": "Double conflicting, swapped",
    "mixed_swap": "Mixed, swapped",
}
GROUP_TITLES = {
    "C": "C: from the document",
    "M": "M: from memory",
    "C1": "C1: from document 1",
    "C2": "C2: from document 2",
    "other": "other answer",
    "ambiguous": "ambiguous",
}
UNITS = {"group_rank_margin": "ranks", "instance_rank_margin": "ranks", "mrr": "mean reciprocal rank"}
