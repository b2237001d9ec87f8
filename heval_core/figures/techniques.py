"""Techniques as figures and tables: differences to Regular by kind of context, the numbers, features, and chosen settings."""

import json
import math
from collections.abc import Callable, Collection, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import pandas as pd

from heval_core.evaluation.ranking import ranking
from heval_core.figures import dots
from heval_core.figures.dots import Axis, Dot, DotFigure, Panel, Slot
from heval_core.figures.palette import SHAPES
from heval_core.plugins import catalogue
from heval_core.present.drawing import Scale
from heval_core.present.names import SIGNED, Names, change_unit, measure_name, regime_meaning, regime_title, value_unit
from heval_core.present.numbers import CHANGE, VALUE, P, change, interval_of, tick, with_unit
from heval_core.present.table import IN_BOLD, Fields, Head, Row, Table, TableCell, crossed, number_cell, reason, value_cell
from heval_core.records import CONTEXT_KINDS, TECHNIQUE, head_name
from heval_core.records.vocabulary import BEHAVIOURS, FEATURES, REGIMES, counted

TOTAL = "total"
CHANGES = ("delta", "delta_low", "delta_high")
# Letters of a setting that a table has room for.
_LONGEST = 160
_SETTINGS = {"lam": "λ", "lambda": "λ", "alpha": "α", "n": "N", "top": "N"}


def differences_figure(cells: pd.DataFrame, measure: str, names: Names, front: Collection[str] = ()) -> DotFigure | None:
    """Draw a row for each technique, a panel for each kind of context, one axis for all; None without any technique.

    cells: rows of `cell_behaviour` of one model and dataset. front: techniques in bold.
    """
    measured = cells[cells["measure"] == measure]
    by_cell = {(row["technique"], row["regime"]): row for row in measured.to_dict("records")}
    rows = [
        dots.DotRow(
            key,
            names.label(key),
            hint=names.cost_in_words(key),
            shape=SHAPES[names.technique_family(key)],
            strong=key in front,
            note=names.cost(key),
        )
        for key in ranked(measured, names)
        if key != TECHNIQUE
    ]
    panels = []
    for kind in (kind for kind in CONTEXT_KINDS if kind in set(measured["regime"])):
        regular = by_cell.get((TECHNIQUE, kind))
        value = math.nan if regular is None else regular["value"]
        note = "" if pd.isna(value) else f"Regular {with_unit(value, value_unit(measure))}"
        slots = [_difference(by_cell.get((row.key, kind)), row.key, kind, measure, names) for row in rows]
        panels.append(Panel(regime_title(kind), slots, note, regime_meaning(kind), 0.0))
    every = [dot for panel in panels for slot in panel.slots for dot in slot.dots]
    ends = [end for dot in every for end in (dot.value, dot.low, dot.high)]
    unit = _scaled(0.05, measure)
    axis = Axis(Scale.around([*ends, -unit, unit]), text=tick, most=4)
    title = "Differences to Regular by kind of context, best total first"
    return DotFigure(title, rows, panels, axis) if rows else None


def ranked(cells: pd.DataFrame, names: Names) -> list[str]:
    """Return the techniques that have a value somewhere, those with the highest total first. cells: of one measure."""
    known = cells.dropna(subset=["value"])
    totals = known[known["regime"] == TOTAL].set_index("technique")["value"]
    if totals.empty:
        totals = known.groupby("technique")["value"].mean()
    return sorted(names.techniques_in_order(known["technique"]), key=lambda key: -totals.get(key, -math.inf))


def _difference(row: Fields | None, key: str, kind: str, measure: str, names: Names) -> Slot:
    """Return filled and bold where the interval leaves out 0."""
    head = f"{names.technique(key)}, {regime_title(kind).lower()}"
    if row is None or pd.isna(row["delta"]):
        return Slot(missing=Dot(0.0, (head, "not available", reason(row)), (key, kind)))
    counts = [] if pd.isna(row["n"]) else [f"{counted(int(row['n']), 'answer')}; click for the instances"]
    about = (head, f"{_change(row, measure)} against Regular", _value(row, measure), *counts)
    at, low, high = (_scaled(row[name], measure) for name in CHANGES)
    sure, text = bool(low > 0 or high < 0), change(row["delta"], change_unit(measure))
    return Slot((Dot(at, about, (key, kind), low, high, hollow=not sure),), text=text, best=sure)


def cell_in_words(row: Fields, measure: str) -> str:
    """Write a cell in words: `72 % [66, 78], +22 points [14, 30] against Regular`."""
    alone = row["technique"] == TECHNIQUE or pd.isna(row["delta"])
    return _value(row, measure) + ("" if alone else f", {_change(row, measure)} against Regular")


def _value(row: Fields, measure: str) -> str:
    return interval_of(row, value_unit(measure))


def _change(row: Fields, measure: str) -> str:
    return interval_of(row, change_unit(measure), CHANGES, signed=True)


