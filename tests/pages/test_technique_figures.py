"""The figures and tables of the page Techniques, beside hand-made rows: what stands where, what is bold, what is said."""

import math

import pandas as pd
import pytest

from heval_core.evaluation.techniques.front import Point, expected, leaders
from heval_core.figures.front import as_drawing, box_of
from heval_core.figures.technique_front import blind_line, cards, equal_line, front_figure, share_known
from heval_core.figures.techniques import (
    correlation_table,
    differences_figure,
    guided_table,
    ranked,
    searches,
    setting_words,
    technique_table,
    unavailable,
)
from heval_core.present import numbers
from heval_core.present.names import Names, value_unit
from heval_core.present.numbers import SHARE, change, number
from heval_core.statistics.bootstrap import Resamples
from heval_core.statistics.values import Resampled, total

KINDS = ("gold", "conflicting", "irrelevant")
CATALOGUE = pd.DataFrame(
    [
        ("regular", "Regular", "none", 1, 1.0, ""),
        ("acd", "ACD", "decoding", 4, 2.0, ""),
        ("ph3", "PH3", "heads", 7, 1.0, "tuned"),
        ("multi_agent", "Multi-agent", "calls", 9, 4.5, ""),
    ],
    columns=["key", "title", "family", "place", "passes", "preparation"],
).assign(kind="technique")
NAMES = Names.of(CATALOGUE)


def cell(technique, regime, value, delta=None, half=0.05, measure="bcu", **more):
    ends = {} if value is None else {"low": value - half, "high": value + half}
    moved = {} if delta is None else {"delta": delta, "delta_low": delta - half, "delta_high": delta + half}
    row = dict.fromkeys(("value", "low", "high", "chance", "delta", "delta_low", "delta_high", "unavailable"))
    where = {"model": "m", "dataset": "d", "technique": technique, "regime": regime, "measure": measure}
    return row | {**where, "value": value, **ends, **moved, "n": 100, **more}


def cells_of(*rows):
    return pd.DataFrame(list(rows)).astype(dict.fromkeys(("value", "low", "high", "delta", "delta_low", "delta_high"), float))


def point(technique, x, y, on_front, j=0.0, half=0.05):
    return {
        "model": "m", "dataset": "d", "technique": technique, "context_faithfulness": x, "faithfulness_low": x - half,
        "faithfulness_high": x + half, "robustness": y, "robustness_low": y - half, "robustness_high": y + half,
        "discrimination": j, "discrimination_low": j - half, "discrimination_high": j + half, "on_front": on_front,
        "share_on_front": 0.75, "n": 100,
    }  # fmt: skip


# Regular 1/.5/.5; acd trades, ph3 destroys, multi_agent gains on both.
CELLS = cells_of(
    cell("acd", "gold", 0.9, -0.1), cell("acd", "conflicting", 0.3, -0.2), cell("acd", "irrelevant", 0.7, 0.2),
    cell("acd", "total", 0.63, -0.03), cell("regular", "gold", 1.0, 0.0), cell("regular", "conflicting", 0.5, 0.0),
    cell("regular", "irrelevant", 0.5, 0.0), cell("regular", "total", 0.67, 0.0), cell("ph3", "gold", 1.0, 0.0),
    cell("ph3", "conflicting", 0.8, 0.3), cell("ph3", "irrelevant", 0.1, -0.4), cell("ph3", "total", 0.63, -0.04),
    cell("ph3", "total", 0.2, -0.8, measure="memory_kept"), cell("regular", "total", 1.0, 0.0, measure="memory_kept"),
    cell("regular", "total", 0.0, 0.0, measure="discrimination"), cell("acd", "total", 0.01, 0.01, measure="discrimination"),
)  # fmt: skip
POINTS = pd.DataFrame([point("regular", 0.75, 0.5, True), point("acd", 0.6, 0.7, True), point("ph3", 0.9, 0.1, True)])


