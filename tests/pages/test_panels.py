"""The figure of the question tabs, beside what is stored: what stands where, how it is cut, and what its sentence says."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from heval_core.evaluation.means import controls_of
from heval_core.figures.dots import Dot, DotFigure, DotRow, Slot, axis_over
from heval_core.figures.dots import Panel as DotPanel
from heval_core.figures.dots_drawn import as_drawing
from heval_core.figures.measures import Measured, figure_of, measure_table
from heval_core.metrics.shared.measure import Measure
from heval_core.plugins import catalogue
from heval_core.plugins.measures import measures
from heval_core.present.drawing import Mark
from heval_core.present.names import ALL
from heval_core.present.numbers import number
from heval_core.store.filters import Filter
from heval_core.ui.measured_cells import measured, verdict
from tests.pages.opening import named

SHOWN = [own for own in measures().values() if own.question and not own.variant_of and own.needs != "--sources"]
METHODS = ["fa", "ig", "attn", "mechlight"]
OTHERS = tuple(key for key, own in catalogue.plugins("explainer").items() if own.control or own.family == "control")
NAMES = named({key: key.upper() for key in METHODS}, OTHERS)


def that_count(demo, cells):
    """The rows of models on datasets that more than half of the methods have. cells: of one regime and part."""
    methods = cells[~cells["explainer"].isin(controls_of(demo))].pivot(
        index=["model", "dataset"], columns="explainer", values="n"
    )
    there = set(methods.index[methods.notna().sum(axis=1) > len(methods.columns) / 2])
    return cells[[place in there for place in zip(cells["model"], cells["dataset"], strict=True)]]


@pytest.mark.parametrize("scaled", [False, True], ids=["native", "scaled"])
@pytest.mark.parametrize(
    "measure",
    [pytest.param(own, marks=[pytest.mark.slow] * (own.key not in ("auroc", "forced_choice", "mrr"))) for own in SHOWN],
    ids=lambda own: own.key,
)
def test_every_mark_stands_at_the_mean_of_the_stored_cells(demo, measure, scaled):
    found = measured(demo, Filter(), measure, measure.metric, measure.at(5))
    if scaled and not found.can_be_scaled:
        return
    found = replace(found, scaled=scaled)
    panels = figure_of(found, found.ranked(METHODS), NAMES).panels
    column = "normalised" if scaled else "above" if measure.paired else "value"
    stored = demo.cells(Filter(), measure.metric, measure.at(5)).dropna(subset=["value"]).eval("above = value - chance")
    drawn = [mark for panel in panels for slot in panel.slots for mark in slot.dots]
    single = {mark.id: mark.value for panel in panels for slot in panel.slots for mark in slot.cells}
    assert all((drawn, verdict(found, NAMES)))
    table = measure_table(found, NAMES)
    assert ("above the random control" in table.note) is measure.paired
    assert {NAMES.explainer(key) for key in METHODS} <= {row.titles[0] for row in table.rows if not row.control}
    of_place = dict(list(stored.groupby(["regime", "part"])))
    counted = {place: that_count(demo, own) for place, own in of_place.items() if place in {mark.id[3:] for mark in drawn}}
    for mark in drawn:
        explainer, _, _, regime, part = mark.id
        means, own = (cells[cells["explainer"] == explainer] for cells in (counted[regime, part], of_place[regime, part]))
        assert mark.value == pytest.approx(means[column].mean())
        assert mark.low <= mark.value <= mark.high + 1e-12
        for cell in own.itertuples():
            assert single[explainer, cell.model, cell.dataset, regime, part] == pytest.approx(getattr(cell, column))
    assert len(single) == len(stored[stored["part"].isin(measure.parts) & stored["explainer"].isin(METHODS)].query(
        "regime in @measure.regimes" if measure.regimes else "regime == regime"))  # fmt: skip


def test_the_number_beside_two_dots_gives_both_positions_the_same_weight(demo):
    found = measured(demo, Filter(), measures()["instance_margin"], "instance_rank_margin", 5)
    panels = figure_of(replace(found, scaled=True), ["fa"], NAMES).panels
    assert [panel.title for panel in panels][:2] == ["Double conflicting", "Mixed"]
    for panel in panels:
        (slot,) = panel.slots
        assert [(mark.sign, mark.hollow, mark.id[4]) for mark in slot.dots] == [("1", False, "C1"), ("2", True, "C2")]
        assert float(slot.text) == pytest.approx(np.mean([mark.value for mark in slot.dots]), abs=0.016)


def test_a_control_beyond_the_axis_is_cut_and_leaves_the_methods_their_room(demo):
    found = measured(demo, Filter(dataset=("country_profiles",)), measures()["instance_margin"], "instance_rank_margin", 5)
    figure = figure_of(found, [*found.ranked(METHODS), "position"], NAMES)
    scale = figure.axis.scale
    assert scale.least > -26  # position stands at 46 ranks on either side
    assert scale.most < 42
    for panel in figure.panels:
        *methods, position = panel.slots
        assert not any(scale.beyond(dot.value) for slot in methods for dot in (*slot.dots, *slot.cells))
        assert scale.beyond(position.dots[0].value) == -1
        assert f"1: {number(position.dots[0].value)}" in texts(figure)


def texts(figure):
    """What stands in a figure."""
    return [mark.text for mark in as_drawing(figure).marks if isinstance(mark, Mark) and mark.shape == "text"]


def test_a_control_of_which_both_parts_are_cut_has_one_number():
    rows = [DotRow("fa", "FA"), DotRow("position", "Position", True)]
    labels = []
    for second in (-45.0, 46.0):
        both = tuple(Dot(value, ("",), ("",), sign=sign) for value, sign in ((-46.0, "1"), (second, "2")))
        panels = [DotPanel("", (Slot((Dot(-1.0), Dot(1.0))), Slot(both, text="−45.5")))]
        labels.append([text for text in texts(DotFigure("", rows, panels, axis_over(rows, panels))) if "4" in text])
    assert labels == [["−45.5"], ["1: −46.0", "2: 46.0"]]


def test_the_table_bolds_the_best_method_and_counts_who_is_below_chance(demo):
    measure = measures()["instance_margin"]
    found = replace(measured(demo, Filter(), measure, measure.metric, 5), scaled=True)
    table = {row.titles[0]: row.cells for row in measure_table(found, NAMES).rows}
    stored = demo.cells(Filter(), measure.metric, 5)
    together = {
        regime: that_count(demo, own.dropna(subset=["value"])).groupby("explainer")["normalised"].mean()
        for regime, own in stored[stored["part"] == "balanced"].groupby("regime")
    }
    counts = demo.query(
        "SELECT explainer, count(*) AS numbers, count(*) FILTER (above_high < 0) AS wrong FROM cell_metric WHERE metric = ? "
        "AND k = 5 AND part IN ('C1', 'C2') AND value IS NOT NULL AND regime NOT LIKE '%.%' GROUP BY explainer",
        [measure.metric],
    ).set_index("explainer")
    regimes = ["double_conflicting", "mixed", "double_conflicting_swap", "mixed_swap"]
    for key in [*METHODS, "lexical", "position"]:
        cells = table[NAMES.explainer(key)]
        assert [cell.main for cell in cells[:4]] == [number(together[regime][key]) for regime in regimes]
        assert cells[-1].main == f"{counts.loc[key, 'wrong']} of {counts.loc[key, 'numbers']}"
    for place, regime in enumerate(regimes):
        shown = {row.titles[0]: row.cells[place] for row in measure_table(found, NAMES).rows if row.titles[0] not in OTHERS}
        ordered = sorted((key for key in shown if shown[key].value is not None), key=lambda key: -shown[key].value)
        exceeds = found.regimes[found.regimes["regime"] == regime].set_index("explainer")["exceeds"]
        exceeds = {NAMES.explainer(key): {NAMES.explainer(other) for other in lower} for key, lower in exceeds.items()}
        last = max(index for index, key in enumerate(ordered) if key not in exceeds[ordered[0]])
        assert {key for key, cell in shown.items() if cell.best} == {*ordered[: last + 1]}, regime


def planted(best: str, *cells: tuple[str, str, float]) -> Measured:
    """A measure of made-up cells: (explainer, model, value), chance 2 and intervals of 1 either way."""
    measure, most = Measure("m", "M", ("all",), "nats", "", question="RQ3", best=best), -6.0 if best == "low" else 10.0
    rows = [
        {"explainer": key, "model": model, "dataset": "d", "regime": "mixed", "technique": "regular", "part": "all", "n": 9,
         "value": value, "low": value - 1, "high": value + 1, "chance": 2.0, "best": most, "above_low": value - 3,
         "above_high": value - 1, "unavailable": None if not math.isnan(value) else "too few"}
        for key, model, value in cells
    ]  # fmt: skip
    frame = pd.DataFrame(rows)
    named = frame.dropna(subset=["value"]).groupby(["technique", "regime", "part", "explainer"], as_index=False)
    means = named[["value", "low", "high", "chance", "best"]].mean().assign(n=18, questions=9, cells=2, interval="bound")
    ends = ("value", "high", "low") if best == "low" else ("value", "low", "high")
    scaled = {
        f"normalised{end}": (means[name] - 2) / (most - 2) for end, name in zip(("", "_low", "_high"), ends, strict=True)
    }
    means = means.assign(**scaled, whole=True)
    return Measured(measure, frame, means, means, means, scaled=False)


def test_the_sentence_names_who_leads_the_best_control_and_who_is_on_the_wrong_side_of_chance():
    cells = [("fa", "a", 9.0), ("fa", "b", 7.0), ("ig", "a", 0.0), ("ig", "b", 6.0), ("position", "a", 9.5)]
    cells.append(("position", "b", 8.5))
    told = verdict(planted("high", *cells, ("random", "a", 20.0)), NAMES)
    assert told == (
        "**FA** is best at finding the token: 8.0 [7.0, 9.0] nats (chance 2.0). The control **random** is better than the "
        "best at finding the token. No method beats the control **position** at finding the token. "
        "Worse than guessing: **IG** in 1 of 2 comparisons."
    )
    told = verdict(planted("low", *cells), NAMES)
    assert told == (
        "**IG** is best at finding the token: 3.0 [2.0, 4.0] nats (chance 2.0). "
        "Worse than guessing: **FA** in 2 of 2, **IG** in 1 of 2 comparisons."
    )
    told = verdict(replace(planted("high", *cells), scaled=True), NAMES)
    assert told.startswith("**FA** is best at finding the token: 0.75 [0.62, 0.88] of 1 (0 = guessing).")


def test_faithfulness_is_drawn_above_the_random_control_with_the_interval_of_the_difference():
    found = planted("high", ("fa", "a", 9.0))
    means = found.overall.assign(above_low=6.5, above_high=7.8)
    found = replace(found, measure=replace(found.measure, paired=True), parts=means, regimes=means, overall=means)
    (dot,) = figure_of(found, ["fa"], NAMES).panels[0].slots[0].dots
    assert (dot.value, dot.low, dot.high, dot.chance) == (7.0, 6.5, 7.8, 0.0)
    assert verdict(found, NAMES).endswith("finding the token: 7.0 [6.5, 7.8] nats above the random control.")


def test_who_lacks_cells_is_not_compared_and_comes_after_the_others():
    found = planted("high", ("fa", "a", 9.0), ("fa", "b", 3.0), ("ig", "b", 9.5), ("attn", "a", 8.8), ("attn", "b", 2.8))
    means = found.overall.assign(whole=found.overall["explainer"] != "ig", cells=[2, 2, 1])
    found = replace(found, regimes=means, overall=means)
    assert found.ranked(["fa", "attn", "ig"]) == ["fa", "attn", "ig"]
    assert [(row.titles[0], row.note, row.cells[0].best) for row in measure_table(found, NAMES).rows] == [
        ("FA", "", True), ("ATTN", "", True), ("IG", "in 1 of 2 cells", False),
    ]  # fmt: skip
    assert verdict(found, NAMES) == "**FA** and **ATTN** are not told apart at finding the token: 5.8 to 6.0 nats."


def test_biases_of_opposite_sign_are_no_small_bias():
    found = planted("zero", ("fa", "a", 4.0), ("fa", "b", 4.2), ("ig", "a", 32.0), ("ig", "b", -28.1))
    assert found.ranked(["fa", "ig"]) == ["fa", "ig"]
    told = verdict(found, NAMES)
    assert told == (
        "**FA** stays nearest to chance: 2.1 nats away on average over 2 cells. Its mean is 4.1 [3.1, 5.1] nats (chance 2.0)."
    )
    assert not any(slot.best for panel in figure_of(found, ["fa", "ig"], NAMES).panels for slot in panel.slots)


def test_what_is_not_available_is_an_empty_ring_with_its_reason():
    found = planted("high", ("fa", "a", 9.0), ("fa", "b", 7.0), ("ig", "a", math.nan), ("ig", "b", math.nan))
    (panel,) = figure_of(found, ["fa", "ig", "attn"], NAMES).panels
    there, reason, unknown = panel.slots
    assert there.missing is None
    assert not reason.dots
    assert reason.missing.title == ("IG · Mixed", "not available", "too few")
    assert unknown.missing.title[-1] == "it was not measured here"
    assert reason.missing.id == ("ig", ALL, ALL, "mixed", ALL)


def test_an_axis_holds_the_methods_and_reaches_below_chance():
    rows = [DotRow("fa", "FA"), DotRow("random", "Random", True)]

    def ends(low, high, **how):
        slots = (Slot((Dot(low), Dot(high))), Slot((Dot(-1000.0),)))
        scale = axis_over(rows, [DotPanel("", slots)], "high", **how).scale
        return scale.least, scale.most

    assert ends(-0.25, 0.6, scaled=True) == (-0.28, 1.0)
    assert ends(-9.0, 1.0, scaled=True) == (-0.4, 1)
    assert ends(2.0, 12.0) == (1.5, 12.5)


@pytest.mark.parametrize(
    ("value", "text"),
    [(0.424, "0.42"), (-0.24, "−0.24"), (-0.001, "0.00"), (0.999, "1.00"), (1.0, "1.00"), (3.14, "3.1"), (13.65, "13.7"),
     (123.4, "123"), (7545, "7,545"), (-12.0, "−12.0"), (None, "–"), (math.nan, "–")],
)  # fmt: skip
def test_numbers_have_a_minus_sign_and_enough_digits_for_their_intervals(value, text):
    assert number(value) == text
