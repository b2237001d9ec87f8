"""python -m tests.metrics.tables: the tables of docs/metrics.md, from planted explainers.

600 prompts of 40 to 70 tokens in which it is known where the answer came from, and explainers that know a known part of it."""

from __future__ import annotations

import re

import numpy as np

from heval_core.metrics.shared.cell import Cell, Positions
from heval_core.plugins import catalogue
from heval_core.statistics.values import normalised
from tests.conftest import ROOT

DOC = ROOT / "docs" / "metrics.md"
COUNT = 600
PLANTED = {
    "the answer's token": "answer", "the document that was used": "document", "only the group": "group",
    "nothing (random)": "random", "early tokens": "early",
}  # fmt: skip
# Column ▶ metric and part, in single regimes and in dual ones.
TOLD = {"NMutInf": ("nmutinf", "raw"), "MDL": ("mdl", "bits_per_label"), "probe": ("probe", "information")}
SINGLE = {"AUROC": ("auroc", "c"), "group margin c": ("group_rank_margin", "c"), "MRR": ("mrr", "C"), **TOLD}
DUAL = {
    "forced choice": ("forced_choice", "balanced"), "group margin c1": ("group_rank_margin", "c1"),
    "instance margin": ("instance_rank_margin", "balanced"), "MRR": ("mrr", "balanced"), **TOLD,
    "position bias": ("position_bias", "tilt"),
}  # fmt: skip


def layout(dual: bool) -> Positions:
    rng = np.random.default_rng(11)
    lengths = rng.integers(40, 71, COUNT)
    context = lengths - 12  # what is left is the question
    half = context // 2
    if dual:
        documents = [[(0, int(h)), (int(h), int(c))] for h, c in zip(half, context, strict=True)]
        groups = rng.choice(["C1", "C2"], COUNT)
    else:
        documents = [[(0, int(c))] for c in context]
        groups = rng.choice(["C", "M"], COUNT)
    gold = [[(int(rng.integers(start, end)),) for start, end in own] for own in documents]
    return Positions.of(list(lengths), [0] * COUNT, documents, gold, list(groups))


def planted(kind: str, where: Positions) -> Cell:
    """An explainer's scores, of which it is known what they tell."""
    rng = np.random.default_rng(5)
    scores = rng.random(where.ranked.shape)
    used = np.zeros(where.ranked.shape, dtype=bool)
    gold = np.zeros(where.ranked.shape, dtype=bool)
    for number, (document, tokens) in enumerate(zip(where.documents, where.gold, strict=True), start=1):
        name = "C" if len(where.documents) == 1 else f"C{number}"
        own = (where.groups == name)[:, None]
        used |= document & own
        gold |= tokens & own
    if kind == "answer":
        scores += 2 * gold
    elif kind == "document":
        scores += 2 * used
    elif kind == "group":
        # All scores larger in one group than in the other: their order says nothing.
        scores *= np.where(np.isin(where.groups, ("C", "C1")), 3.0, 1.0)[:, None]
    elif kind == "early":
        scores = np.tile(1 / (1.0 + np.arange(scores.shape[1])), (COUNT, 1))
    return Cell(where, np.where(where.ranked, scores, 0.0))


def planted_values(dual: bool) -> dict[str, dict[str, tuple[float, float, float]]]:
    """Explainer ▶ column ▶ value and interval; normalised (0 chance, 1 best) but for the bias, which is in ranks."""
    where, columns = layout(dual), DUAL if dual else SINGLE
    out = {}
    for title, kind in PLANTED.items():
        cell = planted(kind, where)
        found = {key: catalogue.find("metric", key).over(cell, 5) for key in {key for key, _ in columns.values()}}
        out[title] = {column: _value(next(e for e in found[key] if e.part == part)) for column, (key, part) in columns.items()}
    return out


def _value(estimate) -> tuple[float, float, float]:
    low, high = estimate.interval()
    if np.isnan(estimate.best):
        return tuple(v - estimate.chance for v in (estimate.value, low, high))
    ends = sorted(float(normalised(v, estimate.chance, estimate.best)) for v in (low, high))
    return estimate.normalised, *ends


def as_table(values: dict[str, dict[str, tuple[float, float, float]]]) -> str:
    columns = list(next(iter(values.values())))
    lines = ["| " + " | ".join(["an explainer that knows", *columns]) + " |", "|" + "---|" * (len(columns) + 1)]
    for name, own in values.items():
        texts = [f"{value:.2f} [{low:.2f}, {high:.2f}]" for value, low, high in own.values()]
        lines.append("| " + " | ".join([name, *texts]) + " |")
    return "\n".join(lines)


def put(text: str, name: str, table: str) -> str:
    """The text with the table between its two marks."""
    marks = f"<!-- {name} -->", f"<!-- end of {name} -->"
    return re.sub(f"{marks[0]}.*?{marks[1]}", lambda _: f"{marks[0]}\n{table}\n{marks[1]}", text, flags=re.DOTALL)


def between(text: str, name: str) -> list[list[str]]:
    """The cells of a table that stands in the text, without its head."""
    block = text.split(f"<!-- {name} -->")[1].split(f"<!-- end of {name} -->")[0]
    rows = [line.strip().strip("|").split("|") for line in block.strip().splitlines()]
    return [[cell.strip() for cell in row] for row in rows[2:]]


def main() -> None:
    text = DOC.read_text(encoding="utf-8")
    for name, dual in (("planted, one document", False), ("planted, two documents", True)):
        text = put(text, name, as_table(planted_values(dual)))
    DOC.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
