"""The published headline: means over cells, with their places between chance and best."""

from __future__ import annotations

import pytest

from heval_core.evaluation.means import COLUMNS, controls_of, headline, values_of
from heval_core.metrics import headlines
from heval_core.store.filters import Filter

KEY = ["question", "explainer"]


def under(reader, chosen):
    """The headline over the cells under a filter, made as publishing makes it."""
    own = headline(lambda measure, k: values_of(reader, chosen, measure.metric, k, measure.together), controls_of(reader))
    return own.set_index(KEY)


def test_without_a_filter_it_is_the_published_one(few):
    published, now = few.headline().set_index(KEY).sort_index(), under(few, Filter()).sort_index()
    assert published.index.equals(now.index)
    for column in ("value", "low", "high", "chance", "normalised", "normalised_low", "normalised_high", "cells", "n"):
        assert now[column].tolist() == pytest.approx(published[column].tolist(), abs=1e-9), column
    assert {*KEY, *now} == {*COLUMNS}


def test_values_are_means_over_cells_and_each_cell_counts_the_same_between_chance_and_best(few):
    chosen = Filter(("demo-qwen2",), ("country_profiles",))
    own = under(few, chosen)
    for question, measure in headlines().items():
        cells = few.cells(chosen, measure.metric, measure.at(5))
        cells = cells[cells["part"].isin(measure.together) & (cells["explainer"] == "fa")]
        row = own.loc[(question, "fa")]
        assert row["value"] == pytest.approx(cells["value"].mean())
        by_hand = ((cells["value"] - cells["chance"]) / (cells["best"] - cells["chance"])).mean()
        assert row["normalised"] == pytest.approx(by_hand)
        assert row["normalised_low"] < by_hand <= row["normalised_high"]
        assert row["cells"] == len(cells)


def test_the_interval_of_one_cell_is_its_own_moved_as_its_value(few):
    chosen = Filter(("demo-gpt2",), ("world_capital",), ("mixed",))
    own = under(few, chosen)
    assert set(own["cells"]) == {1}
    cells = few.cells(chosen, "mrr", 0)
    (cell,) = cells[(cells["part"] == "balanced") & (cells["explainer"] == "fa")].to_dict("records")
    for end in ("low", "high"):
        moved = (cell[end] - cell["chance"]) / (cell["best"] - cell["chance"])
        assert own.loc[("RQ3", "fa")][f"normalised_{end}"] == pytest.approx(moved)
