"""The sections of a report: each a table or figure of the papers as the store's own, by the functions that pages draw with."""

from collections.abc import Iterable, Iterator
from dataclasses import replace
from functools import partial

import pandas as pd

from heval_core.evaluation.board.conclusion import conclusion
from heval_core.evaluation.board.costs import costs_shown
from heval_core.evaluation.board.hard import hard_board, of_regular
from heval_core.evaluation.board.hard_conclusion import hard_conclusion
from heval_core.evaluation.board.making import board
from heval_core.evaluation.means import cells_and_means
from heval_core.evaluation.patterns import patterns_under
from heval_core.figures import front
from heval_core.figures.board import front_figure, whole_table
from heval_core.figures.dots_drawn import as_drawing
from heval_core.figures.hard_board import TITLE, source_figure, source_table, verdict_table
from heval_core.figures.marked import KINDS, kinds_of, marked_figure, marked_table, verdict
from heval_core.figures.measures import Measured, cells_table, figure_of, measure_table, of_measure, wanted_of
from heval_core.figures.outcomes import outcome_shares, statistics
from heval_core.figures.palette import in_order
from heval_core.figures.pattern_panels import pattern_figure, pattern_table
from heval_core.metrics.shared.measure import Measure
from heval_core.plugins.measures import measures
from heval_core.present.names import apart, model_title, names_of, regime_title
from heval_core.present.numbers import so_many
from heval_core.present.table import IN_BOLD, Table, number_cell
from heval_core.records import CELL, DUAL_REGIMES, SINGLE_REGIMES, TECHNIQUE
from heval_core.records.vocabulary import PATTERNS, REGIMES
from heval_core.report import citation_sections, technique_sections
from heval_core.report.citation_sections import has_citations
from heval_core.report.section import Exhibits, Figure, Plan, Section
from heval_core.report.technique_sections import has_techniques
from heval_core.store.filters import Filter
from heval_core.store.reader import Reader

# How to read the figures and tables of a measure.
_READ = f"Means are over cells, each a model on a dataset, with 95 % intervals over questions; every cell follows. {IN_BOLD}"


def sections(results: Reader) -> Iterator[Section]:
    """Return all sections, in the paper's order; those about techniques and citations only where these were studied."""
    return (plan.build(results, plan) for plan in plans_of(results).values())


def section(results: Reader, key: str) -> Section:
    """Return one section. key: of `plans_of`."""
    plan = plans_of(results)[key]
    return plan.build(results, plan)


def plans_of(results: Reader) -> dict[str, Plan]:
    """List what there is to say something about, by key, in order. Results of citations alone say nothing else."""
    citations = has_citations(results)
    chosen = [_SOURCE] if len(results.source_verdicts(of_regular(results, Filter()))) else []
    chosen += [*plans().values()] if not citations or len(results.findings()) else []
    chosen += [_MARKED[kind.key] for kind in kinds_of(results.quoted())]
    chosen += technique_sections.PLANS if has_techniques(results) else ()
    chosen += citation_sections.PLANS if citations else ()
    return {plan.key: plan for plan in chosen}


def plans() -> dict[str, Plan]:
    """Return the sections about explainers, by key: ours, the paper's, and one for each measure that is in none of them."""
    further = [
        Plan(measure.key, "Beyond the paper", measure.title, measure.paper, _measures, ks=measure.reported_ks)
        for measure in measures().values()
        if measure.sections is None and measure.question
    ]
    return {plan.key: plan for plan in (*_OF_PAPER, *further)}


def _board(results: Reader, plan: Plan) -> Section:
    result = board(results)
    summary, drawing, table = conclusion(result), front_figure(result), whole_table(result)
    several = " Answers are those under Regular." if results.choices()["technique"].nunique() > 1 else ""
    rows = result.values.merge(costs_shown(result), on="explainer", how="left")
    figures = () if drawing is None else (("Quality against cost", front.as_drawing(drawing)),)
    gaps = summary.open if result.rows else ("No explainer ran.",)
    return plan.section(f"{summary.said} {summary.harder} {table.note}{several}", [table], rows, figures, gaps)


def _source(results: Reader, plan: Plan) -> Section:
    result, names = hard_board(results), names_of(results)
    counts = verdict_table(results.source_verdicts(of_regular(results, Filter())), names)
    table, figure = source_table(result, names), as_drawing(source_figure(result, names))
    text = f"{hard_conclusion(result, names.explainer, model_title)} {table.note}"
    return plan.section(text, [table], result.rows.drop(columns="exceeds"), ((table.title, figure),), behind=[counts])


