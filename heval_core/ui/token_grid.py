"""The token-highlight component: a prompt with one row of scores per explainer, token under token."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np
import streamlit as st

from heval_core.figures.palette import colour
from heval_core.statistics.scores import average_ranks, best_tokens, normalise
from heval_core.ui.component import component
from heval_core.ui.grid_controls import How
from heval_core.units import summed, units_of


@dataclass(frozen=True)
class Row:
    """One explainer's scores over the prompt. note: what to add to its title, such as the chosen head."""

    explainer: str
    title: str
    signed: bool
    scores: Sequence[float]
    note: str = ""


@dataclass(frozen=True)
class Block:
    """A run of tokens [start, end) shown together. kind: document, question or text. used: where the answer came from."""

    kind: str
    start: int
    end: int
    caption: str = ""
    used: bool = False


def strengths(scores: np.ndarray, ranks: np.ndarray, scale: str, largest: float) -> np.ndarray:
    """(n,) how strong each cell is drawn, 0 to 1. largest: of all rows' scores, which `normalised` is relative to."""
    if scale == "rank":
        count = max(1, int(np.isfinite(ranks).sum()) - 1)
        return np.nan_to_num(np.clip(1 - (ranks - 1) / count, 0, 1)) ** 3
    of = largest if scale == "normalised" else float(np.abs(scores[np.isfinite(ranks)]).max(initial=0.0))
    return np.sqrt(np.clip(np.abs(scores) / of, 0, 1)) if of else np.zeros_like(scores)


def row_data(row: Row, first_ranked: int, k: int, scale: str = "raw", largest: float = 0.0) -> dict[str, Any]:
    """A row as the component draws it: normalised scores, ranks as the metrics count them, and the k best tokens."""
    raw = np.asarray(row.scores, dtype=np.float64)
    ranked = np.arange(len(raw)) >= first_ranked
    ranks = average_ranks(raw[None], ranked[None])[0]
    scores = normalise(raw, row.signed)
    total = np.abs(scores).sum()
    return {
        "title": row.title,
        "short": row.explainer,
        "note": row.note,
        "color": colour(row.explainer),
        "signed": row.signed,
        "raw": [float(f"{value:.6g}") for value in raw],
        "scores": [float(f"{value:.4g}") for value in scores],
        "share": [float(f"{value:.3g}") for value in (np.abs(scores) / total if total else scores)],
        "ranks": [None if np.isnan(r) else float(r) for r in ranks],
        "strength": [round(float(value), 3) for value in strengths(scores, ranks, scale, largest)],
        "largest": float(np.abs(scores[ranked]).max(initial=0.0)) or 1.0,
        "top": best_tokens(raw, ranks, k),
    }


def token_grid(
    tokens: Sequence[str],
    blocks: Sequence[Block],
    gold: Sequence[int],
    rows: Sequence[Row],
    *,
    key: str,
    k: int = 5,
    first_ranked: int = 0,
    how: How | None = None,
    on_key: Callable[[str], None] | None = None,
) -> None:
    """Draw the prompt and its rows. gold: indices of the tokens to underline; k: how many tokens to ring per row.

    on_key: called with `k`, `g`, `[` or `]` when it is pressed in the grid.
    """
    data = grid_data(tokens, blocks, gold, rows, k, first_ranked, how or How())
    draw = component("token_grid")
    if on_key is None:
        draw(key=key, data=data)
        return

    def pressed() -> None:
        state = st.session_state.get(key) or {}
        if state.get("pressed"):
            on_key(str(state["pressed"]))

    draw(key=key, data=data, on_pressed_change=pressed)


def grid_data(
    tokens: Sequence[str],
    blocks: Sequence[Block],
    gold: Sequence[int],
    rows: Sequence[Row],
    k: int,
    first_ranked: int,
    how: How,
) -> dict[str, Any]:
    """What the component draws: columns of tokens or larger units, with indices of blocks and gold counted in these."""
    # What is not ranked shares no word or sentence with what is.
    parts = [f"{n} {i < first_ranked}" for n, block in enumerate(blocks) for i in range(block.start, block.end)]
    units = units_of(tokens, parts, how.level)
    column = {index: number for number, unit in enumerate(units) for index in range(unit.start, unit.end)}
    first = sum(unit.end <= first_ranked for unit in units)
    merged_rows = [replace(row, scores=summed(row.scores, units).tolist()) for row in rows]
    largest = max((_largest(row, first) for row in merged_rows), default=0.0)
    return {
        "tokens": ["".join(tokens[unit.start : unit.end]) for unit in units],
        "blocks": [
            asdict(replace(block, start=column[block.start], end=column[block.end - 1] + 1))
            for block in blocks
            if block.end > block.start
        ],
        "gold": sorted({column[int(i)] for i in gold}),
        "k": k,
        "rows": [row_data(row, first, k, how.scale, largest) for row in merged_rows],
        "first_ranked": first,
        "dense": how.dense,
        "level": how.level,
    }


def _largest(row: Row, first_ranked: int) -> float:
    scores = normalise(np.asarray(row.scores, dtype=np.float64), row.signed)
    return float(np.abs(scores[first_ranked:]).max(initial=0.0))


def blocks_of(
    length: int,
    documents: Sequence[tuple[int, int]],
    question: tuple[int, int],
    captions: Sequence[str],
    used: int | None = None,
) -> list[Block]:
    """Documents, question and what lies between them, covering the prompt without gaps. used: index of a document."""
    named = [
        Block("document", *span, caption, number == used)
        for number, (span, caption) in enumerate(zip(documents, captions, strict=True))
    ]
    if question[1] > question[0]:
        named.append(Block("question", *question, "question"))
    named.sort(key=lambda block: block.start)
    # The few tokens around the question (`Q:` and `A:`) belong to its block: they are no text of their own.
    out: list[Block] = []
    end = 0
    for block in named:
        out.append(replace(block, start=end))
        end = block.end
    if out and end < length:
        last = out.pop()
        out.append(replace(last, end=length))
    return out or [Block("text", 0, length)]
