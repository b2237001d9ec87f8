"""The sections of a report: each a table or figure of the papers as the store's own; its numbers are those of the pages."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

import pandas as pd

from heval_core.evaluation.means import cells_and_means
from heval_core.evaluation.patterns import patterns_under
from heval_core.figures.cells import labelled, of_measure
from heval_core.figures.measure_table import measure_table, wanted_of
from heval_core.figures.measured_panels import Measured
from heval_core.figures.outcomes import statistics
from heval_core.figures.palette import in_order
from heval_core.metrics import part_title
from heval_core.metrics.shared.measure import Measure
from heval_core.present.names import apart, regime_title
from heval_core.present.numbers import EXACT, SHARE, span
from heval_core.present.table import Cell, Head, Row, Table, counted, crossed, number_cell
from heval_core.records import CELL, TECHNIQUE
from heval_core.report import figures
from heval_core.report.board_section import board_section
from heval_core.report.citation_sections import CITATIONS, has_citations
from heval_core.report.figures import names_of
from heval_core.report.plans import Plan, section_plans
from heval_core.report.section import Section
from heval_core.report.technique_sections import TECHNIQUES, has_techniques
from heval_core.store.filters import Filter
from heval_core.store.reader import Reader
from heval_core.words import PATTERNS, REGIMES


def sections(results: Reader) -> Iterator[Section]:
    """All of them, in the paper's order; those about techniques and citations only where these were studied."""
    return (section(results, key) for key in section_plans(**studied(results)))


def studied(results: Reader) -> dict[str, bool]:
    """What `section_plans` takes: what there is to say something about. Results of citations alone say nothing else."""
    citations = has_citations(results)
    explainers = not citations or len(results.findings()) > 0
    return {"techniques": has_techniques(results), "citations": citations, "explainers": explainers}


def section(results: Reader, key: str) -> Section:
    """One of them. key: of `section_plans`."""
    others: dict[str, Callable[[Reader, Plan], Section]] = {
        "board": board_section, "datasets": _datasets, "patterns": _patterns, **TECHNIQUES, **CITATIONS,
    }  # fmt: skip
    return others.get(key, _cells)(results, section_plans(techniques=True, citations=True)[key])


def _cells(results: Reader, plan: Plan) -> Section:
    """Figures of each measure and k; a row per cell and part."""
    names = names_of(results)
    drawn, frames, texts = [], list[pd.DataFrame](), list[str]()
    for measure in plan.measures:
        before = len(frames)
        for k in plan.ks if measure.uses_k else (0,):
            cells = labelled(of_measure(results.cells(Filter(), measure.metric, k), measure), names.explainers)
            frames.append(cells.drop(columns=["label", "title"]).assign(measure=measure.title))
            caption = f"{measure.title}, k = {k}" if measure.uses_k else measure.title
            drawn += figures.of_cells(caption, cells, measure, names)
        # Not every store has the variants of a measure.
        if not measure.variant_of or any(len(own) for own in frames[before:]):
            texts.append(f"{measure.title} ({measure.unit}): {measure.meaning}")
    rows = pd.concat(frames, ignore_index=True)
    texts += [figures.lanes_in_words(rows)] if drawn else []

    return Section(plan, " ".join(texts), (_by_cell(rows),), rows, tuple(drawn), tuple(_gaps(rows, plan)), _papers)


def _papers(plan: Plan, results: Reader) -> tuple[Table, ...]:
    """Means over cells, explainers by regimes."""
    return tuple(own for m in plan.measures for k in (plan.ks if m.uses_k else (0,)) for own in _means(results, m, k))


def _means(results: Reader, measure: Measure, k: int) -> Iterator[Table]:
    """A table of a measure's means for each technique under which it has any."""
    asked = of_measure(results.cells(Filter(), measure.metric, k), measure)["regime"].unique()
    if len(asked):
        chosen, names = Filter(regime=tuple(asked)), names_of(results)
        cells, means = cells_and_means(results, chosen, measure.metric, k, wanted_of(measure))
        for technique in dict.fromkeys(means[0]["technique"]):
            own = [frame[frame["technique"] == technique] for frame in (of_measure(cells, measure), *means)]
            yield measure_table(Measured(measure, own[0], own[1], own[2], own[3], scaled=False), names, k, parts=True)


