"""The example in CONTRIBUTING.md is a whole explainer."""

from __future__ import annotations

import re

import numpy as np

from heval_core.records import Contrast
from tests.conftest import ROOT


def test_the_explainer_in_contributing_works_as_printed(clean, tmp_path, monkeypatch):
    text = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    (code,) = re.findall(r"```python\n(.*?)```", text, flags=re.DOTALL)
    (tmp_path / "gxi.py").write_text(code)
    monkeypatch.syspath_prepend(tmp_path)
    import gxi

    best, second = clean.logits[0].topk(2).indices.tolist()
    (found,) = gxi.PLUGIN.explain(clean, [Contrast(best, second, "runner-up token")])
    embedded = clean.lm.gradients.embedding_layer(clean.ids).detach().requires_grad_()
    clean.lm.model(inputs_embeds=embedded).logits[0, -1, best].backward()
    expected = (embedded * embedded.grad).sum(-1)[0].detach().numpy()
    np.testing.assert_allclose(found.scores, expected, atol=1e-4)
