"""Citations as figures and tables: annotators by writer, each beside its own chance; what explanations cite; who agrees."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

import pandas as pd

from heval_core.evaluation.ranking import Ranking, ranking, sentences, who
from heval_core.figures import dots
from heval_core.figures.dots import Dot, DotFigure, Panel, Slot
from heval_core.figures.palette import annotator_colour
from heval_core.present.html import plain
from heval_core.present.names import PEOPLE, TRUTH, Names
from heval_core.present.numbers import VALUE, interval, interval_of, number
from heval_core.present.table import IN_BOLD, Fields, Head, Row, Table, TableCell, counted, crossed, number_cell, reason
from heval_core.records.vocabulary import CITATION_MEASURES, MASKINGS, OF_EXPLAINERS, OF_EXPLANATIONS
from heval_core.records.vocabulary import counted as so_many

WHERE = ("dataset", "writer", "selector")
_LEGEND = (("dot", "mean with its 95 % interval over claims"), ("chance", "chance"))
_CHANCE = (
    "In brackets: 95 % intervals over claims. Chance: expected of as many sentences, or passages, chosen at random; of "
    "readers, of as many as are right."
)
_NUMBERS = (*VALUE, "chance")
# Measures of what is wrong with an explanation.
_LOW = ("wrong_marker", "unsupported_sentence", "omitted_citation")


def recovery_figure(
    cells: pd.DataFrame, measure: str, writers: Sequence[str], names: Names, masking: str, beside: str = ""
) -> DotFigure:
    """Draw one measure of all annotators. cells: rows of `cell_recovery`. beside: another masking, drawn hollow."""
    maskings = [kind for kind in (masking, beside) if kind]
    measured = answered(cells[cells["writer"].isin(writers)], measure, maskings)
    by_pair, keys, panels = crossed(measured, ["writer", "annotator"], "masking"), names.in_order(measured["annotator"]), []
    for writer in writers:
        counts = measured["claims"][measured["writer"] == writer].dropna()
        slots = [_slot([by_pair.get((writer, key), {}).get(kind) for kind in maskings], (writer, key), names) for key in keys]
        note = so_many(int(counts.max()), "claim") if len(counts) else ""
        panels.append(Panel(f"by {writer}", slots, note, f"explanations written by {writer}"))
    legend = (("dot", f"filled: {masking}, hollow: {beside}, with their 95 % intervals"), *_LEGEND[1:]) if beside else _LEGEND
    rows = [_row(key, names, names.annotator(key)) for key in keys]
    title, hint = CITATION_MEASURES[measure].title, "click a dot for its claims"
    return DotFigure(title, rows, panels, legend=legend, hint=hint)


def explainers_figure(cells: pd.DataFrame, writers: Sequence[str], names: Names) -> DotFigure:
    """Return what explainers say of sentences: a panel for each measure, rows by writer and explainer; the truth
    where known.
    """
    measured = cells[cells["measure"].isin(OF_EXPLAINERS) & cells["writer"].isin(writers)]
    # Where both maskings have rows, those of full masking.
    measured = measured.sort_values("masking", key=lambda masking: masking != "full", kind="stable")
    by_pair = crossed(measured.drop_duplicates(["measure", "writer", "annotator"]), ["writer", "annotator"], "measure")
    keys = [key for key in names.in_order(measured["annotator"]) if key == TRUTH or names.family(key) == "explainer"]
    pairs, titles = [(writer, key) for writer in writers for key in keys], names.short(keys)
    rows = [_row(key, names, titles[key] if len(writers) == 1 else f"{titles[key]}, {writer}") for writer, key in pairs]
    panels = []
    for word in map(CITATION_MEASURES.__getitem__, OF_EXPLAINERS):
        slots = [_slot([by_pair.get(pair, {}).get(word.key)], (*pair, word.key), names) for pair in pairs]
        panels.append(Panel(word.title, slots, "low is good" if word.key in _LOW else "high is good", word.meaning))
    return DotFigure("What explainers say of sentences", rows, panels, legend=_LEGEND)


def answered(cells: pd.DataFrame, measure: str, maskings: Sequence[str]) -> pd.DataFrame:
    """Select one measure of annotators. cells: rows of `cell_recovery`, of which some are of explanations alone.

    Their chance is that of Random, where it answered, which marks as many sentences as cite the passage: one for all. Else it
    is each one's own, of as many sentences as it marked.
    """
    rows = cells[(cells["measure"] == measure) & cells["masking"].isin(maskings) & (cells["annotator"] != "")]
    random = rows[rows["annotator"] == "random"].set_index(["writer", "masking"])["chance"].dropna()
    one = pd.Series([random.get(pair) for pair in zip(rows["writer"], rows["masking"], strict=True)], rows.index, dtype=float)
    return rows.assign(chance=one.fillna(rows["chance"].astype(float)))


def _row(key: str, names: Names, title: str) -> dots.DotRow:
    return dots.DotRow(key, title, names.control(key), names.meaning("annotator", key), annotator_colour(key, names))


def cell_in_words(row: Fields | None, id: Sequence[str], names: Names) -> list[str]:
    """Say a cell in words: who and where, its number beside its chance, and how many there are; or why there is none.

    id: of its mark, which begins with writer and annotator.
    """
    where = f"{names.annotator(id[1])}, explanations by {id[0]}"
    if row is None or pd.isna(row["value"]):
        return [where, "not available", reason(row)]
    value = f"{CITATION_MEASURES[row['measure']].title} {interval_of(row)}"
    chance = "" if pd.isna(row["chance"]) else f", chance {number(row['chance'])}"
    counts = [] if pd.isna(row["n"]) else [f"n = {int(row['n']):,} of {so_many(int(row['claims']), 'claim')}"]
    return [where, value + chance, *counts]


def _slot(rows: Sequence[Fields | None], id: tuple[str, ...], names: Names) -> Slot:
    """Draw a slot. rows: of several maskings the second is hollow."""
    marks, several = [], len(rows) > 1
    for index, row in enumerate(rows):
        if row is not None and not pd.isna(row["value"]):
            about = (*cell_in_words(row, id, names), *([MASKINGS[row["masking"]].title] if several else []))
            value, low, high, chance = (float("nan" if row[name] is None else row[name]) for name in _NUMBERS)
            marks.append(Dot(value, about, (*id, row["masking"]) if several else id, low, high, chance, bool(index)))
    if marks:
        return Slot(tuple(marks), text=" · ".join(number(dot.value) for dot in marks))
    return Slot(missing=Dot(0.0, tuple(cell_in_words(rows[0], id, names)), id))


def not_available(cells: pd.DataFrame, measure: str, masking: str, names: Names) -> list[tuple[str, str]]:
    """Return (title, reason) of the annotators that have no number by any writer."""
    rows = answered(cells, measure, [masking])
    with_number = set(rows.dropna(subset=["value"])["annotator"])
    missing = {str(row["annotator"]): reason(row) for row in rows.to_dict("records") if row["annotator"] not in with_number}
    return [(names.annotator(key), missing[key]) for key in names.in_order(missing)]


def recovery_table(cells: pd.DataFrame, measure: str, masking: str, writers: Sequence[str], names: Names) -> Table:
    """Make a table of one measure: annotators by writer, each number with its interval and its chance."""
    measured = answered(cells, measure, [masking])
    by_annotator = crossed(measured, ["annotator"], "writer")
    best, rows = rankings(measured, names), []
    for key in names.in_order(measured["annotator"]):
        by_writer = by_annotator[key,]
        numbers = tuple(with_chance(by_writer.get(writer), key in best[writer].bold) for writer in writers)
        rows.append(Row((names.annotator(key),), numbers, names.control(key)))
    heads = tuple(Head(writer, f"explanations written by {writer}") for writer in writers)
    title = CITATION_MEASURES[measure].title
    note = f"{title}, {masking} masking: {CITATION_MEASURES[measure].meaning}. {_CHANCE} {IN_BOLD}"
    label = f"citations-{measure.replace('_', '-')}"
    return Table(f"{title}, annotators by writer", ("Annotator",), heads, tuple(rows), note, label)


def rankings(cells: pd.DataFrame, names: Names) -> dict[str, Ranking]:
    """Return which readers are best with each writer's explanations; explainers, where nobody reads. cells: of one measure."""
    keys = list(cells.dropna(subset=["value"])["annotator"].unique())
    apart = {key for key in keys if names.control(key)}
    explainers = {key for key in keys if names.family(key) == "explainer"}
    apart |= explainers if set(keys) - apart - explainers else set()
    return {str(writer): ranking(rows, apart, key="annotator") for writer, rows in cells.groupby("writer", sort=False)}