def _by_cell(table: pd.DataFrame) -> Table:
    """One row per cell, part, measure and k: n, the chance level(s), and a number for each explainer."""
    if table.empty:
        return Table("", (), (), ())
    explainers = in_order(list(table["explainer"].unique()))
    titled = {"regime": regime_title, "part": part_title}
    names = ("measure", "k", *CELL, "part")
    keys = [key for key in names if key not in ("measure", "k", "part", "technique") or table[key].nunique() > 1]
    groups = {row["group_sizes"]: _groups(row["group_sizes"]) for row in table.to_dict("records")}
    rows = []
    for place, own in crossed(table, names, "explainer").items():
        n = max(int(row["n"]) for row in own.values())
        sizes = groups[next(iter(own.values()))["group_sizes"]]
        about = [counted(n), *([Cell(sizes)] if any(groups.values()) else [])]
        about.append(Cell(span([row["chance"] for row in own.values()], EXACT)))
        titles = tuple(titled.get(key, str)(value) for key, value in zip(names, place, strict=True) if key in keys)
        rows.append(Row(titles, (*about, *(_with_n(own.get(key), n) for key in explainers))))
    heads = ["n", *(["groups"] if any(groups.values()) else []), "chance", *explainers]
    return Table("", tuple(keys), tuple(Head(head, left=head == "groups") for head in heads), tuple(rows))


def _groups(group_sizes: str) -> str:
    """Sizes of the groups that are compared; empty for one group, whose size is n."""
    sizes = group_sizes.strip("{}").replace('"', "")
    return sizes if "," in sizes else ""


def _with_n(row: Mapping[Any, Any] | None, n: int) -> Cell:
    """n: of the cell; an explainer with fewer instances shows its own."""
    fewer = row is not None and not pd.isna(row["value"]) and int(row["n"]) != n
    return number_cell(row, beside=f"n = {int(row['n'])}" if row is not None and fewer else "")


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
    return Section(plan, text, (Table.of(shown),), rows, figures.of_outcomes(outcomes), gaps)


def _patterns(results: Reader, plan: Plan) -> Section:
    counts = patterns_under(results, Filter())
    text = " ".join(f"{key.replace('_', ' ').capitalize()}: {word.meaning}" for key, word in PATTERNS.items())
    text = f"Share of the instances answered from a document, by the first pattern that holds; % [95 % interval]. {text}"
    gaps = () if len(counts) else ("No instance was answered from a document.",)
    drawn = figures.of_patterns(counts, names_of(results))
    return Section(plan, text, (_pattern_table(counts),), counts, drawn, gaps)


def _pattern_table(counts: pd.DataFrame) -> Table:
    """A row for each explainer of a dataset and technique, after them one for chance where most instances are."""
    there = [pattern for pattern in PATTERNS if pattern in set(counts["pattern"])]
    keys = ["dataset", *(["technique"] if counts["technique"].nunique() > 1 else [])]
    rows = []
    for names, of_dataset in counts.groupby(keys, sort=True):
        for (explainer,), own in crossed(of_dataset, ["explainer"], "pattern").items():
            shares = (number_cell(own.get(pattern), SHARE, ("share", "low", "high")) for pattern in there)
            rows.append(Row((*names, explainer), (counted(next(iter(own.values()))["n"]), *shares)))
        # Explainers that ran on fewer instances have another chance level.
        chance = of_dataset[of_dataset["n"] == of_dataset["n"].max()].groupby("pattern")["chance"].mean()
        levels = (Cell(value=float(chance[name]), unit=SHARE) if name in chance else Cell() for name in there)
        rows.append(Row((*names, "chance"), (Cell(), *levels)))
    heads = [Head("n"), *(Head(name.replace("_", " "), PATTERNS[name].meaning) for name in there)]
    return Table("", (*keys, "explainer"), tuple(heads), tuple(rows))
