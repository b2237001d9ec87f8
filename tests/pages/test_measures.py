"""Every measure on its pages: what it leads to, what it can leave out, and what is said of it."""

from __future__ import annotations

import re
from dataclasses import replace

import pandas as pd
import pytest

from heval_core.evaluation import live
from heval_core.evaluation.cells import entering
from heval_core.figures.accuracy import difference_dots
from heval_core.figures.cells import of_measure
from heval_core.figures.palette import RIM, colour
from heval_core.metrics import measures, measures_of
from heval_core.store.filters import Filter
from heval_core.ui.links import groups_of
from tests.pages.opening import open_page


@pytest.mark.parametrize("measure", [own for own in measures().values() if own.question], ids=lambda own: own.key)
def test_a_bar_leads_to_as_many_instances_as_it_is_of(demo, measure):
    cells = of_measure(demo.cells(Filter(("demo-qwen2",)), measure.metric, measure.at(5)), measure)
    cells = cells[(cells["explainer"] == "fa") & cells["value"].notna()]
    assert len(cells) or measure.key == "length"
    # Faithfulness is measured of the first questions only, where the batch job was asked so.
    asked = [measure.metric, measure.parts[0]]
    measured = set(demo.query("SELECT DISTINCT instance_id FROM score WHERE metric = ? AND part = ?", asked)["instance_id"])
    for row in cells.itertuples():
        groups = groups_of(measure, row.part, row.regime)
        chosen = Filter((row.model,), (row.dataset,), (row.regime,), groups, explained=True)
        left = demo.instance_ids(chosen)
        left = [one for one in left if one in measured] if measure.parts[0].startswith("all") else left
        if row.part == "swap":  # of these, the ones that were kept both ways round
            both = set(questions_of(demo, left))
            turned = replace(chosen, regime=(f"{row.regime}_swap",))
            assert row.n == len(both & set(questions_of(demo, demo.instance_ids(turned))))
        else:
            assert row.n == len(left), (row.regime, row.part)


def questions_of(demo, ids):
    return list(demo.query("SELECT fact_id FROM instance WHERE instance_id IN (SELECT unnest(?))", [ids])["fact_id"])


@pytest.mark.slow
@pytest.mark.parametrize("measure", [own for own in measures().values() if own.ranked and own.question])
def test_what_is_made_of_ranks_can_leave_the_first_token_out(demo, measure):
    chosen = Filter(("demo-qwen2",), ("world_capital",), measure.regimes[:1] or ("mixed",))
    whole, without = (
        live.cells_of(demo, chosen, key, measure.at(5)) for key in (measure.metric, f"{measure.metric}(drop_first=1)")
    )
    assert len(whole) == len(without) > 0
    assert without["value"].notna().any()


@pytest.mark.slow
def test_a_question_that_the_chosen_regimes_do_not_ask_has_no_curve(demo):
    asked = {"question": "memory", "memory": "NMutInf", "k": "3"}
    app = open_page("accuracy", tab="length", numbers="true", **asked, regime=["mixed", "mixed_swap"])
    assert not app.exception
    assert any("not asked in the chosen regimes" in info.value for info in app.info)
    both, single = (
        open_page("accuracy", tab="length", numbers="true", **asked, regime=own)
        for own in (["conflicting", "mixed"], ["conflicting"])
    )
    tables = [next(f.value for f in app.dataframe if "bin" in f.value.columns) for app in (both, single)]
    assert tables[0].equals(tables[1])


@pytest.mark.slow
def test_faithfulness_has_curves_too(demo):
    # Along the place of the answer: these prompts are of few lengths, and of longer ones too few are measured.
    asked = {"question": "faithful", "along": "Place of the answer"}
    app = open_page("accuracy", tab="length", numbers="true", model="demo-gpt2", dataset="world_capital", **asked)
    assert not app.exception
    assert any("From the first to the last quarter" in m.value for m in app.markdown)


@pytest.mark.parametrize(("best", "ahead"), [("high", "fa"), ("low", "attn"), ("zero", None)])
def test_a_dot_has_the_colour_of_the_one_that_is_ahead(best, ahead):
    row = {"label": "a cell", "difference": 1.0, "low": -1.0, "high": 3.0, "better": "", "first": "fa", "second": "attn",
           "n": 9, "p_holm": 0.5, "model": "m", "dataset": "d", "regime": "mixed", "part": "all"}  # fmt: skip
    rim, dots = difference_dots(pd.DataFrame([row]), "nats", best).data
    assert rim.marker.line.color == RIM
    assert dots.marker.line.color[0] == (colour(ahead) if ahead else "#808080")
    (sure,) = difference_dots(pd.DataFrame([row | {"better": "attn"}]), "nats", "high").data
    assert (sure.marker.color[0], sure.marker.line.color) == (colour("attn"), RIM)


def test_sentences_count_cells_and_not_their_parts(demo):
    app = open_page("accuracy", tab="document", document="Group margin", model="demo-qwen2")
    assert any(toggle.label == "All 7 cells" for toggle in app.toggle)
    app = open_page("accuracy", tab="compare", model="demo-qwen2", question="document", document="Group margin")
    assert any(re.search(r"over 14 comparisons in 7 cells", m.value) for m in app.markdown)


@pytest.mark.parametrize(("question", "name", "line"), [
    ("RQ1", "AUROC", "RQ1"), ("RQ2", "Forced choice", "RQ2"), ("RQ3", "MRR", "RQ3"),
])  # fmt: skip
def test_the_instances_that_enter_a_measure_are_those_of_the_leaderboard(demo, question, name, line):
    measure = measures_of(question)[name]
    cells = of_measure(demo.cells(Filter(), measure.metric, measure.at(5)), measure)
    headline = demo.headline().set_index(["question", "explainer"])
    assert entering(cells) == headline.loc[(line, "fa"), "n"]


def test_a_bias_over_both_ways_round_counts_no_instance_twice(demo):
    measure = measures()["position_bias"]
    cells = of_measure(demo.cells(Filter(regime=("mixed",)), measure.metric, 5), measure)
    assert entering(cells) == len(demo.instance_ids(Filter(regime=("mixed",), group=("C1", "C2"), explained=True)))
