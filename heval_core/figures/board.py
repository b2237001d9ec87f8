"""The board as figures and tables: explainers from chance (0) to the best possible (1), by question or by a question's prompts
(plain, with each decoy, at length); quality against cost; explainers against each other. Leaderboard, Overview, report and the
command `board` show them.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace

import pandas as pd

from heval_core.evaluation.board.records import EVERY_SIZE, Board, BoardColumn, column_groups
from heval_core.evaluation.comparisons import against, tally
from heval_core.figures import dots
from heval_core.figures.dots import Dot, DotFigure, Panel, Slot, axis_over
from heval_core.figures.front import Front, PlottedPoint, Ticks, ends
from heval_core.figures.measures import ARROWS, GIVEN, NOT_RANKED, SCALED, given_sentence
from heval_core.figures.palette import colour
from heval_core.metrics.shared.measure import QUESTIONS, Measure
from heval_core.present.drawing import Scale
from heval_core.present.names import ALL, Names, model_title, short_model
from heval_core.present.numbers import COST, MISSING, P, change, interval_of, number, passes, short, so_many
from heval_core.present.table import IN_BOLD, Fields, Head, Row, Table, TableCell, crossed, number_cell
from heval_core.records.vocabulary import DECOYS
from heval_core.records.vocabulary import counted as in_words

# Stands for all questions together in the id of a mark.
ALL_QUESTIONS = "quality"
# Heads of panels; what each does to the prompt is their hint.
_DECOYS = {
    "d0": "neutral sentence",
    "d1": "both answers named",
    "d2": "answer three times",
    "d3": "another name",
    "trust": "one to be trusted",
    "loud": "one said louder",
}
NOT_PROTECTED = "The question may be taken out too: this rewards pointing at the prompt's end, see the position control."
PROTECTED = "Only tokens of the documents are taken out, with the question protected."
TIMES = "Milliseconds for one prompt of a batch, of an explainer by itself; in brackets, how often what fa took beside it."
_SCALED = (
    "Questions and their mean run from chance (0) to the best possible (1): means over the cells that most methods have, "
)
_INTERVALS = f"with 95 % intervals, questions resampled in all cells together. {IN_BOLD} Controls are never bold."
_MAIN = (
    " Won – tied – lost: against each other method, at each question, in each model and dataset (paired bootstrap, Holm over "
    "models and datasets, p < .05). Passes: forward passes over the whole prompt, counted, or else as a method declares them."
)
_LACKING = " An asterisk marks a row that lacks cells and is not compared."
_HARDER = (
    "Decoys d1 to d3 are read against d0, the same prompts with a neutral sentence. Raw ranks do not compare across lengths, "
    "these values do."
)
# A head, and the cells of those rows that have one.
_Part = tuple[Head, dict[str, TableCell]]
_NOTHING = TableCell(why="not available")
_NATIVE, _DIFFERENCE = ("native", "native_low", "native_high"), ("difference", "low", "high")


def by_question(board: Board, names: Names, *, compact: bool = False) -> DotFigure:
    """Draw a panel for each question, with a tick for each model. compact: the same without ranks, means and ticks."""
    titled_columns = [(column, QUESTIONS[column.question].title, column.measure.headline) for column in board.questions]
    return _figure(board, names, "Explainers by question", titled_columns, ranked=not compact, compact=compact)


def by_prompts(board: Board, question: str, names: Names) -> DotFigure:
    """Draw a panel for each kind of prompts that one question was asked of: plain, with each decoy, at the longest length."""
    columns = [column for column in board.columns if column.question == question and column.scaled]
    titled_columns = []
    for column in sorted(columns, key=lambda variant: (not variant.plain, bool(variant.length))):
        title = _DECOYS[column.decoy] if column.decoy else column.prompts or "as they are"
        titled_columns.append((column, title, DECOYS[column.decoy].meaning if column.decoy else column.prompts))
    return _figure(board, names, f"{QUESTIONS[question].title} By kind of prompt", titled_columns)


def _figure(
    board: Board,
    names: Names,
    title: str,
    titled_columns: Sequence[tuple[BoardColumn, str, str]],
    *,
    ranked: bool = False,
    compact: bool = False,
) -> DotFigure:
    """Draw a panel for each column.

    titled_columns: columns, each with the title and the hint of its panel. ranked: with ranks and means.
    """
    overall, rows = board.overall, []
    ranks, means = overall.ranks(), board.quality.set_index("explainer")["value"].to_dict()
    for explainer in board.rows:
        hint, id = names.meaning("explainer", explainer.key), (explainer.key, ALL_QUESTIONS, ALL)
        row = dots.DotRow(explainer.key, explainer.title, explainer.control, hint, colour(explainer.key), id=id)
        mean, best = number(means.get(explainer.key)), explainer.key in overall.bold
        mean += GIVEN if mean != MISSING and board.given(explainer.key) else ""
        rows.append(replace(row, rank=ranks.get(explainer.key, ""), mean=mean, best=best) if ranked else row)
    panels = [_panel(board, *of_panel, ticks=not compact) for of_panel in titled_columns]
    legend = [("dot", "mean, 95 % interval"), dots.BOLD, *([("cell", "one model")] if len(board.models) > 1 else [])]
    if any("–" in row.rank for row in rows):
        legend.append(("rank", "same rank: the first is not ahead of the others (paired, Holm)"))
    if any(slot.text.endswith(GIVEN) for panel in panels for slot in panel.slots):
        legend.append(("given", NOT_RANKED))
    axis = axis_over(rows, panels, "high", ((0.0, "guessing"), (1.0, "best")), scaled=True)
    return DotFigure(title, rows, panels, axis, () if compact else legend, compact=compact)


def _panel(board: Board, column: BoardColumn, title: str, hint: str, *, ticks: bool) -> Panel:
    values = board.values[board.values["column"] == column.key]
    single = board.by_model[board.by_model["column"] == column.key].dropna(subset=["value"])
    # One model's tick would be its mean once more.
    single = single if ticks and single["model"].nunique() > 1 else single.iloc[:0]
    best, by_explainer = board.ranking(column).bold, {str(row["explainer"]): row for row in values.to_dict("records")}
    slots = [_slot(row.key, row.title, column, by_explainer.get(row.key), single, row.key in best) for row in board.rows]
    models = board.models_at(column)
    count = so_many(board.questions_of[column.key], "question")
    hint = f"{hint}; {count}, {so_many(values['n'].max(), 'instance')}"
    alone = short_model(models[0]) if len(models) == 1 < len(board.models) else ""
    note = f"{count}{alone and ', '}{alone}" if ticks or not alone else alone
    return Panel(title, slots, note, hint, chance=0.0)


def _slot(key: str, title: str, column: BoardColumn, mean: Fields | None, single: pd.DataFrame, best: bool) -> Slot:
    """Draw an explainer's value in a column. mean: the row of `Board.values`. single: rows of `Board.by_model`, of all."""
    if mean is None or mean["cells"] < mean["of"] or pd.isna(mean["value"]):
        why = "not available" if mean is None else str(mean["reason"])
        lacking = () if mean is None or pd.isna(mean["value"]) else (valued(mean, column.measure),)
        return Slot(missing=Dot(0.0, (title, *lacking, why), (key, column.key, ALL)))

    mark, about_mark = (GIVEN, (NOT_RANKED,)) if column.measure.given(key) else ("", ())

    def dot(row: Fields, where: str, model: str, low: float = math.nan, high: float = math.nan) -> Dot:
        about = (f"{title} · {where}", valued(row, column.measure), counted(row), *about_mark)
        return Dot(row["value"], about, (key, column.key, model), low, high)

    rows = single[single["explainer"] == key].to_dict("records")
    cells = tuple(dot(row, model_title(row["model"]), row["model"]) for row in rows)
    return Slot((dot(mean, column.title, ALL, mean["low"], mean["high"]),), cells, number(mean["value"]) + mark, best)


