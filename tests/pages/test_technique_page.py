"""The page Techniques on a planted store: its tabs, what a link picks, and hostile text."""

from __future__ import annotations

import json

import pytest

from heval_core.records import FOLLOWED
from heval_core.store.filters import Filter
from heval_core.ui.technique_answers import steps_of
from tests.pages.opening import open_page, text_of
from tests.techniques.planted import MEMORY, Answer, perfect, plant, published

HOSTILE = "<b>no</b> $x$ [a](b)"


def regular(case):
    """Follows every second document; so it is blind to relevance."""
    return Answer(case.follows if case.number % 2 or case.regime == "gold" else MEMORY)


def obedient(case):
    """Follows every document."""
    return Answer(case.follows, alone=MEMORY)


def searched(setting, chosen, tied, bcu):
    row = {"technique": "coiecd", "setting": json.dumps(setting), "chosen": chosen, "tied": tied, "unavailable": None}
    return [row | {"regime": kind, "bcu": bcu if kind in FOLLOWED else 1 - bcu, "n": 10} for kind in ("gold", "irrelevant")]


@pytest.fixture(scope="module")
def store(tmp_path_factory):
    trials = [*searched({"lam": 0.5, "alpha": 1.0}, True, True, 0.8), *searched({"lam": 1.0, "alpha": 1.0}, False, True, 0.8)]
    trials.append({"technique": "multi_agent", "setting": None, "regime": None, "bcu": None, "n": None, "chosen": None,
                   "tied": None, "unavailable": HOSTILE})  # fmt: skip
    folder = tmp_path_factory.mktemp("techniques")
    plant(folder, {"regular": regular, "acd": obedient, "coiecd": perfect}, trials=trials, test=40, models=("one", "two"))
    return published(folder)


@pytest.fixture(autouse=True)
def own_store(store, monkeypatch):
    monkeypatch.setenv("HEVAL_STORE", str(store.path.parent))


def test_the_answer_names_who_is_better_on_both_counts_and_who_discriminates():
    said = text_of(open_page("techniques", model="two"))
    assert "**COIECD** (conflicting +50 points" in said
    assert "beats **Regular** on both counts" in said
    assert "**COIECD** is best at telling relevant documents from irrelevant ones: J\u00a01.00" in said


def test_only_the_chosen_techniques_are_shown_and_regular_with_them():
    app = open_page("techniques", techniques="acd")
    said = text_of(app)
    assert "COIECD" not in said
    assert "No technique beats **Regular**" in said
    assert not app.error


def test_reasons_are_text():
    said = text_of(open_page("techniques"))
    assert r"&lt;b&gt;no&lt;/b&gt; \$x\$ \[a\]\(b\)" in said
    assert HOSTILE not in said


def test_a_picked_mark_leads_to_its_instances_and_to_those_that_changed(store):
    app = open_page("techniques", point=["acd", "conflicting"])
    assert not app.exception
    assert not app.error
    links = [
        (link.proto.label, link.proto.query_string)
        for link in app.get("page_link")
        if "technique=acd" in link.proto.query_string
    ]
    assert [label for label, _ in links] == ["Its instances", "20 gained over Regular"]
    assert "changed=gained" in links[1][1]
    assert "regime=conflicting" in links[0][1]


@pytest.mark.parametrize("point", [["nobody", "gold"], ["acd", "mixed"], ["acd"]])
def test_a_mark_that_is_not_there_is_refused(point):
    app = open_page("techniques", point=point)
    assert "The link asks for the mark" in app.error[0].value


def test_a_model_that_is_not_there_is_refused():
    app = open_page("techniques", model="three")
    assert "model three" in app.error[0].value


def test_the_search_counts_its_ties():
    said = text_of(open_page("techniques", tab="search"))
    assert "2 settings were tried on 10 development questions of each kind; all of them tie" in said.replace("\\", "")
    assert "**COIECD** (2)" in said


@pytest.mark.parametrize("measure", ["ccu", "accuracy", "memory_kept", "neither", "bcu_unknown"])
def test_every_measure_is_shown(measure):
    app = open_page("techniques", measure=measure)
    assert not app.exception
    assert not app.error


def test_an_instance_shows_its_answers_under_every_technique(store):
    instance = store.instance_ids(Filter(("one",), regime=("conflicting",), technique=("acd",)))[20]
    app = open_page("instances", instance=instance, technique="acd")
    assert not app.exception
    assert not app.error
    strip = {one.label for one in app.button if str(one.key).startswith("under_")}
    assert strip == {"Regular: **Oslo** ✗", "ACD: **Rome** ✓", "COIECD: **Rome** ✓"}
    other = next(one for one in app.button if one.label.startswith("COIECD"))
    other.click().run()
    assert app.query_params["technique"] in ("coiecd", ["coiecd"])
    assert not app.error


def test_an_instance_that_was_answered_without_its_document_says_so(tmp_path, monkeypatch):
    gone = dict.fromkeys(("document_starts", "document_ends", "answer_tokens", "first_mention"), [])
    asked = {"regular": regular, "multi_agent": lambda case: Answer(MEMORY, change=gone)}
    reader = published(plant(tmp_path, asked, regimes=("conflicting",), test=2))
    monkeypatch.setenv("HEVAL_STORE", str(tmp_path))
    app = open_page("instances", instance=reader.instance_ids(Filter(technique=("multi_agent",)))[0], technique="multi_agent")
    assert not app.exception
    assert not app.error
    assert "answered without the document" in text_of(app)


def test_instances_can_be_cut_to_those_whose_bcu_changed(store):
    app = open_page("instances", technique="acd", changed="gained")
    assert not app.error
    left = len(store.instance_ids(Filter(technique=("acd",), changed="gained")))
    assert 0 < left < len(store.instance_ids(Filter(technique=("acd",))))
    assert any(f"of {left:,}" in text.value for text in (*app.caption, *app.markdown))
    assert "change of BCU none" in open_page("instances", technique="acd", changed="none").error[0].value


def test_a_trace_is_told_line_by_line_and_what_is_no_json_is_left_as_it_is():
    assert steps_of('[{"agent": "relevance", "reply": "<b>yes</b>"}, "x"]') == ["agent: relevance\nreply: <b>yes</b>", "x"]
    assert steps_of("not JSON") == ["not JSON"]
