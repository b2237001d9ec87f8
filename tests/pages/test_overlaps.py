"""No label of a figure lies on another one, on a dot, a whisker or a tick: measured on drawings, in three widths."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations
from typing import NamedTuple

import pytest
from hypothesis import given
from hypothesis import strategies as st

from heval_core.evaluation.patterns import patterns_under
from heval_core.figures.board import by_prompts, by_question, front_figure, pair_figure
from heval_core.figures.dots import Axis, Dot, DotFigure, DotRow, Panel, Slot
from heval_core.figures.dots_drawn import fluid_panels
from heval_core.figures.front import Front, PlottedPoint, Ticks, as_drawing
from heval_core.figures.measures import figure_of
from heval_core.figures.pattern_panels import pattern_figure
from heval_core.figures.techniques import differences_figure
from heval_core.plugins.measures import measures
from heval_core.present.drawing import LOOKS, Drawing, Mark, Scale
from heval_core.present.names import names_of
from heval_core.store.filters import Filter
from heval_core.ui.measured_cells import measured
from tests.pages.opening import board

CHOSEN = Filter(technique=("regular",), explained=True)
# What a text may lie on: lines of the ground. A sign stands in its dot.
GROUND = ("grid", "band", "level", "leader", "front", "sign", "sign-open")


class Box(NamedTuple):
    left: float
    top: float
    right: float
    bottom: float
    what: str

    def shares(self, other: Box) -> bool:
        return (min(self.right, other.right) - max(self.left, other.left) > 1.5
                and min(self.bottom, other.bottom) - max(self.top, other.top) > 1.5)  # fmt: skip


def box_of(mark: Mark, x: float, y: float) -> Box:
    if mark.shape == "text":
        size = LOOKS[mark.kind].size
        wide = 0.5 * size * (len(mark.text) - 0.5 * mark.text.count("."))  # Source Sans' digits and small letters
        left = x + mark.dx - (wide if mark.anchor == "end" else wide / 2 if mark.anchor == "middle" else 0)
        return Box(left, y - 0.62 * size, left + wide, y + 0.08 * size, mark.text)
    if mark.shape == "line":
        return Box(x, y, x, y, mark.kind)
    size = mark.size
    return Box(x - size, y - size, x + size, y + size, mark.kind)


def boxes(drawing: Drawing, width: float) -> Iterator[tuple[bool, Box]]:
    """(whether it is a text, its box in pixels). width: of a fluid drawing, whose places from left to right are percents."""
    across = width / 100 if drawing.fluid else 1.0
    for mark in drawing.marks:
        placed = [(mark, mark.x * across, mark.y)] if isinstance(mark, Mark) else []
        placed += [(one, mark.x * across + one.x, mark.y + one.y) for one in getattr(mark, "marks", ())]
        for own, x, y in placed:
            if own.kind in GROUND or own.turn:
                continue
            if own.shape == "line" and isinstance(mark, Mark):
                ends = sorted((own.x * across, own.x2 * across)), sorted((own.y, own.y2))
                yield False, Box(ends[0][0] - 0.8, ends[1][0] - 0.8, ends[0][1] + 0.8, ends[1][1] + 0.8, own.kind)
            elif own.shape == "line":
                yield False, Box(x - 0.6, y, x + 0.6, y + 2 * own.y2, own.kind)
            else:
                yield own.shape == "text", box_of(own, x, y)


def overlaps(drawing: Drawing, width: float = 0.0) -> list[tuple[str, str]]:
    every = list(boxes(drawing, width))
    texts = [box for is_text, box in every if is_text]
    others = [box for is_text, box in every if not is_text]
    found = [(one.what, other.what) for place, one in enumerate(texts) for other in texts[place + 1 :] if one.shares(other)]
    return found + [(one.what, other.what) for one in texts for other in others if one.shares(other)]


@pytest.fixture(scope="module")
def made(few):
    return board(few, CHOSEN)


@pytest.fixture(scope="module")
def figures(few, made):
    names, keys = names_of(few), [row.key for row in made.rows]
    found = {"overall": by_question(made, names), "overview": by_question(made, names, compact=True)}
    found |= {f"prompts {question}": by_prompts(made, question, names) for question in ("RQ2", "RQ3")}
    found["failures"] = pattern_figure(patterns_under(few, CHOSEN), keys, names)
    found["pairs"] = pair_figure(made.pairs[made.pairs["first"].eq("fa") & made.pairs["second"].eq("mechlight")], names)
    for key in ("mrr", "instance_margin", "auroc"):
        measure = measures()[key]
        own = measured(few, CHOSEN, measure, measure.metric, measure.at(5))
        found[key] = figure_of(own, own.ranked([row.key for row in made.rows if not row.control]), names)
    found["techniques"] = differences_figure(few.technique_cells(Filter(("demo-qwen2",), ("world_capital",))), "bcu", names)
    return found


PAGES = ("overall", "overview", "prompts RQ2", "prompts RQ3", "failures", "pairs", "techniques")
NAMES = (*PAGES, "mrr", "instance_margin", "auroc")


@pytest.mark.parametrize("wider", [1.0, 1.4, 2.0])
@pytest.mark.parametrize("name", NAMES)
def test_no_number_of_a_panel_lies_on_anything(figures, name, wider):
    figure = figures[name]
    for drawing in fluid_panels(figure):
        assert overlaps(drawing, wider * figure.least) == [], drawing.title
        room = wider * figure.least + figure.gap
        assert [box.what for text, box in boxes(drawing, wider * figure.least) if text and box.right > room] == []


@pytest.mark.parametrize("value", [0.36, 0.4, 0.44, 0.57, 0.64, 0.82])
def test_a_number_stands_beside_the_line_of_chance_never_on_it(value):
    dot, axis = Dot(value, low=value - 0.17, high=value + 0.19, chance=0.0), Axis(Scale(-0.35, 1.0), "high")
    panel = Panel("", [Slot((dot,), text=f"{value:.2f}")], chance=0.0)
    figure = DotFigure("", [DotRow("fa", "Feature ablation")], [panel] * 3, axis, compact=True)
    for drawing in fluid_panels(figure):
        assert overlaps(drawing, figure.least) == []


@pytest.mark.parametrize("width", [360.0, 400.0, 590.0])
def test_names_of_the_front_lie_on_nothing(made, width):
    assert overlaps(as_drawing(front_figure(made), width, 430)) == []


@given(points=st.lists(st.tuples(st.integers(0, 100), st.integers(0, 100)), min_size=2, max_size=24, unique=True))
def test_lines_from_names_in_a_column_to_their_points_never_cross(points):
    plotted = [PlottedPoint((str(at),), f"method {at}", (), *at, (at[0],) * 2, (at[1],) * 2, "#E69F00") for at in points]
    axis = Ticks("", 0, 100, [])
    drawing = as_drawing(Front("", plotted, axis, axis, column=True), 400, 430)
    lines = [mark for mark in drawing.marks if isinstance(mark, Mark) and mark.kind == "leader"]
    assert len(lines) == len(points)
    assert [(one, other) for one, other in combinations(lines, 2) if crosses(one, other)] == []


def crosses(one: Mark, other: Mark) -> bool:
    """Whether two lines share a point that is no end of either."""

    def side(line: Mark, x: float, y: float) -> float:
        return (line.x2 - line.x) * (y - line.y) - (line.y2 - line.y) * (x - line.x)

    def apart(line: Mark, of: Mark) -> bool:
        return side(line, of.x, of.y) * side(line, of.x2, of.y2) < -1e-6

    return apart(one, other) and apart(other, one)


def test_an_overlap_is_found():
    drawing = Drawing(100, 40, "")
    drawing.words("number", (10, 20), "0.42")
    drawing.spot((20, 18), [Mark("circle", "dot", size=6)])
    drawing.words("number", (22, 22), "0.43")
    assert overlaps(drawing) == [("0.42", "0.43"), ("0.42", "dot"), ("0.43", "dot")]