def valued(row: Fields, measure: Measure, *, scaled: bool = True) -> str:
    """Write a value with its unit: `0.38 [0.37, 0.39] of 1 (0 = guessing), that is 18 [18, 19] ranks (chance 0.0)`."""
    native = f"{interval_of(row, of=_NATIVE)} {measure.unit} (chance {number(row['native_chance'])})"
    return f"{interval_of(row)} {SCALED if scaled else measure.shown_unit}, that is {native}"


def counted(row: Fields) -> str:
    return f"mean over {so_many(row['cells'], 'cell')}, {int(row['n']):,} instances"


def pair_figure(pairs: pd.DataFrame, names: Names) -> DotFigure:
    """Draw a row for each model and dataset, a panel for each question: differences in the colour of the one that is ahead;
    hollow where the difference does not hold. pairs: rows of `Board.pairs` of one pair, turned alike.
    """
    by_cell, same_dataset = crossed(pairs, ["model", "dataset"], "column"), pairs["dataset"].nunique() == 1
    titles = {m: model_title(m) for m, _ in by_cell}
    rows = [dots.DotRow(f"{m} {d}", titles[m] if same_dataset else f"{titles[m]} · {names.dataset(d)}") for m, d in by_cell]
    panels = []
    for question in [key for key in QUESTIONS if key in set(pairs["column"])]:
        differences = [by_question.get(question) for by_question in by_cell.values()]
        slots = [_difference(row, names) if row else Slot() for row in differences]
        panels.append(Panel(QUESTIONS[question].title, slots, chance=0.0))
    legend = [("dot", "difference, 95 % interval"), ("hollow", "it does not hold (Holm, p ≥ .05)")]
    axis = axis_over(rows, panels, words=((0.0, "no difference"),))
    return DotFigure("One against another", rows, panels, axis, legend, "click a dot for its instances")


