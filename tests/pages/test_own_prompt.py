"""A prompt of one's own on its page: which result is shown, how it is ranked, and what keys do."""

from __future__ import annotations

import numpy as np
import pytest
from streamlit.testing.v1 import AppTest

from heval_core.ui import own_results
from heval_core.ui.sidebar import KEPT
from heval_core.ui.token_grid import Block, parted
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
        "answer": {"text": " beta", "token_id": 1, "probability": 0.5, "group": "C", "memory_answer": "x",
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
    assert parted(Block("document", 0, 6), 1) == [(0, 1), (1, 6)]
    assert parted(Block("document", 0, 6), 0) == [(0, 6)]
    assert parted(Block("question", 6, 9), 1) == [(6, 9)]


@pytest.mark.parametrize(("key", "changed"), [("g", {"own_level": "word"}), ("k", {}), ("]", {})])
def test_keys_change_nothing_on_other_pages(monkeypatch, key, changed):
    state: dict[str, object] = {}
    monkeypatch.setattr("streamlit.session_state", state)
    own_results.pressed(key)
    assert state == changed
