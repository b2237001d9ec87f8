"""What a link carries arrives: every parameter opens the view it was copied from, or is refused aloud."""

from __future__ import annotations

from urllib.parse import parse_qs, urlsplit

import pytest
import streamlit as st

from heval_core.store.filters import Filter
from heval_core.ui.exports import LINKED, link_of
from tests.pages.opening import open_page

pytestmark = pytest.mark.slow  # every view is opened

ONE = {"model": ["demo-gpt2"], "dataset": ["world_capital"]}
# (page, parameters, the filter of its slice where it has one)
VIEWS = [
    ("overview", {"leader_model": ["demo-gpt2"], "leader_dataset": ["world_capital"]}, None),
    ("which_document", {"origin": ["substituted"]}, Filter(origin=("substituted",))),
    ("which_document", {"origin": ["natural"], "k": ["3"]}, Filter(origin=("natural",))),
    ("which_document", ONE | {"answer_at": ["0", "50"]}, Filter(("demo-gpt2",), ("world_capital",), answer_at=(0, 0.5))),
    ("which_token", {"tokens": ["40", "60"], "token": ["Answer in the top k"]}, Filter(tokens=(40, 60))),
    ("which_token", {"relation": ["currency"], "without_first": ["true"]}, Filter(relation=("currency",))),
    ("which_token", {"model": ["demo-gpt2"], "head": ["L2H1"]}, Filter(("demo-gpt2",), head="L2H1")),
    ("context_or_memory", {"memory": ["NMutInf"]}, None),
    ("context_or_memory", {"memory": ["MDL"], "fixed": ["true"]}, None),
    ("which_document", {"document": ["Position bias"], "regime": ["mixed"]}, None),
    ("which_token", {"normalised": ["true"]}, None),
    ("faithfulness", {"faithful": ["Sufficiency"], "accuracy": ["Instance margin"]}, None),
    ("compare", {"first": ["ig"], "second": ["mechlight"], "question": ["Is it faithful?"]}, None),
    ("length_and_position", {"along": ["Place of the answer"]}, None),
    ("failures", {"explainer": ["attn"], "pattern": ["question"], "while_right": ["fa", "ig"]}, None),
    ("instances", {"best": ["fa: answer", "attn: question"]}, Filter(best=("fa: answer", "attn: question"))),
    ("instances", {"group": ["C1"], "search": ["a|&|=%"], "scale": ["rank"], "level": ["word"], "controls": ["true"]}, None),
    ("instances", {"sort": ["1/rank of fa"], "descending": ["true"], "page": ["2"]}, None),
]  # fmt: skip


def link_copied_from(app, results, monkeypatch):
    held = {name: app.session_state[name] for name in LINKED if name in app.session_state}
    with monkeypatch.context() as patched:
        patched.setattr(st, "session_state", held)
        patched.setattr(type(st.context), "url", "http://127.0.0.1:8501/page")
        return parse_qs(urlsplit(link_of(results, {})).query)


@pytest.mark.parametrize(("page", "asked", "chosen"), VIEWS)
def test_a_copied_link_holds_what_the_link_before_it_held(demo, monkeypatch, page, asked, chosen):
    app = open_page(page, **asked)
    assert not app.exception
    assert not app.error
    assert {name: value for name, value in link_copied_from(app, demo, monkeypatch).items() if name in asked} == asked
    if chosen is not None:
        left = len(demo.instance_ids(chosen))
        assert any(caption.value.startswith(f"{left:,} of ") and "in the slice" in caption.value for caption in app.caption)


def test_a_range_that_reaches_beyond_what_there_is_is_cut_to_it(demo):
    own = demo.ranges(Filter(*map(tuple, ONE.values()))).iloc[0]
    app = open_page("which_token", **ONE, tokens=["1", "40"])
    assert not app.error
    assert app.slider(key="tokens").value == (own["shortest"], 40)
    left = len(demo.instance_ids(Filter(*map(tuple, ONE.values()), tokens=(1, 40))))
    assert any(caption.value.startswith(f"{left:,} of ") and "in the slice" in caption.value for caption in app.caption)


def test_every_parameter_that_a_link_can_carry_is_tried():
    tried = {name for _, asked, _ in VIEWS for name in asked}
    # The instance that is shown, and the report's section, are tried in a real browser; a technique, on a store of two.
    assert tried == set(LINKED) - {"instance", "section", "technique"}


@pytest.mark.parametrize("asked", [
    {"tokens": ["5", "8"]}, {"tokens": ["500", "600"]}, {"tokens": ["abc"]}, {"tokens": ["60", "40"]}, {"origin": ["foo"]},
    {"answer_at": ["200", "300"]}, {"answer_at": ["50"]}, {"head": ["L9H9"]}, {"head": ["L9H9"], "model": ["demo-gpt2"]},
    {"relation": ["foo"]},
])  # fmt: skip
def test_a_slice_that_cannot_be_is_refused_aloud(demo, asked):
    app = open_page("which_token", **asked)
    assert not app.exception
    assert any("The link asks for" in error.value for error in app.error)
