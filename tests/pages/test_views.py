"""What the pages' views say, beside what is stored: failures, comparisons, curves, instances and links."""

from __future__ import annotations

import re

import pandas as pd
import pytest

from heval_core.evaluation.orders import SORTED_BY
from heval_core.records import HEvalError
from heval_core.store.filters import BestToken, Filter
from heval_core.ui.listing import PAGE
from tests.pages.opening import address_of, open_page, open_well, text_of

# What the list shows as long as no other technique is chosen.
REGULAR = ("regular",)


def test_what_is_on_top_for_several_explainers_is_a_filter(demo):
    def having(explainer, pattern):
        found = demo.query("SELECT instance_id FROM pattern WHERE explainer = ? AND pattern = ?", [explainer, pattern])
        return set(found["instance_id"])

    both = having("mechlight", "question") & having("fa", "answer")
    chosen = Filter(best=(BestToken("mechlight", "question"), BestToken("fa", "answer")))
    assert both
    assert set(demo.instance_ids(chosen)) == both
    assert demo.instance_ids(Filter(best=(BestToken("fa' OR 1=1 --", "answer"),))) == []
    app = open_page("instances", best=[*map(str, chosen.best)])
    assert app.multiselect(key="best").value == list(chosen.best)
    assert counted(app) == f"**1** of {len(both):,}"


@pytest.mark.slow
def test_instances_are_searched_sorted_and_paged_in_the_database(demo):
    chosen = Filter(("demo-qwen2",), ("world_capital",), ("conflicting",), search="Keny.|peru")
    ids = demo.instance_ids(chosen)
    assert 0 < len(ids) < 30
    for one in map(demo.instance, ids):
        assert re.search("keny.|peru", f"{one.prompt} {one.predicted_text} {one.memory_answer}", re.I)
    for order in SORTED_BY.values():
        whole = demo.instances(chosen, order, True, 0, 100)
        assert sorted(whole["instance_id"]) == sorted(ids)
        paged = [demo.instances(chosen, order, True, start, 4) for start in range(0, len(ids), 4)]
        assert pd.concat(paged)["instance_id"].tolist() == whole["instance_id"].tolist()
    sorted_p = demo.instances(chosen, "probability of the answer", False, 0, 100)["p"]
    assert sorted_p.is_monotonic_increasing
    with pytest.raises(HEvalError, match="not a valid regular expression"):
        demo.pattern_counts(Filter(search="("))
    with pytest.raises(HEvalError, match="cannot be ordered by"):
        demo.instances(Filter(), "1; DROP TABLE instance", False, 0, 1)


def counted(app):
    """Where in its list an instance is."""
    return next(text.value for text in app.markdown if re.match(r"\*\*[\d,]+\*\* of |not among these ", text.value))


def test_a_head_that_mechlight_chose_is_a_filter(demo):
    counts = demo.chosen_heads(Filter(("demo-gpt2",)))
    for row in counts.head(3).itertuples():
        assert len(demo.instance_ids(Filter(("demo-gpt2",), head=f"L{row.layer}H{row.head}"))) == row.instances
    assert demo.instance_ids(Filter(("demo-gpt2",), head="L0H1' OR 1=1")) == []


@pytest.fixture
def lists(monkeypatch):
    """What the list of instances is given to draw."""
    given: list[dict] = []
    monkeypatch.setattr("heval_core.ui.listing.component", lambda name, key, data, asked: given.append(data))
    return given


