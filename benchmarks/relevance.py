"""The board's gradient explainers beside plain passes and published code, and what they need in memory.

Published code is timed one prompt after the other, as people call it, and ours in a batch. Where the rules are the same, the
scores are compared. LXT changes the library's classes for good, so it runs in a process of its own.
"""

from __future__ import annotations

import json
import resource
import subprocess
import sys
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import torch

from benchmarks.timing import SMALL, Figure, best, explain, inseq_of, prompts_of, random_model
from heval_core import catalogue
from heval_core.explainers import alti, attnlrp, cdla, cgim, gxi
from heval_core.lm.clean_pass import CleanPass
from heval_core.lm.model import LanguageModel
from heval_core.protocols import Method

TOKENS, BATCH = 130, 16
# A demo model's shape; its attention of all heads and layers at once would take .4 GB per layer at this length.
LONG, LONG_MODEL = 2048, "qwen2-8x512"
GIBIBYTES = 4.0


def relevance_figures(name: str, lm: LanguageModel) -> Iterator[Figure]:
    """All of one model; published code that is not installed, or does not know the model, is left out."""
    clean = prompts_of(lm, TOKENS, 1)

    def both_ways() -> None:
        _gradient(lm, clean.ids)

    for plugin in (attnlrp.PLUGIN, cgim.PLUGIN):
        own, plain = best(lambda plugin=plugin: explain(clean, plugin), both_ways)  # type: ignore[misc]
        detail = f"{1e3 * own:.0f} ms with its clean pass, against {1e3 * plain:.0f} ms"
        yield Figure(name, TOKENS, f"{plugin.key} / a forward and backward", own / plain, 3.0, True, detail)
    own, plain = best(lambda: explain(clean, cdla.PLUGIN), lambda: lm.model(clean.ids), rounds=8)
    yield Figure(name, TOKENS, "cdla / a forward", own / plain, 1.3, True, f"{1e3 * own:.0f} ms with its clean pass")
    many = prompts_of(lm, TOKENS, BATCH)
    yield from _beside(name, many, "gim", cgim.PLUGIN, _gim(many))
    yield from _beside(name, many, "inseq input x gradient", gxi.PLUGIN, inseq_of(many, "input_x_gradient"))
    if name in SMALL:
        yield from _lxt(name)
        yield _memory_of_cdla(name)
    if name == LONG_MODEL:
        yield _memory_of_alti(name)


def _gradient(lm: LanguageModel, ids: torch.Tensor) -> torch.Tensor:
    """Gradient times input of the logit of the most likely token: a plain pass forward and backward."""
    embedded = lm.gradients.embedding_layer(ids).detach().requires_grad_()
    logits = lm.model(inputs_embeds=embedded).logits[:, -1]
    logits.amax(-1).sum().backward()
    assert embedded.grad is not None
    return (embedded.grad * embedded).sum(-1).detach()


def _beside(name: str, many: CleanPass, who: str, plugin: Method, theirs: Callable[[], Any] | None) -> Iterator[Figure]:
    if theirs is None:
        return
    own, other = best(lambda: explain(many, plugin), theirs, rounds=2)
    detail = f"{1e3 * own / BATCH:.0f} ms a prompt in a batch of {BATCH} against {1e3 * other / BATCH:.0f} ms"
    yield Figure(name, TOKENS, f"{who} / {plugin.key}", other / own, 1.5, detail=detail)


def _gim(many: CleanPass) -> Callable[[], Any] | None:
    """Their rules leave activations and gates as they are and their target is one logit, so scores are not compared."""
    try:
        import gim
    except ImportError:
        return None
    lm = many.lm
    return lambda: [gim.explain(lm.model, row, baseline_token_id=lm.baseline()) for row in many.ids]


def _lxt(name: str) -> Iterator[Figure]:
    found = in_a_process(beside_lxt, name)
    if found is None:
        return
    own, other, gap = found
    detail = f"{1e3 * own / BATCH:.0f} ms a prompt in a batch of {BATCH} against {1e3 * other / BATCH:.0f} ms; "
    detail += f"largest difference {gap:.0e} of the largest score"
    yield Figure(name, TOKENS, "LXT / attnlrp", other / own, 1.5, detail=detail)


def beside_lxt(name: str) -> tuple[float, float, float] | None:
    """Seconds of attnlrp and of LXT for a batch, and the largest difference of their scores; None where LXT cannot: it has not
    kept up with every version of transformers."""
    try:
        from lxt.efficient import monkey_patch
    except ImportError:
        return None
    lm = random_model(name, SMALL[name](), torch.device("cpu"), torch.float32)
    many = prompts_of(lm, TOKENS, BATCH)
    (own,) = best(lambda: explain(many, attnlrp.PLUGIN), rounds=2)
    (scores,) = explain(many, attnlrp.PLUGIN)
    try:
        monkey_patch(sys.modules[type(lm.model).__module__])
        theirs = random_model(name, SMALL[name](), torch.device("cpu"), torch.float32)
        _gradient(theirs, many.ids[:1])
    except (ValueError, AttributeError):
        return None
    (other,) = best(lambda: [_gradient(theirs, row[None]) for row in many.ids], rounds=2)
    found = np.concatenate([_gradient(theirs, row[None]).numpy() for row in many.ids])
    ours = np.stack([one.scores for one in scores])
    return own, other, float(np.abs(found - ours).max() / np.abs(ours).max())


def _memory_of_cdla(name: str) -> Figure:
    """Attention of all heads at once would need heads x n x n numbers in each layer."""
    mebibytes = in_a_process(memory_above_forward, name, LONG, ["cdla"], 1)
    layer = SMALL[name]().num_attention_heads * LONG * LONG * 4 / 2**20
    detail = f"one layer's attention alone: {layer:.0f} MiB"
    return Figure(name, LONG, "MiB above a plain forward's peak, cdla", mebibytes, layer, True, detail)


def _memory_of_alti(name: str) -> Figure:
    mebibytes = in_a_process(memory_of_alti, name)
    return Figure(name, LONG, "GiB of the whole process, alti", mebibytes / 1024, GIBIBYTES, at_most=True)


def memory_of_alti(name: str) -> float:
    explain(prompts_of(long_model(name, LONG), LONG, 1), alti.PLUGIN)
    return peak()


def in_a_process(function: Callable[..., Any], *given: Any) -> Any:
    """What a function gives there. given, and what it gives: what JSON can hold."""
    code = f"import json; from {function.__module__} import {function.__name__} as f; print(json.dumps(f(*{given!r})))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return json.loads(done.stdout.strip().splitlines()[-1])


def memory_above_forward(name: str, tokens: int, explainers: list[str], logits: int = 0) -> float:
    """MiB that explainers add together to the peak of a plain forward pass. logits: of so many last tokens; 0 for all."""
    lm, methods = long_model(name, tokens), [catalogue.method(key) for key in explainers]
    explain(prompts_of(lm, 8, 1), *methods)
    clean = prompts_of(lm, tokens, 1)
    with torch.no_grad():
        lm.model(clean.ids, logits_to_keep=logits)
    before = peak()
    explain(clean, *methods)
    return peak() - before


def long_model(name: str, tokens: int) -> LanguageModel:
    """A small one that reads so many."""
    config = SMALL[name]()
    config.max_position_embeddings = max(tokens, config.max_position_embeddings)
    return random_model(name, config, torch.device("cpu"), torch.float32)


def peak() -> float:
    """MiB."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
