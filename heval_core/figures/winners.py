"""Who is best where: of each model and data set the best method at each question, and those that it is not ahead of."""

from collections import Counter

import pandas as pd

from heval_core.evaluation.board.records import Board
from heval_core.present.names import Names, model_title
from heval_core.present.numbers import so_many
from heval_core.present.table import Head, Row, Table, TableCell
from heval_core.records.vocabulary import listed

WHERE = "Who is best where"
_NOTE = (
    "Of each model and data set the method with the highest value at a question, over the same instances as the others; and "
    "how many others it is not told apart from (paired, Holm). Rows that are right by construction there are left out."
)
_COLUMNS = ["model", "dataset", "column", "best", "not_told_apart"]


def winners(board: Board) -> pd.DataFrame:
    """Return a row for each model, data set and question: the best method, and the keys of those that it is not ahead of."""
    rows = []
    for column in board.questions if len(board.pairs) else ():
        ranked = {key for key in board.methods if column not in board.given(key)}
        pairs = board.pairs[board.pairs["column"] == column.key]
        pairs = pairs[pairs["first"].isin(ranked) & pairs["second"].isin(ranked)]
        for (model, dataset), group in pairs.groupby(["model", "dataset"]):
            rows.append((model, dataset, column.key, *_best(group)))
    return pd.DataFrame(rows, columns=_COLUMNS)


def _best(pairs: pd.DataFrame) -> tuple[str, list[str]]:
    """Return who has the highest value, by the sum of differences, and those that it does not beat."""
    ahead, behind = (pairs.groupby(side)["difference"].sum() for side in ("first", "second"))
    best = str(ahead.sub(behind, fill_value=0.0).idxmax())
    facing = pairs[(pairs["first"] == best) | (pairs["second"] == best)]
    others = facing["first"].where(facing["first"] != best, facing["second"])
    return best, sorted(set(others[facing["better"] != best]))


def winners_sentence(board: Board) -> str:
    """Say how often which method is best: `Of 6 places … the best method is A in 4 and B in 2. …`; "" with a single place."""
    best = winners(board)
    counts, alone = Counter(best["best"]), int((best["not_told_apart"].map(len) == 0).sum())
    if counts.total() < 2:
        return ""
    named = listed([f"{board.titles[key]} in {count}" for key, count in counts.most_common()])
    where = f"Of {so_many(counts.total(), 'place')}, each a question of a model and data set,"
    return f"{where} the best method is {named}. It is ahead of all others in {alone or 'none'} of them."


def winners_table(board: Board, names: Names) -> Table:
    """Make a row for each model and data set, with the best method at each question."""
    best = winners(board).set_index(_COLUMNS[:3]).sort_index()
    rows = []
    for model, dataset in best.index.droplevel("column").unique():
        cells = [_cell(board, best, (model, dataset, column.key)) for column in board.questions]
        rows.append(Row((model_title(model), names.dataset(dataset)), tuple(cells)))
    heads = tuple(Head(column.title, left=True) for column in board.questions)
    return Table(WHERE, ("model", "data set"), heads, tuple(rows), _NOTE, "winners")


def _cell(board: Board, best: pd.DataFrame, key: tuple[str, str, str]) -> TableCell:
    if key not in best.index:
        return TableCell(why="no two methods have the same instances here")
    others = best.loc[key, "not_told_apart"]
    beside = f"not told apart from {so_many(len(others), 'other')}" if others else "ahead of all others"
    return TableCell(board.titles[best.loc[key, "best"]], beside=beside, why=listed([board.titles[other] for other in others]))
