"""A prompt and its explainers' scores as the reading surface draws them, and what a page says of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np

from heval_core.answers import first_clause
from heval_core.figures.palette import colour, in_order
from heval_core.metrics.shared.cell import KS
from heval_core.present.names import regime_title
from heval_core.present.numbers import ordinal
from heval_core.prompts import is_fragment
from heval_core.records import TECHNIQUE
from heval_core.statistics.scores import average_ranks, best_tokens, normalise
from heval_core.store.reader import Reader
from heval_core.stored import StoredAttribution, StoredInstance
from heval_core.ui.names import document_caption, names_of
from heval_core.ui.text import plain
from heval_core.units import summed, units_of
from heval_core.words import answer_from, token_name

# A sentence in pieces that the surface draws: `b`, `i` or nothing, and a text of the data as it is.
Pieces = list[tuple[str, str]]
SCALES = ("raw", "normalised", "rank")


@dataclass(frozen=True)
class Row:
    """One explainer's scores over the prompt.

    about: what it does, in a sentence. note: what files add to its title, such as the chosen head. picked: whether it is a
    head that the reader picked, and no explainer of its own.
    """

    explainer: str
    title: str
    signed: bool
    scores: Sequence[float]
    about: str = ""
    control: bool = False
    picked: bool = False
    note: str = ""


@dataclass(frozen=True)
class Block:
    """A run of tokens [start, end) shown together. kind: document, question, text, or layout: what is never ranked, folded.

    used: where the answer came from.
    """

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


def row_data(row: Row, places: range, scale: str = "raw", largest: float = 0.0) -> dict[str, Any]:
    """A row as the surface draws it: normalised scores, ranks as the metrics count them, and the best tokens for every k.

    places: the units that are ranked. scale: one of SCALES: `raw`, tints on the row's own scale; `normalised`, relative to
    `largest`; `rank`, the best is darkest.
    """
    raw = np.asarray(row.scores, dtype=np.float64)
    ranked = np.isin(np.arange(len(raw)), places)
    ranks = average_ranks(raw[None], ranked[None])[0]
    scores = normalise(raw, row.signed)
    total = np.abs(scores).sum()
    return {
        "key": "head" if row.picked else row.explainer,
        "title": row.title,
        "short": row.explainer,
        "about": row.about,
        "control": row.control,
        "picked": row.picked,
        "color": colour("mechlight" if row.picked else row.explainer),
        "signed": row.signed,
        "raw": [float(f"{value:.6g}") for value in raw],
        "scores": [float(f"{value:.4g}") for value in scores],
        "share": [float(f"{value:.3g}") for value in (np.abs(scores) / total if total else scores)],
        "ranks": [None if np.isnan(r) else float(r) for r in ranks],
        "strength": [round(float(value), 3) for value in strengths(scores, ranks, scale, largest)],
        "largest": float(np.abs(scores[ranked]).max(initial=0.0)) or 1.0,
        "top": {k: best_tokens(raw, ranks, k) for k in KS},
    }


def prompt_data(instance: StoredInstance, rows: Sequence[Row], level: str = "token", scale: str = "raw") -> dict[str, Any]:
    """What the surface draws: units of the level, with indices of blocks and answers counted in these.

    The answer's rank in a row is that of its best token in the used document, whatever the level.
    """
    blocks, ranked = blocks_of(instance), instance.ranked
    # What is not ranked shares no word or sentence with what is.
    parts = [f"{n} {i in ranked}" for n, block in enumerate(blocks) for i in range(block.start, block.end)]
    units = units_of(instance.tokens, parts, level)
    column = {index: number for number, unit in enumerate(units) for index in range(unit.start, unit.end)}
    places = range(sum(unit.end <= ranked.start for unit in units), sum(unit.start < ranked.stop for unit in units))
    merged_rows = [replace(row, scores=summed(row.scores, units).tolist()) for row in rows]
    largest = max((_largest(row, places) for row in merged_rows), default=0.0)
    ranks = answer_ranks(instance, rows)
    return {
        "tokens": ["".join(instance.tokens[unit.start : unit.end]) for unit in units],
        "blocks": [
            asdict(replace(block, start=column[block.start], end=column[block.end - 1] + 1))
            for block in blocks
            if block.end > block.start
        ],
        "gold": sorted({column[int(i)] for i in instance.answer_tokens}),
        "rows": [
            row_data(merged, places, scale, largest) | {"rank": ranks.get(row.explainer)}
            for row, merged in zip(rows, merged_rows, strict=True)
        ],
        "first_ranked": places.start,
        "ranked_end": places.stop,
        "ranked": len(ranked),
    }


def answer_ranks(instance: StoredInstance, rows: Sequence[Row]) -> dict[str, float]:
    """Explainer ▶ the rank of the used answer's best token, ties at their average; empty if no document was used."""
    if instance.used_document is None:
        return {}
    ranked = instance.ranked
    gold = [token - ranked.start for token in instance.documents[instance.used_document].answer_tokens]
    if not gold:
        return {}
    own = slice(ranked.start, ranked.stop)
    return {row.explainer: float(average_ranks(np.asarray(row.scores)[own])[0][gold].min()) for row in rows}


