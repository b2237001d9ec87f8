"""Two explainers, faithfulness beside accuracy, and curves: what the tabs say, beside what is stored."""

from __future__ import annotations

import functools
import re

import numpy as np
import pytest
from scipy.stats import skew, t

from heval_core.evaluation import curves
from heval_core.metrics import measures
from heval_core.present.names import Names
from heval_core.store.filters import Filter
from heval_core.ui import pair_table
from heval_core.ui.links import groups_of
from heval_core.ui.pair_table import compared_pair
from heval_core.ui.tabs.faithfulness import faithful_and_right
from tests.pages.opening import CELLS, OF_CELLS, open_page


@pytest.fixture
def plain_session(monkeypatch):
    """Views' helpers outside a page: caching goes straight to the reader."""
    from heval_core.ui import names
    from heval_core.ui.tabs import faithfulness

    for module in (faithfulness, pair_table, names):
        monkeypatch.setattr(module, "query", lambda results, asked, *arguments: asked(results, *arguments))


def test_a_comparison_is_signed_as_first_minus_second(demo, plain_session):
    chosen, mrr = OF_CELLS, measures()["mrr"]
    (one, whole), (other, turned) = (compared_pair(demo, chosen, mrr, 0, *names) for names in (("fa", "ig"), ("ig", "fa")))
    assert (whole["wins"], whole["losses"], whole["cells"]) == (turned["losses"], turned["wins"], 2)
    assert (whole["mean difference"], whole["low"]) == (-turned["mean difference"], -turned["high"])
    assert whole["mean difference"] == pytest.approx(one["difference"].mean())
    assert len(one) == 2
    assert one["difference"].tolist() == pytest.approx((-other["difference"]).tolist())
    assert one["low"].tolist() == pytest.approx((-other["high"]).tolist())
    assert one["better"].tolist() == other["better"].tolist()
    cells = demo.cells(chosen, "mrr", 0).set_index(["dataset", "regime", "explainer", "part"])["value"]
    for row in one.itertuples():
        place = (row.dataset, row.regime)
        assert row.difference == pytest.approx(cells[*place, "fa", row.part] - cells[*place, "ig", row.part])


def test_the_tab_names_winner_and_instances(demo):
    app = open_page("accuracy", tab="compare", **CELLS, first="fa", second="mechlight")
    assert not app.exception
    assert any(re.search(r"\d+ wins, \d+ ties, \d+ losses over 2 cells", m.value) for m in app.markdown)
    titles = {"fa": "Feature ablation", "mechlight": "MechLight"}
    shown = [f.value for f in app.dataframe if {"difference", "instance id"} <= set(f.value.columns)]
    assert [0 < len(table) <= 10 for table in shown] == [True, True]
    for table, (one, other) in zip(shown, (("fa", "mechlight"), ("mechlight", "fa")), strict=True):
        assert (table["difference"].diff().dropna() <= 0).all()
        assert (table[titles[one]] > table[titles[other]]).all()
        assert set(table["regime"]) <= {"Conflicting", "Mixed"}
    same = open_page("accuracy", tab="compare", **CELLS, first="fa", second="fa")
    assert any("same explainer" in info.value for info in same.info)


def test_a_compared_cell_is_named_by_titles(demo, plain_session, monkeypatch):
    monkeypatch.setattr(
        pair_table, "names_of", lambda results: Names({("dataset", "country_profiles"): {"title": "Country profiles"}})
    )
    pairs, _ = compared_pair(demo, OF_CELLS, measures()["instance_margin"], 5, "fa", "ig")
    assert pairs["label"].tolist() == ["demo-qwen2 · Country profiles · Mixed"]
    pairs, _ = compared_pair(demo, OF_CELLS, measures()["group_margin"], 5, "fa", "ig")
    assert pairs["label"].tolist() == [f"demo-qwen2 · Country profiles · Mixed · document {number}" for number in (1, 2)]


@pytest.mark.parametrize("along", ["Length of the prompt", "Place of the answer"])
def test_curves_show_what_the_reader_computes(demo, along):
    app = open_page("accuracy", tab="length", **CELLS, along=along, numbers="true")
    assert not app.exception
    by = {"Length of the prompt": "tokens", "Place of the answer": "answer_at"}[along]
    expected = curves.curve(demo, OF_CELLS, "mrr", ("C", "balanced"), 0, by).points
    if expected.empty:
        assert any("No cell has enough different instances in every quarter" in info.value for info in app.info)
        return
    shown = next(frame.value for frame in app.dataframe if "bin" in frame.value.columns)
    assert shown["value"].tolist() == pytest.approx(expected["value"].round(3).tolist())


@pytest.mark.parametrize(("quarter", "refused"), [("2", 0), ("4", 1)])
def test_a_link_with_a_point_of_a_curve_offers_its_instances(demo, quarter, refused):
    app = open_page("accuracy", tab="length", **CELLS, quarter=["fa", quarter])
    assert not app.exception
    assert len(app.error) == refused
    links = [link.proto.label for link in app.get("page_link")]
    assert sum(label.startswith("Open its instances") for label in links) == 1 - refused


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
    app = open_page("accuracy", tab="faithful", model="demo-gpt2")
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
