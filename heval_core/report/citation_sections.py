"""The sections of a report about citations, after Xing, Baldwin and Lau (arXiv 2406.12645); only where these were studied.

Their numbers come from the same queries as those of the page Citations.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import pandas as pd

from heval_core.evaluation.citations.utility import utility
from heval_core.figures.citation_names import PEOPLE, CitationNames
from heval_core.report import citation_charts
from heval_core.report.citation_rows import (
    WHERE,
    annotator_title,
    cells_of,
    count,
    names_of,
    number,
    ordered,
    place_of,
    places_of,
    reasons,
    titled,
    wide,
)
from heval_core.report.plans import CITATION_SECTIONS, CITATIONS
from heval_core.report.section import MISSING, Section
from heval_core.store.reader import Reader
from heval_core.words import CITATION_MEASURES, OF_EXPLAINERS, OF_EXPLANATIONS, OF_SOURCES

_INTERVALS = "In square brackets: 95 % intervals over claims; in round ones: chance."
_RECOVERED = ("precision", "recall", "f1", "f1_of_claims", "correct_rejection")


def has_citations(results: Reader) -> bool:
    return len(results.citation_choices()) > 0


def citation_section(results: Reader, key: str) -> Section:
    """One of CITATION_SECTIONS."""
    makers: dict[str, Callable[[Reader], Section]] = {
        "citations_claims": _claims,
        "citations_recovery": _recovery,
        "citations_transparent": lambda results: _one_measure(results, "transparent"),
        "citations_masking": _masking,
        "citations_agreement": _agreement,
        "citations_people": _people,
        "citations_explainers": _explainers,
        "citations_unreadable": lambda results: _one_measure(results, "unreadable"),
    }
    return makers[key](results)


def _section(key: str, text: str, table: pd.DataFrame, shown: pd.DataFrame, **more: Any) -> Section:
    """more: figures, gaps."""
    title, paper = CITATION_SECTIONS[key]
    gaps = tuple(more.get("gaps", ())) or (() if len(table) else ("Not in these results.",))
    return Section(key, CITATIONS, title, paper, text, tuple(more.get("figures", ())), table, shown, gaps)


def _claims(results: Reader) -> Section:
    names, counts = names_of(results), results.citation_counts().set_index("dataset")
    cells = cells_of(results, OF_EXPLANATIONS)
    # What explanations cite does not depend on which citation is masked.
    cells = cells.drop_duplicates([*WHERE, "measure"])
    found = {tuple(row[name] for name in (*WHERE, "measure")): row for row in cells.to_dict("records")}
    written, rows = results.citation_written(), []
    for row in written.to_dict("records"):
        of_claims = counts.loc[row["dataset"]]
        numbers = {
            title: number(found.get((*(row[name] for name in WHERE), measure)))
            for measure, title in titled(OF_EXPLANATIONS).items()
        }
        rows.append({
            **place_of(row, names), "claims read": int(of_claims["claims"]), "unusable": int(of_claims["unusable"]),
            "with problems": int(of_claims["problems"]), "explanations": int(row["explanations"]),
            "missing": int(row["missing"]), "explanations with problems": int(row["problems"]),
            "sentences": _short(row["sentences"]), "passages given": _short(row["passages"]), **numbers,
        })  # fmt: skip
    meanings = "; ".join(
        f"{CITATION_MEASURES[measure].title}: {CITATION_MEASURES[measure].meaning}" for measure in OF_EXPLANATIONS
    )
    text = (
        "Claims as they were read, and the explanations of each writer; sentences and passages given are means over "
        f"explanations. {meanings}. Chance: as many of the claim's passages at random. {_INTERVALS}"
    )
    table = written.merge(cells.drop(columns=["annotator", "masking"]), on=list(WHERE), how="left")
    table = table.merge(counts.add_prefix("claims_").reset_index(), on="dataset")
    gaps = list(reasons(cells, names))
    return _section("citations_claims", text, table, pd.DataFrame(rows), gaps=gaps)


def _short(value: float) -> str:
    return MISSING if pd.isna(value) else f"{value:.1f}"


def _asked(results: Reader, measures: Sequence[str]) -> tuple[pd.DataFrame, CitationNames]:
    """Rows of annotators in the order of the page, and names."""
    names = names_of(results)
    cells = cells_of(results, measures)
    return ordered(cells[cells["annotator"] != ""], names), names


def _recovery(results: Reader) -> Section:
    cells, names = _asked(results, _RECOVERED)
    shown = wide(cells, _RECOVERED, names, (*WHERE, "annotator", "masking"))
    meanings = "; ".join(f"{CITATION_MEASURES[measure].title}: {CITATION_MEASURES[measure].meaning}" for measure in _RECOVERED)
    text = f"{meanings}. Chance: as many sentences at random. {_INTERVALS} n: masked citations. Upright bars: chance."
    figures = citation_charts.of_measure(cells[cells["masking"] == _whole(cells)], "f1", names, ("selector", "dataset"))
    gaps = reasons(cells[cells["measure"] == "f1"], names)
    return _section("citations_recovery", text, cells, shown, figures=figures, gaps=gaps)


def _whole(cells: pd.DataFrame) -> str:
    """The masking that figures are of."""
    return "full" if (cells["masking"] == "full").any() else "sample"


def _one_measure(results: Reader, measure: str) -> Section:
    """Annotators by writer. Of transparency only full masking says something."""
    cells, names = _asked(results, (measure,))
    if measure == "transparent":
        cells = cells[cells["masking"] == "full"].reset_index(drop=True)
    shown = wide(cells, (measure,), names, (*WHERE, "annotator", "masking"))
    text = f"{CITATION_MEASURES[measure].title}: {CITATION_MEASURES[measure].meaning}. {_INTERVALS}"
    if measure == "transparent":
        text += " Chance: as many sentences at random for each passage. n: explanations."
    own = cells[cells["masking"] == _whole(cells)]
    figures = citation_charts.of_measure(own, measure, names, ("selector", "dataset")) if measure == "transparent" else ()
    key = "citations_transparent" if measure == "transparent" else "citations_unreadable"
    return _section(key, text, cells, shown, figures=figures, gaps=reasons(cells, names))


def _masking(results: Reader) -> Section:
    cells, names = _asked(results, ("f1",))
    both = {"full", "sample"} <= set(cells["masking"])
    text = (
        f"{CITATION_MEASURES['f1'].title}, when one citation of each explanation is masked (sample), and when every "
        f"passage's is in turn (full). A passage that no sentence cites counts in full with an F1 of 0. {_INTERVALS}"
    )
    rows = []
    for values, own in cells.groupby([*WHERE, "annotator"], sort=False):
        place = dict(zip((*WHERE, "annotator"), values, strict=True))
        found = {row["masking"]: row for row in own.to_dict("records")}
        each = {masking: number(found.get(masking)) for masking in ("sample", "full")}
        counts = {f"n, {masking}": count(found.get(masking)) for masking in ("sample", "full")}
        rows.append({**place_of(place, names), "annotator": annotator_title(place["annotator"], names), **each, **counts})
    figures = citation_charts.of_measure(cells, "f1", names, ("masking", "selector", "dataset")) if both else ()
    gaps = () if both else (f"Only {_whole(cells)} masking is in these results.",)
    return _section("citations_masking", text, cells, pd.DataFrame(rows), figures=figures, gaps=gaps)


def _agreement(results: Reader) -> Section:
    names = names_of(results)
    parts = [results.citation_agreement(*place, masking) for place in places_of(results) for masking in ("sample", "full")]
    table = pd.concat(parts, ignore_index=True)
    rows = [
        {
            **place_of(row, names),
            "masking": row["masking"],
            "first": annotator_title(row["first"], names),
            "second": "among themselves" if row["first"] == row["second"] else annotator_title(row["second"], names),
            "alpha": number({**row, "value": row["alpha"], "chance": 0.0}),
            "n": count(row),
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
    return _section("citations_agreement", text, table, pd.DataFrame(rows), gaps=gaps)


def _people(results: Reader) -> Section:
    names, people = names_of(results), results.people()
    table = pd.DataFrame(utility(results.people_answers(), results.explained_claims()))
    text = (
        "Helpfulness: the mean of people's sliders, 0 to 100; z-scored: each person's values by that person's own mean and "
        "standard deviation. Entropy, in bits: of the sentences that the people asked one question chose; 0 where "
        "all chose the same. In brackets: 95 % intervals over claims; there is no chance level. Control items: right "
        "where exactly the right sentences were chosen; people right on fewer than 70 % are left out everywhere."
    )
    gaps = []
    if len(people):
        left = people[~people["counts"].astype(bool)]
        asked, right = int(people["controls"].sum()), int(people["correct"].sum())
        text += f" Of {len(people)} people, {len(left)} are left out; of {asked} answers to control items, {right} are right."
    if table.empty:
        gaps.append("No answer of people counts here; the page Annotate collects them.")
        return _section("citations_people", text, people, people, gaps=gaps)
    shown = []
    for values, own in table.groupby(list(WHERE), sort=False):
        found = {row["measure"]: {**row, "chance": None} for row in own.to_dict("records")}
        shown.append(
            {
                **place_of(dict(zip(WHERE, values, strict=True)), names),
                "people": int(own["people"].iloc[0]),
                "answers": count(found["helpfulness"]),
                "helpfulness": number(found["helpfulness"]),
                "z-scored": number(found["helpfulness_z"]),
                "entropy": number(found["entropy"]),
                "questions of several people": count(found["entropy"]),
            }
        )
    everybody = people.assign(measure="control items").rename(columns={"answers": "n"})
    return _section("citations_people", text, pd.concat([table, everybody], ignore_index=True), pd.DataFrame(shown), gaps=gaps)


def _explainers(results: Reader) -> Section:
    names = names_of(results)
    measures = (*OF_EXPLAINERS, *OF_SOURCES)
    cells = ordered(cells_of(results, measures), names)
    cells = cells[cells["masking"] == "full"].reset_index(drop=True)
    known = bool((cells["measure"].isin(list(OF_SOURCES)) & cells["value"].notna()).any())
    told = measures if known else OF_EXPLAINERS
    parts = "; ".join(f"{CITATION_MEASURES[name].title}: {CITATION_MEASURES[name].meaning}" for name in told)
    text = (
        f"What the model's own computation says, which needs no judge. {parts}. The "
        "truth, where it is known what sentences were made from, stands beside. Chance: as many sentences at random for each "
        f"passage. {_INTERVALS}"
    )
    if cells.empty:
        gaps = ["No explainer was asked about every passage: --annotators explainer(loo) --masking full."]
        return _section("citations_explainers", text, cells, cells, gaps=gaps)
    shown = wide(cells, told, names, (*WHERE, "annotator"))
    figures = citation_charts.of_explainers(cells, names)
    return _section("citations_explainers", text, cells, shown, figures=figures, gaps=reasons(cells, names))
