"""Drawings: every mark stands where its number says."""

from __future__ import annotations

import re
from xml.etree import ElementTree

import pandas as pd
import pytest

from heval_core.present.numbers import short
from heval_core.report.charts import BAR, LABELS, NAMES, DotPanel, Share, SharePanel, dot_panels, share_panels
from heval_core.report.drawing import DARK, Drawing, Scale, as_svg, wrapped

TITLES = {"fa": "Feature ablation", "random": "Random"}
SVG = "{http://www.w3.org/2000/svg}"


def dots(explainer, *values, chance=0.1):
    """One lane for each (value, low, high)."""
    return pd.DataFrame(
        [
            {"explainer": explainer, "lane": lane, "value": value, "low": low, "high": high, "chance": chance, "tip": "tip"}
            for lane, (value, low, high) in enumerate(values)
        ]
    )


def elements(drawing, name, kind=""):
    root = ElementTree.fromstring(as_svg(drawing))
    return [own for own in root.iter(f"{SVG}{name}") if kind in (own.get("class") or "")]


def test_a_dot_and_its_whisker_stand_where_the_axis_says():
    """By hand: the values run from 0 to 1, with 5 % room on both sides; one panel is 200 wide behind 150 of names."""
    panel = DotPanel("Mixed", dots("fa", (0.5, 0.0, 1.0)), "MRR")
    drawing = dot_panels("t", [panel], TITLES, {"random"}, shared=True)
    left, right = NAMES + 4, NAMES + 200 - 4

    def at(value):
        return round(left + (value + 0.05) / 1.1 * (right - left), 1)

    (dot,) = elements(drawing, "circle")
    (whisker,) = elements(drawing, "line", "whisker")
    (chance,) = elements(drawing, "line", "chance")
    assert float(dot.get("cx")) == at(0.5) == 250.0
    assert (float(whisker.get("x1")), float(whisker.get("x2"))) == (at(0), at(1))
    assert float(chance.get("x1")) == float(chance.get("x2")) == at(0.1)
    assert dot.get("cy") == whisker.get("y1") == whisker.get("y2")
    ticks = {own.text: float(own.get("x")) for own in elements(drawing, "text", "faint")}
    assert ticks[".5"] == at(0.5)
    assert ticks["1"] == at(1)


def test_lanes_keep_their_order_from_top_to_bottom():
    panel = DotPanel("Mixed", dots("fa", (0.1, 0, 0.2), (0.9, 0.8, 1.0), (0.5, 0.4, 0.6)), "MRR")
    places = [
        (float(own.get("cy")), float(own.get("cx")))
        for own in elements(dot_panels("t", [panel], TITLES, set(), True), "circle")
    ]
    assert sorted(places) == places
    first, second, third = (x for _, x in places)
    assert first < third < second


def test_a_control_beyond_the_methods_is_an_arrow_with_its_number_and_does_not_squash_them():
    frame = pd.concat([dots("fa", (0.5, 0.0, 1.0)), dots("random", (-80.0, -81.0, -79.0))])
    drawing = dot_panels("t", [DotPanel("Mixed", frame, "ranks")], TITLES, {"random"}, shared=True)
    (dot,) = elements(drawing, "circle")
    assert float(dot.get("cx")) == 250.0
    assert "−80.0" in [own.text for own in elements(drawing, "text", "faint")]
    (arrow,) = elements(drawing, "path", "ring")
    assert arrow.get("d").startswith(f"M{NAMES + 4 - 2.4:g} ")


def test_one_wide_interval_is_cut_with_an_arrow_and_does_not_squash_the_values():
    """By hand: values and chance go from 0.1 to 0.9, so that the axis ends half of that below them, at −0.3, and at 1."""
    panel = DotPanel("Mixed", dots("fa", (0.5, -9.0, 0.6), (0.9, 0.8, 1.0), (0.9, 0.8, 1.0)), "MRR")
    drawing = dot_panels("t", [panel], TITLES, set(), shared=True)
    scale = Scale.around([-0.3, 1.0], NAMES + 4, NAMES + 196)
    first, second, _ = (float(own.get("cx")) for own in elements(drawing, "circle"))
    assert (first, second) == pytest.approx((scale.at(0.5), scale.at(0.9)), abs=0.06)
    (arrow,) = elements(drawing, "path", "ring")
    assert arrow.get("d").startswith(f"M{NAMES + 4 - 1.8:g} ")
    assert float(elements(drawing, "line", "whisker")[0].get("x1")) == NAMES + 4