def _scaled(value: float, measure: str) -> float:
    """Return a value on the axis: shares in points, others as they are."""
    return value if measure in SIGNED else 100 * value


class Column(NamedTuple):
    """best: whether the best numbers are in bold."""

    regime: str
    measure: str
    title: str
    meaning: str
    best: bool


def columns_of(cells: pd.DataFrame, measure: str) -> list[Column]:
    """Return columns that have a number: the measure by kind and in total, then what holds for all kinds together."""
    good = measure != "neither"
    kinds = [Column(kind, measure, REGIMES[kind].title, regime_meaning(kind), good) for kind in CONTEXT_KINDS]
    kinds.append(Column(TOTAL, measure, "Total", f"{measure_name(measure)} over all instances, each counting the same", good))
    more = [(name, False) for name in ("memory_kept", "neither") if name != measure]
    more += [(name, True) for name in ("discrimination", "discrimination_off_topic")]
    kinds += [Column(TOTAL, name, BEHAVIOURS[name].short, BEHAVIOURS[name].meaning, best) for name, best in more]
    known = cells.dropna(subset=["value"])
    measured = set(zip(known["regime"], known["measure"], strict=True))
    return [column for column in kinds if (column.regime, column.measure) in measured]


def technique_table(
    cells: pd.DataFrame, measure: str, names: Names, front: Collection[str] = (), of: tuple[str, str, str] = VALUE
) -> Table:
    """Return a measure by kind of context, what each technique does to the model, J, and the cost of an answer; Regular first.

    cells: of one model and dataset. front: techniques on the Pareto front. of: VALUE, or CHANGES since Regular.
    """
    columns = columns_of(cells.dropna(subset=[of[0]]), measure)
    by_place = crossed(cells, ["regime", "measure"], "technique")
    column_rows = [by_place[column.regime, column.measure] for column in columns]
    unit, chance = (value_unit, "chance") if of == VALUE else (change_unit, "")
    best = [
        ranking(pd.DataFrame(rows.values()), of=of, key="technique", chance=chance).bold if column.best else ()
        for column, rows in zip(columns, column_rows, strict=True)
    ]
    rows = []
    for key in sorted(ranked(cells[cells["measure"] == measure], names), key=lambda key: key != TECHNIQUE):
        numbers = [
            number_cell(by_technique.get(key), unit(column.measure), of, best=key in bold)
            for column, by_technique, bold in zip(columns, column_rows, best, strict=True)
        ]
        cost = TableCell(names.cost(key) or "–", why=names.cost_in_words(key))
        rows.append(Row((names.technique(key),), (*numbers, cost), note="on the front" if key in front else ""))
    heads = [Head(column.title + ("" if column.measure in SIGNED else ", %"), column.meaning) for column in columns]
    heads.append(Head("cost of an answer", "Forward passes, Regular's being 1, and what precedes the first answer"))
    label = f"techniques-{measure.replace('_', '-')}"
    title = "The numbers, techniques by kind of context"
    return Table(title, ("Technique",), tuple(heads), tuple(rows), _note(columns, measure), label)


def guided_table(cells: pd.DataFrame, measure: str, names: Names, quality: Callable[[], pd.DataFrame]) -> Table | None:
    """Return which explainer makes the best technique; None where techniques ask fewer than two explainers.

    cells: of one model and dataset. quality: gives `Board.quality` of all results.
    """
    offered = catalogue.plugins("technique")
    asking = [key for key in set(cells["technique"]) if hasattr(offered.get(key.partition("(")[0]), "explainer")]
    explainers = {names.technique(key): catalogue.find("technique", key).explainer for key in asking}
    if len(set(explainers.values())) < 2:
        return None
    table = technique_table(cells[cells["technique"].isin([TECHNIQUE, *asking])], measure, names)
    by_key = {row["explainer"]: row for row in quality().to_dict("records")}
    scores = [number_cell(by_key.get(explainers.get(row.titles[0], ""))) for row in table.rows]
    rows = [replace(row, cells=(*row.cells, score)) for row, score in zip(table.rows, scores, strict=True)]
    head = Head("Leaderboard", "Quality of the explainer that it asks: Leaderboard's mean over all results")
    title = "Which explainer makes the best technique"
    return replace(table, title=title, heads=(*table.heads, head), rows=tuple(rows), label=f"{table.label}-guided")


def _note(columns: Sequence[Column], measure: str) -> str:
    more = {column.measure: column for column in columns if column.measure != measure}
    meanings = [f"{column.title}: {column.meaning}" for column in more.values()]
    about = f"{measure_name(measure)}: {BEHAVIOURS[measure].meaning}"
    return ". ".join([about, *meanings, "In brackets: 95 % intervals over questions", IN_BOLD])


