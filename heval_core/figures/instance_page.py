"""One instance as a self-contained HTML file: no script, no request; its content-security policy allows one style.

Text of the data is escaped everywhere; strengths of colour are classes, so that the policy needs no inline styles.
"""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Sequence
from html import escape
from typing import Any, Protocol

import numpy as np

from heval_core.figures.palette import colour
from heval_core.records import TECHNIQUE
from heval_core.statistics.scores import average_ranks, best_tokens, normalise, tied
from heval_core.wording import REGIME_TITLES

STEPS = 12
_GLYPHS = {"\n": "⏎", "\t": "⇥", "\r": "␍", "\x00": "␀", "\u202e": "⟲", "\u00a0": "⍽"}
_NEGATIVE, _POSITIVE = "#3B7FC4", "#E07B00"


class Scored(Protocol):
    """A row of scores: what the token grid draws too."""

    @property
    def explainer(self) -> str: ...
    @property
    def title(self) -> str: ...
    @property
    def signed(self) -> bool: ...
    @property
    def scores(self) -> Sequence[float]: ...
    @property
    def note(self) -> str: ...


def instance_page(instance: dict[str, Any], rows: Sequence[Scored], k: int, snapshot_id: str) -> str:
    """instance: a row of the table of that name, as column ▶ value. rows: one per explainer, over all tokens. k: ringed."""
    style = _style(rows)
    digest = base64.b64encode(hashlib.sha256(style.encode()).digest()).decode()
    policy = f"default-src 'none'; style-src 'sha256-{digest}'; base-uri 'none'; form-action 'none'"
    title = f"{instance['model']} on {instance['dataset']}: {instance['subject']}"
    parts = [
        "<!doctype html>", '<html lang="en"><head><meta charset="utf-8">',
        f'<meta http-equiv="Content-Security-Policy" content="{policy}">',
        '<meta name="viewport" content="width=device-width, initial-scale=1">',
        f"<title>{_text(title)}</title><style>{style}</style></head><body><main>",
        f"<h1>{_text(title)}</h1>", _facts(instance), _grid(instance, rows, k), _numbers(instance, rows),
        f"<footer>HEval, snapshot {_text(snapshot_id)}, instance {_text(instance['instance_id'])}, model revision "
        f"{_text(instance['revision'])}. Underlined: gold answer tokens. Framed: an explainer's {k} best tokens. "
        f"Orange speaks for the "
        "answer, hatched blue against it; one colour per explainer where scores have no sign.</footer>",
        "</main></body></html>",
    ]  # fmt: skip
    return "\n".join(parts)


def _text(value: Any) -> str:
    return escape("".join(_GLYPHS.get(c, c) for c in str(value)), quote=True)


def _facts(instance: dict[str, Any]) -> str:
    candidates = ", ".join(
        f"{_text(group)} {_text(text)} {probability:.0%}"
        for group, text, probability in zip(
            instance["candidate_groups"], instance["candidate_texts"], instance["candidate_probabilities"], strict=True
        )
    )
    regime = REGIME_TITLES.get(instance["regime"], instance["regime"])
    if instance["technique"] != TECHNIQUE:
        regime = f"{regime} · {instance['technique']}"
    return (
        f"<p>{_text(instance['dataset'])}, regime <b>{_text(regime)}</b>. "
        f"The model answers <b>{_text(instance['predicted_text'].strip())}</b> "
        f"(p = {instance['predicted_probability']:.2f}), group <b>{_text(instance['group'])}</b>; from memory it says "
        f"<i>{_text(instance['memory_answer'])}</i>. Candidates: {candidates}.</p>"
    )


def _grid(instance: dict[str, Any], rows: Sequence[Scored], k: int) -> str:
    tokens, first = instance["tokens"], instance["first_ranked"]
    gold = {index for own in instance["answer_tokens"] for index in own}
    cells = [_cells(row, len(tokens), first, k) for row in rows]
    names = "".join(
        f'<span class="n">{_text(row.title)}{" · " + _text(row.note) if row.note else ""}</span>' for row in rows
    )
    out = [
        f'<div class="legend"><span class="t"><span class="w">token</span>{names}</span></div>',
        '<div class="grid">',
    ]
    starts = {start: number for number, start in enumerate(instance["document_starts"], start=1)}
    for index, token in enumerate(tokens):
        if index in starts:
            number = starts[index]
            used = ", used" if instance["group"] in ("C", f"C{number}") else ""
            out.append(f"<h2>document {number}, answer {_text(instance['document_answers'][number - 1])}{used}</h2>")
        elif index == instance["document_ends"][-1]:
            out.append("<h2>question</h2>")
        marks = "".join(own[index] for own in cells)
        out.append(
            f'<span class="t"><span class="w{" g" if index in gold else ""}">{_text(token) or "·"}</span>{marks}</span>'
        )
    return "".join([*out, "</div>"])


