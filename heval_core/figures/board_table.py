"""The board as tables: explainers by question, faithfulness and cost; on harder prompts; against each other."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from heval_core.evaluation.board.records import EVERY_SIZE, Board, Column, column_groups
from heval_core.evaluation.comparisons import against, tally
from heval_core.evaluation.ranking import ranking
from heval_core.figures.board import counted, said
from heval_core.metrics.shared.measure import QUESTION_PROTECTED
from heval_core.present.numbers import COST, number, passes
from heval_core.present.table import IN_BOLD, Cell, Head, Row, Table, number_cell
from heval_core.words import counted as so_many

NOT_PROTECTED = "The question may be taken out too: this rewards pointing at the prompt's end, see the position control."
PROTECTED = "Only tokens of the documents are taken out, with the question protected."
TIMES = "Milliseconds for one prompt of a batch, of an explainer by itself; in brackets, how often what fa took beside it."
_SCALED = (
    "Questions and their mean run from chance (0) to the best possible (1): means over the cells that most methods have, "
)
_INTERVALS = f"with 95 % intervals, questions resampled in all cells together. {IN_BOLD}"
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
_Part = tuple[Head, dict[str, Cell]]
_NOTHING = Cell(why="not available")


def whole_table(board: Board) -> Table:
    """All columns that a board has."""
    return _table(board, "The leaderboard", [*_main(board), *_harder(board)], _note(board), "board")


def main_table(board: Board) -> Table:
    """The three questions, their mean, wins over other methods, faithfulness, and what it costs at each size of prompt."""
    return _table(board, "The board: explainers by question, faithfulness and cost", _main(board), _note(board), "board")


def harder_table(board: Board) -> Table:
    """The questions under decoys and at the longest length; without columns where there are none."""
    return _table(board, "The questions under decoys and at the longest length", _harder(board), _HARDER, "board-harder")


def pairs_table(board: Board, column: str | None) -> Table:
    """Wins, ties and losses of the row against the head. column: the key of a question; None for all of them together."""
    pairs = board.pairs if column is None else board.pairs[board.pairs["column"] == column]
    facing = {row.key: against(pairs, row.key) for row in board.rows}
    counts = {(key, str(other)): tally(own) for key, both in facing.items() for other, own in both.groupby("second")}
    parts: list[_Part] = [
        (
            Head(other.title, f"The row against {other.title}: wins – ties – losses"),
            {row.key: _pair(counts.get((row.key, other.key)), row is other, row.control) for row in board.rows},
        )
        for other in board.rows
    ]
    note = (
        f"Wins – ties – losses of the row, over models and datasets{'' if column else ' and questions'}. The difference of "
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
    of = " and ".join((so_many(len(board.models), "model"), so_many(len(board.datasets), "dataset")))
    times = f" ms: {TIMES}" if board.timed else ""
    values = board.values
    lacking = _LACKING if len(values) and (values["reason"].ne("") & values["value"].notna()).any() else ""
    return f"Explainers over {of}. {_SCALED}{_INTERVALS}{lacking}{_MAIN}{times} {of_faithfulness(board)}".strip()


def of_faithfulness(board: Board) -> str:
    """What its faithfulness takes out; empty for a board without it."""
    own = [column for column in board.columns if not column.scaled]
    return "" if not own else f"Faithfulness: {PROTECTED if all(map(_protected, own)) else NOT_PROTECTED}"


def _protected(column: Column) -> bool:
    return column.measure.switch == QUESTION_PROTECTED


def _main(board: Board) -> list[_Part]:
    plain = [column for column in board.columns if column.plain]
    asked, faithful = ([_of_column(board, own) for own in plain if own.scaled is kind] for kind in (True, False))
    return [*asked, _quality(board), _wins(board), *faithful, *_costs(board)]


def _harder(board: Board) -> list[_Part]:
    groups = column_groups([column for column in board.columns if not column.plain])
    return [_of_column(board, column) for columns in groups.values() for column in columns]


def _of_column(board: Board, column: Column) -> _Part:
    values, best = board.values, board.ranking(column).bold
    hint = f"{column.measure.headline or column.measure.title}: {column.measure.meaning}"
    hint += "" if column.scaled or _protected(column) else f" {NOT_PROTECTED}"
    cells = {}
    for row in values[values["column"] == column.key].to_dict("records"):
        about = "; ".join(filter(None, (said(row, column.measure, scaled=column.scaled), counted(row), row["reason"])))
        marked = number_cell(row, mark="*" if row["reason"] else "", why=about, best=row["explainer"] in best)
        cells[row["explainer"]] = Cell(why=str(row["reason"])) if marked.value is None else marked
    return Head(column.title if column.scaled else f"{column.title}, {column.measure.unit}", hint), cells


def _quality(board: Board) -> _Part:
    best = ranking(board.quality, board.controls).bold
    cells = {
        str(row["explainer"]): number_cell(row, best=row["explainer"] in best) for row in board.quality.to_dict("records")
    }
    return Head("mean", "Of the questions in this table, from chance (0) to best (1)"), cells


def _wins(board: Board) -> _Part:
    methods = list(board.methods)
    rivals = board.pairs["second"].isin(methods) & board.pairs["first"].isin(methods)
    cells = {}
    for row in board.rows if rivals.any() else ():
        both = against(board.pairs, row.key)
        both = both[both["second"].isin(methods)]
        if len(both):
            own, count = tally(both), len(both)
            lost = count - own["wins"] - own["ties"]
            cells[row.key] = Cell(f"{own['wins']}–{own['ties']}–{lost}", why=f"of {count} comparisons with methods")
    about = "Against each other method, at each question, in each model and dataset: wins – ties – losses (Holm, p < .05)"
    return Head("won – tied – lost", about), cells


def _costs(board: Board) -> list[_Part]:
    """Passes at each size of prompt, and milliseconds where explainers were timed by themselves."""
    parts: list[_Part] = []
    for size, own in board.costs[board.costs["size"] != EVERY_SIZE].groupby("size"):
        tokens = f"{own['tokens'].median():,.0f} tokens"
        cells = {
            str(row.explainer): Cell(
                value=row.whole_passes,
                unit=COST,
                why=f"together as long as {passes(row.whole_passes)} over all of it; {passes(row.passes)} declared",
            )
            for row in own.dropna(subset=["passes"]).itertuples()
        }
        about = f"Forward passes over a prompt of {tokens} (size {size}), counted or else declared; a backward pass is one"
        parts.append((Head(f"passes, {tokens}", about), cells))
        timed = {
            str(row.explainer): Cell(
                value=1000 * row.seconds,
                unit=COST,
                beside=f"({number(row.ratio, COST)} × fa)",
                why="all passes that it uses are in it",
            )
            for row in own.dropna(subset=["seconds"]).itertuples()
        }
        parts += [(Head(f"ms, {tokens}", f"{TIMES} Of prompts of about {tokens}."), timed)] if timed else []
    return parts


def _pair(counts: Mapping[str, float] | None, same: bool, control: bool) -> Cell:
    if counts is None:
        return Cell("") if same else _NOTHING
    mean = f"mean difference {number(counts['mean difference'])}, in {counts['compared']} comparisons"
    score = f"{counts['wins']}–{counts['ties']}–{counts['losses']}"
    return Cell(score, why=mean, best=not control and counts["wins"] == counts["compared"])