def explanations_table(cells: pd.DataFrame, writers: Sequence[str], names: Names) -> Table:
    """Return what explanations cite: a row for each writer, a column for each measure that has a row."""
    rows = cells[(cells["annotator"] == "") & cells["measure"].isin(OF_EXPLANATIONS) & cells["writer"].isin(writers)]
    table = wide_table(rows.drop_duplicates(["writer", "measure"]), OF_EXPLANATIONS, names, ["writer"], counts=False)
    return replace(table, title="What explanations cite", keys=("Writer",), note=_CHANCE, label="citations-explanations")


def alphas_table(agreements: pd.DataFrame, writer: str, names: Names) -> Table:
    """Make a table of Krippendorff's alpha of any two annotators of one writer's explanations, as a triangle."""
    of_writer = agreements[agreements["writer"] == writer]
    pairs = {frozenset((str(row["first"]), str(row["second"]))): row for row in of_writer.to_dict("records")}
    keys, rows = names.in_order([*of_writer["first"], *of_writer["second"]]), []
    for index, key in enumerate(keys):
        numbers = [_alpha(pairs, key, other, names) for other in keys[: index + 1]]
        rows.append(Row((names.annotator(key),), (*numbers, *[TableCell("")] * (len(keys) - index - 1)), names.control(key)))
    heads = tuple(Head(names.annotator(key), colour=annotator_colour(key, names)) for key in keys)
    return Table(f"Agreement between annotators of explanations by {writer}", ("",), heads, tuple(rows))


