"""The sections of a report about techniques, after CUB (arXiv 2505.16518); only where results compare techniques.

Their numbers come from the same queries as those of the page Techniques.
"""

from collections.abc import Iterator
from dataclasses import replace
from functools import partial

import pandas as pd

from heval_core.evaluation.board.making import board
from heval_core.figures import front
from heval_core.figures.dots_drawn import as_drawing
from heval_core.figures.technique_front import blind_line, front_figure, share_known
from heval_core.figures.techniques import (
    CHANGES,
    columns_of,
    correlation_table,
    differences_figure,
    guided_table,
    searches,
    technique_table,
    unavailable,
)
from heval_core.present.names import Names, measure_name, names_of
from heval_core.present.numbers import EXACT, VALUE, Format
from heval_core.present.table import Table, TableCell, counted, number_cell, value_cell
from heval_core.records import CONTEXT_KINDS, TECHNIQUE
from heval_core.records.vocabulary import BEHAVIOURS, REGIMES
from heval_core.report.section import Plan, Section
from heval_core.store.reader import Reader

CHAPTER = "Techniques"
_KINDS = " ".join(f"{REGIMES[kind].title}: {REGIMES[kind].meaning}." for kind in CONTEXT_KINDS)


def has_techniques(results: Reader) -> bool:
    return len(results.findings("techniques")) > 0


