"""Drawings: every mark stands where its number says."""

import re
from xml.etree import ElementTree

import pandas as pd
import pytest

from heval_core.figures.dots import Dot, DotFigure, DotRow, Panel, Slot, axis_over
from heval_core.figures.dots_drawn import FigurePart, as_drawing, as_html
from heval_core.figures.front import Box, Label, place_labels
from heval_core.figures.outcomes import BAR, LABELS, share_figure
from heval_core.present.drawing import DARK, LOOKS, Drawing, Mark, Scale, as_svg, stylesheet, wrapped

ROWS = [DotRow("fa", "Feature ablation", hue="#E69F00"), DotRow("random", "Random", True)]
SVG = "{http://www.w3.org/2000/svg}"


def slot(*values, text=""):
    """A dot for each (value, low, high)."""
    return Slot(tuple(Dot(value, ("title",), (), low, high, 0.1) for value, low, high in values), text=text)


def drawn(*slots):
    """A figure of one panel, with a slot for each row."""
    panels = [Panel("Mixed", [*slots, *[Slot()] * (len(ROWS) - len(slots))])]
    axis = axis_over(ROWS, panels)
    return as_drawing(DotFigure("t", ROWS, panels, axis)), axis.scale


def marks(drawing, kind):
    """Those of a kind, where they stand in the drawing."""
    alone = [own for own in drawing.marks if isinstance(own, Mark) and own.kind == kind]
    return alone + [own for own in drawing.spots if own.marks and own.marks[0].kind == kind]


def test_a_dot_its_whisker_and_its_chance_stand_where_the_axis_says():
    drawing, scale = drawn(slot((0.5, 0.0, 1.0)))
    ticks = {own.text: own.x for own in marks(drawing, "faint") if isinstance(own, Mark)}
    (dot,), (whisker,), (chance,) = (marks(drawing, kind) for kind in ("dot", "whisker", "chance"))
    assert dot.x == pytest.approx(ticks[".5"])
    assert (whisker.x, whisker.x2) == pytest.approx((ticks["0"], ticks["1"]))
    assert chance.x == chance.x2 == pytest.approx(ticks["0"] + 0.1 * (ticks["1"] - ticks["0"]))
    assert dot.y == whisker.y == whisker.y2
    assert (scale.least, scale.most) == pytest.approx((-0.05, 1.05))


def test_a_control_beyond_the_methods_is_an_arrow_with_its_number_and_does_not_squash_them():
    drawing, scale = drawn(slot((0.5, 0.0, 1.0)), slot((-80.0, -81.0, -79.0), text="−80.0"))
    assert scale.least == pytest.approx(-0.05)
    (arrow,) = marks(drawing, "beyond")
    assert (arrow.marks[0].shape, arrow.x) == ("left", min(own.x for own in marks(drawing, "whisker")) - 0.05 / 1.1 * 232)
    assert "−80.0" in [own.text for own in marks(drawing, "quiet")]


def test_a_dot_at_the_beginning_of_its_axis_stands_in_its_own_column():
    """-.40 of a scaled axis, which begins there, stood on the edge and looked like the last number of the column before."""
    panels = [Panel(title, [slot((-0.399, -0.48, -0.3)), slot((1.0, 0.9, 1.0))]) for title in ("one", "other")]
    figure = DotFigure("t", ROWS, panels, axis_over(ROWS, panels, "high", scaled=True))
    drawing = as_drawing(figure)
    edges = [own.x for own in drawing.spots if own.marks and own.marks[0].kind == "title"]
    for edge, dot in zip(edges, marks(drawing, "dot"), strict=True):
        assert edge + 6 < dot.x < edge + 24


def test_one_wide_interval_is_cut_with_an_arrow_and_does_not_squash_the_values():
    """By hand: values and chance go from 0.1 to 0.9, so that the axis ends half of that below them, at −0.3, and at 1."""
    drawing, scale = drawn(slot((0.5, -9.0, 0.6), (0.9, 0.8, 1.0), (0.9, 0.8, 1.0)))
    assert (scale.least, scale.most) == pytest.approx((-0.3 - 0.065, 1.0 + 0.065))
    (arrow,) = marks(drawing, "beyond")
    assert arrow.x == min(own.x for own in marks(drawing, "whisker"))


