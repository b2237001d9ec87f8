"""Attributions carry what their numbers depend on: an explainer that is not installed any more is measured as it was."""

import json

import numpy as np
import pandas as pd
import pytest

from heval_core.evaluation.board.making import board
from heval_core.evaluation.cells import cells_of
from heval_core.evaluation.publishing import publish
from heval_core.plugins import catalogue
from heval_core.plugins.catalogue import described
from heval_core.records import HEvalError
from heval_core.store.filters import Filter
from heval_core.store.shards import ShardStore
from precompute.journal import note_plugins
from tests import planted
from tests.planted import plant, published

# Two that are gone, one with options, beside an unsigned and a signed one that are there: all with the same scores.
GONE, VARIANT, UNSIGNED, SIGNED = "my_attention", "my_attention(layers=2)", "attn", "ig"
CONTROL = "my_search"


def draw(instance, explainer, rng):
    own = np.random.default_rng(int(instance["place"]))
    # Of very different size from instance to instance, by group: divided by their norm they tell nothing.
    return own.random(len(instance["tokens"])) * (3.0 if instance["group"] == "C" else 1.0)


@pytest.fixture(scope="module")
def results(tmp_path_factory):
    folder = tmp_path_factory.mktemp("gone")
    plant(folder, draw, regimes=("conflicting",), explainers=(GONE, VARIANT, UNSIGNED, SIGNED, CONTROL), count=80)
    note_plugins(ShardStore(folder), ShardStore(folder).entries().values())  # of those that are here, once
    notes = [described(catalogue.find("explainer", key), "explainer") for key in (UNSIGNED, "lexical")]
    for of, key, title in zip(notes, (GONE, CONTROL), ("My attention", "My search"), strict=True):
        ShardStore(folder).note("plugin", {"of": "explainer", **of, "key": key, "title": title})
    return published(folder)


def values(cells, explainer):
    own = cells[cells["explainer"] == explainer].drop(columns=["explainer"]).reset_index(drop=True)
    return own.astype(object).where(own.notna(), None)


@pytest.mark.slow
@pytest.mark.parametrize("gone", [GONE, VARIANT])
def test_an_unsigned_explainer_that_is_gone_keeps_its_numbers(results, gone):
    stored = results.query("SELECT * FROM cell_metric ORDER BY metric, part, k")
    pd.testing.assert_frame_equal(values(stored, gone), values(stored, UNSIGNED))
    assert not values(stored, gone).equals(values(stored, SIGNED))
    now = cells_of(results, Filter(), "nmutinf", 5)
    pd.testing.assert_frame_equal(values(now, gone), values(now, UNSIGNED))
    assert not values(now, gone).equals(values(now, SIGNED))


def test_what_a_run_noted_of_a_plug_in_says_whether_it_is_ranked_where_it_is_not_installed(results):
    rows = results.catalogue("explainer").set_index("key")
    assert rows["title"][[GONE, CONTROL]].tolist() == ["My attention", "My search"]
    assert rows["control"][[GONE, CONTROL, UNSIGNED, "lexical"]].tolist() == [False, True, False, True]
    assert rows["docstring"][CONTROL] == "It is not installed here."
    made = board(results, Filter())
    assert CONTROL in made.controls
    assert {GONE, UNSIGNED} <= {*made.methods}


def test_what_is_known_of_a_plug_in_is_noted_once_and_again_when_it_changes(tmp_path, monkeypatch):
    plant(tmp_path, draw, regimes=("conflicting",), explainers=(SIGNED,), count=4)
    store = ShardStore(tmp_path)
    for title in ("One", "One", "Two", "One"):
        monkeypatch.setattr(type(catalogue.find("explainer", SIGNED)), "title", title)
        note_plugins(store, store.entries().values())
    own = [line for line in store.journal("plugin") if line["key"] == SIGNED]
    assert [line["title"] for line in own] == ["One", "Two", "One"]
    assert all((line["of"], line["control"], line["text_only"]) == ("explainer", False, False) for line in own)


def test_a_note_that_comes_later_is_published(tmp_path):
    """The file's name depends on the shards, and on what is known of plug-ins that are not here."""
    plant(tmp_path, draw, regimes=("conflicting",), explainers=(CONTROL, SIGNED), count=4)
    assert not published(tmp_path).catalogue("explainer").query("key == @CONTROL").size
    of = described(catalogue.find("explainer", "lexical"), "explainer")
    (tmp_path / "other").mkdir()
    ShardStore(tmp_path / "other").note("plugin", {"of": "explainer", **of, "key": CONTROL})
    ShardStore(tmp_path).take_plugins(ShardStore(tmp_path / "other"))
    assert published(tmp_path).catalogue("explainer").query("key == @CONTROL")["control"].tolist() == [True]


def test_what_a_plug_in_says_of_itself_can_be_written(monkeypatch):
    plugin = catalogue.find("explainer", SIGNED)
    monkeypatch.setattr(type(plugin), "signed", np.bool_(True))
    monkeypatch.setattr(type(plugin), "passes", lambda self: 3, raising=False)
    assert json.loads(json.dumps(described(plugin, "explainer")))["signed"] is True


@pytest.mark.parametrize("explainer", [GONE, SIGNED])
def test_attributions_that_do_not_say_it_are_refused_and_the_explainer_named(tmp_path, monkeypatch, explainer):
    whole = planted._attribution
    monkeypatch.setattr(planted, "_attribution", lambda *given: whole(*given) | {"signed": None})
    plant(tmp_path, draw, regimes=("conflicting",), explainers=(explainer,), count=10)
    with pytest.raises(HEvalError, match=f"explainer {explainer} have a sign"):
        publish(tmp_path)