def answer_of(instance: StoredInstance) -> str:
    """The answer as a reader would say it: the candidate where the model went on to write it, else the clause that it wrote;
    else its first token."""
    first, whole = instance.predicted_text.strip(), (instance.answer_text or "").strip()
    text = next((candidate.text for candidate in instance.candidates if candidate.group == instance.group), "")
    return text if text and text.lower() in whole.lower() else first_clause(whole) or first


def chance_rank(instance: StoredInstance) -> float | None:
    """The mean rank of the best of m tokens among n if scores are random: (n + 1) / (m + 1). None if no document was used."""
    if instance.used_document is None:
        return None
    gold = len(instance.documents[instance.used_document].answer_tokens)
    return (len(instance.ranked) + 1) / (gold + 1) if gold else None


def _largest(row: Row, places: range) -> float:
    scores = normalise(np.asarray(row.scores, dtype=np.float64), row.signed)
    return float(np.abs(scores[places.start : places.stop]).max(initial=0.0))


def blocks_of(instance: StoredInstance) -> list[Block]:
    """Documents, question and what lies between them, covering the prompt without gaps; first what is never ranked."""
    named = [
        Block("document", document.start, document.end, document_caption(instance, number), number == instance.used_document)
        for number, document in enumerate(instance.documents)
    ]
    question = instance.question_span
    if question.end > question.start:
        named.append(Block("question", question.start, question.end, "question"))
    named.sort(key=lambda block: block.start)
    # The few tokens around the question (`Q:` and `A:`) belong to its block: they are no text of their own.
    end = instance.first_ranked if instance.first_ranked > 1 else 0  # a BOS alone is no text
    out = [Block("layout", 0, end, "layout of the prompt, never ranked")] if end else []
    for block in named:
        while out and end < block.start and instance.tokens[end].isspace():  # a line that ends belongs to what it ends
            end += 1
        out[-1:] = [replace(one, end=end) for one in out[-1:]]
        out.append(replace(block, start=end))
        end = block.end
    if out and end < len(instance.tokens):
        last = out.pop()
        out.append(replace(last, end=len(instance.tokens)))
    return out or [Block("text", 0, len(instance.tokens))]


def rows_of(results: Reader, attributions: dict[str, StoredAttribution]) -> list[Row]:
    """Rows of the stored attributions, methods first, controls last."""
    names = names_of(results)
    return [
        Row(
            key,
            names.explainer(key),
            attributions[key].signed,
            attributions[key].scores,
            names.meaning("explainer", key),
            key in names.controls,
            note=attributions[key].head_name,
        )
        for key in in_order(list(attributions))
    ]


def sentence(instance: StoredInstance, rows: list[Row]) -> Pieces:
    """What the model answered, and which method puts the answer highest and lowest among its tokens."""
    pieces: Pieces = [("", "The model answers "), ("b", answer_of(instance)), ("", f", {answer_from(instance.group)}.")]
    if instance.group == "other" and is_fragment(instance.predicted_text):
        return [*pieces, ("", " That is no whole answer: choose another layout, or let its first sentence decide.")]
    methods = [row for row in rows if not row.control and not row.picked]
    ranks = answer_ranks(instance, methods)
    if not ranks:
        return pieces
    ordered = sorted(methods, key=lambda row: ranks[row.explainer])
    best, worst = ordered[0], ordered[-1]
    among = len(instance.ranked)
    pieces += [("", " "), ("b", best.title), ("", f" ranks that word {ordinal(ranks[best.explainer])} of {among:,}")]
    if ranks[worst.explainer] == ranks[best.explainer]:
        return [*pieces, ("", ".")]
    top = instance.tokens[max(instance.ranked, key=worst.scores.__getitem__)]
    lowest = f" {ordinal(ranks[worst.explainer])}: it points at {token_name(top)}."
    return [*pieces, ("", "; "), ("b", worst.title), ("", lowest)]


def facts(instance: StoredInstance, dataset: str, technique: str = "") -> str:
    """Model, dataset, regime and technique; whether the document was shown; and what the model was taught to believe."""
    parts = [instance.model, dataset, regime_title(instance.regime)]
    if instance.technique != TECHNIQUE:
        parts.append(technique or instance.technique)
    if instance.prompt and not instance.documents:
        parts.append("answered without the document")
    elif instance.expected_group:
        parts.append(f"taught to answer {answer_from(instance.expected_group)}")
    return plain(" · ".join(parts))