def unavailable(rows: pd.DataFrame, names: Names) -> list[tuple[str, str]]:
    """Return (title, reason) of the techniques that have no number at all.

    rows: of `cell_behaviour`, then of `technique_trial`.
    """
    missing = rows[~rows["technique"].isin(rows.dropna(subset=["value"])["technique"])].dropna(subset=["unavailable"])
    reasons = missing.groupby("technique")["unavailable"].first().to_dict()
    return [(names.technique(key), reasons[key]) for key in names.techniques_in_order(reasons)]


def correlation_table(correlations: pd.DataFrame, names: Names) -> pd.DataFrame:
    """Return what BCU depends on, by dataset, technique, feature and kind of context.

    correlations: rows of `feature_correlation`.
    """
    dataset = correlations.groupby("dataset", sort=False).ngroup()
    ordered = correlations.assign(place=dataset).sort_values(["place", "technique"], kind="stable")
    rows = [
        {
            "dataset": row["dataset"],
            "technique": names.technique(row["technique"]),
            "feature": FEATURES[key].title if (key := row["feature"]) in FEATURES else key.replace("_", " "),
            "context": regime_title(row["regime"]),
            "rho, pooled": value_cell(row["rho"], CHANGE),
            "p, Holm": value_cell(row["p_holm"], P),
            "rho, within": value_cell(row["rho_stratified"], CHANGE),
            "p within, Holm": value_cell(row["p_stratified_holm"], P),
            "answers": row["n"],
        }
        for row in ordered.to_dict("records")
    ]
    return pd.DataFrame(rows)


class Search(NamedTuple):
    """The search for one technique's setting. ties: as good as the chosen one. chosen: it, in words. questions: on which."""

    technique: str
    settings: int
    ties: int
    chosen: str
    questions: str


def searches(trials: pd.DataFrame) -> list[Search]:
    """Return the searches of one model and dataset, in the frame's order. Techniques with a single empty setting had none."""
    known = trials[trials["unavailable"].isna()]
    all_searches = []
    for technique, rows in known.groupby("technique", sort=False):
        tried = rows.assign(setting=rows["setting"].fillna(""))
        flags = tried.groupby("setting", sort=False)[["chosen", "tied"]].any()
        if list(flags.index) == [""]:
            continue
        if tried["bcu"].isna().all():  # weights were trained, and no settings compared
            all_searches.append(Search(str(technique), 1, 1, setting_words(tried["setting"].iloc[0]), ""))
            continue
        chosen = next((str(setting) for setting in flags.index[flags["chosen"]]), "")
        ties = int((flags["tied"] | flags["chosen"]).sum())
        all_searches.append(Search(str(technique), len(flags), ties, setting_words(chosen), _development_prompts(tried)))
    return all_searches


def _development_prompts(rows: pd.DataFrame) -> str:
    """Count the prompts of a search: `40 development prompts of each kind`."""
    counts = rows.groupby("regime")["n"].max().dropna().astype(int)
    if counts.empty:
        return ""
    least, most = counts.min(), counts.max()
    number = counted(int(most), "development prompt") if least == most else f"{least:,} to {most:,} development prompts"
    return f"{number} of each kind"


def setting_words(text: str) -> str:
    """Write a stored setting without JSON's signs: `λ 0.5, α 1`, `kind memory: L3H2`; what it says is data, and stays text."""
    try:
        parsed = json.loads(text or "{}")
    except ValueError:
        parsed = None
    if not isinstance(parsed, dict):
        return text[:_LONGEST]
    if {"examples", "held_out_loss", "best_epoch"} <= parsed.keys():
        return _training(parsed)
    heads = parsed.pop("heads", None)
    settings = ", ".join(f"{_SETTINGS.get(name, name.replace('_', ' '))} {_plain(value)}" for name, value in parsed.items())
    parts = [f"{settings[:_LONGEST]} …" if len(settings) > _LONGEST else settings]
    parts += [", ".join(map(_head, heads))] if isinstance(heads, list) else []
    return ": ".join(filter(None, parts)) or "nothing to choose"


def _training(parsed: Fields) -> str:
    """Say what an adapter was trained on, and how long: see `techniques/fine_tuning.py`."""
    kinds, losses = parsed["examples"], parsed["held_out_loss"]
    of = ", ".join(f"{count:,} {name}" for name, count in kinds.items())
    return (
        f"{sum(kinds.values()):,} examples ({of}), {counted(len(losses), 'epoch')}, of which number {parsed['best_epoch']} is "
        f"kept; loss on {parsed['held_out']:,} held-out examples {losses[0]:.2f} ▶ {min(losses):.2f}"
    )


def _plain(value: Any) -> str:
    return f"{value:g}" if isinstance(value, float) else ", ".join(map(str, value)) if isinstance(value, list) else str(value)


def _head(head: Any) -> str:
    whole = isinstance(head, list) and len(head) == 2 and all(isinstance(part, int) for part in head)
    return head_name(head[0], head[1]) if whole else str(head)
