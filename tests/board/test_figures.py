"""The board's figures and tables on planted boards: what stands where, what is bold, and that no data is a command."""

from __future__ import annotations

import math

import pandas as pd
import pytest

from heval_core.evaluation.board.costs import costs_shown
from heval_core.evaluation.board.making import board_of
from heval_core.evaluation.board.records import COSTS, EVERY_SIZE, Board, BoardRow
from heval_core.figures.board import by_prompts, by_question, front_figure, harder_table, main_table, pairs_table, whole_table
from heval_core.present.names import Names
from heval_core.present.numbers import passes
from tests.board.planted import asked_of, cells_of, lacking, level, planted, truth_of

TABLE = {
    "fa": level(0.9, 0.8, 0.7),
    "lrp": level(0.6, 0.6, 0.9),
    "attn": level(0.1, 0.2, 0.1),
    "lexical": level(0.0, 0.1, 1.0),
    "random": level(0.0, 0.0, 0.0),
}
PASSES = {"fa": 500.0, "lrp": 20.0, "attn": 50.0}


@pytest.fixture(scope="module")
def made():
    return planted(TABLE, controls=("lexical", "random"), passes=PASSES, noise=0.01)


@pytest.fixture(scope="module")
def with_gaps():
    return planted(truth=lacking, explainers=("a", "b", "partial"))


def test_dots_stand_where_their_values_are_and_the_best_is_bold(made):
    drawn = by_question(made, Names({("explainer", "fa"): {"docstring": "What it is."}}))
    assert [panel.title for panel in drawn.panels] == ["Context or memory?", "Which document?", "Which token?"]
    assert [row.title for row in drawn.rows] == ["FA", "LRP", "ATTN", "LEXICAL", "RANDOM"]
    assert [row.control for row in drawn.rows] == [False, False, False, True, True]
    for row, slot in zip(TABLE, drawn.panels[1].slots, strict=True):
        (dot,) = slot.dots
        assert dot.value == pytest.approx(TABLE[row]["RQ2"], abs=0.02), row
        assert dot.id == (row, "RQ2", "*")
    assert [slot.best for slot in drawn.panels[1].slots] == [True, False, False, False, False]
    assert [slot.best for slot in drawn.panels[2].slots][:2] == [False, True]
    assert [dot.id[2] for dot in drawn.panels[0].slots[0].cells] == ["model-a", "model-b"]
    assert drawn.rows[0].hint == "What it is."
    # Of two models, two datasets and two regimes n counts each question once.
    assert ([panel.note for panel in drawn.panels], made.questions_of["RQ3"]) == (["60 questions"] * 3, 60)


def test_a_row_that_lacks_cells_has_no_dot_but_a_ring_with_its_reason(with_gaps):
    drawn = by_question(with_gaps, Names())
    slot = drawn.panels[0].slots[2]
    assert slot.dots == ()
    assert slot.missing.title[-1] == "lacks 2 of 4 cells"
    assert "1.00" in slot.missing.title[1]
    assert [sign for sign, _ in drawn.signs] == ["dot", "bold", "cell", "missing"]


def test_each_kind_of_prompts_has_its_panel():
    made = planted(TABLE, controls=("lexical", "random"), regimes=("conflicting", "mixed", "mixed.d1", "mixed.512-last"))
    drawn = by_prompts(made, "RQ3", Names())
    assert [panel.title for panel in drawn.panels] == ["as they are", "both answers named", "512 tokens"]
    assert drawn.panels[1].slots[0].dots[0].id == ("fa", "RQ3.d1", "*")


def test_ranks_and_means_stand_beside_the_names_and_the_small_figure_has_none(made):
    drawn, small = by_question(made, Names()), by_question(made, Names(), compact=True)
    assert [(row.rank, row.mean, row.best) for row in drawn.rows[:3]] == [
        ("1", "0.80", True),
        ("2", "0.70", False),
        ("3", "0.13", False),
    ]
    assert all(not row.rank and not row.mean for row in (*small.rows, *drawn.rows[3:]) if row.rank or row in small.rows)
    assert [[slot.text for slot in panel.slots] for panel in small.panels] == [
        [slot.text for slot in panel.slots] for panel in drawn.panels
    ]


