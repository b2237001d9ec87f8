"""The sections of a report about citations, after Xing, Baldwin and Lau (arXiv 2406.12645); only where these were studied.

Their numbers come from the same queries as those of the page Citations.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from typing import Any

import numpy as np
import pandas as pd

from heval_core.evaluation.citations.measures import of_people
from heval_core.figures.citations import (
    WHERE,
    annotator_title,
    explainers_figure,
    recovery_figure,
    titles_of,
    wide_table,
    with_chance,
)
from heval_core.figures.dots import DotFigure
from heval_core.figures.dots_drawn import as_drawing
from heval_core.present.names import PEOPLE, Names, names_of
from heval_core.present.numbers import decimals
from heval_core.present.table import Table, counted, crossed, number_cell, reason, value_cell
from heval_core.records.vocabulary import CITATION_MEASURES, OF_EXPLAINERS, OF_EXPLANATIONS, OF_SOURCES
from heval_core.report.section import Figure, Plan, Section
from heval_core.store.reader import Reader

CHAPTER = "Citations"
_INTERVALS = "In square brackets: 95 % intervals over claims."
_RECOVERED = ("precision", "recall", "f1", "f1_of_claims", "correct_rejection")
_KEYS = ("claims", "writer", "selector")


def has_citations(results: Reader) -> bool:
    return len(results.citation_choices()) > 0


def _cells(results: Reader, measures: Sequence[str]) -> tuple[pd.DataFrame, Names]:
    """Return rows of `cell_recovery`, by source of claims and selector, annotators in the page's order within a writer; and
    names.
    """
    every, names = results.rows("cell_recovery"), names_of(results)
    cells = every[every["measure"].isin(measures)]
    source, group = (cells.groupby(by, sort=False).ngroup() for by in (["dataset", "selector"], list(WHERE)))
    rank = cells["annotator"].map({key: rank for rank, key in enumerate(names.in_order(cells["annotator"]))})
    return cells.iloc[np.lexsort((rank, group, source))].reset_index(drop=True), names


def _meanings(measures: Iterable[str]) -> str:
    return "; ".join(f"{CITATION_MEASURES[measure].title}: {CITATION_MEASURES[measure].meaning}" for measure in measures)


def _where(row: Any, names: Names) -> dict[str, str]:
    return dict(zip(_KEYS, titles_of({name: row[name] for name in WHERE}, names), strict=True))


def _reasons(cells: pd.DataFrame, names: Names) -> Iterator[str]:
    """Yield each reason once, with the annotators that it holds for."""
    by_reason: dict[str, list[str]] = {}
    for row in cells[cells["value"].isna()].to_dict("records"):
        who = f"{annotator_title(row['annotator'], names)} by {row['writer']}" if row["annotator"] else row["writer"]
        by_reason.setdefault(reason(row).rstrip("."), []).append(who)
    for why, whom in by_reason.items():
        yield f"Not available for {', '.join(dict.fromkeys(whom))}: {why}."


_COUNTED = {
    "claims read": "claims_claims", "unusable": "claims_unusable", "with problems": "claims_problems",
    "explanations": "explanations", "missing": "missing", "explanations with problems": "problems",
}  # fmt: skip


def _claims(results: Reader, plan: Plan) -> Section:
    cells, names = _cells(results, OF_EXPLANATIONS)
    # What explanations cite does not depend on which citation is masked.
    cells = cells.drop_duplicates([*WHERE, "measure"])
    by_where, written, rows = crossed(cells, WHERE, "measure"), results.citation_written(), list[dict[str, Any]]()
    for row in written.to_dict("records"):
        by_measure = by_where.get(tuple(row[name] for name in WHERE), {})
        rows.append({
            **_where(row, names), **{title: int(row[name]) for title, name in _COUNTED.items()},
            "sentences": value_cell(row["sentences"], decimals(1)), "passages given": value_cell(row["passages"], decimals(1)),
            **{CITATION_MEASURES[measure].title: with_chance(by_measure.get(measure)) for measure in OF_EXPLANATIONS},
        })  # fmt: skip
    text = (
        "Claims as they were read, and the explanations of each writer; sentences and passages given are means over "
        f"explanations. {_meanings(OF_EXPLANATIONS)}. Chance: as many of the claim's passages at random. {_INTERVALS}"
    )
    table = written.merge(cells.drop(columns=["annotator", "masking"]), on=list(WHERE), how="left")
    return plan.section(text, [Table.of(rows)], table, gaps=_reasons(cells, names))


def _of_answers(
    measures: Sequence[str], about: str, pictured: str, results: Reader, plan: Plan, *, full: bool = False
) -> Section:
    """Write a section about annotators.

    about: how to read it. pictured: the measure of its figure, or none. full: of full masking only.
    """
    cells, names = _cells(results, measures)
    chosen = (cells["annotator"] != "") & ((cells["masking"] == "full") | (not full))
    cells = cells[chosen].reset_index(drop=True)
    figures = _of_measure(cells[cells["masking"] == _whole(cells)], pictured, names) if pictured else ()
    table = wide_table(cells, measures, names, (*WHERE, "annotator", "masking"))
    gaps = _reasons(cells[cells["measure"] == (pictured or measures[0])], names)
    return plan.section(f"{_meanings(measures)}. {about}", [table], cells, figures, gaps)


def _whole(cells: pd.DataFrame) -> str:
    return "full" if (cells["masking"] == "full").any() else "sample"


def _masking(results: Reader, plan: Plan) -> Section:
    cells, names = _cells(results, ("f1",))
    both_maskings = {"full", "sample"} <= set(cells["masking"])
    text = (
        f"{CITATION_MEASURES['f1'].title}, when one citation of each explanation is masked (sample), and when every "
        f"passage's is in turn (full). A passage that no sentence cites counts in full with an F1 of 0. {_INTERVALS}"
    )
    rows = []
    for key, by_masking in crossed(cells, [*WHERE, "annotator"], "masking").items():
        titles = titles_of(dict(zip((*WHERE, "annotator"), key, strict=True)), names)
        numbers = {masking: with_chance(by_masking.get(masking)) for masking in ("sample", "full")}
        counts = {f"n, {masking}": counted(by_masking.get(masking, {}).get("n", 0)) for masking in numbers}
        rows.append({**dict(zip((*_KEYS, "annotator"), titles, strict=True)), **numbers, **counts})
    figures = _of_measure(cells, "f1", names) if both_maskings else ()
    gaps = () if both_maskings else (f"Only {_whole(cells)} masking is in these results.",)
    return plan.section(text, [Table.of(rows)], cells, figures, gaps=gaps)


def _agreement(results: Reader, plan: Plan) -> Section:
    names = names_of(results)
    table = results.rows("agreement").sort_values("masking", ascending=False, kind="stable", ignore_index=True)
    rows = [
        {
            **_where(row, names),
            "masking": row["masking"],
            "first": annotator_title(row["first"], names),
            "second": "among themselves" if row["first"] == row["second"] else annotator_title(row["second"], names),
            "alpha": number_cell(row, of=("alpha", "low", "high"), chance=0.0),
            "n": counted(row["n"]),
        }
        for row in table.to_dict("records")
    ]
    text = (
        "Krippendorff's alpha with Jaccard distance between the sentences that two annotators chose: 1 is full agreement, "
        "0 what chance gives. Against people, their choices are joined, and sentences that did not cite the passage count as "
        f"one. {_INTERVALS} n: masked citations that both answered."
    )
    people = {*table["first"], *table["second"]} & {PEOPLE}
    gaps = [] if people or table.empty else ["Nobody answered on the page Annotate: no row is of people."]
    gaps += sorted({f"Not available for some pairs: {row}" for row in table["unavailable"].dropna()})
    return plan.section(text, [Table.of(rows)], table, gaps=gaps)


def _people(results: Reader, plan: Plan) -> Section:
    names, people = names_of(results), results.rows("person", order="annotator")
    table = pd.DataFrame(of_people(results.people_answers(), results.explained_claims()))
    text = (
        "Helpfulness: the mean of people's sliders, 0 to 100; z-scored: each person's values by that person's own mean and "
        "standard deviation. Entropy, in bits: of the sentences that the people asked one question chose; 0 where "
        "all chose the same. In brackets: 95 % intervals over claims; there is no chance level. Control items: right "
        "where exactly the right sentences were chosen; people right on fewer than 70 % are left out everywhere."
    )
    if len(people):
        left = people[~people["counts"].astype(bool)]
        items, right = int(people["controls"].sum()), int(people["correct"].sum())
        text += f" Of {len(people)} people, {len(left)} are left out; of {items} answers to control items, {right} are right."
    if table.empty:
        gaps = ["No answer of people counts here; the page Annotate collects them."]
        return plan.section(text, [Table.of(people)], people, gaps=gaps)
    measures = {"helpfulness": "helpfulness", "z-scored": "helpfulness_z", "entropy": "entropy"}
    rows = [
        {
            **_where(by_measure["helpfulness"], names),
            "people": int(by_measure["helpfulness"]["people"]),
            "answers": counted(by_measure["helpfulness"]["n"]),
            **{title: number_cell(by_measure[measure]) for title, measure in measures.items()},
            "questions of several people": counted(by_measure["entropy"]["n"]),
        }
        for by_measure in crossed(table, WHERE, "measure").values()
    ]
    everybody = people.assign(measure="control items").rename(columns={"answers": "n"})
    return plan.section(text, [Table.of(rows)], pd.concat([table, everybody], ignore_index=True))


def _explainers(results: Reader, plan: Plan) -> Section:
    cells, names = _cells(results, (*OF_EXPLAINERS, *OF_SOURCES))
    cells = cells[cells["masking"] == "full"].reset_index(drop=True)
    known = bool((cells["measure"].isin(list(OF_SOURCES)) & cells["value"].notna()).any())
    measures = (*OF_EXPLAINERS, *(OF_SOURCES if known else ()))
    text = (
        f"What the model's own computation says, which needs no judge. {_meanings(measures)}. The "
        "truth, where it is known what sentences were made from, stands beside. Chance: as many sentences at random for each "
        f"passage. {_INTERVALS}"
    )
    if cells.empty:
        gaps = ["No explainer was asked about every passage: --annotators explainer(loo) --masking full."]
        return plan.section(text, [Table.of(cells)], cells, gaps=gaps)
    measured = cells[cells["measure"].isin(OF_EXPLAINERS)]
    figures = _figures(measured, lambda rows, writers: explainers_figure(rows, writers, names))
    table = wide_table(cells, measures, names, (*WHERE, "annotator"))
    return plan.section(text, [table], cells, figures, gaps=_reasons(cells, names))


def _of_measure(cells: pd.DataFrame, measure: str, names: Names) -> tuple[Figure, ...]:
    """Draw annotators by writers.

    cells: rows of `cell_recovery`; where they are of two maskings, those of sample are hollow.
    """

    def figure_of(rows: pd.DataFrame, writers: list[str]) -> DotFigure:
        maskings = [kind for kind in ("full", "sample") if kind in set(rows["masking"])]
        return recovery_figure(rows, measure, writers, names, *maskings)

    return _figures(cells[(cells["measure"] == measure) & (cells["annotator"] != "")], figure_of)


def _figures(cells: pd.DataFrame, figure_of: Callable[[pd.DataFrame, list[str]], DotFigure]) -> tuple[Figure, ...]:
    """Draw a figure for each source of claims and selector; none without a number."""
    if cells["value"].isna().all():
        return ()
    figures, groups = [], cells.groupby(["dataset", "selector"], sort=False)
    for key, rows in groups:
        figure = figure_of(rows, list(dict.fromkeys(rows["writer"])))
        figures.append((", ".join([figure.title, *(key if groups.ngroups > 1 else ())]), as_drawing(figure)))
    return tuple(figures)


_MASKED_CITATIONS = f"Chance (upright bars): as many sentences at random. {_INTERVALS} n: masked citations."
_TRANSPARENT = f"{_INTERVALS} Chance: as many sentences at random for each passage. n: explanations."
_XING = "Xing et al."
PLANS = (
    Plan("citations_claims", CHAPTER, "Claims, passages and explanations", _XING, _claims),
    Plan(
        "citations_recovery",
        CHAPTER,
        "Masked citations recovered, by annotator, writer and selector",
        _XING,
        partial(_of_answers, _RECOVERED, _MASKED_CITATIONS, "f1"),
    ),
    Plan(
        "citations_transparent",
        CHAPTER,
        "Transparent explanations",
        _XING,
        partial(_of_answers, ("transparent",), _TRANSPARENT, "transparent", full=True),
    ),
    Plan("citations_masking", CHAPTER, "One citation of each explanation masked, or every one", _XING, _masking),
    Plan("citations_agreement", CHAPTER, "Where annotators agree", _XING, _agreement),
    Plan("citations_people", CHAPTER, "What people say: helpfulness, entropy, control items", _XING, _people),
    Plan("citations_explainers", CHAPTER, "What explainers say the writer used", "ours", _explainers),
    Plan(
        "citations_unreadable",
        CHAPTER,
        "Answers that could not be read",
        "ours",
        partial(_of_answers, ("unreadable",), _INTERVALS, ""),
    ),
)
