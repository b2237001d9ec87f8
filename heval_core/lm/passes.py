"""Passes as they are made: what an explainer really asks of a model, beside what it declares.

Each block of each pass over some tokens counts them; a pass through all blocks over all tokens of a prompt is one. A pass that
is recorded for a gradient counts twice, as its backward pass does as much work again. Head directions, regressions and other
arithmetic beside the blocks are no passes: seconds tell of them.
"""

import os
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from typing import Any

import torch

from heval_core.lm.model import LanguageModel
from heval_core.records import TokenisedPrompt


@dataclass
class Counted:
    """What went through a model.

    tokens: those that went through all blocks, backward passes too. times: passes through all blocks, of however many tokens.
    recorded: those of them that were recorded for a gradient, which went back as well.
    """

    tokens: float = 0.0
    times: float = 0.0
    recorded: float = 0.0

    def passes(self, prompts: int, length: int) -> float:
        """Return the whole passes for each of some prompts of one length."""
        return self.tokens / (prompts * length)


@contextmanager
def counting(lm: LanguageModel, on_progress: Callable[[float], None] = lambda tokens: None) -> Iterator[Counted]:
    """Count what goes through the model, and through copies of it with other backward rules, until the end of the context.

    on_progress: is told the count after every block.
    """
    layers = next(m for m in lm.model.modules() if isinstance(m, torch.nn.ModuleList) and len(m) == lm.layers)
    block, counted = type(layers[0]), Counted()

    def count(module: torch.nn.Module, arguments: Any, output: Any) -> None:
        if isinstance(module, block):
            states = output[0] if isinstance(output, tuple) else output
            times = 2 if torch.is_grad_enabled() and states.requires_grad else 1
            counted.tokens += times * states.shape[0] * states.shape[1] / lm.layers
            counted.times += 1 / lm.layers
            counted.recorded += (times - 1) / lm.layers
            on_progress(counted.tokens)

    with torch.nn.modules.module.register_module_forward_hook(count):
        yield counted


@contextmanager
def progress(lm: LanguageModel, prompt: TokenisedPrompt, passes: float, say: Callable[[str], None] | None) -> Iterator[None]:
    """Say what is to come, in passes over a prompt and in seconds at the pace of one that is made for it.

    Then show a bar of the passes as they are made, on stderr where that is a terminal or a notebook.
    """
    from tqdm.auto import tqdm

    length = len(prompt.ids)
    if say is not None:
        for ids in (prompt.ids[:8], prompt.ids):  # the first pass of a model is slower than any other
            started = time.perf_counter()
            lm.forward.logits(lm.ids(ids))
        seconds = passes * (time.perf_counter() - started)
        several = "pass" if round(passes) == 1 else "passes"
        say(f"about {passes:.0f} {several} over the prompt's {length} tokens, some {max(seconds, 1):.0f} s here")
    watched = sys.stderr.isatty() or type(sys.stderr).__module__.startswith("ipykernel")
    seen = watched and not os.environ.get("TQDM_DISABLE")

    def advance(tokens: float) -> None:
        if (more := int(tokens / length) - bar.n) > 0:
            bar.total = max(bar.total, bar.n + more)  # what is declared is an estimate
            bar.update(more)

    bar = tqdm(total=round(passes), unit="pass", disable=not seen, leave=False)
    with bar, counting(lm, advance) if seen else nullcontext():
        yield