def _difference(row: Fields, names: Names) -> Slot:
    ahead = row["first"] if row["difference"] > 0 else row["second"]
    about = (
        f"{names.explainer(row['first'])} against {names.explainer(row['second'])} · {model_title(row['model'])}",
        f"{interval_of(row, of=_DIFFERENCE, signed=True)}, p (Holm) {number(row['p_holm'], P)}",
    )
    id = (row["first"], row["second"], row["model"], row["dataset"], row["column"])
    dot = Dot(row["difference"], about, id, row["low"], row["high"], hollow=not row["better"], hue=colour(ahead))
    return Slot((dot,), text=change(row["difference"]), best=bool(row["better"]))


def front_figure(board: Board) -> Front | None:
    """Draw every method by quality and cost, with the front of those that none beats in both; None with fewer than two.

    Cost: forward passes over the whole prompt, on a logarithmic axis. Further right is cheaper, so that better is up and
    right, as in the figure of techniques.
    """
    rows = board.quality[board.quality["explainer"].isin(list(board.methods)) & board.quality["whole_passes"].notna()]
    if len(rows) < 2:
        return None
    controls = board.quality[board.quality["explainer"].isin([key for key in board.controls if not board.given(key)])]
    level = controls.loc[controls["value"].idxmax()] if len(controls) else None
    values = [*rows["value"], *rows["low"].dropna(), *rows["high"].dropna(), *([] if level is None else [level["value"]])]
    least = min(values)
    scale = Scale(least - 0.08 * (1 - least), 1 + 0.04 * (1 - least))
    descriptions = [
        f"{board.titles[row.explainer]} {row.value:.2f} with {passes(row.whole_passes)}"
        + (", on the front" if row.on_front else "")
        for row in rows.itertuples()
    ]
    about = "Quality of the questions, from guessing (0) to best (1), against forward passes over the prompt. "
    x = _passes_axis(*(math.log10(end) for end in (rows["whole_passes"].min(), rows["whole_passes"].max())))
    return Front(
        f"{about}{'; '.join(descriptions)}.",
        [_point(row, board) for row in rows.to_dict("records")],
        x,
        Ticks("mean of the questions →", scale.least, scale.most, [(value, short(value)) for value in scale.ticks()]),
        level=[] if level is None else [(end, float(level["value"])) for end in (x.low, x.high)],
        along="" if level is None else f"{board.titles[level['explainer']]}, control",
        column=True,
    )


