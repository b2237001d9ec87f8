"""The reading surface on a page: a prompt with its explainers' scores and what belongs beside it, kept in the address."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from functools import partial
from typing import Any

import numpy as np
import pandas as pd

from heval_core.figures.highlights import Scored
from heval_core.figures.palette import colour, in_order
from heval_core.metrics.shared.cell import DEFAULT_K, KS
from heval_core.present.html import plain
from heval_core.present.names import model_title, regime_title
from heval_core.present.numbers import ordinal, percent
from heval_core.prompting.answers import first_clause
from heval_core.prompting.prompts import is_fragment
from heval_core.prompting.units import LEVELS, summed, units_of
from heval_core.records import TECHNIQUE
from heval_core.records.groups import context_groups
from heval_core.records.stored_instances import StoredAttribution, StoredInstance
from heval_core.records.vocabulary import answer_from, token_name
from heval_core.statistics.scores import average_ranks, best_tokens
from heval_core.store.reader import Reader
from heval_core.ui import address
from heval_core.ui.component import component
from heval_core.ui.published_results import names_of

# A sentence in pieces that the surface draws: `b`, `i` or nothing, and a text of the data as it is.
Phrase = list[tuple[str, str]]


@dataclass(frozen=True)
class ReadingRow(Scored):
    """about: what it does, in a sentence. picked: whether it is a head that the reader picked, and no explainer of its own."""

    about: str = ""
    control: bool = False
    picked: bool = False


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


def row_data(row: ReadingRow, ranked_units: range) -> dict[str, Any]:
    """Return a row as the surface draws it: normalised scores, ranks as metrics count them, and the best tokens for every k.

    ranked_units: their indices. `strength` is how strong a unit's tint is, from 0 to 1 at the strongest that is ranked.
    """
    raw, scores, ranks, largest = row.marked(ranked_units)
    sizes, total = np.abs(scores), np.abs(scores).sum()
    return {
        "key": "head" if row.picked else row.explainer,
        "title": row.title,
        "about": row.about,
        "control": row.control,
        "picked": row.picked,
        "color": colour("mechlight" if row.picked else row.explainer),
        "signed": row.signed,
        "raw": [float(f"{value:.6g}") for value in raw],
        "scores": [float(f"{value:.4g}") for value in scores],
        "share": [float(f"{value:.3g}") for value in (sizes / total if total else scores)],
        "ranks": [None if np.isnan(r) else float(r) for r in ranks],
        "strength": [round(float(value), 3) for value in np.sqrt(np.clip(sizes / largest, 0, 1))],
        "largest": largest,
        "top": {k: best_tokens(raw, ranks, k) for k in KS},
    }


# What stands below a mention of the answer ▶ what that means.
MENTION_MARKS = {
    "source": "the answer depends on this mention",
    "either": "either mention would do",
    "route": "the last token reads this mention",
}


def mention_marks(mentions: pd.DataFrame) -> dict[int, tuple[str, str]]:
    """Return the first token of a mention ▶ what stands below it, and what that means. mentions: of `Reader.sources_of`."""
    marks = {}
    for row in mentions.to_dict("records"):
        kinds = ["source"] if row["is_source"] else ["either"] if row["source"] == "either" else []
        kinds += ["route"] if row["route_lost"] == mentions["route_lost"].max() else []
        if kinds:
            marks[int(row["start"])] = (", ".join(kinds), "; ".join(MENTION_MARKS[kind] for kind in kinds))
    return marks


def prompt_data(
    instance: StoredInstance,
    rows: Sequence[ReadingRow],
    level: str = "token",
    mentions: Mapping[int, tuple[str, str]] | None = None,
) -> dict[str, Any]:
    """Return what the surface draws: units of the level, with indices of blocks and answers counted in these. mentions: see
    `mention_marks`.

    The answer's rank in a row is that of its best token in the used document, whatever the level.
    """
    blocks, ranked = blocks_of(instance), instance.ranked
    # What is not ranked shares no word or sentence with what is.
    parts = [f"{n} {i in ranked}" for n, block in enumerate(blocks) for i in range(block.start, block.end)]
    units = units_of(instance.tokens, parts, level)
    column = {index: number for number, unit in enumerate(units) for index in unit.indices}
    ranked_units = range(sum(unit.end <= ranked.start for unit in units), sum(unit.start < ranked.stop for unit in units))
    ranks = answer_ranks(instance, rows)
    return {
        "tokens": [unit.text(instance.tokens) for unit in units],
        "blocks": [
            asdict(replace(block, start=column[block.start], end=column[block.end - 1] + 1))
            for block in blocks
            if block.end > block.start
        ],
        "mentions": {column[token]: mark for token, mark in (mentions or {}).items()},
        "gold": sorted({column[int(i)] for i in instance.answer_tokens}),
        "rows": [
            row_data(replace(row, scores=summed(row.scores, units).tolist()), ranked_units)
            | {"rank": ranks.get(row.explainer)}
            for row in rows
        ],
        "first_ranked": ranked_units.start,
        "ranked_end": ranked_units.stop,
        "ranked": len(ranked),
    }


def answer_ranks(instance: StoredInstance, rows: Sequence[ReadingRow]) -> dict[str, float]:
    """Return explainer ▶ the rank of the used answer's best token, ties at their average; empty if no document was used."""
    if instance.used_document is None:
        return {}
    ranked = instance.ranked
    gold = [token - ranked.start for token in instance.documents[instance.used_document].answer_tokens]
    if not gold:
        return {}
    positions = slice(ranked.start, ranked.stop)
    return {row.explainer: float(average_ranks(np.asarray(row.scores)[positions])[0][gold].min()) for row in rows}