def test_points_stand_where_they_are_with_regular_first_and_a_shape_for_each_family():
    drawn = front_figure(POINTS, NAMES)
    assert [point.id for point in drawn.points] == [("regular", "*"), ("acd", "*"), ("ph3", "*")]
    assert [point.look for point in drawn.points] == ["regular", "circle", "diamond"]
    assert (drawn.points[1].x, drawn.points[1].y_ends[0]) == (pytest.approx(0.6), pytest.approx(0.65))
    assert [shape for shape, _ in drawn.legend] == ["regular", "circle", "diamond"]
    assert "on the front in 75 % of the resamples" in drawn.points[0].about
    # A step line from left to right.
    assert drawn.line == [(0.6, 0.7), (0.75, 0.5), (0.9, 0.1)]
    assert front_figure(POINTS.assign(on_front=[False, True, False]), NAMES).line == [(0.6, 0.7)]


def test_points_in_one_place_share_a_name():
    there = pd.concat([POINTS, pd.DataFrame([point("multi_agent", 0.755, 0.51, False)])])
    assert [own.title for own in front_figure(there, NAMES).points] == ["Regular and Multi-agent", "ACD", "PH3", ""]
    many = pd.concat([there, pd.DataFrame([point(f"multi_agent(x={n})", 0.755, 0.51, False) for n in range(3)])])
    assert front_figure(many, NAMES).points[0].title == "Regular and 4 others"
    crowd = pd.concat([POINTS, pd.DataFrame([point(f"multi_agent(x={n})", 0.1 + n / 20, 0.3, n == 8) for n in range(9)])])
    titles = {own.id[0]: own.title for own in front_figure(crowd, NAMES).points}
    assert titles.pop("multi_agent(x=8)")
    assert titles["regular"] == "Regular"
    assert [key for key, title in titles.items() if title] == ["regular", "acd", "ph3"]  # which are on the front


@pytest.mark.parametrize(("share", "best"), [(0.0, 0.7), (0.25, 0.6), (0.75, 0.8), (0.9, 0.95), (1.0, 0.9)])
def test_all_points_of_the_dashed_line_are_as_good_as_the_best(share, best):
    ends = equal_line(best, share)
    assert len(ends) == 2
    for x, y in ends:
        assert share * x + (1 - share) * y == pytest.approx(best)
    drawn = front_figure(POINTS, NAMES, ends, "80 % good")
    assert all(drawn.x.low - 1e-9 <= x <= 1 and drawn.y.low - 1e-9 <= y <= 1 for x, y in drawn.level)
    assert any(mark.text == "80 % good" for mark in as_drawing(drawn).marks if hasattr(mark, "text"))


def asked(**right):
    """A point for each technique. right: of every ten questions with gold and irrelevant documents those answered rightly."""
    names = [f"q{number}" for number in range(40)]
    questions = Resampled(Resamples("d", dict(zip(names, names, strict=True))), names)
    found = []
    for technique, of_kinds in right.items():
        columns = [
            questions.column(names, [float(number % 10 in own) for number in range(40)], ends=(0.0, 1.0)) for own in of_kinds
        ]
        gold, ignored = questions.means(dict(enumerate(columns))).values()
        found.append(Point(technique, total([(1.0, gold)]), ignored, None))
    return found


ASKED = asked(regular=(range(5), range(5)), acd=(range(2), range(10)), cad=(range(5), (0, 1, 2, 3, 5)), ph3=(range(10), ()))


def test_what_to_expect_is_the_mix_of_both_and_equals_share_their_ranks():
    found = {one.point.technique: one for one in expected(ASKED, 0.75)}
    values = {key: one.value.value for key, one in found.items()}
    assert values == pytest.approx({"ph3": 0.75, "regular": 0.5, "cad": 0.5, "acd": 0.4})
    assert next(iter(found)) == "ph3"
    assert found["regular"].ranks == found["cad"].ranks == "2–4"
    assert (found["ph3"].ranks, found["ph3"].best, found["regular"].best) == ("1", True, False)
    low, high = found["regular"].value.interval()
    assert low < 0.5 < high
    # With as many good documents as bad ones nobody's answers are surely better, but for those who know both.
    sure = asked(a=(range(10), range(10)), b=(range(1), range(1)))
    assert [one.ranks for one in expected(sure, 0.5)] == ["1", "2"]
    assert expected([], 0.5) == []


def test_who_leads_where_is_told_by_the_slider():
    assert leaders(ASKED) == [(0, 55, "acd"), (56, 100, "ph3")]
    assert leaders(asked(one=(range(5), range(5)), same=(range(5), range(5)))) == [(0, 100, "one")]
    assert leaders([]) == []


