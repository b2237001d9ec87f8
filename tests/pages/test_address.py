"""The address holds the view: controls read it and write it, links carry it on, and what is wrong in it is said."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest

from heval_core.store.filters import BestToken, Filter
from heval_core.ui.links import parameters
from tests.pages.opening import address_of, open_page, open_well, ran, text_of

ONE = {"model": ["demo-gpt2"], "dataset": ["world_capital"]}
REGIME, DOCUMENT = {"tab": ["regime"]}, {"tab": ["regime"], "question": ["document"]}
CELL = ["origin", "demo-qwen2", "world_capital", "mixed", "C1"]
# (page, parameters, the filter of its slice where it has one)
VIEWS = [
    ("leaderboard", DOCUMENT | {"origin": ["substituted"]}, Filter(origin=("substituted",))),
    ("leaderboard", DOCUMENT | {"origin": ["natural"], "k": ["3"]}, Filter(origin=("natural",))),
    ("leaderboard", ONE | DOCUMENT | {"answer_at": ["0", "50"]}, Filter(*map(tuple, ONE.values()), answer_at=(0, 0.5))),
    ("leaderboard", REGIME | {"tokens": ["40", "60"], "token": ["Answer in the top k"]}, Filter(tokens=(40, 60))),
    ("leaderboard", REGIME | {"relation": ["currency"], "without_first": ["true"]}, Filter(relation=("currency",))),
    ("leaderboard", REGIME | {"model": ["demo-gpt2"], "head": ["L2H1"]}, Filter(("demo-gpt2",), head="L2H1")),
    ("leaderboard", REGIME | {"question": ["memory"], "memory": ["NMutInf"]}, None),
    ("leaderboard", DOCUMENT | {"document": ["Position bias"], "regime": ["mixed"]}, None),
    ("instances", {"best": ["fa: answer", "attn: question"]}, None),
    ("instances", {"group": ["C1"], "search": ["a|&|=%"], "level": ["word"], "controls": ["true"]}, None),
    ("instances", {"sort": ["1/rank of fa"], "descending": ["true"], "page": ["2"], "list": ["open"]}, None),
    ("instances", {"mode": ["rows"], "painted": ["fa", "ig"], "drawn": ["fa", "ig", "attn"], "pin": ["3"]}, None),
]


SOME = [pytest.param(*own, marks=[pytest.mark.slow] * (own[0] == "leaderboard")) for own in VIEWS]


@pytest.mark.parametrize(("page", "asked", "chosen"), SOME)
def test_a_view_keeps_its_address_and_says_nothing_against_it(demo, page, asked, chosen):
    app = open_well(page, **asked)
    assert address_of(app) == asked
    if chosen is not None:
        left = len(demo.instance_ids(replace(chosen, explained=True)))
        assert re.search(rf" {left:,} (usable|explained)", text_of(app))


def test_a_change_of_a_control_is_written_into_the_address_and_its_default_is_not(demo):
    app = open_page("instances", model=["demo-gpt2"])
    app.multiselect(key="regime").set_value(["mixed", "conflicting"]).run()
    assert address_of(app) == {"model": ["demo-gpt2"], "regime": ["mixed", "conflicting"]}
    app.multiselect(key="model").set_value([]).run()
    app.multiselect(key="regime").set_value([]).run()
    assert address_of(app) == {}


def test_instances_begin_with_those_that_other_pages_count_and_the_chip_can_be_taken_away(demo):
    app = open_page("instances")
    assert address_of(app) == {"explained": ["true"]}
    app.button(key="part_explained_true").click().run()
    assert address_of(app) == {}


WRONG = [
    ("leaderboard", {}, {"tokens": ["5", "8"], "origin": ["foo"], "relation": ["foo"], "model": ["demo-gpt"], "tab": ["no"]}),
    ("leaderboard", {}, {"tokens": ["500", "600"], "answer_at": ["200", "300"], "head": ["L9H9"]}),
    ("leaderboard", {"model": ["demo-gpt2"]}, {"tokens": ["abc"], "answer_at": ["50"], "head": ["L9H9"]}),
    ("leaderboard", DOCUMENT | {"document": ["Instance margin"]}, {"tokens": ["60", "40"], "k": ["4"]}),
    ("leaderboard", DOCUMENT, {"document": ["<b>"], "unit": ["furlongs"], "without_first": ["perhaps"], "model": ['evil">']}),
    *(("leaderboard", DOCUMENT, {"cell": cell}) for cell in (["zzz", *CELL[1:]], CELL[:2], [*CELL[:3], "<b>", "C1"])),
    *(("leaderboard", {}, {"mark": mark}) for mark in (["fa"], ["gone", "RQ3", "*"], ["fa", "RQ1", "gone"])),
    ("leaderboard", {"tab": ["against"]}, {"first": ["zzz"], "pair": ["fa", "zzz", "m", "d", "RQ3"]}),
    ("leaderboard", {"tab": ["failures"]}, {"pattern": ["x'); drop table"], "in_dataset": ["zzz"]}),
    ("leaderboard", {"tab": ["faithful"]}, {"accuracy": ["zzz"]}),
    ("leaderboard", REGIME, {"question": ["zzz"]}),
    ("instances", {"list": ["open"]}, {"sort": ["bad"], "descending": ["bad"], "model": ["zz", "zz"]}),
    ("instances", {}, {"model": 2 * ["z" * 99], "instance": ["nobody"]}),
]


@pytest.mark.parametrize(
    ("page", "possible", "wrong"),
    [pytest.param(*own, marks=[pytest.mark.slow] * (own[0] == "leaderboard")) for own in WRONG],
    ids=str,
)
def test_what_cannot_be_is_refused_aloud_and_once(demo, page, possible, wrong):
    app = open_page(page, **possible, **wrong)
    assert sum("The link asks for" in error.value for error in app.error) == len(wrong)


@pytest.mark.parametrize(
    ("asked", "nearest"),
    [
        ({"model": ["demo-gpt"]}, {"model": ["demo-gpt2"]}),
        ({"dataset": ["worldcapital"], "k": ["9"]}, {"dataset": ["world_capital"], "k": ["9"]}),
        ({"regime": ["mixed", "conflict"]}, {"regime": ["mixed", "conflicting"]}),
        ({"painted": ["fb"]}, {"painted": ["fa"]}),
        ({"mode": ["@@@"]}, {}),
    ],
    ids=str,
)
def test_an_error_offers_the_nearest_that_is_there(demo, asked, nearest):
    app = open_page("instances", **asked)
    offer = next(button for button in app.button if str(button.key).startswith("nearest_"))
    offer.click().run()
    assert address_of(app) == nearest
    assert not app.error


def test_a_range_that_reaches_beyond_what_there_is_is_cut_to_it(demo):
    own = demo.ranges(Filter(*map(tuple, ONE.values()))).iloc[0]
    app = open_well("leaderboard", **ONE, **REGIME, tokens=["1", "40"])
    assert app.slider(key="tokens").value == (own["shortest"], 40)


@pytest.mark.parametrize(
    "chosen",
    [
        Filter(("demo-gpt2",), ("world_capital",), ("mixed",), ("C1", "C2")),
        Filter(tokens=(80, 160), relation=("currency",), origin=("natural",)),
        Filter(answer_at=(0.1, 0.35), best=(BestToken("fa", "answer"), BestToken("attn", "question")), search="a b"),
        Filter(("demo-qwen2",), ("world_capital",), ("conflicting",), ("C",), tokens=(24, 29), answer_at=(0.29, 0.6)),
    ],
    ids=str,
)
def test_a_link_to_instances_lists_just_those_under_its_filter(demo, chosen):
    app = open_well("instances", list="open", **parameters(chosen, "1/rank of fa", descending=True))
    found = len(demo.instance_ids(replace(chosen, technique=("regular",))))
    assert found
    assert f"**1** of {found:,}" in text_of(app)
    assert app.selectbox(key="sort").value == "1/rank of fa"


def test_the_navigation_carries_filters_on_and_each_page_keeps_its_own_choices(monkeypatch):
    from heval_core.ui import address

    params: dict[str, list[str]] = {}

    class Params(dict):
        def get_all(self, name):
            return self[name]

    state: dict = {}
    monkeypatch.setattr(address.st, "session_state", state)

    def visit(page, **view):
        params.clear()
        params.update(view)
        monkeypatch.setattr(address.st, "query_params", Params(params))
        address.enter(page)
        address.leave()

    own = {"tab": ["document"], "document": ["MDL"]}
    visit("Accuracy", **own, model=["m"], k=["9"])
    visit("Instances", model=["m"], k=["9"], instance=["i"], mode=["rows"], regime=["mixed"], snapshot=["s"])
    assert address.onward("Accuracy") == own | {"model": ["m"], "k": ["9"], "regime": ["mixed"]}
    visit("Overview", regime=["mixed"])
    assert address.onward("Instances") == {"mode": ["rows"], "regime": ["mixed"]}
    # The same list: the instance is found again.
    visit("Overview", model=["m"], k=["9"], regime=["mixed"])
    assert address.onward("Instances")["instance"] == ["i"]


def test_results_that_are_not_offered_are_named_and_those_that_are_open(demo):
    app = open_page("instances", results="demo2")
    (error,) = app.error
    assert error.value == "The link asks for the results demo2; it should be left out, since HEVAL_STORE names the results."
    (button,) = [one for one in app.button if one.label == "Show the page without it"]
    button.click()
    assert not ran(app).error
    assert "results" not in address_of(app)
