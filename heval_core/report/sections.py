"""The sections of a report: each a table or figure of the paper (arXiv 2510.02629) as the store's own.

A section has figures, a table of all its numbers (for `results.json`), the same table as readers see it (for HTML and LaTeX),
and its gaps: what it needs and the store does not have. Its numbers come from the same queries as the pages'.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import pandas as pd

from heval_core.evaluation.patterns import patterns_under
from heval_core.figures.cells import apart, labelled, of_measure
from heval_core.figures.headline import side_by_side
from heval_core.figures.outcomes import statistics
from heval_core.figures.palette import in_order
from heval_core.metrics import headlines, part_title
from heval_core.metrics.shared.measure import QUESTIONS
from heval_core.present.names import regime_title
from heval_core.present.numbers import EXACT, PERCENT_EXACT, brackets, interval, number, span
from heval_core.records import CELL, TECHNIQUE
from heval_core.report import figures
from heval_core.report.board_section import BOARD, board_section
from heval_core.report.citation_sections import citation_section, has_citations
from heval_core.report.plans import (
    CITATION_SECTIONS,
    GLANCE,
    MAIN,
    MORE,
    OTHER,
    TECHNIQUE_SECTIONS,
    Plan,
    plans,
    section_titles,
)
from heval_core.report.section import MISSING, Section
from heval_core.report.technique_sections import has_techniques, technique_section
from heval_core.store.filters import Filter
from heval_core.store.reader import Reader
from heval_core.words import PATTERNS, REGIMES, listed


def sections(results: Reader) -> Iterator[Section]:
    """All of them, in the paper's order; those about techniques and citations only where these were studied."""
    return (section(results, key) for key in section_titles(**studied(results)))


def studied(results: Reader) -> dict[str, bool]:
    """What `section_titles` takes: what there is to say something about. Results of citations alone say nothing else."""
    citations = has_citations(results)
    explainers = not citations or len(results.findings()) > 0
    return {"techniques": has_techniques(results), "citations": citations, "explainers": explainers}


def section(results: Reader, key: str) -> Section:
    """One of them. key: of `section_titles`."""
    if key in TECHNIQUE_SECTIONS:
        return technique_section(results, key)
    if key in CITATION_SECTIONS:
        return citation_section(results, key)
    others = {"headline": _headline, BOARD: board_section, "datasets": _datasets, "patterns": _patterns}
    return others[key](results) if key in others else _cells(results, plans()[key])


def _cells(results: Reader, plan: Plan) -> Section:
    """Figures of each measure and k; a row per cell and part."""
    named = figures.Named.of(results)
    drawn = []
    tables: list[pd.DataFrame] = []
    texts: list[str] = []
    for measure in plan.measures:
        name = measure.title
        before = len(tables)
        for k in plan.ks if measure.uses_k else (0,):
            cells = labelled(of_measure(results.cells(Filter(), measure.metric, k), measure), named.titles)
            tables.append(cells.drop(columns=["label", "title"]).assign(measure=name))
            caption = f"{name}, k = {k}" if measure.uses_k else name
            drawn += figures.of_cells(caption, cells, measure, named)
        # Not every store has the variants of a measure.
        if not measure.variant_of or any(len(own) for own in tables[before:]):
            texts.append(f"{name} ({measure.unit}): {measure.meaning}")
    table = pd.concat(tables, ignore_index=True)
    if drawn:
        texts.append(figures.lanes_in_words(table))
    return Section(
        plan.key,
        plan.chapter,
        plan.title,
        plan.paper,
        " ".join(texts),
        tuple(drawn),
        table,
        _shown(table),
        tuple(_gaps(table, plan)),
    )


def _shown(table: pd.DataFrame) -> pd.DataFrame:
    """One row per cell, part, measure and k; `value [low, high]` per explainer, the chance level(s), and n."""
    columns = ["measure", "k", *CELL, "part"]
    explainers = in_order(list(table["explainer"].unique()))
    by_place: dict[tuple[Any, ...], dict[str, dict[str, Any]]] = {}
    for row in table.to_dict("records"):
        by_place.setdefault(tuple(row[name] for name in columns), {})[row["explainer"]] = {str(k): v for k, v in row.items()}
    rows = []
    for names, own in by_place.items():
        n = max(int(row["n"]) for row in own.values())
        values = {name: _with_interval(own[name], n) if name in own else MISSING for name in explainers}
        chance = span([row["chance"] for row in own.values()], EXACT)
        first = next(iter(own.values()))
        named = dict(zip(columns, names, strict=True))
        rows.append({**named, "n": n, "groups": _groups(first["group_sizes"]), "chance": chance, **values})
    shown = pd.DataFrame(rows)
    if shown.empty:
        return shown
    shown["regime"] = shown["regime"].map(regime_title)
    shown["part"] = shown["part"].map({part: part_title(part) for part in shown["part"].unique()})
    single = [name for name in ("measure", "k", "part", "technique") if shown[name].nunique() == 1]
    single += [] if shown["groups"].any() else ["groups"]
    return shown.drop(columns=single)


def _groups(group_sizes: str) -> str:
    """Sizes of the groups that are compared; empty for one group, whose size is n."""
    sizes = group_sizes.strip("{}").replace('"', "")
    return sizes if "," in sizes else ""


def _with_interval(row: Mapping[str, Any], n: int) -> str:
    """n: of the cell; an explainer with fewer instances shows its own."""
    less = "" if pd.isna(row["value"]) or int(row["n"]) == n else f", n = {int(row['n'])}"
    return interval(row["value"], row["low"], row["high"], EXACT) + less


