"""The sections of a report: each a table or figure of the papers as the store's own, by the functions that pages draw with."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace

import pandas as pd

from heval_core.evaluation.board.conclusion import conclusion
from heval_core.evaluation.board.costs import costs_shown
from heval_core.evaluation.board.making import board
from heval_core.evaluation.means import cells_and_means
from heval_core.evaluation.patterns import patterns_under
from heval_core.figures import front
from heval_core.figures.board_front import front_figure
from heval_core.figures.board_table import whole_table
from heval_core.figures.dots_drawn import as_drawing
from heval_core.figures.measure_table import cells_table, measure_table, wanted_of
from heval_core.figures.measured_panels import Measured, figure_of, of_measure
from heval_core.figures.outcomes import outcome_shares, statistics
from heval_core.figures.palette import in_order
from heval_core.figures.pattern_panels import pattern_figure, pattern_table
from heval_core.figures.quoted import quoted_table
from heval_core.metrics.shared.measure import Measure
from heval_core.present.names import Names, apart, names_of, regime_title
from heval_core.present.numbers import of_cells
from heval_core.present.table import IN_BOLD, Table, number_cell
from heval_core.records import CELL, TECHNIQUE
from heval_core.report.citation_sections import CITATIONS, has_citations
from heval_core.report.plans import Plan, section_plans
from heval_core.report.section import Figure, Section
from heval_core.report.technique_sections import TECHNIQUES, has_techniques
from heval_core.store.filters import Filter
from heval_core.store.reader import Reader
from heval_core.words import PATTERNS, REGIMES

# How to read the figures and tables of a measure.
_READ = f"Means are over cells, each a model on a dataset, with 95 % intervals over questions; every cell follows. {IN_BOLD}"


def sections(results: Reader) -> Iterator[Section]:
    """All of them, in the paper's order; those about techniques and citations only where these were studied."""
    return (section(results, key) for key in section_plans(**studied(results)))


def studied(results: Reader) -> dict[str, bool]:
    """What `section_plans` takes: what there is to say something about. Results of citations alone say nothing else."""
    citations = has_citations(results)
    explainers = not citations or len(results.findings()) > 0
    people = len(results.quoted()) > 0
    return {"techniques": has_techniques(results), "citations": citations, "explainers": explainers, "people": people}


def section(results: Reader, key: str) -> Section:
    """One of them. key: of `section_plans`."""
    others: dict[str, Callable[[Reader, Plan], Section]] = {
        "board": _board, "datasets": _datasets, "patterns": _patterns, "quoted": _quoted, **TECHNIQUES, **CITATIONS,
    }  # fmt: skip
    return others.get(key, _measures)(results, section_plans(techniques=True, citations=True, people=True)[key])


def _board(results: Reader, plan: Plan) -> Section:
    """The board of everything that is explained under Regular, and quality against cost."""
    made = board(results)
    told, drawn, table = conclusion(made), front_figure(made), whole_table(made)
    several = " Answers are those under Regular." if results.choices()["technique"].nunique() > 1 else ""
    rows = made.values.merge(costs_shown(made), on="explainer", how="left")
    figures = () if drawn is None else (("Quality against cost", front.as_drawing(drawn)),)
    gaps = told.open if made.rows else ("No explainer ran.",)
    return Section(plan, f"{told.said} {told.harder} {table.note}{several}", (table,), rows, figures, gaps)


def _measures(results: Reader, plan: Plan) -> Section:
    """Figure, means and cells of each measure, k, and technique under which it was asked."""
    names, figures, frames, texts, tables = names_of(results), list[Figure](), list[pd.DataFrame](), list[str](), list[Table]()
    for measure in plan.measures:
        asked = [of_measure(results.cells(Filter(), measure.metric, k), measure) for k in _ks(plan, measure)]
        frames += [own.assign(measure=measure.title) for own in asked]
        # Not every store has the variants of a measure.
        if not measure.variant_of or any(map(len, asked)):
            texts.append(f"{measure.title} ({measure.unit}): {measure.meaning}")
        for k, cells in zip(_ks(plan, measure), asked, strict=True):
            for technique, found in _measured(results, measure, k, tuple(cells["regime"].unique())):
                several = f", {names.technique(technique)}" if cells["technique"].nunique() > 1 else ""
                table = measure_table(found, names, k, parts=True)
                tables.append(replace(table, title=f"{table.title}{several}"))
                figures.append((tables[-1].title, as_drawing(figure_of(found, _drawn(found, names), names))))
    rows = pd.concat(frames, ignore_index=True)
    texts += [_READ] if figures else []
    gaps = tuple(_gaps(rows, plan))
    return Section(plan, " ".join(texts), tuple(tables), rows, tuple(figures), gaps, (cells_table(rows),))


