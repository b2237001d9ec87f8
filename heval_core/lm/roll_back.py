"""Rolls what a layer reads at its positions back to the tokens of the prompt, through what earlier layers mixed into them.

Formula (ALTI-Logit): the attention of layer l makes y_t = x_t + sum over s of T_t(x_s) + bias, where T_t(x_s) is the sum over
heads of A[t,s] v_s W_O, times the scale at t of a norm behind attention where there is one (see `heads`), and the residual
x_t is part of T_t(x_t). The mixing is C[t,s] = relu(|y_t|_1 - |y_t - T_t(x_s)|_1), its rows divided by their sums; a row of
zeros is the identity's. Effects c^l on the positions that layer l reads become sum over l of c^l C^(l-1) … C^0.
Reference: Ferrando et al. 2023 (arXiv 2305.12535), eq. 7-12; ALTI: Ferrando et al. 2022 (arXiv 2203.04212).
Departure: MLPs are taken to keep a position's shares, as in ALTI. Where they run beside attention, y has no MLP either.
Cost: one pass that forms attention patterns, and products that take n² d H operations a layer. Memory: the patterns of one
layer, H n², and all mixings, L n², for some prompts at a time; vectors for pairs of tokens in blocks of rows.
"""

from typing import Any

import torch

from heval_core.lm.facts import ModelFacts
from heval_core.lm.forward import Prefix
from heval_core.lm.heads import Heads, working
from heval_core.lm.hooks import Hooked

# Numbers at a time: of vectors for pairs of tokens (64 MB; on a GPU 1 GB), and of attention patterns (256 MB).
BLOCK, ON_GPU, PATTERNS = 16_000_000, 256_000_000, 64_000_000


class RollBack:
    """Mixings of one model. They hold where `DirectEffects` do, which are asked for first."""

    def __init__(self, facts: ModelFacts, hooked: Hooked, heads: Heads):
        self._facts, self._hooked, self._heads = facts, hooked, heads

    @torch.no_grad()
    def rolled(self, ids: torch.Tensor, prefix: Prefix, effects: torch.Tensor) -> torch.Tensor:
        """Roll (B, L, n) effects on the positions that layers read back to the tokens, and sum them: (B, n) float32.

        prefix: of the clean pass over (B, n) ids.
        """
        n, totals = ids.shape[1], []
        together = max(1, PATTERNS // (self._facts.heads_per_layer * n * n))
        for start in range(0, len(ids), together):
            rows = slice(start, start + together)
            by_layer = effects[rows].float()
            total = by_layer[:, -1]
            for layer, mixing in reversed(list(enumerate(self._mixings(ids, prefix, rows)))):
                total = (total[:, None] @ mixing)[:, 0] + by_layer[:, layer]
            totals.append(total)
        return torch.cat(totals)

    def _mixings(self, ids: torch.Tensor, prefix: Prefix, rows: slice) -> list[torch.Tensor]:
        """Compute C of each layer but the last, (b, n, n), of some of the prompts."""
        saved: dict[str, torch.Tensor] = {}
        mixings: list[torch.Tensor] = []

        def save(tensor: torch.Tensor, hook: Any) -> None:
            saved[hook.name] = tensor

        def mixed(_: torch.Tensor, hook: Any) -> None:
            layer = len(mixings)
            before, pattern, written = (saved.pop(name) for name in names[layer])
            values = self._heads.values(prefix, layer)[rows]
            mixings.append(self._mixing(layer, pattern.float(), values, before.float(), written))

        layers = range(self._facts.layers - 1)
        names = [(f"blocks.{n}.hook_in", self._hooked.pattern_names[n], self._hooked.written_names[n]) for n in layers]
        hooks: list[tuple[str, Any]] = [(name, save) for of_layer in names for name in of_layer]
        # At a block's end: the pattern is there before what is written in some architectures, and after it in others (OPT).
        hooks += [(f"blocks.{layer}.hook_out", mixed) for layer in layers]
        logits = self._hooked.run(ids[rows], hooks, 0, use_cache=False)
        self._hooked.check_same(logits, prefix.logits[rows])
        return mixings

    def _mixing(
        self, layer: int, pattern: torch.Tensor, values: torch.Tensor, before: torch.Tensor, attended: torch.Tensor
    ) -> torch.Tensor:
        """Compute C, (b, n, n), from (b, H, n, n) attention, (b, H, n, d_h) values, (b, n, d) x and what attention writes."""
        after, scale = before + self._heads.added(layer, attended), self._heads.scale(layer, attended)
        batch, _, n, _ = values.shape
        alive = working(self._facts)[layer, :, None, None]
        written = values @ self._heads.output_matrix(layer) * alive  # (b, H, n, d)
        mixing = after.new_zeros(batch, n, n)
        sizes = after.abs().sum(-1)
        height = max(1, (BLOCK if after.device.type == "cpu" else ON_GPU) // (batch * n * self._facts.width))
        for start in range(0, n, height):
            stop = min(start + height, n)
            queries = torch.arange(start, stop, device=after.device)
            parts = torch.einsum("bhts,bhsd->btsd", pattern[:, :, start:stop, :stop], written[:, :, :stop])
            parts *= scale[:, start:stop, None]
            parts[:, queries - start, queries] += before[:, start:stop]
            apart = parts.sub_(after[:, start:stop, None]).abs_().sum(-1)
            mixing[:, start:stop, :stop] = (sizes[:, start:stop, None] - apart).clamp_min(0)
        totals = mixing.sum(-1, keepdim=True)
        return torch.where(totals > 0, mixing / totals.clamp_min(torch.finfo(mixing.dtype).tiny), torch.eye(n).to(mixing))