def test_a_page_draws_the_same_as_percent_of_each_panel():
    slots = (
        Slot((Dot(0.5, ("first", "second <b>"), ("fa", "x"), 0.25, 0.75),)),
        Slot(missing=Dot(0.0, ("why",), ("random", "x"))),
    )
    figure = DotFigure("t", ROWS, [Panel("Mixed", slots)], legend=[("dot", "a mean")], hint="click")
    page = as_html(FigurePart(figure, "Title", "A note."))
    assert re.search(
        r'<svg x="50%" y="[\d.]+" overflow="visible">\s*<g class="mark" tabindex="-1" aria-label="first\nsecond &lt;b&gt;"',
        page,
    )
    assert page.count('role="button"') == 2
    assert 'x1="25%"' in page
    assert "data-id" not in as_svg(as_drawing(figure))


def test_pieces_of_a_bar_follow_one_another_and_add_up():
    """By hand: a panel is 420 wide, so that 30 % end 126 right of its start."""
    counts = pd.DataFrame({"outcome": ["C2", "M"], "instances": [30, 70]})
    drawing = share_figure(counts.assign(panel="gpt2", label="capital"), "t", ["gpt2"])
    first, second = (own for own in drawing.spots if own.title)
    assert (first.x, second.x) == (LABELS + 126 / 2, LABELS + 126 + 294 / 2)
    assert [own.marks[0].x2 for own in (first, second)] == pytest.approx([126 - 0.6, 294 - 0.6])
    assert first.marks[0].y2 == BAR - 4
    assert [(own.marks[1].text, own.marks[1].hue) for own in (first, second)] == [("30", "#000000"), ("70", "#000000")]


def test_labels_lie_on_nothing_and_a_line_leads_to_a_point_that_is_not_the_nearest():
    """Five points in one place."""
    drawing, taken = Drawing(400, 400, ""), [Box(191, 191, 209, 209, 3.0)]
    labels = [Label(200, 200, f"label {number}", False) for number in range(5)]
    place_labels(drawing, labels, Box(0, 0, 400, 400), taken)
    placed = taken[1:]
    assert all(box.cost([*placed[:place], *placed[place + 1 :], taken[0]]) == 0 for place, box in enumerate(placed))
    assert all(box.within(Box(0, 0, 400, 400)) for box in placed)
    assert len(marks(drawing, "leader")) >= 4


@pytest.mark.parametrize(("least", "most", "expected"), [
    (-0.12, 0.31, [-0.1, 0, 0.1, 0.2, 0.3]), (0, 1, [0, 0.2, 0.4, 0.6, 0.8, 1]), (-80, 80, [-50, 0, 50]),
    (3, 3.002, [3, 3.0005, 3.001, 3.0015, 3.002]),
])  # fmt: skip
def test_ticks_are_round_numbers_inside_the_axis(least, most, expected):
    assert Scale(least, most).ticks() == pytest.approx(expected)


def test_an_axis_without_extent_still_has_room():
    assert Scale.around([2.0]).at(2.0) == pytest.approx(50)
    assert Scale.around([float("nan")]).at(0.5) == pytest.approx(50)


def test_long_names_break_at_spaces_and_underscores():
    assert wrapped("country_profiles Double conflicting", 17) == ["country_profiles", "Double", "conflicting"]
    assert wrapped("one two three", 5, 1) == ["one …"]


@pytest.mark.parametrize("active", [False, True])
def test_hostile_text_is_text(active):
    hostile = "</text><script>window.__pwn=1</script>\u202e"
    drawing = Drawing(10, 10, hostile)
    drawing.words("plain", (0, 0), hostile)
    drawing.spot((1, 1), [Mark("circle", "dot", size=1, hue="#123456")], (hostile,), id=(hostile,))
    written = as_svg(drawing, active=active)
    assert "<script" not in written
    (text,) = ElementTree.fromstring(written).iter(f"{SVG}text")
    assert text.text.startswith("</text><script>")


def test_the_same_drawing_is_the_same_bytes_in_any_colours():
    drawing, _ = drawn(slot((1 / 3, 0.0, 1.0)))
    assert as_svg(drawing) == as_svg(drawing)
    assert DARK.ink in as_svg(drawing, DARK)
    places = re.sub(r"(stroke-width|opacity)=\S+", "", re.sub(r"<title>.*?</title>", "", as_svg(drawing)))
    assert not re.search(r"\d\.\d\d", places)
    # In a page a style says how a kind looks, and the mark only its own hue.
    assert all(f"svg .{kind.replace(' ', '.')} {{" in stylesheet() for kind in LOOKS)
    assert set(re.findall(r'fill="([^"]*)"', as_svg(drawing, None))) == {"#E69F00"}
