"""Every number of a board, as rows of a file: what CSV, Parquet and LaTeX of the Leaderboard have."""

import pandas as pd

from heval_core.evaluation.board.costs import costs_shown
from heval_core.evaluation.board.hard import HardBoard
from heval_core.evaluation.board.records import Board
from heval_core.evaluation.comparisons import tally
from heval_core.evaluation.ranking import COMPARED


def exported_board(board: Board) -> pd.DataFrame:
    """Return a row for each column and explainer, with its costs over all prompts, its rank by the mean, and whether on the
    front.
    """
    costs = costs_shown(board).set_index("explainer")
    front = board.quality.set_index("explainer")[["value", "on_front"]].rename(columns={"value": "quality"})
    controls, ranks = (
        board.values["explainer"].isin(list(board.controls)),
        board.values["explainer"].map(board.overall.ranks()),
    )
    values = board.values.assign(control=controls, rank=ranks).drop(columns=list(COMPARED))
    return values.join(costs, on="explainer").join(front, on="explainer")


def exported_pairs(pairs: pd.DataFrame) -> pd.DataFrame:
    """Return every difference, with how often its pair is won, tied and lost at its question."""
    names = ["column", "first", "second"]
    counts = [dict(zip(names, key, strict=True)) | tally(rows) for key, rows in pairs.groupby(names, sort=False)]
    return pairs.merge(pd.DataFrame(counts).drop(columns=["mean difference"]), on=names)


def exported_hard(hard: HardBoard) -> pd.DataFrame:
    """Return every number, of each model and of all, with its halves and rank, and what kind of control it is of."""
    rankings = hard.rows[["column", "model"]].drop_duplicates().itertuples(index=False, name=None)
    ranks = {key: hard.ranking(*key).ranks() for key in rankings}
    rank = [ranks[row.column, row.model].get(row.explainer) for row in hard.rows.itertuples()]
    control, text = (hard.rows["explainer"].isin(list(keys)) for keys in (hard.controls, hard.text_only))
    return hard.rows.assign(control=control, text_only=text, rank=rank).drop(columns="exceeds")