def _cells(row: Scored, count: int, first_ranked: int, k: int) -> list[str]:
    raw = np.asarray(row.scores, dtype=np.float64)
    ranked = np.arange(count) >= first_ranked
    ranks = average_ranks(raw[None], ranked[None])[0]
    scores = normalise(raw, row.signed)
    largest = float(np.abs(scores[ranked]).max(initial=0.0)) or 1.0
    best = set(best_tokens(raw, ranks, k))
    found = []
    for index in range(count):
        step = round(STEPS * min(1.0, abs(scores[index]) / largest) ** 0.5)
        hue = ("m" if scores[index] < 0 else "p") if row.signed else _class(row.explainer)
        rank = "not ranked" if np.isnan(ranks[index]) else f"rank {ranks[index]:g}"
        title = _text(f"{row.title}: {raw[index]:.4g}, {rank}")
        found.append(f'<span class="c {hue}{step}{" b" if index in best else ""}" title="{title}"></span>')
    return found


def _numbers(instance: dict[str, Any], rows: Sequence[Scored]) -> str:
    """A plain table as well: colours alone tell a screen reader nothing."""
    ranked = np.arange(len(instance["tokens"])) >= instance["first_ranked"]
    head = "".join(
        f"<th>{_text(row.title)}{' · ' + _text(row.note) if row.note else ''}, "
        f"{tied(np.asarray(row.scores)[ranked]):.0%} tied</th>"
        for row in rows
    )
    ranks = [average_ranks(np.asarray(row.scores)[None], ranked[None])[0] for row in rows]
    lines = []
    for index, token in enumerate(instance["tokens"]):
        own = "".join(
            f"<td>{row.scores[index]:.4g} ({'–' if np.isnan(rank[index]) else f'{rank[index]:g}'})</td>"
            for row, rank in zip(rows, ranks, strict=True)
        )
        lines.append(f"<tr><td>{index}</td><td>{_text(token)}</td>{own}</tr>")
    return (
        "<details><summary>Every token's score and rank</summary><table><thead><tr><th>index</th><th>token</th>"
        f"{head}</tr></thead><tbody>{''.join(lines)}</tbody></table></details>"
    )


def _class(explainer: str) -> str:
    """A name that CSS takes: keys of variants have brackets."""
    return f"x{explainer.encode().hex()}-"


def _style(rows: Sequence[Scored]) -> str:
    hues = {"p": _POSITIVE, "m": _NEGATIVE} | {
        _class(row.explainer): colour(row.explainer) for row in rows if not row.signed
    }
    rules = [
        ":root{color-scheme:light dark}",
        "body{font:16px/1.5 system-ui,sans-serif;margin:2rem auto;max-width:72rem;padding:0 1rem}",
        "h1{font-size:1.4rem}h2{font-size:.85rem;font-weight:500;opacity:.75;flex-basis:100%;margin:.6rem 0 0}",
        ".grid,.legend{display:flex;flex-wrap:wrap;gap:2px 0}",
        ".t{display:inline-flex;flex-direction:column;min-width:.8rem}",
        ".w{white-space:pre;text-align:center;padding:0 2px}",
        ".g{text-decoration:underline dotted 2px;font-weight:600}",
        ".c,.n{height:15px;margin:1px .5px 0;font-size:11px;line-height:15px}",
        ".b{outline:2px solid currentColor;outline-offset:-2px}",
        "table{border-collapse:collapse;font-size:13px}td,th{border:1px solid #8886;padding:2px 8px;text-align:left}",
        "footer{margin-top:2rem;font-size:13px;opacity:.8}",
    ]
    for name, hue in hues.items():
        for step in range(STEPS + 1):
            share = round(92 * step / STEPS)
            picture = (
                "repeating-linear-gradient(135deg,transparent 0 3px,#8889 3px 4px)"
                if name == "m" and step > 1
                else "none"
            )
            rules.append(
                f".{name}{step}{{background:{picture},color-mix(in srgb,{hue} {share}%,#8881)}}".replace("none,", "")
            )
    return "".join(rules)
