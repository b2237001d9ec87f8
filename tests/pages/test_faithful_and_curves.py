"""Faithfulness beside accuracy, and curves: what the tabs say, beside what is stored."""

from __future__ import annotations

import functools

import numpy as np
import pytest
from scipy.stats import skew, t

from heval_core.evaluation import curves
from heval_core.metrics import measures
from heval_core.present.names import names_of
from heval_core.store.filters import Filter
from heval_core.ui.links import groups_of
from heval_core.ui.tabs.faithfulness import faithful_and_right
from tests.pages.opening import CELLS, OF_CELLS, open_page


@pytest.fixture
def plain_session(monkeypatch):
    """Views' helpers outside a page: caching goes straight to the reader."""
    from heval_core.ui import names
    from heval_core.ui.tabs import faithfulness

    for module in (faithfulness, names):
        monkeypatch.setattr(module, "query", lambda results, asked, *arguments: asked(results, *arguments))


@pytest.mark.parametrize("along", ["tokens", "answer_at"])
def test_curves_say_whose_lead_changes_and_over_what_range(demo, along):
    app = open_page("leaderboard", tab="prompts", **CELLS, along=along)
    assert not app.exception
    found = curves.curve(demo, OF_CELLS, "mrr", ("C", "balanced"), 0, along)
    if found.points.empty:
        assert any("No cell has 30 instances of each group in every quarter" in info.value for info in app.info)
        return
    sure = found.changes[(found.changes["low"] > 0) | (found.changes["high"] < 0)]["explainer"]
    said = next(
        m.value for m in app.markdown if f"{found.cells['least'].min():.0f} to {found.cells['most'].max():.0f}" in m.value
    )
    assert said.startswith("No clear effect here") == sure[~sure.isin(names_of(demo).controls)].empty


def test_faithfulness_stands_beside_accuracy_in_every_cell(demo, plain_session):
    points = faithful_and_right(demo, Filter(), "MRR", 5)
    measured = demo.cells(Filter(), "comprehensiveness", 0).query("part == 'all'")
    assert len(points) == len(measured.dropna(subset=["value"])) > 100
    random = points[points["explainer"] == "random"]
    assert random["x"].to_numpy() == pytest.approx(0)  # it is its own chance level
    fa = points[points["explainer"] == "fa"]
    assert (fa["x_low"] > 0).all()
    # Literally: the random control is a sample too, so its noise is in the interval. Skewness is SciPy's.
    own = demo.query(
        "SELECT i.fact_id, any_value(s.value) FILTER (explainer = 'fa') AS fa, any_value(s.value) FILTER (explainer = "
        "'random') AS random FROM score s JOIN instance i USING (instance_id) WHERE metric = 'comprehensiveness' "
        "AND part = 'all' AND model = 'demo-qwen2' "
        "AND dataset = 'world_capital' AND regime = 'conflicting' GROUP BY i.fact_id, instance_id ORDER BY 1"
    )
    apart = (own["fa"] - own["random"]).to_numpy()
    count, skewness = len(apart), skew(apart) * ((len(apart) - 1) / len(apart)) ** 1.5 / np.sqrt(len(apart))
    ends = 3 / skewness * (np.cbrt(1 + skewness * (t.ppf([0.975, 0.025], count - 1) - skewness / 6)) - 1)
    (dot,) = fa.query("model == 'demo-qwen2' and dataset == 'world_capital' and regime == 'conflicting'").itertuples()
    assert (dot.x_low, dot.x_high) == pytest.approx(tuple(apart.mean() - apart.std(ddof=1) / np.sqrt(count) * ends), rel=1e-4)
    assert dot.x_high - dot.x_low > 1.2 * (dot.high - dot.low)  # a mean over three replacements: its noise is the smaller part
    app = open_page("leaderboard", tab="faithful", model="demo-gpt2")
    assert not app.exception
    assert any("rank correlation" in m.value for m in app.markdown)


def test_a_parts_instances_are_of_the_groups_that_it_compares():
    of = functools.partial(groups_of, measures()["rank_margin"])
    assert of("c", "conflicting") == of("raw", "irrelevant") == ("C", "M")
    assert of("c2", "mixed") == of("tilt", "mixed_swap") == of("balanced", "mixed") == ("C1", "C2")
    assert of("C1", "mixed") == ("C1",)
    assert of("all", "mixed") == ()
    slope = measures()["length"]
    assert [groups_of(slope, "mrr", regime) for regime in ("conflicting", "mixed")] == [("C",), ("C1", "C2")]