def _ks(plan: Plan, measure: Measure) -> tuple[int, ...]:
    return plan.ks if measure.uses_k else (0,)


def _measured(results: Reader, measure: Measure, k: int, regimes: tuple[str, ...]) -> Iterator[tuple[str, Measured]]:
    """A measure under each technique, with means where there are any."""
    if regimes:
        cells, means = cells_and_means(results, Filter(regime=regimes), measure.metric, k, wanted_of(measure))
        for technique in dict.fromkeys(means[0]["technique"]):
            own = [frame[frame["technique"] == technique] for frame in (of_measure(cells, measure), *means)]
            yield technique, Measured(measure, own[0], own[1], own[2], own[3], scaled=False)


def _drawn(found: Measured, names: Names) -> list[str]:
    """All explainers: methods best first, then controls."""
    there = list(found.cells["explainer"].unique())
    methods = found.ranked([key for key in there if key not in names.controls])
    return [*methods, *in_order([key for key in there if key in names.controls])]


def _gaps(table: pd.DataFrame, plan: Plan) -> Iterator[str]:
    """Why values are not there: each reason with the number of cells it holds for; and regimes that were not run."""
    missing = [regime for regime in plan.regimes if regime not in set(table["regime"])]
    if missing:
        yield f"Not in these results: {', '.join(REGIMES[regime].title for regime in missing)}."
    elif table.empty:
        needed = {measure.needs for measure in plan.measures if measure.needs}
        yield "Not in these results" + "".join(f"; run the batch job with {option}" for option in sorted(needed)) + "."
    without = table[table["unavailable"].notna()]
    for reason, rows in without.groupby("unavailable", sort=True):
        yield f"Not available in {of_cells(rows.groupby([*CELL, 'part']).ngroups)}: {reason}."


def _datasets(results: Reader, plan: Plan) -> Section:
    # Techniques are asked the same questions with the same documents.
    regular = Filter(technique=(TECHNIQUE,))
    outcomes = results.outcomes(regular)
    rows = statistics(outcomes, results.contexts(regular))
    shown = apart(rows.assign(regime=rows["regime"].map(regime_title)))
    for name in ("characters", "tokens"):
        ends = [f"{name}_{end}" for end in ("mean", "low", "high")]
        shown = shown.assign(**{name: [number_cell(row, of=ends) for row in rows.to_dict("records")]}).drop(columns=ends)
    text = (
        "Counted under Regular. Lengths are of all documents together: mean, and the 5 % and 95 % quantiles in brackets; "
        "tokens are the model's own. The paper has 55,830 instances per regime of World Capital, 802 of CounterFact, 5,348 of "
        "Fakepedia and 1,343 of ConflictQA."
    )
    gaps = () if rows["kept"].sum() else ("No instance was kept.",)
    return Section(plan, text, (Table.of(shown),), rows, outcome_shares(outcomes), gaps)


def _patterns(results: Reader, plan: Plan) -> Section:
    """What each explainer's best token is, in shares of its instances: a figure for each dataset."""
    counts, names = patterns_under(results, Filter()), names_of(results)
    text = " ".join(f"{key.replace('_', ' ').capitalize()}: {word.meaning}" for key, word in PATTERNS.items())
    text = f"Share of the instances answered from a document, by the first pattern that holds; % [95 % interval]. {text}"
    gaps = () if len(counts) else ("No instance was answered from a document.",)
    several = counts["technique"].nunique() > 1
    drawn = [
        (
            f"What ranks first, {dataset}" + (f", {technique}" if several else ""),
            as_drawing(pattern_figure(own, in_order(list(own["explainer"].unique())), names)),
        )
        for (dataset, technique), own in counts.groupby(["dataset", "technique"])
    ]
    return Section(plan, text, (pattern_table(counts),), counts, tuple(drawn), gaps)


def _quoted(results: Reader, plan: Plan) -> Section:
    """Which explainer finds what people copied into their answers."""
    rows = results.quoted()
    table = quoted_table(rows, names_of(results))
    return Section(plan, table.note, (table,), rows)