def _passes_axis(cheap: float, dear: float) -> Ticks:
    """Return an axis from dear to cheap, both logarithms, and some room.

    At powers of ten, and at 2 and 5 times these where they are few.
    """
    room = max(0.12 * (dear - cheap), 0.15)
    cheap, dear = cheap - room, dear + room
    powers = range(math.floor(cheap) - 1, math.ceil(dear) + 1)
    for factors in ((1, 2, 5), (1,)):
        values = [factor * 10.0**power for power in powers for factor in factors]
        inside = [value for value in values if cheap <= math.log10(value) <= dear]
        if len(inside) <= 6:
            break
    ticks = [(-math.log10(value), number(value, COST)) for value in inside]
    return Ticks("forward passes, cheaper →", -dear, -cheap, ticks)


def _point(row: Fields, board: Board) -> PlottedPoint:
    key, value, x = str(row["explainer"]), float(row["value"]), -math.log10(row["whole_passes"])
    about = [board.titles[key], f"quality {interval_of(row)}", f"{passes(row['whole_passes'])} over the prompt"]
    about += ["on the front: no other method is as good and as cheap"] if row["on_front"] else []
    about += [NOT_RANKED] if board.given(key) else []
    id, around = (key, ALL_QUESTIONS, ALL), ends(value, row["low"], row["high"])
    return PlottedPoint(id, board.titles[key], tuple(about), x, value, (x, x), around, colour(key), bool(row["on_front"]))


def whole_table(board: Board) -> Table:
    """Return all columns that a board has."""
    return _table(board, "The leaderboard", [*_main(board), *_harder(board)], _note(board), "board")


def main_table(board: Board) -> Table:
    """Return the three questions, their mean, wins over other methods, faithfulness, and what it costs at each size
    of prompt.
    """
    return _table(board, "The board: explainers by question, faithfulness and cost", _main(board), _note(board), "board")


def harder_table(board: Board) -> Table:
    """Return the questions under decoys and at the longest length; without columns where there are none."""
    return _table(board, "The questions under decoys and at the longest length", _harder(board), _HARDER, "board-harder")


def pairs_table(board: Board) -> Table:
    """Return wins, ties and losses of the row against the head, over all questions."""
    facing = {row.key: against(board.pairs, row.key) for row in board.rows}
    counts = {(key, str(other)): tally(rows) for key, pairs in facing.items() for other, rows in pairs.groupby("second")}
    parts: list[_Part] = [
        (
            Head(other.title, f"The row against {other.title}: wins – ties – losses"),
            {row.key: _pair(counts.get((row.key, other.key)), row is other, row.control) for row in board.rows},
        )
        for other in board.rows
    ]
    note = (
        "Wins – ties – losses of the row, over models and datasets and questions. The difference of "
        "two means over the same cells and questions is bootstrapped; p from its standard error, Holm over the models and "
        "datasets of a question and a pair; a win needs p < .05. Bold: a method that wins every comparison."
    )
    return _table(board, "Wins, ties and losses of rows against columns", parts, note, "board-pairs", "Row against")


def _table(board: Board, title: str, parts: Sequence[_Part], note: str, label: str, key: str = "Explainer") -> Table:
    rows = tuple(
        Row((row.title,), tuple(cells.get(row.key, _NOTHING) for _, cells in parts), row.control) for row in board.rows
    )
    return Table(title, (key,), tuple(head for head, _ in parts), rows, note, label, wide=True)


def _note(board: Board) -> str:
    of = " and ".join((in_words(len(board.models), "model"), in_words(len(board.datasets), "dataset")))
    times = f" ms: {TIMES}" if board.timed else ""
    values = board.values
    lacking = _LACKING if len(values) and (values["reason"].ne("") & values["value"].notna()).any() else ""
    lacking += "".join(f" {sentence}" for sentence in given_sentences(board))
    return f"Explainers over {of}. {_SCALED}{_INTERVALS}{lacking}{_MAIN}{times} {of_faithfulness(board)}".strip()


def given_sentences(board: Board) -> list[str]:
    """Say of each question at which rows are right by construction why they are."""
    columns = [column for column in board.questions if any(column.measure.given(row.key) for row in board.rows)]
    return [f"{column.title} {given_sentence(column.measure)}" for column in columns]


