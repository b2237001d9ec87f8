"""A prompt of one's own on its page: which result is shown, how it is ranked, and what keys do."""

from __future__ import annotations

import numpy as np
import pytest
from streamlit.testing.v1 import AppTest

from heval_core import catalogue
from heval_core.ui import own_results
from heval_core.ui.grid_controls import How
from heval_core.ui.sidebar import KEPT
from heval_core.ui.token_grid import Block, grid_data
from tests.conftest import ROOT


def made_up(question="Where?", bos=False, second="beta"):
    """A result as the worker gives it. With a BOS the first token has by far the largest score."""
    tokens = [*(["<s>"] if bos else []), "alpha", f" {second}", " Q:", f" {question}", " A:"]
    first, n = int(bos), len(tokens)
    scores = [9.0] * first + [float(i) for i in (1, 4, 3, 2, 0)]
    found = {"scores": scores, "normalised": scores, "seconds": 0.1, "settings": {}}
    return {
        "model": "made-up", "prompt": "".join(tokens[first:]), "tokens": tokens, "token_ids": list(range(n)),
        "first_ranked": first,
        "documents": [{"start": first, "end": first + 2, "answer": "beta", "answer_tokens": [first + 1]}],
        "question": {"start": first + 2, "end": first + 4}, "foil": "runner-up",
        "target": "answer", "target_text": " beta",
        "answer": {"text": " beta", "token_id": 1, "probability": 0.5, "group": "C", "memory_answer": "x", "answer_text": None,
                   "candidates": [{"group": "C", "text": " beta", "token_id": 1, "logit": 1.0, "probability": 0.5}]},
        "explainers": {"fa": found, "ig": found},
    }  # fmt: skip


def opened(*kept):
    app = AppTest.from_file(str(ROOT / "app.py"), default_timeout=60)
    app.run()
    app.session_state[KEPT] = list(kept)
    app = app.switch_page("pages/your_prompt.py").run()
    assert not app.exception
    return app


SIDEBAR = "from heval_core.ui import sidebar\nsidebar.draw()"


@pytest.fixture
def sent(monkeypatch):
    """The requests that the sidebar's button sends, none of which is carried out."""
    requests: list[dict] = []
    monkeypatch.setattr("heval_core.ui.sidebar.begin", lambda request: requests.append(request))
    return requests


def form():
    return AppTest.from_string(SIDEBAR, default_timeout=60).run()


def send(app):
    app = app.sidebar.button(key="own_send").click().run()
    assert not app.exception
    return [error.value for error in app.error]


def test_the_sidebar_asks_for_the_default_explainers_and_options(demo, sent):
    assert send(form()) == []
    (request,) = sent
    assert request["explainers"] == list(catalogue.default_methods())
    assert (request["match"], request["target"]) == ("first", "answer")


def test_chosen_explainers_and_options_are_sent(demo, sent):
    app = form()
    app.sidebar.multiselect(key="own_explainers").set_value(["attn"])
    app.sidebar.radio(key="own_match").set_value("text")
    app.sidebar.radio(key="own_target").set_value("context")
    assert send(app) == []
    (request,) = sent
    assert request["explainers"] == ["attn"]
    assert (request["match"], request["target"]) == ("text", "context")
    assert any("about 1 forward passes" in caption.value for caption in app.sidebar.caption)


def test_an_incomplete_form_is_not_sent(demo, sent):
    app = form()
    app.sidebar.multiselect(key="own_explainers").set_value([])
    assert send(app) == ["No explainer is chosen; choose at least one."]
    app = form()
    app.sidebar.text_input(key="own_first_answer").set_value("")
    assert send(app) == []
    app.sidebar.radio(key="own_target").set_value("context")
    assert send(app) == ["To explain document 1's answer, fill in the answer of every document."]
    assert len(sent) == 1


def test_the_choice_is_remembered_for_the_next_prompt(demo, sent):
    app = form()
    app.sidebar.multiselect(key="own_explainers").set_value(["fa"])
    app.sidebar.radio(key="own_match").set_value("text")
    send(app)
    app.sidebar.text_input(key="own_question").set_value("And now?")
    send(app)
    assert [(request["explainers"], request["match"]) for request in sent] == [(["fa"], "text")] * 2


def test_a_result_says_what_was_explained_and_what_decided(demo):
    usual, other = made_up(), made_up(question="When?")
    other |= {"target": "context", "target_text": " gamma"}
    other["answer"]["answer_text"] = "beta and more"
    app = opened(usual, other)
    captions = [caption.value for caption in app.caption]
    assert "Explained: document 1's answer (gamma). The group was decided by its whole text." in captions
    app = next(box for box in app.selectbox if box.label == "Result").set_value(0).run()
    captions = [caption.value for caption in app.caption]
    assert "Explained: the model's answer (beta). The group was decided by its first token." in captions


def tokens_shown(app):
    return next(frame.value for frame in app.dataframe if "rank, fa" in frame.value.columns)


def test_every_kept_result_can_be_chosen_however_alike_they_begin(demo):
    results = [made_up(second=word) for word in ("one", "two", "three")]
    app = opened(*results)
    chooser = next(box for box in app.selectbox if box.label == "Result")
    assert len(set(chooser.options)) == 3
    for place, word in ((0, "one"), (2, "three"), (1, "two"), (2, "three")):
        chooser = next(box for box in app.selectbox if box.label == "Result")
        app = chooser.set_value(place).run()
        assert f" {word}" in tokens_shown(app)["token"].tolist()


def test_a_bos_is_not_ranked(demo):
    table = tokens_shown(opened(made_up(bos=True)))
    assert np.isnan(table["rank, fa"][0])
    assert table["rank, fa"][1:].tolist() == [4, 1, 2, 3, 5]
    assert own_results.summary(made_up(bos=True))["fa"] == "beta"


def test_what_is_not_ranked_shares_no_sentence_with_what_is():
    tokens, blocks = ["<s>", "A", " b", ".", " Q", "?"], [Block("document", 0, 4), Block("question", 4, 6)]
    for ranked_from, expected in ((1, ["<s>", "A b.", " Q?"]), (0, ["<s>A b.", " Q?"])):
        assert grid_data(tokens, blocks, [], [], 5, ranked_from, How(level="sentence"))["tokens"] == expected


@pytest.mark.parametrize(("key", "changed"), [("g", {"own_level": "word"}), ("k", {}), ("]", {})])
def test_keys_change_nothing_on_other_pages(monkeypatch, key, changed):
    state: dict[str, object] = {}
    monkeypatch.setattr("streamlit.session_state", state)
    own_results.pressed(key)
    assert state == changed
