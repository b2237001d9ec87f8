"""Answers of a model that are kept between draws belong to one instance of one set of results."""

from __future__ import annotations

from dataclasses import replace

from heval_core.ui import heads, own_prompts
from tests.pages.test_own_prompt import made_up


def test_another_revision_of_the_model_is_asked_again(monkeypatch):
    """Two sets of results may have an instance of the same id, from models of the same name."""
    asked = []
    monkeypatch.setattr(heads, "_model_of", lambda instance: "folder")
    monkeypatch.setattr(heads, "ask", lambda request: asked.append(request) or [[[float(len(asked))]]])
    one = replace(own_prompts.instance_of(made_up()), revision="first")
    rows = [heads.picked_row(None, instance, "L0H0") for instance in (one, replace(one, revision="second"), one)]
    assert [row.scores for row in rows] == [[1.0], [2.0], [1.0]]