def test_a_card_has_its_rank_number_interval_and_price_and_over_the_budget_it_is_hatched_and_last():
    ranked, over = expected(ASKED[:3], 0.75), expected(ASKED[3:], 0.75)
    drawing = cards(ranked, over, NAMES, ["ph3"])
    spots = [spot for spot in drawing.spots if spot.id]
    assert [spot.id for spot in spots] == [(key, "*") for key in ("regular", "cad", "acd", "ph3")]
    texts = [[mark.text for mark in spot.marks if mark.text] for spot in spots]
    assert texts[0][0] == "1–3"
    assert {"Regular", "50", "1 ×", "follows 50 %, ignores 50 %"} <= {*texts[0]}
    assert {"–", "PH3", "75", "1 ×, tuned"} <= {*texts[3]}
    assert [sum(mark.kind == "thin" for mark in spot.marks) > 0 for spot in spots] == [False, False, False, True]
    assert any(getattr(mark, "text", "") == "Over the budget: 1" for mark in drawing.marks)
    assert cards([], over, NAMES, []).height > 0


def test_no_text_of_a_card_lies_on_another_one():
    for spot in (one for one in cards(expected(ASKED, 0.3), [], NAMES, []).spots if one.id):
        boxes = [box_of(mark.text, mark.x, mark.y, mark.anchor, 1.0) for mark in spot.marks if mark.text]
        assert all(box.cost([*boxes[:place], *boxes[place + 1 :]]) == 0 for place, box in enumerate(boxes))


@pytest.mark.parametrize(("p", "knew"), [(0.0, 0.0), (0.5, 1.0), (0.3, 0.4), (1.0, 0.7)])
def test_a_technique_that_treats_all_documents_alike_lies_on_the_blind_line(p, knew):
    gold, conflicting, irrelevant = p + (1 - p) * knew, p, 1 - p
    x, y = (gold + conflicting) / 2, irrelevant
    (x0, y0), (x1, y1) = blind_line(knew)
    assert x == pytest.approx(x0 + (1 - y) * (x1 - x0))
    assert (y0, y1) == (1, 0)


def test_the_share_of_known_gold_answers_is_what_the_unknown_leave_out():
    rows = [cell("regular", "gold", 1.0, n=100), cell("regular", "gold", 1.0, measure="bcu_unknown", n=40)]
    assert share_known(pd.DataFrame(rows)) == pytest.approx(0.6)
    assert share_known(pd.DataFrame(rows[:1])) == 0
    assert share_known(pd.DataFrame([rows[0], {**rows[1], "n": math.nan}])) == 0


def test_differences_are_filled_where_the_interval_leaves_out_0_and_share_one_axis():
    drawn = differences_figure(CELLS, "bcu", NAMES, front=["acd"])
    assert [panel.title for panel in drawn.panels] == ["Gold", "Conflicting", "Irrelevant"]
    assert [panel.note for panel in drawn.panels] == ["Regular 100 %", "Regular 50 %", "Regular 50 %"]
    assert [(row.title, row.strong) for row in drawn.rows] == [("ACD", True), ("PH3", False)]
    slots = [panel.slots[1] for panel in drawn.panels]
    dots = [slot.dots[0] for slot in slots]
    assert [slot.text for slot in slots] == ["0", "+30", "−40"]
    assert [dot.hollow for dot in dots] == [True, False, False]
    assert [dot.value for dot in dots] == pytest.approx([0, 30, -40])
    assert dots[2].low < dots[2].high < 0 < dots[1].low < dots[1].high
    axis = drawn.axis
    assert not any(axis.scale.beyond(end) for dot in dots for end in (dot.low, dot.high))
    assert [axis.text(value) for value in (-40, 0, 40)] == ["−40", "0", "+40"]


def test_a_difference_that_is_not_there_says_why():
    rows = pd.concat(
        [
            CELLS,
            cells_of(cell("multi_agent", "gold", 0.9, -0.1), cell("multi_agent", "irrelevant", None, unavailable="not asked")),
        ]
    )
    drawn = differences_figure(rows, "bcu", NAMES)
    (place,) = (place for place, row in enumerate(drawn.rows) if row.title == "Multi-agent")
    _, conflicting, irrelevant = (panel.slots[place].missing for panel in drawn.panels)
    assert (irrelevant.id, irrelevant.title[-1]) == (("multi_agent", "irrelevant"), "not asked")
    assert conflicting.title[-1] == "not measured here"


