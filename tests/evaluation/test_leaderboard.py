"""The leaderboard under a filter is made as the published one; both have their place between chance and best."""

from __future__ import annotations

import pytest

from heval_core.evaluation.means import COLUMNS, leaderboard
from heval_core.metrics import headlines
from heval_core.store.filters import Filter

QWEN = Filter(("demo-qwen2",), ("country_profiles",))
KEY = ["question", "explainer"]
NUMBERS = ("value", "low", "high", "chance", "normalised", "normalised_low", "normalised_high", "cells", "n")


def test_without_a_filter_it_is_the_published_one(few):
    published, now = (frame.set_index(KEY).sort_index() for frame in (few.headline(), leaderboard(few, Filter())))
    assert list(published.reset_index()[COLUMNS].columns) == COLUMNS
    assert published.index.equals(now.index)
    for column in NUMBERS:
        assert now[column].tolist() == pytest.approx(published[column].tolist(), abs=1e-9), column


def test_values_are_means_over_cells_and_each_cell_counts_the_same_between_chance_and_best(few):
    own = leaderboard(few, QWEN).set_index(KEY)
    for question, measure in headlines().items():
        cells = few.cells(QWEN, measure.metric, measure.at(5))
        cells = cells[cells["part"].isin(measure.together) & (cells["explainer"] == "fa")]
        row = own.loc[(question, "fa")]
        assert row["value"] == pytest.approx(cells["value"].mean())
        by_hand = ((cells["value"] - cells["chance"]) / (cells["best"] - cells["chance"])).mean()
        assert row["normalised"] == pytest.approx(by_hand)
        assert row["normalised_low"] < by_hand <= row["normalised_high"]
        assert row["cells"] == len(cells)


def test_the_interval_of_one_cell_is_its_own_moved_as_its_value(few):
    chosen = Filter(("demo-gpt2",), ("world_capital",), ("mixed",))
    own = leaderboard(few, chosen)
    assert set(own["cells"]) == {1}
    cells = few.cells(chosen, "mrr", 0)
    (cell,) = cells[(cells["part"] == "balanced") & (cells["explainer"] == "fa")].to_dict("records")
    (row,) = own[(own["question"] == "RQ3") & (own["explainer"] == "fa")].to_dict("records")
    for end in ("low", "high"):
        assert row[f"normalised_{end}"] == pytest.approx((cell[end] - cell["chance"]) / (cell["best"] - cell["chance"]))


def test_what_the_filter_leaves_no_instance_of_has_no_row(few):
    assert leaderboard(few, Filter(relation=("none",))).empty
