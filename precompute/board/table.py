"""The board as lines of text: a row for each explainer and control, a column for each question."""

from __future__ import annotations

from collections.abc import Collection, Iterator

import pandas as pd

from heval_core.evaluation.leaderboard import leaderboard
from heval_core.metrics import headlines
from heval_core.metrics.shared.cell import DEFAULT_K
from heval_core.metrics.shared.measure import Measure
from heval_core.store.filters import Filter
from heval_core.store.reader import Reader

ROWS_BY = ("technique", "explainer")


def as_lines(reader: Reader, chosen: Filter, own: Collection[str] = ()) -> Iterator[str]:
    """A Markdown table of normalised values with their intervals, the best mean first. own: keys that get a mark."""
    board = leaderboard(reader, chosen)
    if board.empty:
        yield "no cell of these results has enough instances for a board"
        return
    questions = sorted(board["question"].unique())
    for question, measure in headlines().items():
        if question not in questions and not (why := _missing(reader, chosen, measure)).empty:
            yield f"{question} is not available: {why.index[0]}; a larger --limit may give it"
    values = board.assign(
        shown=[_shown(*row) for row in board[["normalised", "normalised_low", "normalised_high"]].to_numpy()]
    )
    means = board.groupby(list(ROWS_BY))["normalised"].mean().sort_values(ascending=False)
    shown = values.pivot(index=list(ROWS_BY), columns="question", values="shown").reindex(means.index)
    counts = board.pivot(index=list(ROWS_BY), columns="question", values="n").reindex(means.index).max(axis=1)
    several = shown.index.get_level_values("technique").nunique() > 1
    rows = [["explainer", *questions, "instances"]]
    for (technique, explainer), row in shown.iterrows():
        name = f"{explainer}, {technique}" if several else explainer
        cells = ["" if pd.isna(row[question]) else row[question] for question in questions]
        rows.append([f"{name} *" if explainer in own else name, *cells, f"{int(counts[technique, explainer]):,}"])
    widths = [max(len(row[place]) for row in rows) for place in range(len(rows[0]))]
    for number, row in enumerate(rows):
        yield f"| {' | '.join(cell.ljust(width) for cell, width in zip(row, widths, strict=True))} |"
        if not number:
            yield f"|{'|'.join('-' * (width + 2) for width in widths)}|"


def _missing(reader: Reader, chosen: Filter, measure: Measure) -> pd.Series:
    """Why a question's measure is not available, and in how many cells, the most frequent reason first."""
    cells = reader.cells(chosen, measure.metric, measure.at(DEFAULT_K))
    return cells["unavailable"].replace("", pd.NA).dropna().value_counts()


def _shown(value: float, low: float, high: float) -> str:
    """0 is chance, 1 the best possible."""
    return "–" if pd.isna(value) else f"{value:.2f} [{low:.2f}, {high:.2f}]"