def test_techniques_are_ranked_by_their_total_and_regular_comes_first_in_the_table():
    bcu = CELLS[CELLS["measure"] == "bcu"]
    assert ranked(bcu, NAMES) == ["regular", "acd", "ph3"]
    assert [row.titles[0] for row in technique_table(CELLS, "bcu", NAMES).rows] == ["Regular", "ACD", "PH3"]


def test_the_table_has_a_column_for_each_number_there_is_and_bold_for_the_best():
    table = technique_table(CELLS, "bcu", NAMES, ["acd"])
    assert [head.title for head in table.heads[:-1]] == [
        "Gold, %", "Conflicting, %", "Irrelevant, %", "Total, %", "Memory kept, %", "J",
    ]  # fmt: skip
    assert [(row.titles[0], row.note) for row in table.rows] == [("Regular", ""), ("ACD", "on the front"), ("PH3", "")]
    bold = [
        (row.titles[0], head.title)
        for row in table.rows
        for cell, head in zip(row.cells, table.heads, strict=True)
        if cell.best
    ]
    assert ("PH3", "Conflicting, %") in bold
    assert ("ACD", "Conflicting, %") not in bold
    assert "<b>80</b> <small>[75, 85]</small>" in table.html()
    assert [row.cells[-1].main for row in table.rows] == ["1 ×", "2 ×", "1 ×, tuned"]
    assert r"\textbf{80.0}" in table.exact().latex("s")


def test_a_technique_without_any_number_is_listed_with_its_reason_once():
    trials = pd.DataFrame(
        [{"technique": "multi_agent", "unavailable": "follows no instructions"}, {"technique": "acd", "unavailable": "x"}]
    )
    more = pd.concat([CELLS, cells_of(cell("multi_agent", "total", None, unavailable="follows no instructions"))])
    assert unavailable(pd.concat([more, trials]), NAMES) == [("Multi-agent", "follows no instructions")]


def test_numbers_never_read_as_minus_zero_and_shares_keep_what_tells_them_from_none_and_all():
    shares = (-0.0001, 0.0001, 0.004, 0.996, 0.9999, 1.0, 0.5, math.nan)
    assert [number(share, SHARE) for share in shares] == ["0", "< 0.1", "0.4", "99.6", "> 99.9", "100", "50", "–"]
    assert [change(value, numbers.POINTS) for value in (0.28, -0.09, 0.0)] == ["+28", "−9", "0"]
    assert number(-0.123, value_unit("ccu")) == "−0.12"
    assert NAMES.technique("ph3(mode=context)") == "PH3 (mode=context)"
    assert NAMES.cost("multi_agent") == "4.5 ×"


# A feature, and its correlation over all models and within each, with Holm's p.
CORRELATIONS = pd.DataFrame(
    [
        ("parameters", 0.3, 0.001, math.nan, math.nan),
        ("length", -0.5, 0.001, -0.01, 0.9),
        ("memory_strength", 0.2, 0.2, 0.4, 0.01),
    ],
    columns=["feature", "rho", "p_holm", "rho_stratified", "p_stratified_holm"],
).assign(dataset="all", regime="gold", technique="regular", n=200, unavailable=None)


def test_what_pooling_makes_of_a_feature_stands_beside_what_is_so_within_a_model():
    table = correlation_table(CORRELATIONS, NAMES)
    assert table["feature"].tolist()[:2] == ["Size of the model", "Length of the document"]
    assert [cell.main for cell in table["rho, pooled"]] == ["+0.30", "−0.50", "+0.20"]
    assert [cell.main for cell in table["rho, within"]] == ["–", "−0.01", "+0.40"]
    assert [cell.main for cell in table["p within, Holm"]] == ["–", ".900", ".010"]


def trial(setting, chosen, tied, bcu, technique="coiecd", regime="gold", unavailable=None):
    return {
        "model": "m", "dataset": "d", "technique": technique, "setting": setting, "regime": regime, "bcu": bcu, "n": 40,
        "chosen": chosen, "tied": tied, "unavailable": unavailable,
    }  # fmt: skip


