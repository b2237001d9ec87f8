"""The leaderboard in the report: the board's own sentence and numbers, its front as a drawing, and a table for papers."""

import pytest

from heval_core.evaluation.board.conclusion import conclusion
from heval_core.evaluation.board.making import board
from heval_core.figures.board import front_figure
from heval_core.figures.front import as_drawing
from heval_core.present.drawing import Mark
from tests.board.planted import level, planted
from tests.report.conftest import section_in


@pytest.mark.slow
def test_the_section_is_the_board_with_its_sentence_and_what_is_open(few, report):
    made, drawn = board(few), section_in(report, "board")
    told = conclusion(made)
    assert drawn.text.startswith(f"{told.said} {told.harder}")
    assert drawn.gaps == told.open
    assert drawn.rows["value"].tolist() == pytest.approx(made.values["value"].tolist(), nan_ok=True)
    frame = drawn.shown[0].frame().set_index("Explainer")
    assert len(frame) == len(made.rows)
    fa = made.values.set_index(["column", "explainer"]).loc[("RQ2", "fa")]
    shown = frame.loc["Feature ablation", "Which document?"]
    assert shown == f"{fa['value']:.3f} [{fa['low']:.3f}, {fa['high']:.3f}]"
    assert "Lexical match (control)" in set(frame.index)


def test_the_drawing_has_a_dot_for_each_method_and_a_step_line_between_those_of_the_front():
    table = {"fa": level(0.9, 0.9, 0.9), "ig": level(0.4, 0.4, 0.4), "lrp": level(0.6, 0.6, 0.6), "lexical": level(0, 0, 0.9)}
    passes = {"fa": 1000.0, "ig": 100.0, "lrp": 10.0}
    drawing = as_drawing(front_figure(planted(table, controls=("lexical",), passes=passes, noise=0.01)))
    dots = {spot.title[0]: spot for spot in drawing.spots if spot.title}
    assert set(dots) == {"FA", "IG", "LRP"}
    assert dots["FA"].x < dots["IG"].x < dots["LRP"].x
    assert dots["FA"].y < dots["LRP"].y < dots["IG"].y
    steps = [mark for mark in drawing.marks if isinstance(mark, Mark) and mark.kind == "front"]
    corners = {(mark.x, mark.y) for mark in steps} | {(mark.x2, mark.y2) for mark in steps}
    assert (dots["FA"].x, dots["FA"].y) in corners
    assert (dots["FA"].x, dots["LRP"].y) in corners
    assert (dots["LRP"].x, dots["LRP"].y) in corners
    assert (dots["IG"].x, dots["IG"].y) not in corners
    assert any(mark.text == "LEXICAL, control" for mark in drawing.marks if isinstance(mark, Mark))