def of_faithfulness(board: Board) -> str:
    """Say what a board's faithfulness takes out; empty for a board without it."""
    columns = [column for column in board.columns if not column.scaled]
    protection = PROTECTED if all(column.measure.protected for column in columns) else NOT_PROTECTED
    return f"Faithfulness is above the random control's. {protection}" if columns else ""


def _main(board: Board) -> list[_Part]:
    plain = [column for column in board.columns if column.plain]
    questions, faithful = ([_of_column(board, column) for column in plain if column.scaled is kind] for kind in (True, False))
    return [*questions, _quality(board), _wins(board), *faithful, *_costs(board)]


def _harder(board: Board) -> list[_Part]:
    groups = column_groups([column for column in board.columns if not column.plain])
    return [_of_column(board, column) for columns in groups.values() for column in columns]


def _of_column(board: Board, column: BoardColumn) -> _Part:
    values, best = board.values, board.ranking(column).bold
    hint = f"{column.measure.headline or column.measure.title}: {column.measure.meaning}"
    hint += "" if column.scaled or column.measure.protected else f" {NOT_PROTECTED}"
    cells = {}
    for row in values[values["column"] == column.key].to_dict("records"):
        about = "; ".join(filter(None, (valued(row, column.measure, scaled=column.scaled), counted(row), row["reason"])))
        about += f"; {NOT_RANKED}" if column.measure.given(row["explainer"]) else ""
        lacking, why = "*" if row["reason"] else "", {"unavailable": row["reason"]}
        lacking += GIVEN if column.measure.given(row["explainer"]) else ""
        cells[row["explainer"]] = number_cell(row | why, mark=lacking, why=about, best=row["explainer"] in best)
    unit = "" if column.scaled else f", {column.measure.shown_unit}{ARROWS[column.measure.best]}"
    return Head(f"{column.title}{unit}", hint), cells


def _quality(board: Board) -> _Part:
    best, rows = board.overall.bold, board.quality.to_dict("records")
    cells = {
        str(row["explainer"]): number_cell(
            row, mark=GIVEN if board.given(row["explainer"]) else "", best=row["explainer"] in best
        )
        for row in rows
    }
    return Head("mean", "Of the questions in this table, from chance (0) to best (1)"), cells


def _wins(board: Board) -> _Part:
    cells = {}
    for row in board.rows if len(board.methods) > 1 else ():
        if record := board.record(row.key):
            cells[row.key] = TableCell("–".join(map(str, record)), why=f"of {sum(record)} comparisons with methods")
    about = "Against each other method, at each question, in each model and dataset: wins – ties – losses (Holm, p < .05)"
    return Head("won – tied – lost", about), cells


def _costs(board: Board) -> list[_Part]:
    """Pass at each size of prompt, and milliseconds where explainers were timed by themselves."""
    parts: list[_Part] = []
    for size, costs in board.costs[board.costs["size"] != EVERY_SIZE].groupby("size"):
        tokens = f"{costs['tokens'].median():,.0f} tokens"
        cells = {
            str(row.explainer): TableCell(
                value=row.whole_passes,
                unit=COST,
                why=f"together as long as {passes(row.whole_passes)} over all of it; {passes(row.passes)} declared",
            )
            for row in costs.dropna(subset=["passes"]).itertuples()
        }
        about = f"Forward passes over a prompt of {tokens} (size {size}), counted or else declared; a backward pass is one"
        parts.append((Head(f"passes, {tokens}", about), cells))
        timed = {
            str(row.explainer): TableCell(
                value=1000 * row.seconds,
                unit=COST,
                beside=f"({number(row.ratio, COST)} × fa)",
                why="all passes that it uses are in it",
            )
            for row in costs.dropna(subset=["seconds"]).itertuples()
        }
        parts += [(Head(f"ms, {tokens}", f"{TIMES} Of prompts of about {tokens}."), timed)] if timed else []
    return parts


def _pair(counts: Mapping[str, float] | None, same: bool, control: bool) -> TableCell:
    if counts is None:
        return TableCell("") if same else _NOTHING
    mean = f"mean difference {number(counts['mean difference'])}, in {counts['compared']} comparisons"
    score = f"{counts['wins']}–{counts['ties']}–{counts['losses']}"
    return TableCell(score, why=mean, best=not control and counts["wins"] == counts["compared"])
