"""The tabs By regime and Faithful?: what is drawn and said beside what is stored, and where a mark leads."""

from __future__ import annotations

import functools

import numpy as np
import pytest
from scipy.stats import skew, t

from heval_core.evaluation.means import ABOVE, cells_and_means
from heval_core.figures.measures import as_normalised
from heval_core.plugins.measures import measures
from heval_core.store.filters import Filter
from heval_core.ui import marks, measured_cells
from heval_core.ui.faithfulness import faithful_and_right
from heval_core.ui.links import groups_of
from tests.evaluation.test_means import regime_means
from tests.pages.opening import QWEN, html_of, links_of, open_page, open_well, text_of, unfolded
from tests.pages.test_panels import that_count

MARK = ["origin", "demo-qwen2", "world_capital", "mixed", "C1"]


@pytest.mark.slow
def test_one_unit_is_from_chance_to_best_and_the_other_the_measures_own(demo, figures):
    drawn = []
    for unit in ("scaled", "native"):
        app = open_page("leaderboard", tab="regime", question="document", document="Instance margin", unit=unit)
        drawn += figures["figure"][0]
    one, other = drawn
    assert [text for _, text in one.axis.words] == ["guessing", "best"]
    assert other.axis.words == ()
    means = regime_means(demo, Filter(), "instance_rank_margin", ("balanced",), 5, by=()).set_index("explainer")["value"]
    assert f"**Origin \\(ours\\)** is best at telling documents apart: {means['origin']:.1f} [" in text_of(app)
    without = open_page("leaderboard", tab="faithful", unit="native")
    assert not without.error  # it has no other unit


def test_the_mark_of_a_link_says_what_it_is_and_leads_to_its_instances_worst_first(demo, figures):
    app = open_well("leaderboard", tab="regime", question="document", document="Instance margin", cell=MARK)
    (figure,), picked = figures["figure"]
    assert picked == '["origin","demo-qwen2","world_capital","mixed","C1"]'
    assert sum(dot.id == tuple(MARK) for panel in figure.panels for slot in panel.slots for dot in slot.cells) == 1
    stored = demo.cells(Filter(("demo-qwen2",), ("world_capital",), ("mixed",)), "instance_rank_margin", 5)
    own = stored.query("explainer == 'origin' and part == 'C1'").iloc[0]
    said = html_of(app)
    assert "Origin (ours) · demo-qwen2 · World Capital · Mixed · used document first" in said
    assert f"{own['value']:.1f} [" in said
    assert f"over {own['n']} instances" in said
    asked = links_of(app)[f"Open its {own['n']} instances"]
    assert asked["sort"] == ["margin of origin"]
    assert "descending" not in asked
    chosen = Filter(*(tuple(asked[name]) for name in ("model", "dataset", "regime", "group")), explained_by="origin")
    assert len(demo.instance_ids(chosen)) == own["n"]
    assert groups_of(measures()["instance_margin"], "C1", "mixed_swap") == ("C1",)


@pytest.mark.parametrize("some", [False, True])
def test_a_figure_without_a_mean_is_not_offered_as_a_file(demo, figures, some):
    """Of prompts of one length there are too few for any value."""
    shortest = demo.ranges(Filter((QWEN["model"],), (QWEN["dataset"],), ("conflicting",)))["shortest"].iloc[0]
    sliced = {"tokens": 2 * [str(int(shortest))]} if some else {}
    app = unfolded(open_page("leaderboard", **QWEN, regime="conflicting", tab="regime", **sliced))
    assert not app.error
    assert ("SVG" in [button.proto.label for button in app.get("download_button")]) != some


def test_a_second_click_lets_go_of_a_mark(monkeypatch):
    written = []
    monkeypatch.setattr(marks.address, "put", lambda **changed: written.append(changed["cell"]))
    monkeypatch.setattr(marks.address, "values", lambda name: MARK)
    measured_cells.CELL.pick(MARK)
    measured_cells.CELL.pick([*MARK[:4], "C2"])
    assert written == [None, [*MARK[:4], "C2"]]


