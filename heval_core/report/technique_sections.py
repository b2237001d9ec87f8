"""The sections of a report about techniques, after CUB (arXiv 2505.16518); only where results compare techniques.

Their numbers come from the same queries as those of the page Techniques.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

import pandas as pd

from heval_core.figures.technique_features import correlation_table
from heval_core.figures.technique_names import TechniqueNames
from heval_core.figures.technique_table import Column, columns_of, rows_in_order, techniques_latex, unavailable
from heval_core.figures.technique_trials import searches
from heval_core.present.names import measure_name, regime_title
from heval_core.present.numbers import EXACT, interval, number
from heval_core.records import CONTEXT_KINDS, TECHNIQUE
from heval_core.report import technique_charts
from heval_core.report.plans import TECHNIQUE_SECTIONS, TECHNIQUES
from heval_core.report.section import MISSING, Section
from heval_core.report.technique_explained import explained, explained_text
from heval_core.store.filters import Filter
from heval_core.store.reader import Reader
from heval_core.words import BEHAVIOURS, REGIMES

_INTERVALS = "In brackets: 95 % intervals over questions."
_KINDS = " ".join(f"{REGIMES[kind].title}: {REGIMES[kind].meaning}." for kind in CONTEXT_KINDS)


def has_techniques(results: Reader) -> bool:
    return len(results.technique_findings()) > 0


def technique_section(results: Reader, key: str) -> Section:
    """One of TECHNIQUE_SECTIONS."""
    makers: dict[str, Callable[[Reader], Section]] = {
        "techniques_front": _front,
        "techniques_bcu": lambda results: _values(results, "bcu"),
        "techniques_bcu_gain": lambda results: _gains(results, "bcu"),
        "techniques_ccu": lambda results: _values(results, "ccu"),
        "techniques_ccu_gain": lambda results: _gains(results, "ccu"),
        "techniques_costs": _costs,
        "techniques_features": _features,
        "techniques_search": _search,
        "techniques_explained": _explained,
    }
    return makers[key](results)


def _section(key: str, text: str, table: pd.DataFrame, shown: pd.DataFrame, **more: Any) -> Section:
    """more: figures, gaps."""
    title, paper = TECHNIQUE_SECTIONS[key]
    gaps = tuple(more.get("gaps", ())) or (() if len(table) else ("Not in these results.",))
    return Section(key, TECHNIQUES, title, paper, text, more.get("figures", ()), table, shown, gaps)


def _names(results: Reader) -> TechniqueNames:
    return TechniqueNames.of(results.techniques())


def _titles(results: Reader) -> dict[str, str]:
    """Of datasets."""
    known = results.datasets()
    return dict(zip(known["dataset"], known["title"], strict=True))


def _front(results: Reader) -> Section:
    points, names = results.technique_points(Filter()), _names(results)
    figures = technique_charts.of_front(points, results.technique_cells(Filter()), names, _titles(results))
    rows = [
        {
            "model": row["model"],
            "dataset": row["dataset"],
            "technique": names.title(row["technique"]),
            "context faithfulness": _number(row, "context_faithfulness", "faithfulness_low", "faithfulness_high"),
            "robustness": _number(row, "robustness", "robustness_low", "robustness_high"),
            "J": _number(row, "discrimination", "discrimination_low", "discrimination_high"),
            "on the front": "yes" if row["on_front"] else "no",
            "in which share of resamples": number(row["share_on_front"], EXACT),
            "n": row["n"],
        }
        for row in points.to_dict("records")
    ]
    text = (
        "Context faithfulness is the mean BCU on gold and conflicting documents, robustness the BCU on irrelevant ones. "
        "Filled: on the Pareto front, which the line joins. No other technique is at least as good in both, and better in "
        "one. Dashed: techniques that treat all documents alike, which is chance. Lines through a point are 95 % intervals "
        f"over questions. J: {BEHAVIOURS['discrimination'].meaning}."
    )
    return _section("techniques_front", text, points, pd.DataFrame(rows), figures=figures)


def _values(results: Reader, measure: str) -> Section:
    """A measure by kind of context and in total, and what holds for all kinds together."""
    cells, names = results.technique_cells(Filter()), _names(results)
    columns = columns_of(cells, measure)
    wanted = {(column.regime, column.measure) for column in columns}
    table = cells[[place in wanted for place in zip(cells["regime"], cells["measure"], strict=True)]]
    meanings = " ".join(f"{column.title}: {column.hint}." for column in columns if column.measure != measure)
    text = f"{measure_name(measure)}: {BEHAVIOURS[measure].meaning}. {_KINDS} {meanings} {_INTERVALS}"
    shown = _by_technique(cells, measure, columns, names, ("value", "low", "high"))
    return _section(f"techniques_{measure}", text, table, shown, gaps=_not_available(results, names))


def _gains(results: Reader, measure: str) -> Section:
    """The differences to Regular, over the instances that both answered."""
    cells, names = results.technique_cells(Filter()), _names(results)
    own = cells[cells["technique"] != TECHNIQUE].dropna(subset=["delta"])
    columns = columns_of(own, measure)
    wanted = {(column.regime, column.measure) for column in columns}
    table = own[[place in wanted for place in zip(own["regime"], own["measure"], strict=True)]]
    figures = technique_charts.of_differences(cells, measure, names)
    lanes = "; ".join(f"{model} on {dataset}" for model, dataset in technique_charts.lanes_of(own))
    text = (
        f"{measure_name(measure)} of each technique less Regular's, over the instances that both answered; chance is 0. Every "
        f"dot is a model on a dataset, from top to bottom: {lanes}. {_INTERVALS}"
    )
    shown = _by_technique(own, measure, columns, names, ("delta", "delta_low", "delta_high"))
    return _section(f"techniques_{measure}_gain", text, table, shown, figures=figures)


def _by_technique(
    cells: pd.DataFrame, measure: str, columns: Iterable[Column], names: TechniqueNames, numbers: tuple[str, str, str]
) -> pd.DataFrame:
    """A row for each technique of a model and dataset, a column for each kind and measure."""
    rows = []
    for (model, dataset), own in cells.groupby(["model", "dataset"], sort=True):
        found = {(row["technique"], row["regime"], row["measure"]): row for row in own.to_dict("records")}
        for key in rows_in_order(own, measure, names):
            values = {column.title: _number(found.get((key, column.regime, column.measure)), *numbers) for column in columns}
            total = found.get((key, "total", measure), {})
            rows.append({"model": model, "dataset": dataset, "technique": names.title(key), **values, "n": total.get("n", 0)})
    return pd.DataFrame(rows)


def _number(row: Mapping[Any, Any] | None, value: str, low: str, high: str) -> str:
    return MISSING if row is None else interval(row[value], row[low], row[high], EXACT)


def _not_available(results: Reader, names: TechniqueNames) -> Iterator[str]:
    """Each reason once, with the models it holds for."""
    cells, trials = results.technique_cells(Filter()), results.technique_trials(Filter())
    told: dict[tuple[str, str], set[str]] = {}
    for model in sorted({*cells["model"], *trials["model"]}):
        for dataset in sorted({*cells["dataset"], *trials["dataset"]}):
            own, tried = (frame[(frame["model"] == model) & (frame["dataset"] == dataset)] for frame in (cells, trials))
            for title, why in unavailable(own, tried, names):
                told.setdefault((title, why.rstrip(".")), set()).add(f"{model} on {dataset}")
    for (title, why), places in told.items():
        yield f"{title} is not available with {', '.join(sorted(places))}: {why}."


def _costs(results: Reader) -> Section:
    """Of the techniques of these results."""
    names = _names(results)
    cells, trials = results.technique_cells(Filter()), results.technique_trials(Filter())
    keys = names.in_order([*cells["technique"], *trials["technique"]])
    counts = trials.groupby(["technique", "model", "dataset"])["setting"].nunique().groupby("technique").max()
    rows = [
        {
            "technique": names.title(key),
            "passes for an answer": names.cost(key).partition(",")[0].rstrip(" ×") or MISSING,
            "before the first answer": names.cost(key).partition(", ")[2] or "nothing",
            "settings tried": int(counts.get(key, 0)) or MISSING,
        }
        for key in keys
    ]
    table = pd.DataFrame(rows)
    text = (
        "Forward passes for an answer, Regular's being 1, and what precedes the first answer; settings tried: the most for a "
        "model and dataset. Decoding techniques share their two passes: all of them together cost little more than one. "
        "Seconds depend on the machine and are not stored with answers; `python -m benchmarks techniques` measures them."
    )
    return _section("techniques_costs", text, table, table)


def _features(results: Reader) -> Section:
    table, names = results.technique_correlations(Filter()), _names(results)
    known = table.dropna(subset=["rho"])
    parts = []
    for dataset in dict.fromkeys(known["dataset"]):
        for key in names.in_order(known[known["dataset"] == dataset]["technique"]):
            own = known[(known["dataset"] == dataset) & (known["technique"] == key)]
            shown = correlation_table(own)
            parts.append(shown.assign(dataset=dataset, technique=names.title(key)))
    columns = ["dataset", "technique"]
    every = pd.concat(parts, ignore_index=True) if parts else pd.DataFrame(columns=columns)
    every = every[[*columns, *(name for name in every.columns if name not in columns)]]
    without = len(table) - len(known)
    gaps = [f"{without} of {len(table)} correlations are not defined; `results.json` has the reasons."] if without else []
    text = (
        "Spearman's correlation of BCU with features of the model and of the input; chance is 0. Pooled: all answers of all "
        "models together, as in CUB, with p as if these were independent. Within: ranks within each model and dataset, with p "
        "over questions. Both p are corrected by Holm over the features of a dataset, kind of context and technique."
    )
    return _section("techniques_features", text, table, every, gaps=gaps)


def _search(results: Reader) -> Section:
    table, names = results.technique_trials(Filter()), _names(results)
    rows = []
    for (model, dataset), own in table.groupby(["model", "dataset"], sort=True):
        for search in searches(own):
            rows.append(
                {
                    "model": model,
                    "dataset": dataset,
                    "technique": names.title(search.technique),
                    "settings tried": search.settings,
                    "as good as the chosen one": search.ties,
                    "chosen": search.chosen + (f": {', '.join(search.heads)}" if search.heads else ""),
                    "on": search.questions or MISSING,
                }
            )
    text = (
        "Settings are chosen on development questions, by each method's own rule; all other numbers are of test questions. As "
        "good as the chosen one: settings that tie by that rule, the chosen one among them. Where many tie, the choice among "
        "them is arbitrary."
    )
    gaps = () if rows else ("No technique of these results has settings to choose.",)
    return _section("techniques_search", text, table, pd.DataFrame(rows), gaps=gaps)


def _explained(results: Reader) -> Section:
    table = explained(results)
    if table.empty:
        gap = "No answer under a technique was explained; run the batch job with --techniques and --explainers."
        return _section("techniques_explained", explained_text(), table, table, gaps=[gap])
    names = _names(results)
    shown = pd.DataFrame(
        {
            **{name: table[name] for name in ("model", "dataset")},
            "regime": [regime_title(regime) for regime in table["regime"]],
            "technique": [names.title(key) for key in table["technique"]],
            **{name: table[name] for name in ("explainer", "measure", "part")},
            "Regular": [_number(row, "regular", "regular_low", "regular_high") for row in table.to_dict("records")],
            "under it": [_number(row, "value", "low", "high") for row in table.to_dict("records")],
            "difference": [_number(row, "delta", "delta_low", "delta_high") for row in table.to_dict("records")],
            "n": [f"{row.regular_n} and {row.n}" for row in table.itertuples()],
        }
    )
    kept = shown if shown["part"].nunique() > 1 else shown.drop(columns="part")
    return _section("techniques_explained", explained_text(), table, kept)


def technique_latex(results: Reader, section: Section) -> str:
    """The tables of BCU and CCU as those of the page; empty for other sections."""
    measure = section.key.removeprefix("techniques_")
    if measure not in ("bcu", "ccu"):
        return ""
    cells, points = results.technique_cells(Filter()), results.technique_points(Filter())
    names, titles, tables = _names(results), _titles(results), list[str]()
    for place, ((model, dataset), own) in enumerate(cells.groupby(["model", "dataset"], sort=True), start=1):
        on = points[(points["model"] == model) & (points["dataset"] == dataset) & points["on_front"].astype(bool)]
        about = {"model": str(model), "dataset": titles.get(str(dataset), str(dataset)), "measure": measure}
        text = techniques_latex(own, measure, names, set(on["technique"]), about, results.snapshot_id)
        tables.append(text.replace(f"{{tab:heval-techniques-{measure}}}", f"{{tab:heval-techniques-{measure}-{place}}}"))
    return "\n".join(tables)