def _alpha(pairs: Mapping[frozenset[str], Fields], key: str, other: str, names: Names) -> TableCell:
    row = pairs.get(frozenset((key, other)))
    if key == other and key != PEOPLE and row is None:
        return TableCell("", tint=0)
    who = f"{names.annotator(key)} " + ("among themselves" if key == other else f"and {names.annotator(other)}")
    cell = number_cell(row, of=("alpha", "low", "high"))
    if row is None or cell.value is None:
        return replace(cell, why=f"{who}: {reason(row)}", tint=0)
    count = "" if pd.isna(row["n"]) else f", n = {int(row['n']):,}"
    return replace(cell, why=f"{who}{count}", tint=round(45 * min(max(cell.value, 0.0), 1.0)))


def wide_table(cells: pd.DataFrame, measures: Sequence[str], names: Names, by: Sequence[str], *, counts: bool = True) -> Table:
    """Return a row for each combination of the columns `by`, a column for each measure. counts: with n, how many there are."""
    columns = [measure for measure in measures if measure in set(cells["measure"])]
    rows = []
    for values, row in crossed(cells, by, "measure").items():
        sizes = [cell["n"] for cell in row.values() if not pd.isna(cell["n"])]
        numbers = [with_chance(row.get(measure)) for measure in columns]
        numbers += [counted(max(sizes, default=0))] if counts else []
        rows.append(Row(titles_of(dict(zip(by, values, strict=True)), names), tuple(numbers)))
    heads = [Head(CITATION_MEASURES[measure].title, CITATION_MEASURES[measure].meaning) for measure in columns]
    keys = tuple("claims" if name == "dataset" else name for name in by)
    return Table("", keys, (*heads, *([Head("n")] if counts else [])), tuple(rows))


