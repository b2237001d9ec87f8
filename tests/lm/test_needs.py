"""A model that lacks what an explainer needs is refused before anything is run, in the same words whatever it lacks."""

from __future__ import annotations

import pytest
import torch

from heval_core import catalogue, pipeline
from heval_core.lm.needs import require
from heval_core.records import HEvalError

REQUEST = pipeline.Request(("The capital of Kenya is Lisbon.",), "What is the capital of Kenya?", ("Lisbon",))


def without_softmax(lm, monkeypatch):
    monkeypatch.setattr(lm, "keeps_prefix", False)


def without_heads(lm, monkeypatch):
    monkeypatch.setattr(lm, "width", lm.width + 1)


def without_gradients(lm, monkeypatch):
    with torch.inference_mode():
        layer = torch.nn.Embedding(4, 4)
    monkeypatch.setattr(lm.model, "get_input_embeddings", lambda: layer)


def without_float32(lm, monkeypatch):
    monkeypatch.setattr(type(lm.model), "dtype", torch.bfloat16)


# What looks into heads, and what runs under changed backward rules.
HEADS = ("attn", "mechlight", "cdla", "alti", "fuse3", "at2")
CHANGED = ("attnlrp", "blocks", "cgim", "fuse3", "origin")


@pytest.mark.parametrize(("take_away", "need", "refused"), [
    (without_softmax, "softmax attention", {*HEADS, *CHANGED}), (without_heads, "heads", {*HEADS}),
    (without_gradients, "gradients", {"ig", "gxi", *CHANGED}), (without_float32, "float32", {"fa"}),
])  # fmt: skip
def test_what_needs_it_is_refused_and_nothing_is_run(lm, monkeypatch, take_away, need, refused):
    for method in catalogue.explainers().values():
        require(lm, method.needs)  # these models have everything
    take_away(lm, monkeypatch)
    monkeypatch.setattr(lm, "tokenise", lambda *_: pytest.fail("the prompt was read"))
    for key, method in catalogue.explainers().items():
        if key in refused:
            kind = lm.model.config.model_type
            told = rf"{lm.key} \({kind}\) .*\. What needs {need} cannot be used with it; all else can"
            with pytest.raises(HEvalError, match=told):
                pipeline.explain_request(lm, REQUEST, [method])
        else:
            require(lm, method.needs)