def test_ties_are_counted_and_the_chosen_setting_comes_first():
    settings = [('{"lam": 0.1}', False, True, 0.8), ('{"lam": 0.5}', True, True, 0.8), ('{"lam": 1.0}', False, False, 0.9)]
    rows = [trial(*setting, regime=regime) for setting in settings for regime in KINDS]
    rows += [trial("", True, False, 0.5, technique="acd"), trial(None, None, None, None, technique="x", unavailable="no")]
    (found,) = searches(pd.DataFrame(rows))
    assert (found.settings, found.ties, found.chosen) == (3, 2, "λ 0.5")
    assert found.questions == "40 development prompts of each kind"


def test_pruned_heads_are_named_and_what_is_no_json_stays_text():
    assert setting_words('{"heads": [[3, 2], [0, 11]]}') == "L3H2, L0H11"
    assert setting_words('{"heads": [[3, 2]], "kind": "memory"}') == "kind memory: L3H2"
    assert setting_words("a prompt with {braces") == "a prompt with {braces"
    assert setting_words('["x"]') == '["x"]'


def test_a_long_name_is_cut_in_figures_only_where_it_stays_one_of_a_kind():
    long = ("fine_tuning(data=development,epochs=10)", "Fine-tuning (development, 10 epochs)")
    other = ("fine_tuning(data=development,epochs=20)", "Fine-tuning (development, 20 epochs)")

    def named(*rows):
        frame = pd.DataFrame(
            [{"kind": "technique", "key": key, "title": title} for key, title in (("fine_tuning", "Fine-tuning"), *rows)]
        )
        return Names.of(frame)

    assert named(long).label(long[0]) == "Fine-tuning (…)"
    assert named(long).label("fine_tuning") == "Fine-tuning"
    assert named(("agd(cdla)", "AGD by one with a long name")).label("agd(cdla)") == "AGD by one with a long name"
    assert named(long, other).label(long[0]) == long[1]


def test_what_was_trained_was_not_searched_for():
    setting = '{"data": "development", "examples": {"empty": 16, "relevant": 1051}, "held_out": 12, "epochs": 3, '
    setting += '"best_epoch": 2, "loss": [3.2, 2.4, 1.7], "held_out_loss": [3.989, 3.5, 3.6]}'
    row = {"technique": "fine_tuning", "setting": setting, "regime": "", "bcu": math.nan, "n": 0}
    (found,) = searches(pd.DataFrame([row | {"chosen": True, "tied": True, "unavailable": None}]))
    assert (found.settings, found.questions) == (1, "")
    assert found.chosen == (
        "1,067 examples (16 empty, 1,051 relevant), three epochs, of which number 2 is kept; loss on 12 held-out examples "
        "3.99 ▶ 3.50"
    )


def test_techniques_that_ask_an_explainer_are_compared_beside_what_the_board_says_of_it():
    asking = [cell(key, kind, 0.4 + at / 10) for at, key in enumerate(("agd", "agd(cgim)")) for kind in (*KINDS, "total")]
    quality = pd.DataFrame([{"explainer": "cgim", "value": 0.61, "low": 0.55, "high": 0.66}])
    cells = pd.concat([CELLS, cells_of(*asking)], ignore_index=True)
    table = guided_table(cells, "bcu", NAMES, lambda: quality)
    by_title = {row.titles[0]: row.cells for row in table.rows}
    assert list(by_title) == [NAMES.technique(key) for key in ("regular", "agd(cgim)", "agd")]
    assert [head.title for head in table.heads][-1] == "Leaderboard"
    assert by_title[NAMES.technique("agd(cgim)")][0].value == 0.5
    scores = [cells[-1] for cells in by_title.values()]
    assert [(score.value, score.low, score.high) for score in scores] == [(None,) * 3, (0.61, 0.55, 0.66), (None,) * 3]
    # One explainer, as often as it is asked, makes no comparison; nor does a plug-in that is gone.
    once = cells_of(*(cell(key, "gold", 0.4) for key in ("agd", "agd(k=3)", "gone(explainer=x)", "regular")))
    assert guided_table(once, "bcu", NAMES, lambda: quality) is None
    assert guided_table(CELLS, "bcu", NAMES, lambda: quality) is None