def titles_of(values: Mapping[str, str], names: Names) -> tuple[str, ...]:
    """Return what the values of some columns are called. values: column ▶ value."""
    kinds = {"dataset": "claims", "selector": "selector"}
    return tuple(
        annotator_title(value, names) if name == "annotator" else names.title(kinds[name], value) if name in kinds else value
        for name, value in values.items()
    )


def annotator_title(key: str, names: Names) -> str:
    return f"{names.annotator(key)} (control)" if key and names.control(key) else names.annotator(key)


def with_chance(row: Fields | None, best: bool = False) -> TableCell:
    """Return a number with its interval, and its chance where it has one. best: whether it is bold."""
    chance = None if row is None or pd.isna(row["chance"]) else float(row["chance"])
    return number_cell(row, chance=chance, best=best)


# How a measure is called in the answer.
_SHORT = {"f1": "F1", "f1_of_claims": "F1", "precision": "precision", "recall": "recall"}


def answer(cells: pd.DataFrame, measure: str, masking: str, writers: Sequence[str], names: Names) -> str:
    """Say which reader is best, and how well it puts back what each writer cited; or that none is better than a control.

    cells: rows of `cell_recovery` of one source of claims and selector. measure, masking: those of the figure.
    """
    known = answered(cells[cells["writer"].isin(writers)], measure, [masking]).dropna(subset=["value"])
    ranked = {writer: ranks for writer, ranks in rankings(known, names).items() if ranks.methods}
    if not ranked:
        return "No annotator has answered here yet, so nothing can be said."
    best = {
        writer: who(ranks.best, lambda key: f"**{plain(names.annotator(key))}**", "reader") for writer, ranks in ranked.items()
    }
    shared = len({frozenset(ranks.best) for ranks in ranked.values()}) == 1
    rows, better = known.set_index(["writer", "annotator"]), False
    clauses = list[str]()
    for writer, ranks in ranked.items():
        row, ahead = rows.loc[(writer, ranks.best[0])], [key for key in ranks.controls if names.control(key)]
        value = interval(row["value"], row["low"], row["high"]).replace("[", r"\[").replace("]", r"\]")
        guessing = "" if pd.isna(row["chance"]) else f"guessing {number(row['chance'])}"
        beside = f" ({guessing})" if guessing else ""
        by = best[writer] if len(ranks.best) == 1 else f"the highest of {best[writer]}"
        if ahead:
            control = f"the control {plain(names.annotator(ahead[0]))} ({number(rows.loc[(writer, ahead[0])]['value'])})"
            clause = f"no reader does better than {control}; {by} has {_SHORT.get(measure, 'a share of')} {value}{beside}"
        elif guessing and not pd.isna(row["low"]) and row["low"] <= row["chance"]:
            clause = f"{by} is no better than guessing ({value}, {guessing})"
        else:
            better, clause = (
                True,
                f"{_SHORT.get(measure, 'share')} {value}{beside}" + ("" if shared else f", by {best[writer]}"),
            )
        if rivals := [key for key in ranks.controls if not names.control(key)]:
            does = "does better than" if rivals[0] in ranks.better else "is not told apart from"
            does, rival = f"{does} {'that reader' if ahead else 'it'}", rows.loc[(writer, rivals[0])]["value"]
            clause += f"; but the explainer {plain(names.annotator(rivals[0]))} {does} ({number(rival)})"
        clauses.append(f"on explanations by **{plain(writer)}**: {clause}")
    # Who only guesses, or is not ahead of a control, is not best.
    return sentences([*([f"best reader: {next(iter(best.values()))}"] if shared and better else []), *clauses])