@pytest.mark.slow
def test_the_latex_table_is_of_explainers_by_regimes_and_the_long_one_of_cells(demo, figures, monkeypatch):
    exported = []

    def exports(results, frame, name, about, *, latex):
        (table,) = latex()
        exported.append((frame, table.latex("s")))

    monkeypatch.setattr(measured_cells, "table_exports", exports)
    unfolded(open_page("leaderboard", tab="regime", regime=["conflicting", "mixed"]))
    frame, latex = exported[-1]
    cells = demo.cells(Filter(regime=("conflicting", "mixed")), "mrr", 0)
    counted = that_count(demo, cells.query("regime == 'mixed' and part == 'balanced'")).query("explainer == 'fa'")
    mean, scaled = counted["value"].mean(), as_normalised(counted)["value"].mean()
    row = next(line for line in latex.splitlines() if line.startswith("Feature ablation"))
    assert f"{scaled:.3f}" in row
    assert "From chance (0) to the best possible (1), of mean reciprocal rank" in latex
    assert "& mean of the 2" in latex
    unfolded(open_page("leaderboard", tab="regime", regime=["conflicting", "mixed"], unit="native"))
    row = next(line for line in exported[-1][1].splitlines() if line.startswith("Feature ablation"))
    assert f"{mean:.3f}" in row
    assert len(frame) == len(cells[cells["part"].isin(("C", "balanced"))])


def test_faithfulness_stands_beside_accuracy_in_every_cell(demo):
    points = faithful_and_right(demo, Filter(), "MRR", 5)
    measured = demo.cells(Filter(), "comprehensiveness", 0).query("part == 'all'")
    assert len(points) == len(measured.dropna(subset=["value"])) > 100
    assert points.query("explainer == 'random'")["x"].to_numpy() == pytest.approx(0)  # it is its own chance level
    fa = points[points["explainer"] == "fa"]
    assert (fa["x_low"] > 0).all()
    # Literally: the random control is a sample too, so its noise is in the interval. Skewness is SciPy's, over questions.
    own = demo.query(
        "SELECT subject || question AS asked, sum(CASE explainer WHEN 'fa' THEN value WHEN 'random' THEN -value END) AS apart "
        "FROM score JOIN instance USING (instance_id) WHERE part = 'all' AND metric = 'comprehensiveness' "
        "AND model = 'demo-qwen2' AND dataset = 'world_capital' AND regime = 'conflicting' GROUP BY 1, instance_id"
    )
    mean, each = own["apart"].mean(), own.assign(apart=own["apart"] - own["apart"].mean()).groupby("asked")["apart"].sum()
    count, skewness = len(each), skew(each) / np.sqrt(len(each))
    ends = 3 / skewness * (np.cbrt(1 + skewness * (t.ppf([0.975, 0.025], count - 1) - skewness / 6)) - 1)
    error = np.sqrt(count / (count - 1) * np.square(each).sum()) / len(own)
    chosen = Filter(("demo-qwen2",), ("world_capital",), ("conflicting",))
    (found,) = cells_and_means(demo, chosen, "comprehensiveness", 0, [(("all",), ())])[1]
    above = found.set_index("explainer").loc["fa", [*ABOVE]]
    assert tuple(above) == pytest.approx((mean, *(mean - error * ends)), rel=1e-4)  # by which methods are ranked
    app = open_page("leaderboard", tab="faithful", model="demo-gpt2")
    assert "rank correlation" in text_of(app)


def test_a_parts_instances_are_of_the_groups_that_it_compares():
    of = functools.partial(groups_of, measures()["rank_margin"])
    assert of("c", "conflicting") == of("raw", "irrelevant") == ("C", "M")
    assert of("c2", "mixed") == of("tilt", "mixed_swap") == of("balanced", "mixed") == ("C1", "C2")
    assert of("C1", "mixed") == ("C1",)
    assert of("all", "mixed") == ()
    slope = measures()["length"]
    assert [groups_of(slope, "mrr", regime) for regime in ("conflicting", "mixed")] == [("C",), ("C1", "C2")]