def answer_of(instance: StoredInstance) -> str:
    """Return the answer as a reader would say it: the candidate if the model wrote it out, else its clause, or a token."""
    first, whole = instance.predicted_text.strip(), (instance.answer_text or "").strip()
    text = next((candidate.text for candidate in instance.candidates if candidate.group == instance.group), "")
    return text if text and text.lower() in whole.lower() else first_clause(whole) or first


def chance_rank(instance: StoredInstance) -> float | None:
    """Return the mean rank of the best of m tokens among n if scores are random: (n + 1) / (m + 1).

    None if no document was used.
    """
    if instance.used_document is None:
        return None
    gold = len(instance.documents[instance.used_document].answer_tokens)
    return (len(instance.ranked) + 1) / (gold + 1) if gold else None


def blocks_of(instance: StoredInstance) -> list[Block]:
    """Return documents, question and what lies between them, covering the prompt without gaps; first what is never ranked."""
    blocks = [
        Block("document", document.start, document.end, document_caption(instance, number), number == instance.used_document)
        for number, document in enumerate(instance.documents)
    ]
    question = instance.question_span
    if question.end > question.start:
        blocks.append(Block("question", question.start, question.end, "question"))
    blocks.sort(key=lambda block: block.start)
    # The few tokens around the question (`Q:` and `A:`) belong to its block: they are no text of their own.
    end = instance.first_ranked if instance.first_ranked > 1 else 0  # a BOS alone is no text
    covering = [Block("layout", 0, end, "layout of the prompt, never ranked")] if end else []
    for block in blocks:
        while covering and end < block.start and instance.tokens[end].isspace():  # a line that ends belongs to what it ends
            end += 1
        covering[-1:] = [replace(before, end=end) for before in covering[-1:]]
        covering.append(replace(block, start=end))
        end = block.end
    if covering and end < len(instance.tokens):
        last = covering.pop()
        covering.append(replace(last, end=len(instance.tokens)))
    return covering or [Block("text", 0, len(instance.tokens))]


def document_caption(instance: StoredInstance, index: int) -> str:
    """Describe the document with this index, from 0: `document 1 · answer Nairobi · conflicting · source: atlas`."""
    document = instance.documents[index]
    parts = [f"document {index + 1}", f"answer {document.answer}" if document.answer else "no answer"]
    if document.kind != "own":
        parts.append(document.kind.replace("_", " "))
    if document.origin == "substituted":
        parts.append("answer substituted")
    if document.source:
        parts.append(f"source: {document.source.replace('_', ' ')}")
    return " · ".join(parts)


def rows_of(results: Reader, attributions: dict[str, StoredAttribution]) -> list[ReadingRow]:
    """Return rows of the stored attributions, methods first, controls last."""
    names = names_of(results)
    return [
        ReadingRow(
            key,
            names.explainer(key),
            attributions[key].signed,
            attributions[key].scores,
            attributions[key].head_name,
            names.meaning("explainer", key),
            key in names.controls,
        )
        for key in in_order(list(attributions))
    ]


# Explainers that are drawn where the reader picks none.
FIRST = 6


def on_screen(rows: Sequence[ReadingRow], view: Mapping[str, Any]) -> list[ReadingRow]:
    """Return the explainers that a view draws, those that are painted first. view: see `view_of`."""
    shown = view["drawn"] or [row.explainer for row in rows if not row.control][:FIRST]
    shown = [*view["painted"], *shown, *(row.explainer for row in rows if row.control and view["controls"])]
    return sorted((row for row in rows if row.explainer in shown), key=lambda row: shown.index(row.explainer))


