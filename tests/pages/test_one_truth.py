"""One truth: every statement of what is best, on pages, in tables, exports and the report, is that of one board."""

from __future__ import annotations

import re
from dataclasses import replace
from itertools import combinations, pairwise

import pytest

from heval_core.evaluation.board.conclusion import conclusion
from heval_core.evaluation.board.exported import exported_board
from heval_core.figures.board import main_table
from heval_core.figures.measures import measure_table
from heval_core.metrics.shared.measure import QUESTIONS
from heval_core.present.names import names_of
from heval_core.present.table import Table
from heval_core.records.vocabulary import counted
from heval_core.report.sections import section
from heval_core.store.filters import Filter
from heval_core.ui.board import _on_the_mean
from heval_core.ui.measured_cells import measured
from tests.pages.opening import board, open_page, text_of

REGULAR = Filter(technique=("regular",), explained=True)


def bold_of(table: Table, title: str) -> set[str]:
    """The rows that are bold in a column."""
    place = [head.title for head in table.heads].index(title)
    return {row.titles[0] for row in table.rows if row.cells[place].best}


def bold_in_latex(text: str, column: int) -> set[str]:
    rows = [line.split("&") for line in text.splitlines() if line.count("&") > 2]
    return {row[0].strip() for row in rows if "textbf" in row[column] and "textbf" not in row[0]}


GPT2, QWEN, CAPITALS, CONFLICTING = (
    {"model": "demo-gpt2"}, {"model": "demo-qwen2"}, {"dataset": "world_capital"}, {"regime": "conflicting"},
)  # fmt: skip
# Of model, dataset and regime every two are filtered together in one of these, and each is left free.
WHOLE = [{}, QWEN, CAPITALS | CONFLICTING, GPT2 | CONFLICTING, GPT2 | CAPITALS, QWEN | CAPITALS | CONFLICTING]


def bands_say_the_same(made, told):
    """The sentence names exactly those of the bracket, whose first beats all that stand below, and none in it."""
    titles, means = made.titles, made.quality.set_index("explainer")
    alike = re.search(r"It is (?:level within 0.05 with|not told apart from) (.*?) on the mean", told.said)
    others = [titles[key] for key in made.overall.best if key != told.best]
    assert bool(alike) is bool(others)
    assert not alike or all(title in alike[1] for title in others) or counted(len(others), "other") == alike[1]
    for band, later in pairwise(made.overall.bands):
        guessing = {key for key in later if means["value"][key] <= 0 < means["value"][band[0]]}
        assert {*later} - guessing <= {*means["exceeds"][band[0]]}
        assert not {*band} & {*means["exceeds"][band[0]]}
    for first, second in combinations(made.overall.methods[:4], 2):
        same = made.overall.ranks()[first] == made.overall.ranks()[second]
        assert ("which may be chance (both rank" in _on_the_mean(made, first, second, titles)) is same
    highest = made.overall.controls[:1]
    assert ("is better on the mean" in told.said) is any(told.best in means["exceeds"][key] for key in highest)


@pytest.mark.parametrize(
    "asked", [pytest.param(own, marks=[] if own == WHOLE[-1] else pytest.mark.slow) for own in WHOLE], ids=str
)
def test_every_page_table_export_and_sentence_names_the_same_best(demo, asked, figures):
    """The recommendation, bold in figures, tables and LaTeX, and ranks in the export."""
    chosen = replace(REGULAR, **{name: (value,) for name, value in asked.items()})
    made = board(demo, chosen)
    told, titles = conclusion(made), made.titles
    names = names_of(demo)
    said = {place: re.sub(r"[*\\]", "", text_of(open_page(place, **asked))) for place in ("leaderboard", "overview")}
    assert all(told.said in text for text in said.values())
    if not asked:
        assert told.said in section(demo, "board").text
    assert told.best in made.overall.best
    bands_say_the_same(made, told)
    assert f"Use {titles[told.best]}." in told.said
    # The mean: ranks, bold and the export.
    band, main = {titles[key] for key in made.overall.bold}, main_table(made)
    figure = figures["board_figure"][0][0]
    assert {row.title for row in figure.rows if row.best} == bold_of(main, "mean") == band
    ranks = exported_board(made).dropna(subset=["rank"]).set_index("explainer")["rank"].to_dict()
    assert {row.key: row.rank for row in figure.rows if row.rank} == ranks
    assert len({ranks[key] for key in made.overall.best}) == 1
    latex = main.exact().latex("s")
    for place, column in enumerate(made.questions, start=1):
        best = {titles[key] for key in made.ranking(column).bold}
        panel = next(own for own in figure.panels if own.title == QUESTIONS[column.question].title)
        drawn = {row.title for row, slot in zip(figure.rows, panel.slots, strict=True) if slot.best}
        assert best == drawn == bold_of(main, column.title) == bold_in_latex(latex, place), column.key
        assert not best & {titles[key] for key in made.controls}
        found = measured(demo, chosen, column.measure, column.measure.metric, column.measure.at(5))
        table = measure_table(replace(found, scaled=True), names)
        assert bold_of(table, table.heads[-2].title) == best
    # No interval passes what is possible.
    known = made.values[made.values["column"].isin([column.key for column in made.questions])]
    assert (known["high"].dropna() <= 1 + 1e-12).all()
    assert (made.quality["high"].dropna() <= 1 + 1e-12).all()
