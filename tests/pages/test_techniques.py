"""Pages are of one technique; where a store holds several, a control chooses it, and links carry it."""

from __future__ import annotations

import pytest

from heval_core.records import TECHNIQUE
from heval_core.store.filters import Filter
from tests.pages.opening import open_page
from tests.pages.test_links import link_copied_from
from tests.planted import published
from tests.store.test_techniques import OTHER, REGIMES, planted

PAGES = ("overview", "context_or_memory", "which_document", "which_token", "length_and_position", "compare", "report",
         "instances", "failures", "datasets")  # fmt: skip


@pytest.fixture(scope="module")
def both(tmp_path_factory):
    return planted(
        tmp_path_factory.mktemp("techniques"), TECHNIQUE, OTHER, count=80, regimes=REGIMES[:2], publishing=published
    )


@pytest.fixture(autouse=True)
def own_store(both, monkeypatch):
    monkeypatch.setenv("HEVAL_STORE", str(both.path.parent))


def mrr_shown(app) -> set[float]:
    (table,) = (one.value for one in app.dataframe if {"part", "explainer", "chance"} <= set(one.value.columns))
    return set(table["value"].dropna())


def mrr_of(results, technique) -> set[float]:
    found = results.cells(Filter(technique=(technique,)), "mrr", 0)
    return set(found[found["part"].isin(("C", "C1", "C2", "balanced"))]["value"].dropna().round(3))


@pytest.mark.parametrize("technique", [None, TECHNIQUE, OTHER])
def test_a_page_shows_the_chosen_technique_and_regular_by_default(both, monkeypatch, technique):
    app = open_page("which_token", **({} if technique is None else {"technique": technique}))
    assert not app.exception
    assert not app.error
    wanted, left = (technique, OTHER if technique != OTHER else TECHNIQUE) if technique else (TECHNIQUE, OTHER)
    assert app.selectbox(key="technique").value == wanted
    shown = mrr_shown(app)
    assert shown
    assert shown <= mrr_of(both, wanted)
    assert not shown <= mrr_of(both, left)
    assert link_copied_from(app, both, monkeypatch)["technique"] == [wanted]


@pytest.mark.slow  # every page is opened
@pytest.mark.parametrize("page", PAGES)
def test_every_page_runs_on_two_techniques(page):
    app = open_page(page, technique=OTHER)
    assert not app.exception
    assert not app.error


def test_a_way_to_instances_keeps_the_technique(both):
    app = open_page("overview")
    for name, value in (("at_technique", OTHER), ("at_regime", "conflicting")):
        app.query_params[name] = value
    app.switch_page("pages/instances.py").run()
    assert not app.error
    assert app.selectbox(key="technique").value == OTHER
    count = len(both.instance_ids(Filter(regime=("conflicting",), technique=(OTHER,))))
    assert any(c.value == f"instance 1 of {count:,}" for c in app.caption)


def test_a_technique_that_is_not_there_is_refused(both):
    app = open_page("overview", technique="none of them")
    assert "technique none of them" in app.error[0].value
    assert app.selectbox(key="technique").value == TECHNIQUE
