"""The token-highlight component: a prompt with one row of scores per explainer, token under token."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import streamlit as st

from heval_core.figures.palette import colour
from heval_core.scores import average_ranks, normalise

_ASSETS = Path(__file__).parent / "components"


@cache
def _component() -> Any:
    return st.components.v2.component(
        "heval_token_grid",
        html='<div class="host"></div>',
        css=(_ASSETS / "token_grid.css").read_text(encoding="utf-8"),
        js=(_ASSETS / "token_grid.js").read_text(encoding="utf-8"),
    )


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
    """A run of tokens [start, end) shown together. kind: document, question or text."""

    kind: str
    start: int
    end: int
    caption: str = ""


def row_data(row: Row, first_ranked: int, k: int) -> dict[str, Any]:
    """A row as the component draws it: normalised scores, ranks as the metrics count them, and the k best tokens."""
    raw = np.asarray(row.scores, dtype=np.float64)
    ranked = np.arange(len(raw)) >= first_ranked
    ranks = average_ranks(raw[None], ranked[None])[0]
    scores = normalise(raw, row.signed)
    total = np.abs(scores).sum()
    best = [int(i) for i in np.argsort(np.where(ranked, ranks, np.inf), kind="stable")[:k] if ranked[i]]
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
        "largest": float(np.abs(scores[ranked]).max(initial=0.0)) or 1.0,
        "top": best,
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
) -> None:
    """Draw the prompt and its rows. gold: indices of the tokens to underline; k: how many tokens to ring per row."""
    data = {
        "tokens": list(tokens),
        "blocks": [{"kind": b.kind, "start": b.start, "end": b.end, "caption": b.caption} for b in blocks],
        "gold": sorted({int(i) for i in gold}),
        "rows": [row_data(row, first_ranked, k) for row in rows],
        "first_ranked": first_ranked,
    }
    _component()(key=key, data=data)


def blocks_of(
    length: int, documents: Sequence[tuple[int, int]], question: tuple[int, int], captions: Sequence[str]
) -> list[Block]:
    """Documents, question and what lies between them, covering the prompt without gaps."""
    named = [Block("document", *span, caption) for span, caption in zip(documents, captions, strict=True)]
    if question[1] > question[0]:
        named.append(Block("question", *question, "question"))
    named.sort(key=lambda block: block.start)
    # The few tokens around the question (`Q:` and `A:`) belong to its block: they are no text of their own.
    out: list[Block] = []
    end = 0
    for block in named:
        out.append(Block(block.kind, end, block.end, block.caption))
        end = block.end
    if out and end < length:
        last = out.pop()
        out.append(Block(last.kind, last.start, length, last.caption))
    return out or [Block("text", 0, length)]