def _measures(results: Reader, plan: Plan) -> Section:
    """Draw figure, means and cells of each measure, k, and technique under which it was measured."""
    texts, every_k, frames = list[str](), list[tuple[Measure, int, pd.DataFrame]](), list[pd.DataFrame]()
    for measure in plan.measures:
        cells_by_k = {k: of_measure(results.cells(Filter(), measure.metric, k), measure) for k in _ks(plan, measure)}
        frames += [frame.assign(measure=measure.title) for frame in cells_by_k.values()]
        every_k += [(measure, k, cells) for k, cells in cells_by_k.items()]
        # Not every store has the variants of a measure.
        if not measure.variant_of or any(map(len, cells_by_k.values())):
            texts.append(f"{measure.title} ({measure.unit}): {measure.meaning}")
    rows = pd.concat(frames, ignore_index=True)
    texts += [_READ] if rows["value"].notna().any() else []
    return plan.made_later(" ".join(texts), partial(_of_measures, results, plan, every_k, rows), rows, _gaps(rows, plan))


def _of_measures(
    results: Reader, plan: Plan, every_k: Iterable[tuple[Measure, int, pd.DataFrame]], rows: pd.DataFrame
) -> Exhibits:
    names, tables, figures = names_of(results), list[Table](), list[Figure]()
    for measure, k, cells in every_k:
        for technique, measured in _measured(results, measure, k, tuple(cells["regime"].unique())):
            several = f", {names.technique(technique)}" if cells["technique"].nunique() > 1 else ""
            table = measure_table(measured, names, k, parts=True)
            tables.append(replace(table, title=f"{table.title}{several}"))
            figures.append((tables[-1].title, as_drawing(figure_of(measured, measured.explainers(names.controls), names))))
    every = cells_table(rows)
    if any(measure.paired for measure in plan.measures):
        every = replace(every, title=f"{every.title}, as measured; chance: the random control")
    return Exhibits(tuple(tables), tuple(figures), (every,))


def _ks(plan: Plan, measure: Measure) -> tuple[int, ...]:
    return plan.ks if measure.uses_k else (0,)


def _measured(results: Reader, measure: Measure, k: int, regimes: tuple[str, ...]) -> Iterator[tuple[str, Measured]]:
    if regimes:
        chosen = Filter(regime=regimes)
        cells, means = cells_and_means(results, chosen, measure.metric, k, wanted_of(measure), measure.question)
        for technique in dict.fromkeys(means[0]["technique"]):
            frames = [frame[frame["technique"] == technique] for frame in (of_measure(cells, measure), *means)]
            yield technique, Measured(measure, *frames)


def _gaps(table: pd.DataFrame, plan: Plan) -> Iterator[str]:
    """Yield why values are not there: each reason with the number of cells it holds for; and regimes that were not run."""
    if missing := [regime for regime in plan.regimes if regime not in set(table["regime"])]:
        yield f"Not in these results: {', '.join(REGIMES[regime].title for regime in missing)}."
    elif table.empty:
        needed = {measure.needs for measure in plan.measures if measure.needs}
        yield "Not in these results" + "".join(f"; run the batch job with {option}" for option in sorted(needed)) + "."
    without = table[table["unavailable"].notna()]
    for reason, rows in without.groupby("unavailable", sort=True):
        yield f"Not available in {so_many(rows.groupby([*CELL, 'part']).ngroups, 'cell')}: {reason}."


def _datasets(results: Reader, plan: Plan) -> Section:
    # Techniques are asked the same questions with the same documents.
    regular = Filter(technique=(TECHNIQUE,))
    outcomes = results.outcomes(regular)
    rows = statistics(outcomes, results.rows("context", regular))
    table = apart(rows.assign(regime=rows["regime"].map(regime_title)))
    for name in ("characters", "tokens"):
        ends = [f"{name}_{end}" for end in ("mean", "low", "high")]
        table = table.assign(**{name: [number_cell(row, of=ends) for row in rows.to_dict("records")]}).drop(columns=ends)
    text = (
        "Counted under Regular. Lengths are of all documents together: mean, and the 5 % and 95 % quantiles in brackets; "
        "tokens are the model's own. The paper has 55,830 instances per regime of World Capital, 802 of CounterFact, 5,348 of "
        "Fakepedia and 1,343 of ConflictQA."
    )
    gaps = () if rows["kept"].sum() else ("No instance was kept.",)
    return plan.section(text, [Table.of(table)], rows, outcome_shares(outcomes), gaps)


