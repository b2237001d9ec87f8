"""Position bias: by hand, and of published results."""

import numpy as np
import pytest

from heval_core.evaluation.means import entering
from heval_core.figures.measures import of_measure
from heval_core.metrics.instance_margin import InstanceRankMargin
from heval_core.metrics.position_bias import PositionBias
from heval_core.metrics.shared.cell import Cell, Positions
from heval_core.plugins.measures import measures
from heval_core.store.filters import Filter
from tests.metrics.test_metrics import of_two, value_of


def test_to_point_always_at_the_later_document_is_all_tilt():
    cell = of_two(360, 40, np.tile(np.arange(15.0), (400, 1)))
    assert value_of(PositionBias(), cell, "tilt").value == -6


def test_a_preference_for_the_first_document_is_a_bias_and_one_for_content_is_none():
    groups = np.random.default_rng(3).choice(["C1", "C2", "M"], 90)
    layout = Positions.of([20] * 90, [1] * 90, [[(1, 5), (5, 10)]] * 90, [[(2, 3), (6, 7, 9)]] * 90, list(groups))
    early = np.tile(-np.arange(20.0), (90, 1))
    (tilt,) = PositionBias().over(Cell(layout, early), 3)
    assert tilt.unavailable
    tilted = PositionBias(smallest_group=5)
    (tilt,) = tilted.over(Cell(layout, early), 3)
    assert tilt.value == pytest.approx(4)  # ranks 5, 6, 7 less 1, 2, 3
    gap = next(e for e in InstanceRankMargin(smallest_group=5).over(Cell(layout, early), 3) if e.part == "gap")
    assert gap.value == pytest.approx(2 * tilt.value)
    # One document is always on top, wherever it stands: the other way round it is on top again.
    first, second = np.zeros((2, 90, 20))
    first[:, 1:5], second[:, 5:10] = 1, 1
    ahead, one, two = (tilted.one_way(Cell(layout, scores), 3) for scores in (early, first, second))
    swap = tilted.both_ways(one, two)
    assert abs(swap.value) < 1  # of a span of about 6 ranks; documents of 4 and 5 tokens share their ties otherwise
    assert tilted.both_ways(ahead, ahead).value == pytest.approx(4)


def test_the_bias_over_both_ways_round_is_the_mean_lead_of_the_first_document(few):
    ranks = few.query(
        "SELECT fact_id, regime, part, value FROM score JOIN instance USING (instance_id) WHERE metric = 'rank_at_k' "
        "AND k = 5 AND explainer = 'fa' AND model = 'demo-qwen2' AND dataset = 'world_capital' AND regime LIKE 'mixed%'"
    )
    table = ranks.pivot_table(index=["fact_id", "regime"], columns="part", values="value")
    lead = (table["c2"] - table["c1"]).unstack().dropna()
    found = few.cells(Filter(("demo-qwen2",), ("world_capital",), ("mixed",)), "position_bias", 5)
    own = found[(found["explainer"] == "fa") & (found["part"] == "swap")].iloc[0]
    assert own["n"] == len(lead)
    assert own["value"] == pytest.approx(lead.mean(axis=1).mean())


def test_a_bias_over_both_ways_round_counts_no_instance_twice(few):
    measure = measures()["position_bias"]
    cells = of_measure(few.cells(Filter(regime=("mixed",)), measure.metric, 5), measure)
    assert entering(cells) == len(few.instance_ids(Filter(regime=("mixed",), group=("C1", "C2"), explained=True)))
