"""python -m tests.metrics.tables: the tables of docs/metrics.md, from planted explainers and from the demo results.

Planted: 600 prompts of 40 to 70 tokens in which it is known where the answer came from, and explainers of which it is known
what they know. The demo models were taught which sources to believe, so that their groups are known to be what they are.
"""

from __future__ import annotations

import re
import tempfile
from collections import defaultdict
from pathlib import Path

import numpy as np

from heval_core import catalogue
from heval_core.evaluation import cells, live
from heval_core.evaluation.publishing import publish
from heval_core.metrics import measures_of
from heval_core.metrics.shared.cell import Cell, Layout
from heval_core.metrics.shared.measure import QUESTIONS
from heval_core.statistics.bootstrap import percentile_interval
from heval_core.statistics.values import normalised
from heval_core.store.filters import Filter
from heval_core.store.reader import Reader
from tests.conftest import ROOT

DOC = ROOT / "docs" / "metrics.md"
COUNT = 600
PLANTED = {
    "the answer's token": "answer",
    "the document that was used": "document",
    "only the group": "group",
    "nothing (random)": "random",
    "early tokens": "early",
}
# Column ▶ metric and part, in single regimes and in dual ones.
TOLD = {
    "NMutInf": ("nmutinf", "raw"),
    "MDL, bits per label": ("mdl", "bits_per_label"),
    "MDL, compression": ("mdl", "compression"),
    "probe, information": ("probe", "information"),
}
SINGLE = {
    "AUROC": ("auroc", "c"),
    "group margin (c)": ("group_rank_margin", "c"),
    "MRR": ("mrr", "C"),
    "in the top 5": ("hit_at_k", "C"),
    **TOLD,
}
DUAL = {
    "forced choice": ("forced_choice", "balanced"),
    "group margin c1": ("group_rank_margin", "c1"),
    "group margin c2": ("group_rank_margin", "c2"),
    "instance margin": ("instance_rank_margin", "balanced"),
    "MRR": ("mrr", "balanced"),
    "in the top 5": ("hit_at_k", "balanced"),
    **TOLD,
    "position bias, ranks": ("position_bias", "tilt"),
}
# The same at a fixed target, where the demo results have it.
FIXED = {f"{name}, target fixed": (metric, f"{part}_context") for name, (metric, part) in TOLD.items()}
AUROC_FIXED = {"one document: AUROC, target fixed": ("auroc", "c_context")}


def layout(dual: bool) -> Layout:
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
    return Layout.of(list(lengths), [0] * COUNT, documents, gold, list(groups))


def planted(kind: str, where: Layout) -> Cell:
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
    return Cell.of(where, np.where(where.ranked, scores, 0.0))


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


def demo_columns() -> tuple[dict[str, tuple[str, str]], dict[str, tuple[str, str]]]:
    """What the table of the demo results shows, and what that of simulatability at either target does."""
    main = {f"one document: {name}": place for name, place in SINGLE.items() if name not in TOLD}
    main |= {f"two: {name}": place for name, place in DUAL.items() if name not in TOLD and place[0] != "position_bias"}
    main |= AUROC_FIXED
    told = {f"{prefix}: {name}": place for prefix in ("one document", "two") for name, place in (TOLD | FIXED).items()}
    return main, told


def demo_values(results: Reader, columns: dict[str, tuple[str, str]]) -> dict[str, dict[str, tuple[float, float, float]]]:
    """Explainer ▶ column ▶ mean normalised value over the demo results' cells, and its interval (questions resampled)."""
    values, spread = defaultdict(list), defaultdict(list)
    metrics = [catalogue.find("metric", key) for key in dict.fromkeys(key for key, _ in columns.values())]
    for one in live.stored(results, Filter()):
        _, found = cells.evaluate_all(one.regime, one.scored, metrics, (5,))
        for row in found.rows:
            if row["unavailable"] is None and row["best"] is not None:
                own = found.replicates[cells.value_key(row)]
                prefix = "one document" if row["regime"] in ("conflicting", "irrelevant") else "two"
                key = (row["explainer"], prefix, row["metric"], row["part"])
                values[key].append(row["normalised"])
                spread[key].append(normalised(own, np.full(len(own), row["chance"]), row["best"]))
    titles = {key: plugin.title for key, plugin in catalogue.plugins("explainer").items()}
    out: dict[str, dict[str, tuple[float, float, float]]] = defaultdict(dict)
    for explainer in ("fa", "ig", "mechlight", "attn", "lexical", "position", "random"):
        for column, (metric, part) in columns.items():
            key = (explainer, column.partition(":")[0], metric, part)
            low, high = percentile_interval(np.mean(spread[key], axis=0))
            # Nothing is better than the best: what a mean of symmetric intervals says beyond it is no value.
            out[titles[explainer]][column] = (float(np.mean(values[key])), low, min(high, 1.0))
    return dict(out)


def as_table(values: dict[str, dict[str, tuple[float, float, float]]], first: str) -> str:
    columns = list(next(iter(values.values())))
    lines = ["| " + " | ".join([first, *columns]) + " |", "|" + "---|" * (len(columns) + 1)]
    for name, own in values.items():
        texts = [f"{value:.2f} [{low:.2f}, {high:.2f}]" for value, low, high in own.values()]
        lines.append("| " + " | ".join([name, *texts]) + " |")
    return "\n".join(lines)


def measures_table() -> str:
    """What metrics declare, for readers: one row per measure that a page offers."""
    best = {"high": "high", "low": "low", "zero": "at zero"}
    rows = ["| question | measure | metric | unit | range | best | what it says |", "|" + "---|" * 7]
    for question in QUESTIONS.values():
        for measure in measures_of(question.key).values():
            if not measure.variant_of:
                own = [question.title, measure.title, measure.metric, measure.unit, measure.range, best[measure.best]]
                rows.append("| " + " | ".join([*own, measure.meaning]) + " |")
    return "\n".join(rows)


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
    text = put(text, "measures", measures_table())
    text = put(text, "planted, one document", as_table(planted_values(False), "an explainer that knows"))
    text = put(text, "planted, two documents", as_table(planted_values(True), "an explainer that knows"))
    with tempfile.TemporaryDirectory() as folder:
        results = Reader(publish(ROOT / "cache" / "demo", Path(folder), bundled=True))
        for name, columns in zip(("demo results", "demo results, simulatability"), demo_columns(), strict=True):
            text = put(text, name, as_table(demo_values(results, columns), "explainer"))
    DOC.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