def sentence(
    instance: StoredInstance, rows: Sequence[ReadingRow], asked_of: Sequence[str] = (), by_itself: str = ""
) -> Phrase:
    """Say what the model answered, and which method puts the answer highest and lowest among its tokens.

    asked_of: the methods that are compared so; all if these are not two. by_itself: see `WordAnswer`.
    """
    begins = f"By itself the model begins with “{by_itself.strip()}”; of the answers named it prefers "
    pieces: Phrase = [
        ("", begins if by_itself else "The model answers "),
        ("b", answer_of(instance)),
        ("", f", {answer_from(instance.group)}."),
    ]
    if instance.group == "other" and is_fragment(instance.predicted_text):
        return [*pieces, ("", " That is no whole answer; asked in another layout the model may give one.")]
    methods = [row for row in rows if not row.control and not row.picked]
    named = [row for row in methods if row.explainer in asked_of]
    methods = named if len(named) > 1 else methods
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
    """Return model, dataset, regime and technique, whether the document was shown, and what the model was taught."""
    parts = [model_title(instance.model), dataset, regime_title(instance.regime)]
    if instance.technique != TECHNIQUE:
        parts.append(technique or instance.technique)
    if instance.prompt and not instance.documents:
        parts.append("answered without the document")
    elif instance.expected_group:
        parts.append(f"taught to answer {answer_from(instance.expected_group)}")
    return plain(" · ".join(parts))


MODES = ("text", "rows")


def view_of(rows: Sequence[ReadingRow], heads: Sequence[str], units: int) -> dict[str, Any]:
    """Return what the address asks to see of a prompt, each of its parameters by its name. Show an error for what is not here.

    painted: one or two explainers; `head` is a head that was picked. drawn: the picked set of explainers, empty for the first
    six. pick: a head, as in `L3H4`; heads: names of those that can be. pin: one of so many units.
    """
    keys = in_order([row.explainer for row in rows])
    pick = address.requested("pick", heads, "", "head")
    painted = address.known("painted", [*keys, "head"], "explainer")[:2]
    painted = [key for key in painted if key != "head" or pick] or (["head"] if pick else keys[:1])
    pin = address.value("pin")
    return {
        "mode": address.requested("mode", MODES),
        "painted": painted,
        "k": address.requested("k", KS, DEFAULT_K),
        "level": address.requested("level", LEVELS),
        "drawn": address.known("drawn", keys, "explainer"),
        "controls": bool(address.known("controls", (True,))),
        "pick": pick,
        "pin": address.whole("pin", 0, max(0, units - 1), 0, "the token") if pin else None,
    }


def keep(view: dict[str, Any], first: str) -> None:
    """Write a view that the surface reports into the address. first: the explainer that is painted by default."""
    usual = {"mode": MODES[0], "k": DEFAULT_K, "level": LEVELS[0], "painted": None if view["pick"] else [first]}
    address.put(
        **{name: None if view[name] == default else view[name] for name, default in usual.items()},
        **{name: view[name] for name in ("drawn", "controls", "pick")},
        # A unit of one level is not that of another.
        pin=view["pin"] if view["level"] == address.value("level", LEVELS[0]) else None,
    )


def draw(
    instance: StoredInstance,
    rows: Sequence[ReadingRow],
    view: dict[str, Any],  # see `view_of`
    heads: dict[str, Any] | None,
    on_request: Callable[[str], None],
    mentions: Mapping[int, tuple[str, str]],
    asked_of: Sequence[str] = (),
    by_itself: str = "",
) -> None:
    """Draw the surface. heads: as `heads.with_map` gives. on_request: called with `step -1`, `step 1` or `need`. mentions: see
    `mention_marks`. asked_of, by_itself: see `sentence`.
    """
    # Without an explainer, of an answer that none was run on, nothing is painted.
    first = rows[0].explainer if rows else ""
    answer, share = answer_of(instance), percent(instance.predicted_probability)
    data = {
        "id": instance.instance_id,
        "title": instance.question or instance.subject,
        "lead": sentence(instance, rows, asked_of, by_itself),
        **prompt_data(instance, rows, view["level"], mentions),
        "answer": {"text": answer, "share": share, "from": answer_from(instance.group)},
        "used": instance.used_document is not None,
        "chance": chance_rank(instance),
        "sources": sources(instance),
        "heads": heads,
        "level": view["level"],
        "levels": list(LEVELS),
        "ks": list(KS),
        "view": view,
    }
    keep_view = partial(keep, first=first)
    component("reading", "reading", data, view=keep_view, asked=lambda message: on_request(message.rpartition(" ")[0]))


def sources(instance: StoredInstance) -> list[dict[str, Any]]:
    """Return where the answer could come from: a line for each document and for memory, with the probability of its answer."""
    groups = context_groups(len(instance.documents))
    likely = {candidate.group: candidate.probability for candidate in instance.candidates}

    lines = [
        (f"document {number}", (document.source or "").replace("_", " "), document.answer, group)
        for number, (document, group) in enumerate(zip(instance.documents, groups, strict=True), start=1)
    ]
    lines.append(("memory", "", instance.memory_answer, "M"))
    if instance.group not in {group for *_, group in lines}:
        lines.append(("neither", "", instance.predicted_text.strip(), instance.group))
        likely |= {instance.group: instance.predicted_probability}
    return [
        {"label": label, "about": about, "answer": answer, "used": group == instance.group}
        | {"share": likely.get(group, 0.0), "percent": percent(likely.get(group, 0.0))}
        for label, about, answer, group in lines
    ]