def test_the_front_runs_from_dear_and_good_to_cheap_and_worse(made):
    drawn = front_figure(made)
    at = {point.id[0]: point for point in drawn.points}
    assert set(at) == {"fa", "lrp", "attn"}
    assert at["fa"].x < at["attn"].x < at["lrp"].x
    assert at["fa"].y == pytest.approx(0.8)
    assert drawn.line == [(at["fa"].x, at["fa"].y), (at["lrp"].x, at["lrp"].y)]
    assert [at[key].on_front for key in ("fa", "lrp", "attn")] == [True, True, False]
    # Logarithmic: from 500 to 50 is as far as from 50 to 5.
    ticks = {text: place for place, text in drawn.x.at}
    assert ticks["100"] < at["attn"].x < at["lrp"].x
    step = (at["attn"].x - at["fa"].x) / math.log10(500 / 50)
    assert at["lrp"].x - at["attn"].x == pytest.approx(step * math.log10(50 / 20), abs=0.05)
    assert [value for _, value in drawn.level] == pytest.approx([1.1 / 3] * 2, abs=1e-4)
    assert drawn.along == "LEXICAL, control"
    assert "FA 0.80 with 500 passes, on the front" in drawn.about


def test_one_method_or_no_cost_has_no_front(made):
    assert front_figure(planted({"a": level(1, 1, 1)}, passes={"a": 1.0})) is None
    assert front_figure(planted({"a": level(1, 1, 1), "b": level(0, 0, 0)})) is None


def test_passes_have_two_digits_or_are_whole():
    written = [passes(count) for count in (0.126, 0.999, 1, 1.04, 20.4, 1708)]
    assert written == ["0.13 passes", "1 pass", "1 pass", "1 pass", "20 passes", "1,708 passes"]


def cells_of_table(table):
    """Row ▶ its cells."""
    return {row.titles[0]: row.cells for row in table.rows}


def test_the_table_has_every_number_and_the_best_methods_in_bold(made):
    table = main_table(made)
    titles = [head.title for head in table.heads]
    assert titles == ["Context or memory?", "Which document?", "Which token?", "mean", "won – tied – lost"]
    cells = cells_of_table(table)
    assert [cell.main for cell in cells["FA"]] == ["0.90", "0.80", "0.70", "0.80", "20–0–4"]
    assert [cell.best for cell in cells["FA"]] == [True, True, False, True, False]
    assert cells["LEXICAL"][2].main == "1.00"
    assert not any(cell.best for key in ("LEXICAL", "RANDOM") for cell in cells[key])
    assert "that is 11.0" in cells["FA"][0].why
    page = table.html()
    assert page.index("FA") < page.index("LEXICAL")
    assert page.count('class="control"') == 2


def test_pairs_are_read_from_the_row(made):
    table = pairs_table(made)
    at = {head.title: place for place, head in enumerate(table.heads)}
    cells = cells_of_table(table)
    assert (cells["FA"][at["LRP"]].main, cells["LRP"][at["FA"]].main) == ("8–0–4", "4–0–8")
    assert cells["FA"][at["FA"]].main == ""


def test_a_row_that_lacks_cells_has_an_asterisk_and_is_never_bold(with_gaps):
    table = main_table(with_gaps)
    partial = cells_of_table(table)["PARTIAL"]
    assert (partial[0].main, partial[0].best) == ("1.00*", False)
    assert partial[3].main == "–"
    assert "An asterisk" in table.note


def test_decoys_and_length_have_a_table_where_there_are_any(made):
    assert harder_table(made).heads == ()
    harder = planted(TABLE, regimes=("conflicting", "mixed", "mixed.d1", "mixed.512-last"))
    titles = [head.title for head in harder_table(harder).heads]
    assert titles == [
        *("Which document, decoy d1", "Which token, decoy d1", "Which document, 512 tokens", "Which token, 512 tokens")
    ]
    assert len(whole_table(harder).heads) == len(main_table(harder).heads) + 4