def _gaps(table: pd.DataFrame, plan: Plan) -> Iterable[str]:
    """Why values are not there: each reason with the number of cells it holds for; and regimes that were not run."""
    missing = [regime for regime in plan.regimes if regime not in set(table["regime"])]
    if missing:
        yield f"Not in these results: {', '.join(REGIMES[regime].title for regime in missing)}."
    elif table.empty:
        needed = {measure.needs for measure in plan.measures if measure.needs}
        yield "Not in these results" + "".join(f"; run the batch job with {option}" for option in sorted(needed)) + "."
    without = table[table["unavailable"].notna()]
    for reason, rows in without.groupby("unavailable", sort=True):
        cells = rows.groupby([*CELL, "part"]).ngroups
        yield f"Not available in {cells} {'cell' if cells == 1 else 'cells'}: {reason}."


_HEADLINE = ["question", "technique", "explainer", "value", "chance", "cells", "n"]


def _headline(results: Reader) -> Section:
    every, rows = results.headline(), []
    table = side_by_side(every)
    titles = results.catalogue("explainer").set_index("key")["title"]
    few = sorted({str(titles.get(key, key)) for key in every.loc[every.index.difference(table.index), "explainer"]})
    for question in headlines():
        for row in table[table["question"] == question].itertuples():
            value, chance = interval(row.value, row.low, row.high, EXACT), number(row.chance, EXACT)
            short = QUESTIONS[question].title
            rows.append((short, row.technique, row.explainer, value, chance, int(row.cells), int(row.n)))
    missing = [QUESTIONS[question].title for question in headlines() if question not in set(table["question"])]
    return Section(
        "headline",
        GLANCE,
        *OTHER["headline"],
        "Means over all cells (model, dataset, regime, technique) in which the metric is available; questions are "
        "resampled in all of them together. With two documents, instances answered from the first and from the "
        "second have the same weight. Controls do not look into the model: lexical marks the answer's own tokens, "
        "position prefers later tokens.",
        figures.of_headline(table, figures.Named.of(results)),
        table,
        apart(pd.DataFrame(rows, columns=_HEADLINE)),
        (
            *((f"Not available in any cell: {', '.join(missing)}.",) if missing else ()),
            *((f"{listed(few)} ran in fewer of these cells, see the leaderboard.",) if few else ()),
        ),
    )


def _datasets(results: Reader) -> Section:
    # Techniques are asked the same questions with the same documents.
    regular = Filter(technique=(TECHNIQUE,))
    outcomes, contexts = results.outcomes(regular), results.contexts(regular)
    table = statistics(outcomes, contexts)
    shown = apart(table.copy())
    for name in ("characters", "tokens"):
        shown[name] = [
            interval(row[f"{name}_mean"], row[f"{name}_low"], row[f"{name}_high"]) for row in table.to_dict("records")
        ]
        shown = shown.drop(columns=[f"{name}_{end}" for end in ("mean", "low", "high")])
    shown["regime"] = shown["regime"].map(regime_title)
    return Section(
        "datasets",
        MAIN,
        *OTHER["datasets"],
        "Counted under Regular. Lengths are of all documents together: mean, and the 5 % and 95 % quantiles in brackets; "
        "tokens are the model's own. "
        "The paper has 55,830 instances per regime of World Capital, 802 of CounterFact, 5,348 of Fakepedia and 1,343 of "
        "ConflictQA.",
        figures.of_outcomes(outcomes),
        table,
        shown,
        () if table["kept"].sum() else ("No instance was kept.",),
    )


def _patterns(results: Reader) -> Section:
    counts = patterns_under(results, Filter())
    text = " ".join(f"{key.replace('_', ' ').capitalize()}: {word.meaning}" for key, word in PATTERNS.items())
    return Section(
        "patterns",
        MORE,
        *OTHER["patterns"],
        f"Share of the instances answered from a document, by the first pattern that holds; % [95 % interval]. {text}",
        figures.of_patterns(counts, figures.Named.of(results)),
        counts,
        _shown_patterns(counts),
        () if len(counts) else ("No instance was answered from a document.",),
    )


def _shown_patterns(counts: pd.DataFrame) -> pd.DataFrame:
    """A row for each explainer of a dataset and technique, after them one for chance where most instances are."""
    rows = []
    for (dataset, technique), of_dataset in counts.groupby(["dataset", "technique"]):
        common = {"dataset": dataset, "technique": technique}
        for explainer, patterns in of_dataset.groupby("explainer"):
            shares = {
                row.pattern: f"{number(row.share, PERCENT_EXACT)} {brackets(row.low, row.high, PERCENT_EXACT)}"
                for row in patterns.itertuples()
            }
            rows.append({**common, "explainer": explainer, "n": int(patterns["n"].iloc[0]), **shares})
        # Explainers that ran on fewer instances have another chance level.
        chance = of_dataset[of_dataset["n"] == of_dataset["n"].max()].groupby("pattern")["chance"].mean()
        rows.append({**common, "explainer": "chance", **{key: number(share, PERCENT_EXACT) for key, share in chance.items()}})
    there = [pattern for pattern in PATTERNS if pattern in set(counts["pattern"])]
    shown = pd.DataFrame(rows, columns=["dataset", "technique", "explainer", "n", *there])
    shown = apart(shown)
    shown["n"] = shown["n"].map(lambda n: MISSING if pd.isna(n) else f"{n:.0f}")
    return shown.fillna(MISSING).rename(columns=lambda name: str(name).replace("_", " "))