def _front(results: Reader, plan: Plan) -> Section:
    points, names = results.rows("pareto"), names_of(results)
    cells, figures = results.rows("cell_behaviour"), []
    for (dataset, model), of_model in points.groupby(["dataset", "model"]):
        knew = share_known(cells[(cells["dataset"] == dataset) & (cells["model"] == model)])
        drawing = front.as_drawing(front_figure(of_model, names, blind_line(knew), "blind to relevance"))
        figures.append((f"Following against ignoring, {model} on {names.dataset(str(dataset))}", drawing))
    numbers = {"context faithfulness": ("context_faithfulness", "faithfulness"), "robustness": ("robustness", "robustness"),
               "J": ("discrimination", "discrimination")}  # fmt: skip
    rows = [
        {
            "model": row["model"],
            "dataset": row["dataset"],
            "technique": names.technique(row["technique"]),
            **{title: number_cell(row, of=(name, f"{end}_low", f"{end}_high")) for title, (name, end) in numbers.items()},
            "on the front": "yes" if row["on_front"] else "no",
            "in which share of resamples": value_cell(row["share_on_front"], EXACT),
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
    return plan.section(text, [Table.of(rows)], points, figures)


def _measured(measure: str, results: Reader, plan: Plan) -> Section:
    cells, names = results.rows("cell_behaviour"), names_of(results)
    tables = tuple(_tables(results, cells, measure, VALUE, names))
    text = f"{tables[0].note if tables else ''} {_KINDS}"
    return plan.section(text, tables, _behind(cells, measure), gaps=_not_available(results, names))


def _gains(measure: str, results: Reader, plan: Plan) -> Section:
    cells, names = results.rows("cell_behaviour"), names_of(results)
    changes = cells[cells["technique"] != TECHNIQUE].dropna(subset=["delta"])
    text = (
        f"{measure_name(measure)} of each technique less Regular's, over the instances that both answered; chance is 0. "
        "Filled: the interval leaves out 0. In brackets: 95 % intervals over questions."
    )
    figures = tuple(
        (f"{measure_name(measure)}: difference to Regular, {model} on {dataset}", as_drawing(figure))
        for (model, dataset), rows in cells.groupby(["model", "dataset"])
        if (figure := differences_figure(rows, measure, names)) is not None
    )
    return plan.section(text, _tables(results, changes, measure, CHANGES, names), _behind(changes, measure), figures)


def _behind(cells: pd.DataFrame, measure: str) -> pd.DataFrame:
    pairs = {column[:2] for column in columns_of(cells, measure)}
    return cells[[pair in pairs for pair in zip(cells["regime"], cells["measure"], strict=True)]]


def _tables(results: Reader, cells: pd.DataFrame, measure: str, of: tuple[str, str, str], names: Names) -> Iterator[Table]:
    points = results.rows("pareto")
    points = points[points["on_front"].astype(bool)]
    for index, ((model, dataset), rows) in enumerate(cells.groupby(["model", "dataset"], sort=True), start=1):
        front = set(points[(points["model"] == model) & (points["dataset"] == dataset)]["technique"])
        title = f"{measure_name(measure)}, {model} on {names.dataset(str(dataset))}"
        table = technique_table(rows, measure, names, front, of)
        gain = "" if of == VALUE else "-gain"
        yield replace(table, title=title, label=f"{table.label}{gain}-{index}")
        guided = guided_table(rows, measure, names, lambda: board(results).quality) if of == VALUE else None
        if guided is not None:
            yield replace(guided, title=f"{guided.title}? {title}", label=f"{guided.label}-{index}")


def _not_available(results: Reader, names: Names) -> Iterator[str]:
    """Yield each reason once, with the models it holds for."""
    every = pd.concat([results.rows("cell_behaviour"), results.rows("technique_trial")])
    by_reason: dict[tuple[str, str], set[str]] = {}
    for (model, dataset), rows in every.groupby(["model", "dataset"]):
        for title, why in unavailable(rows, names):
            by_reason.setdefault((title, why.rstrip(".")), set()).add(f"{model} on {dataset}")
    for (title, why), cells in by_reason.items():
        yield f"{title} is not available with {', '.join(sorted(cells))}: {why}."


def _costs(results: Reader, plan: Plan) -> Section:
    names = names_of(results)
    cells, trials = results.rows("cell_behaviour"), results.rows("technique_trial")
    counts = trials.groupby(["technique", "model", "dataset"])["setting"].nunique().groupby("technique").max()
    keys = names.techniques_in_order([*cells["technique"], *trials["technique"]])
    prices = list(map(names.price, keys))
    table = pd.DataFrame(
        {
            "technique": map(names.technique, keys),
            "passes for an answer": [value_cell(price.passes, Format("{:g}")) for price in prices],
            "before the first answer": [price.preparation or "nothing" for price in prices],
            "settings tried": [counted(counts.get(key) or None) for key in keys],
        }
    )
    written = table.map(lambda held: None if held == TableCell() else held.main if isinstance(held, TableCell) else held)
    text = (
        "Forward passes for an answer, Regular's being 1, and what precedes the first answer; settings tried: the most for a "
        "model and dataset. Decoding techniques share their two passes: all of them together cost little more than one. "
        "Seconds depend on the machine and are not stored with answers; `python -m benchmarks techniques` measures them."
    )
    return plan.section(text, [Table.of(table)], written)


def _features(results: Reader, plan: Plan) -> Section:
    every, names = results.rows("feature_correlation"), names_of(results)
    known = every.dropna(subset=["rho"])
    without = len(every) - len(known)
    gaps = [f"{without} of {len(every)} correlations are not defined; `results.json` has the reasons."] if without else []
    text = (
        "Spearman's correlation of BCU with features of the model and of the input; chance is 0. Pooled: all answers of all "
        "models together, as in CUB, with p as if these were independent. Within: ranks within each model and dataset, with p "
        "over questions. Both p are corrected by Holm over the features of a dataset, kind of context and technique."
    )
    return plan.section(text, [Table.of(correlation_table(known, names))], every, gaps=gaps)


def _search(results: Reader, plan: Plan) -> Section:
    trials, names = results.rows("technique_trial"), names_of(results)
    rows = [
        {
            "model": model,
            "dataset": dataset,
            "technique": names.technique(search.technique),
            "settings tried": search.settings,
            "as good as the chosen one": search.ties,
            "chosen": search.chosen,
            "on": search.questions or None,
        }
        for (model, dataset), tried in trials.groupby(["model", "dataset"], sort=True)
        for search in searches(tried)
    ]
    text = (
        "Settings are chosen on development questions, by each method's own rule; all other numbers are of test questions. As "
        "good as the chosen one: settings that tie by that rule, the chosen one among them. Where many tie, the choice among "
        "them is arbitrary."
    )
    gaps = () if rows else ("No technique of these results has settings to choose.",)
    return plan.section(text, [Table.of(rows)], trials, gaps=gaps)


PLANS = (
    Plan("techniques_front", CHAPTER, "Following against ignoring", "CUB", _front),
    Plan("techniques_bcu", CHAPTER, "BCU by technique and kind of context", "CUB", partial(_measured, "bcu")),
    Plan("techniques_bcu_gain", CHAPTER, "BCU: differences to Regular", "CUB", partial(_gains, "bcu")),
    Plan("techniques_ccu", CHAPTER, "CCU by technique and kind of context", "CUB", partial(_measured, "ccu")),
    Plan("techniques_ccu_gain", CHAPTER, "CCU: differences to Regular", "CUB", partial(_gains, "ccu")),
    Plan("techniques_costs", CHAPTER, "What techniques cost", "CUB", _costs),
    Plan("techniques_features", CHAPTER, "What BCU depends on", "CUB", _features),
    Plan("techniques_search", CHAPTER, "Which settings were chosen, and how clearly", "CUB", _search),
)