def of_costs(seconds: float, attn: float) -> Board:
    """fa and attn at one size of prompts; seconds by themselves."""
    table = {"fa": level(0.9, 0.9, 0.9), "attn": level(0.1, 0.1, 0.1)}
    timed, other = [seconds, 1.0], [attn, attn / seconds]
    costs = [["fa", EVERY_SIZE, 40.0, 40.0, 20.0, 9, *timed], ["fa", "1", 30.0, 30.0, 15.0, 3, *timed]]
    costs += [["attn", EVERY_SIZE, 40.0, 1.0, 1.0, 9, *other], ["attn", "1", 30.0, 1.0, 1.0, 3, *other]]
    rows = [BoardRow(key, key, False) for key in table]
    return board_of(
        cells_of(truth_of(table), list(table)),
        rows,
        pd.DataFrame(costs, columns=COSTS),
        asked_of(cells_of(truth_of(table), list(table))),
    )


def test_the_costs_of_sizes_are_columns():
    table = main_table(of_costs(float("nan"), float("nan")))
    assert table.heads[-1].title == "passes, 30 tokens"
    cells = cells_of_table(table)
    assert [cells[key][-1].main for key in ("fa", "attn")] == ["15", "1"]
    assert cells["fa"][-1].why == "together as long as 15 passes over all of it; 30 passes declared"
    assert not [head for head in table.heads if head.title.startswith("ms")]


def test_milliseconds_stand_beside_the_passes_where_explainers_were_timed():
    own = of_costs(0.2, 0.005)
    table = main_table(own)
    assert [head.title for head in table.heads[-2:]] == ["passes, 30 tokens", "ms, 30 tokens"]
    assert [cells_of_table(table)[key][-1].whole for key in ("fa", "attn")] == ["200 (1 × fa)", "5 (0.025 × fa)"]
    assert "Milliseconds" in table.note
    untimed = of_costs(float("nan"), float("nan"))
    assert "Milliseconds" not in main_table(untimed).note
    assert list(costs_shown(own)) == [*costs_shown(untimed), "seconds", "ratio"]


def test_what_is_right_by_construction_is_marked_where_it_stands_and_never_bold():
    """Rows that delete documents, at the question whose groups are defined by answers without them, and their mean."""
    table = {"origin": level(1, 0.8, 0.7), "fa": level(0.9, 0.8, 0.6), "attn": level(0.1, 0.2, 0.1)}
    own = planted(table, passes={"origin": 4.0, "fa": 500.0, "attn": 1.0})
    drawn = by_question(own, Names())
    at = {row.key: index for index, row in enumerate(drawn.rows)}
    assert [panel.slots[at["origin"]].text for panel in drawn.panels] == ["1.00†", "0.80", "0.70"]
    assert "right by construction, not ranked" in drawn.panels[0].slots[at["origin"]].dots[0].title
    assert [panel.slots[at["origin"]].best for panel in drawn.panels] == [False, True, True]
    assert (drawn.rows[at["origin"]].rank, drawn.rows[at["origin"]].mean, drawn.rows[at["fa"]].rank) == ("", "0.83†", "1")
    assert ("given", "right by construction, not ranked") in drawn.signs
    cells = cells_of_table(main_table(own))["ORIGIN"]
    assert ([cell.main for cell in cells[:4]], [cell.best for cell in cells[:4]]) == (
        ["1.00†", "0.80", "0.70", "0.83†"], [False, True, True, False],
    )  # fmt: skip
    assert "† right by construction, not ranked: an answer counts as memory's if" in main_table(own).note
    front = {point.id[0]: point for point in front_figure(own).points}
    assert (front["origin"].on_front, "†" in main_table(planted(TABLE)).note) == (False, False)


def test_a_control_of_the_text_alone_that_is_right_everywhere_is_so_by_construction_and_has_no_interval(made):
    """Lexical match has 1 at the token, and .1 at the document; a method with 1 keeps its interval."""
    own = planted({"lexical": level(0, 0.1, 1), "fa": level(1, 1, 1), "lrp": level(0, 0, 0)}, controls=("lexical",))
    cells = cells_of_table(main_table(own))
    assert [cell.whole.partition(" ")[2][:1] for cell in cells["LEXICAL"][:3]] == ["[", "[", "b"]
    assert (cells["LEXICAL"][2].whole, cells["FA"][2].low is not None) == ("1.00 by construction", True)
    assert cells["LEXICAL"][3].low is not None  # of the mean, from the other two
    (dot,) = by_question(own, Names()).panels[2].slots[2].dots
    assert (math.isnan(dot.low), "by construction" in dot.title[1]) == (True, True)
    assert own.ranking(own.questions[2]).controls == ("lexical",)