@pytest.mark.parametrize(("asked", "page"), [("3", 3), ("99999", None), ("second", 1), ("-1", 1)])
def test_the_page_of_the_list_is_in_the_link_and_ends_with_the_list(demo, lists, asked, page):
    chosen = Filter(("demo-gpt2",), technique=REGULAR)
    count = len(demo.instance_ids(chosen))
    page = page or -(-count // PAGE)
    app = open_page("instances", model="demo-gpt2", page=asked, list="open")
    assert bool(app.error) is not asked.isdecimal()
    expected = demo.instances(chosen, "as stored", False, (page - 1) * PAGE, PAGE)
    assert [row["id"] for row in lists[-1]["rows"]] == expected["instance_id"].tolist()


def test_stepping_follows_the_order_that_was_asked_for_and_so_does_the_list(demo, lists):
    ids = demo.instance_ids(Filter(("demo-gpt2",), group=("C1",)), SORTED_BY["1/rank of mechlight"])
    worst = [demo.scores(one) for one in ids[:2]]
    values = [own[(own["metric"] == "mrr") & (own["explainer"] == "mechlight")]["value"].max() for own in worst]
    assert values == sorted(values)
    app = open_page("instances", model="demo-gpt2", group="C1", sort="1/rank of mechlight", list="open")
    assert [row["id"] for row in lists[-1]["rows"]] == ids[:PAGE]
    for step, place in (("next", 1), ("next", 2), ("previous", 1)):
        app.button(key=step).click().run()
        assert address_of(app)["instance"] == [lists[-1]["shown"]] == [ids[place]]


def test_the_list_tells_the_rank_of_the_answer_where_there_is_one(demo, lists):
    open_page("instances", model="demo-gpt2", group="C1", list="open")
    assert lists[-1]["rows"]
    for row in lists[-1]["rows"]:
        scores = demo.scores(row["id"])
        own = scores[scores["metric"] == "mrr"].groupby("explainer")["value"].max()
        expected = [round(1 / own[key], 1) if key in own else None for key in ("mechlight", "fa")]
        assert [rank["rank"] for rank in row["ranks"]] == expected


def test_an_instance_outside_of_the_filter_is_shown_and_the_next_is_inside(demo):
    outside = demo.instance_ids(Filter(("demo-qwen2",)))[0]
    inside = demo.instance_ids(Filter(("demo-gpt2",), technique=REGULAR))
    app = open_page("instances", model="demo-gpt2", instance=outside)
    assert counted(app) == f"not among these {len(inside):,}"
    app.button(key="next").click().run()
    assert address_of(app)["instance"] == inside[:1]


def test_nothing_left_says_so_and_offers_all(demo):
    app = open_page("instances", search="no prompt says this")
    assert "No instance is left" in text_of(app)
    next(button for button in app.button if button.label == "Show all instances").click().run()
    assert counted(app).endswith(f" of {len(demo.instance_ids(Filter(technique=REGULAR))):,}")


def test_the_first_instance_is_one_that_an_explanation_can_be_wrong_about(demo):
    """By the rule of `telling_instance`; only where nothing was asked for."""
    app = open_page("instances")
    every = demo.instance_ids(Filter(technique=REGULAR, explained=True))
    first = demo.telling_instance(Filter(technique=REGULAR, explained=True))
    assert counted(app) == f"**{every.index(first) + 1:,}** of {len(every):,}"
    assert demo.instance(first).group in ("C1", "C2")
    best = demo.query("SELECT explainer, pattern FROM pattern WHERE instance_id = ?", [first]).set_index("explainer")[
        "pattern"
    ]
    methods = best[[key for key in best.index if key not in set(demo.catalogue("explainer").query("control")["key"])]]
    assert (methods == "answer").sum() > 2
    assert (methods == "wrong_document").any()
    assert counted(open_page("instances", model="demo-gpt2")).startswith("**1** of ")


def test_methods_that_a_door_names_are_drawn_first_and_are_those_that_the_sentence_compares(demo, monkeypatch):
    drawn = []
    monkeypatch.setattr("heval_core.ui.reading.component", lambda name, key, data, **how: drawn.append(data))
    asked = {"best": ["ig: answer", "mechlight: not answer"]}
    open_well("instances", **asked)
    methods = [row["title"] for row in drawn[-1]["rows"] if not row["control"]]
    assert methods[:2] == ["MechLight", "Integrated gradients"]
    bold = [text for kind, text in drawn[-1]["lead"] if kind == "b"]
    assert bold[1:] == ["Integrated gradients", "MechLight"]