def test_what_is_not_available_says_so():
    frame = pd.concat([dots("fa", (0.5, 0.0, 1.0)), dots("random", (float("nan"),) * 3)])
    drawing = dot_panels("t", [DotPanel("Mixed", frame, "ranks")], TITLES, {"random"}, shared=True)
    assert "not available" in [own.text for own in elements(drawing, "text")]


def test_panels_have_one_scale_where_it_is_shared_and_else_their_own():
    panels = [DotPanel("A", dots("fa", (1.0, 0.0, 2.0)), "u"), DotPanel("B", dots("fa", (9.0, 8.0, 10.0)), "u")]
    together = [float(own.get("cx")) for own in elements(dot_panels("t", panels, TITLES, set(), True), "circle")]
    apart = [float(own.get("cx")) for own in elements(dot_panels("t", panels, TITLES, set(), False), "circle")]
    width = 200 + 18
    # Apart, 1 is the middle of 0.1 (its chance counts too) to 2, and 9 lies far to the right of 0.1 to 10.
    assert together[0] - NAMES < together[1] - NAMES - width
    assert apart[0] == pytest.approx(NAMES + 100, abs=0.1)
    assert apart[1] == together[1] or apart[1] > together[1] - width


def test_pieces_of_a_bar_follow_one_another_and_add_up():
    """By hand: a panel is 420 wide behind 262 of labels, so that 30 % end at 388 and 100 % at 682."""
    pieces = [Share("C", 0.3, "30 of 100", (0.2, 0.4)), Share("M", 0.7, "70 of 100")]
    drawing = share_panels(
        "t", [SharePanel("gpt2", [("capital", pieces)])], {"C": "#0072B2", "M": "#FFFFFF"}, {"C": "C", "M": "M"}
    )
    first, second = [own for own in elements(drawing, "rect", "piece") if float(own.get("height")) == BAR - 4]
    assert float(first.get("x")) == LABELS
    assert float(first.get("width")) == pytest.approx(0.3 * 420 - 0.6, abs=0.11)
    assert float(second.get("x")) == 388.0
    assert float(second.get("x")) + float(second.get("width")) == pytest.approx(682.0 - 0.6, abs=0.11)
    (interval,) = elements(drawing, "line", "axis")
    assert (float(interval.get("x1")), float(interval.get("x2"))) == (LABELS + 84, LABELS + 168)
    inside = {own.text: own.get("fill") for own in elements(drawing, "text", "inside")}
    assert inside == {"30": "#FFFFFF", "70": "#000000"}


@pytest.mark.parametrize(
    ("least", "most", "expected"),
    [
        (-0.12, 0.31, [-0.1, 0, 0.1, 0.2, 0.3]),
        (0, 1, [0, 0.2, 0.4, 0.6, 0.8, 1]),
        (-80, 80, [-50, 0, 50]),
        (3, 3.002, [3, 3.0005, 3.001, 3.0015, 3.002]),
    ],
)
def test_ticks_are_round_numbers_inside_the_axis(least, most, expected):
    assert Scale(least, most, 0, 1).ticks() == pytest.approx(expected)


def test_an_axis_without_extent_still_has_room():
    assert Scale.around([2.0], 0, 100).at(2.0) == pytest.approx(50)
    assert Scale.around([float("nan")], 0, 100).at(0.5) == pytest.approx(50)


def test_numbers_of_ticks_are_short():
    assert [short(value) for value in (0.25, 0.0, -0.5, 12.0)] == [".25", "0", "−.5", "12"]


def test_long_names_break_at_spaces_and_underscores():
    assert wrapped("country_profiles Double conflicting", 17) == ["country_profiles", "Double", "conflicting"]
    assert wrapped("one two three", 5, 1) == ["one …"]


def test_hostile_text_is_text():
    hostile = "</text><script>window.__pwn=1</script>\u202e"
    drawing = Drawing(10, 10, hostile)
    drawing.words("ink", (0, 0), hostile)
    drawing.dot("dot", (1, 1), 1, "#123456", hostile)
    written = as_svg(drawing)
    assert "<script" not in written
    assert elements(drawing, "text")[0].text.startswith("</text><script>")


def test_the_same_drawing_is_the_same_bytes_and_dark_ink_is_light():
    drawing = dot_panels("t", [DotPanel("Mixed", dots("fa", (1 / 3, 0.0, 1.0)), "MRR")], TITLES, set(), shared=True)
    assert as_svg(drawing) == as_svg(drawing)
    assert DARK.ink in as_svg(drawing, DARK)
    assert not re.search(r"\d\.\d\d", re.sub(r"<title>.*?</title>", "", as_svg(drawing)).replace("1.25", ""))