def _patterns(results: Reader, plan: Plan) -> Section:
    counts, names = patterns_under(results, Filter()), names_of(results)
    text = " ".join(f"{key.replace('_', ' ').capitalize()}: {pattern.meaning}" for key, pattern in PATTERNS.items())
    text = f"Share of the instances answered from a document, by the first pattern that holds; % [95 % interval]. {text}"
    gaps = () if len(counts) else ("No instance was answered from a document.",)
    several = counts["technique"].nunique() > 1
    drawings = [
        (
            f"What ranks first, {dataset}" + (f", {technique}" if several else ""),
            as_drawing(pattern_figure(rows, in_order(list(rows["explainer"].unique())), names)),
        )
        for (dataset, technique), rows in counts.groupby(["dataset", "technique"])
    ]
    return plan.section(text, [pattern_table(counts, names)], counts, drawings, gaps)


def _marked(results: Reader, plan: Plan) -> Section:
    (kind,) = (kind for kind in KINDS if kind.key == plan.key)
    names, rows = names_of(results), kind.rows(results.quoted())
    figure = marked_figure(rows, names)
    text = " ".join([*verdict(rows, names, str), kind.note])
    drawings = [(kind.title, as_drawing(figure))] if figure.panels else []
    return plan.section(text, [marked_table(kind, rows, names)], rows, drawings)


_MAIN, _MORE = "The paper's figures", "The paper's appendix"
_DUAL, _SWAPPED = DUAL_REGIMES[:2], DUAL_REGIMES[2:]
_OTHER_KS = (3, 9)
# What the paper (arXiv 2510.02629) shows, and the board. Measures that declare none of these sections get one of their own.
_OF_PAPER = (
    Plan("board", "At a glance", "The leaderboard: quality, pairs and cost", "ours", _board),
    Plan("datasets", _MAIN, "Instances: kept, dropped, and how long their contexts are", "Table A.2", _datasets),
    Plan("group_margins", _MAIN, "Context or memory: group rank margins", "Fig. 2", _measures, SINGLE_REGIMES),
    Plan("simulatability", _MAIN, "Context or memory: can the origin be told?", "Fig. 3", _measures, SINGLE_REGIMES),
    Plan("group_margins_dual", _MAIN, "Which document: group rank margins", "Fig. 4", _measures, _DUAL),
    Plan("instance_margins", _MAIN, "Which document: instance rank margins", "Fig. 5", _measures, _DUAL),
    Plan("simulatability_dual", _MAIN, "Which document: can the origin be told?", "Fig. 6", _measures, _DUAL),
    Plan("mrr", _MAIN, "Which token: mean reciprocal rank", "Fig. 7", _measures, (*SINGLE_REGIMES, *_DUAL)),
    Plan("faithfulness", _MORE, "Faithfulness", "B.3", _measures),
    Plan("patterns", _MORE, "Failure patterns: what each explainer's best token is", "B.4", _patterns),
    Plan("group_margins_k", _MORE, "One document, other k: group rank margins", "B.8", _measures, SINGLE_REGIMES, _OTHER_KS),
    Plan("group_margins_dual_k", _MORE, "Two documents, other k: group rank margins", "B.9", _measures, _DUAL, _OTHER_KS),
    Plan("instance_margins_k", _MORE, "Two documents, other k: instance rank margins", "B.10", _measures, _DUAL, _OTHER_KS),
    Plan("group_margins_swap", _MORE, "Documents swapped: group rank margins", "B.11", _measures, _SWAPPED),
    Plan("instance_margins_swap", _MORE, "Documents swapped: instance rank margins", "B.12", _measures, _SWAPPED),
    Plan("simulatability_swap", _MORE, "Documents swapped: can the origin be told?", "B.13", _measures, _SWAPPED),
    Plan("mrr_swap", _MORE, "Documents swapped: mean reciprocal rank", "B.14", _measures, _SWAPPED),
)
_SOURCE = Plan("source", "At a glance", TITLE, "ours", _source)
_MARKED = {kind.key: Plan(kind.key, "Beyond the paper", kind.title, "people's gold", _marked) for kind in KINDS}
