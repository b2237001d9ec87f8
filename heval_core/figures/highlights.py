"""A prompt's tokens with one strip of colour per explainer under each: what templates draw of highlights.

Strengths of colour are classes, so that a page's content-security policy needs no inline styles.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from heval_core.figures.palette import colour
from heval_core.present.html import digest, render
from heval_core.present.names import model_title, regime_title
from heval_core.records import TECHNIQUE
from heval_core.records.stored_instances import PromptDocument, StoredInstance
from heval_core.records.vocabulary import answer_from
from heval_core.statistics.scores import average_ranks, best_tokens, normalise, tied

STEPS = 12
_POSITIVE, _NEGATIVE = "#E07B00", "#3B7FC4"


@dataclass(frozen=True)
class Scored:
    """One explainer's scores over a prompt. note: what is added to its title, such as the chosen head."""

    explainer: str
    title: str
    signed: bool
    scores: Sequence[float]
    note: str = ""

    def marked(self, indices: range) -> tuple[np.ndarray, np.ndarray, np.ndarray, float]:
        """Return per token its score, normalised score, and rank as metrics count it; and the largest size.

        indices: those ranked.
        """
        raw = np.asarray(self.scores, dtype=np.float64)
        ranked, scores = np.isin(np.arange(len(raw)), indices), normalise(raw, self.signed)
        largest = float(np.abs(scores[ranked]).max(initial=0.0)) or 1.0
        return raw, scores, average_ranks(raw[None], ranked[None])[0], largest


def highlights(
    tokens: Sequence[str], ranked: range, documents: Sequence[PromptDocument], used: int | None, rows: Sequence[Scored], k: int
) -> dict[str, Any]:
    """Return what the macros of `highlights.html` draw: tokens, each with a strip for every explainer; their names, with the
    share of tied tokens; the hues of the strips' classes; and whether some tokens are never ranked. ranked: the tokens that
    are. used: index of the document the answer came from. rows: one per explainer, over all tokens. k: how many are framed.
    """
    gold = {token for document in documents for token in document.answer_tokens}
    headings = _headings(documents, used)
    strips = [_strips(row, number, ranked, k) for number, row in enumerate(rows)]
    marked = [
        {"index": index, "text": token, "heading": headings.get(index, ""), "gold": index in gold, "ranked": index in ranked}
        | {"strips": [of_row[index] for of_row in strips]}
        for index, token in enumerate(tokens)
    ]
    names = [
        (" · ".join(filter(None, (row.title, row.note))), f"{tied(np.asarray(row.scores)[ranked.start : ranked.stop]):.0%}")
        for row in rows
    ]
    hues = {"p": _POSITIVE, "m": _NEGATIVE}
    hues |= {f"x{number}-": colour(row.explainer) for number, row in enumerate(rows) if not row.signed}
    return {"tokens": marked, "names": names, "hues": hues, "steps": STEPS, "faint": len(ranked) < len(tokens)}


def _headings(documents: Sequence[PromptDocument], used: int | None) -> dict[int, str]:
    """Return token ▶ what begins there. A document's heading wins where two parts begin at one token."""
    headings = {documents[-1].end: "question"} if documents else {}
    for index, document in reversed(list(enumerate(documents))):
        mark = ", used" if index == used else ""
        name = f" ({document.source})" if document.kind == "own" and document.source else ""
        headings[document.start] = f"document {index + 1}{name}, answer {document.answer}{mark}"
    return headings


def _strips(row: Scored, number: int, ranked: range, k: int) -> list[dict[str, Any]]:
    """Return an explainer's marks under the tokens: the class, whether it is among the k best, score and rank as text."""
    raw, scores, ranks, largest = row.marked(ranked)
    best, strips = set(best_tokens(raw, ranks, k)), []
    for index in range(len(raw)):
        step = round(STEPS * min(1.0, abs(scores[index]) / largest) ** 0.5)
        hue = ("m" if scores[index] < 0 else "p") if row.signed else f"x{number}-"
        rank = "–" if np.isnan(ranks[index]) else f"{ranks[index]:g}"
        strips.append({"style": f"{hue}{step}", "best": index in best, "score": f"{raw[index]:.4g}", "rank": rank})
    return strips


def instance_page(instance: StoredInstance, rows: Sequence[Scored], k: int, snapshot_id: str) -> str:
    """Write one instance as a self-contained HTML file: no script, no request; its content-security policy allows one style.

    rows: one per explainer, over all tokens. k: how many are framed.
    """
    data = highlights(instance.tokens, instance.ranked, instance.documents, instance.used_document, rows, k)
    start = instance.first_ranked if instance.first_ranked > 1 else 0  # a BOS alone is no text
    layout, data["tokens"] = "".join(instance.tokens[:start]), data["tokens"][start:]
    data["faint"] = any(not token["ranked"] for token in data["tokens"])
    # What a browser hashes is the style as it stands in the file.
    style = render("instance.css", drawn=data)
    regime = regime_title(instance.regime)
    if instance.technique != TECHNIQUE:
        regime = f"{regime} · {instance.technique}"
    return render(
        "instance.html",
        title=f"{model_title(instance.model)} on {instance.dataset}: {instance.subject}",
        instance=instance,
        regime=regime,
        drawn=data,
        layout=layout,
        answer_from=answer_from,
        style=style,
        digest=digest(style),
        k=k,
        snapshot_id=snapshot_id,
    )
