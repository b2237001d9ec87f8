"""How often each head was chosen, layers down and heads across."""

from __future__ import annotations

import numpy as np
import pandas as pd

from heval_core.present.drawing import DARK, LIGHT, Drawing, Mark
from heval_core.present.numbers import percent
from heval_core.records import head_name

_SIDE, _LEFT, _TOP = 28.0, 40.0, 24.0  # of a square and its gap, and of what stands before them, in pixels
_FULL, _LEAST = "#CC79A7", 0.06


def counts_by_head(counts: pd.DataFrame, layers: int, heads: int) -> np.ndarray:
    """(layers, heads) instances in which each head was chosen. counts: columns layer, head and instances."""
    table = np.zeros((layers, heads))
    for row in counts.itertuples():
        table[row.layer, row.head] = row.instances
    return table


def head_counts(table: np.ndarray) -> Drawing:
    """table: (layers, heads) instances in which each was chosen. A square's id is its head's name."""
    layers, heads = table.shape
    shares, most = table / max(1.0, float(table.sum())), float(table.max()) or 1.0
    drawing = Drawing(max(680.0, _LEFT + _SIDE * heads), _TOP + _SIDE * layers, "How often each head was chosen")
    for head in range(heads):
        drawing.words("faint", (_LEFT + _SIDE * (head + 0.5), 14), f"H{head}", "middle")
    for layer in range(layers):
        middle = _TOP + _SIDE * (layer + 0.5)
        drawing.words("faint", (_LEFT - 10, middle + 4), f"L{layer}", "end")
        for head in range(heads):
            hue = _shade(_LEAST + (1 - _LEAST) * table[layer, head] / most)
            square = Mark("box", "piece", -_SIDE / 2 + 1, -_SIDE / 2 + 1, _SIDE - 3, _SIDE - 3, hue=hue)
            name = head_name(layer, head)
            about = f"{int(table[layer, head]):,} instances ({percent(shares[layer, head])})"
            drawing.spot((_LEFT + _SIDE * (head + 0.5), middle), [square], (name, about), id=(name,), reach=_SIDE / 2)
    return drawing


def _shade(strength: float) -> str:
    """So much of the full colour, on a light and on a dark page."""
    return f"light-dark({', '.join(_mixed(strength, theme.page) for theme in (LIGHT, DARK))})"


def _mixed(strength: float, page: str) -> str:
    parts = [(int(_FULL[start : start + 2], 16), int(page[start : start + 2], 16)) for start in (1, 3, 5)]
    return "#" + "".join(f"{round(strength * full + (1 - strength) * empty):02X}" for full, empty in parts)
