"""What explainers point at when they fail: the figure, beside what is stored, and the instances behind a mark."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from heval_core.evaluation.patterns import patterns_under
from heval_core.figures.pattern_panels import pattern_figure, shares_of, side_by_side
from heval_core.plugins import catalogue
from heval_core.records.vocabulary import PATTERNS, titles
from heval_core.statistics.bounded import Bounded
from heval_core.store.filters import BestToken, Filter
from tests.pages.opening import board, named, open_page, open_well, table_of, text_of


def test_patterns_account_for_every_instance_answered_from_a_document(demo):
    counts = patterns_under(demo, Filter())
    answered = len(demo.instance_ids(Filter(group=("C", "C1", "C2"), explained=True)))
    of_all = counts.groupby("explainer")["instances"].sum()
    everywhere = {*demo.catalogue("explainer").query("text_only")["key"], "fa", "ig", "attn", "mechlight"}
    assert set(of_all[list(everywhere)]) == {answered}
    part = Filter(dataset=("world_capital",), regime=("conflicting", "mixed"), group=("C", "C1", "C2"), explained=True)
    assert set(of_all.drop(list(everywhere))) == {len(demo.instance_ids(part))}
    assert set(counts["pattern"]) <= set(PATTERNS)
    assert counts.groupby(["dataset", "explainer"])["share"].sum().to_numpy() == pytest.approx(1.0)
    lexical = counts[(counts["explainer"] == "lexical") & (counts["pattern"] == "answer")]["instances"].sum()
    assert 0.98 * answered < lexical <= answered  # it marks the answer's own token, which now and then stands elsewhere too
    for row in demo.pattern_examples(Filter(), "fa", "wrong_document", 5).itertuples():
        instance = demo.instance(row.instance_id)
        best = int(np.argmax(demo.attributions(row.instance_id)["fa"].scores))
        assert instance.tokens[best] == row.best_token
        other = instance.documents[1 if instance.group == "C1" else 0]
        assert other.start <= best < other.end


def test_patterns_have_chance_and_the_interval_of_a_share_over_questions(demo):
    chosen = Filter(("demo-gpt2",), ("world_capital",), ("mixed", "irrelevant"))
    counts = patterns_under(demo, chosen).set_index(["explainer", "pattern"])
    rows = demo.query(
        "SELECT question, pattern, tokens, first_ranked FROM pattern JOIN instance USING (instance_id) WHERE explainer = 'ig' "
        "AND model = 'demo-gpt2' AND dataset = 'world_capital' AND regime IN ('mixed', 'irrelevant')"
    )
    assert set(counts.loc["ig"]["n"]) == {len(rows)}
    asked = rows.groupby("question").ngroup().to_numpy()
    for pattern, own in counts.loc["ig"].iterrows():
        is_it = (rows["pattern"] == pattern).to_numpy()
        assert own["share"] == is_it.mean()
        influence = np.bincount(asked, is_it - is_it.mean()) / len(rows)
        expected = Bounded(is_it.mean(), influence, len(rows), len(influence)).interval()
        assert (own["low"], own["high"]) == pytest.approx(expected)
        assert own["low"] < own["high"]
    by_chance = counts.loc["random"]
    assert (by_chance["share"] - by_chance["chance"]).abs().max() < 0.05
    assert by_chance["chance"].sum() == pytest.approx(1)


@pytest.mark.parametrize("chosen", [Filter(), Filter(origin=("natural",)), Filter(tokens=(20, 60))], ids=str)
def test_patterns_are_of_the_instances_under_the_filter_as_published_or_live(demo, chosen):
    counts = patterns_under(demo, chosen)
    answered = len(demo.instance_ids(replace(chosen, group=("C", "C1", "C2"), explained=True)))
    assert counts[counts["explainer"] == "fa"].drop_duplicates("dataset")["n"].sum() == answered
    if chosen == Filter():
        live = patterns_under(demo, Filter(dataset=("country_profiles", "world_capital")))
        pd.testing.assert_frame_equal(counts, live, check_dtype=False)


@pytest.mark.slow
@pytest.mark.parametrize(("place", "more", "chosen"), [
    ({}, {"while_right": ["fa"]}, Filter(best=(BestToken("mechlight", "question"), BestToken("fa", "answer")))),
    ({"model": "demo-qwen2"}, {"in_dataset": "country_profiles"},
     Filter(("demo-qwen2",), ("country_profiles",), best=(BestToken("mechlight", "question"),))),
])  # fmt: skip
def test_the_tab_lists_the_instances_of_the_mark_that_is_chosen(demo, place, more, chosen):
    app = open_well("leaderboard", tab="failures", explainer="mechlight", pattern="question", **place, **more)
    ids = demo.instance_ids(chosen)
    shown = table_of(app, "best token")
    assert shown["instance id"].tolist() == ids[:25]
    assert f" {len(shown)} of {len(ids):,};" in text_of(app)


def test_the_figure_has_a_panel_for_each_kind_and_means_of_the_datasets_shares(demo):
    counts = patterns_under(demo, Filter())
    names = named({"fa": "Feature ablation"}, ("random",))
    shares = shares_of(counts)
    whole = ["fa", "ig", "mechlight", "attn"]
    assert set(side_by_side(shares)["explainer"]) == {*whole, *catalogue.explainers(control=True)}
    figure = pattern_figure(counts, ["fa", "random"], names)
    assert [panel.title for panel in figure.panels] == [
        PATTERNS[key].title for key in PATTERNS if key in set(counts["pattern"])
    ]
    for panel in figure.panels:
        pattern = next(key for key, title in titles(PATTERNS).items() if title == panel.title)
        of_kind = counts[counts["pattern"] == pattern]
        own = of_kind[of_kind["explainer"] == "fa"]
        (mean,), cells = panel.slots[0].dots, panel.slots[0].cells
        assert (mean.value, mean.low, mean.high) == pytest.approx(tuple(own[["share", "low", "high"]].sum() / 2))
        assert [mark.value for mark in cells] == (own["share"].tolist() if len(own) > 1 else [])
        assert panel.chance == pytest.approx(of_kind[of_kind["explainer"].isin(whole)]["chance"].mean(), abs=1e-6)
    assert figure.axis.text(0.5) == "50 %"
    assert figure.rows[1].control


@pytest.mark.slow
def test_rows_are_in_the_boards_order(demo, figures):
    open_page("leaderboard", tab="failures")
    ((figure,), _) = figures["failures"]
    drawn = [row.key for row in figure.rows]
    rows = [row.key for row in board(demo, Filter(technique=("regular",), explained=True)).rows]
    assert drawn == [key for key in rows if key in drawn]


def test_a_pattern_that_a_dataset_never_has_counts_as_nothing_there(demo):
    """As if tied best tokens occurred in one of the two datasets only; shares of an explainer are 1 together."""
    counts = patterns_under(demo, Filter())
    counts = counts[counts["explainer"].isin([*catalogue.default_methods(), "lexical"])]
    counts = counts[(counts["pattern"] != "tied") | (counts["dataset"] == "world_capital")]
    tied = counts[counts["pattern"] == "tied"]
    assert tied["dataset"].nunique() == 1 < counts["dataset"].nunique()
    shares = shares_of(counts)
    assert shares.groupby("explainer")["share"].sum().to_numpy() == pytest.approx(1)
    assert shares.groupby("explainer")["n"].nunique().eq(1).all()
    (own,) = shares[(shares["explainer"] == "lexical") & (shares["pattern"] == "tied")].to_dict("records")
    assert own["share"] == pytest.approx(tied.set_index("explainer").loc["lexical", "share"] / 2)
