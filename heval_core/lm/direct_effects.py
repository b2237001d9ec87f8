"""Direct effects: what each token's values write towards a target's tokens, past all later layers.

Formula: a head adds s sum over j of A[q,j] v_j W_O to the residual stream r at position q, s and W_O as in `heads`. Let
u = W_U[a] - W_U[b], folded with the final norm (its gain, and centring for LayerNorm) and divided by the std or RMS of r. Then
<u, r> is z_a - z_b up to biases, and the sum over heads of s A[q,j] <v_j W_O, u> is token j's exact share of it. Without a
foil u = W_U[a]. Where a model has a soft cap on its logits, z is the logit before it, which has the same order.
Reference: ALTI-Logit (Ferrando et al. 2023, arXiv 2305.12535); direct logit attribution (Elhage et al. 2021).
Departure: a contrast in place of the answer's logit; one value per layer, token and position. The reference has no norm behind
attention; here it is a scaling by known numbers, as the final norm is.
Cost: no pass of its own; kept values and one row of attention, so that memory grows with n, not n².

All of this holds only where the stream is the sum of what its blocks add, and where logits are linear after the final norm.
This is measured when it is first asked for; a model in which it does not hold is refused by name.
"""

from collections.abc import Sequence
from functools import cached_property

import torch
from transformers import DynamicCache

from heval_core.lm.facts import ModelFacts
from heval_core.lm.forward import Forward, Prefix
from heval_core.lm.heads import HeadReading, Heads, working
from heval_core.lm.hooks import Hooked
from heval_core.lm.needs import lacks
from heval_core.lm.read_out import SAME, ReadOut, may_differ

# What a block reads and what it gives; and what its MLP adds: at the first of these hooks that there is. A norm may stand
# behind an MLP, and some MLPs (BLOOM's) add the residual themselves, behind their last projection.
ENDS = ("hook_in", "hook_out")
MLP = ("ln2_post.hook_out", "mlp.out.hook_out", "mlp.hook_out")
# How often a sum of three is rounded, and what its parts were rounded to before.
ROUNDINGS = 4


class DirectEffects:
    """Direct effects in one model. Raises HEvalError for a model in which they are not what they should be."""

    def __init__(self, facts: ModelFacts, read_out: ReadOut, forward: Forward, hooked: Hooked, heads: Heads):
        self._facts, self._read_out, self._forward, self._hooked, self._heads = facts, read_out, forward, hooked, heads

    @torch.no_grad()
    def by_layer(self, reading: HeadReading, prefix: Prefix, ids: Sequence[int], foils: Sequence[int | None]) -> torch.Tensor:
        """Compute what each layer's heads carry from each token to each prompt's z_a - z_b at a query q: (B, L, q + 1)
        float32.

        reading, prefix: of the same clean pass. ids: a. foils: b, None for none.
        """
        self.check_stream()
        if self._read_out_problem is not None:
            raise lacks(self._facts, "direct effects", self._read_out_problem)
        facts, query = self._facts, reading.attention.shape[-1]
        directions = self._directions(reading.last_layer, ids, foils)
        alive = working(facts)
        effects = []
        for layer in range(facts.layers):
            written = self._heads.output_matrix(layer) @ directions.T  # (H, d_h, B)
            values = self._heads.values(prefix, layer)[:, :, :query]
            shares = torch.einsum("bhnk,hkb->bhn", values, written) * reading.attention[:, layer]
            scale = self._heads.scale(layer, reading.written[:, layer])
            effects.append(scale * (shares * alive[layer, :, None]).sum(1))
        return torch.stack(effects, 1)

    def check_stream(self) -> None:
        """Raise HEvalError for a model in which what heads add is no part of a sum that makes the residual stream."""
        if self._stream_problem is not None:
            raise lacks(self._facts, "the effects of heads", self._stream_problem)

    def _trial(self) -> tuple[torch.Tensor, dict[str, torch.Tensor]]:
        """Run a trial: (1, n) ids, and what is at the hooks of each block there, (n, …), now: some heads may be pruned."""
        ids = torch.arange(2, 9, device=self._facts.device)[None]
        layers = range(self._facts.layers)
        names = [f"blocks.{layer}.{end}" for layer in layers for end in ENDS] + [self._mlp(layer) for layer in layers]
        names += [*self._hooked.written_names, *self._hooked.output_names]
        missing = [name for name in names if name not in self._hooked.bridge.hook_dict]
        if missing:
            raise lacks(self._facts, "the effects of heads", f"has no hook {missing[0]}, at which a block's sum would be read")
        with torch.no_grad():
            seen, _ = self._hooked.seen(ids, DynamicCache(), 0, names)
        return ids, {name: tensor[0] if tensor.ndim == 3 else tensor for name, tensor in seen.items()}

    def _mlp(self, layer: int) -> str:
        """Return the hook at which what a layer's MLP adds is read."""
        names = [f"blocks.{layer}.{part}" for part in MLP]
        return next((name for name in names if name in self._hooked.bridge.hook_dict), names[-1])

    @cached_property
    def _stream_problem(self) -> str | None:
        """Why the stream is not the sum of what blocks add in this model; None where it is."""
        ids, states = self._trial()
        for layer in range(self._facts.layers):
            before, after = (states[f"blocks.{layer}.{end}"].float() for end in ENDS)
            attention, mlp = (states[name].float() for name in (self._hooked.written_names[layer], self._mlp(layer)))
            if not self._adds_up(before, self._heads.added(layer, attention), self._heads.multiplier * mlp, after):
                return "adds something else to the residual stream than what its attention and its MLP give"
            heads = states[self._hooked.output_names[layer]].reshape(ids.shape[1], self._facts.heads_per_layer, -1).float()
            gained = self._heads.gained(layer, attention)
            bias = gained - torch.einsum("nhk,hkd->nd", heads, self._heads.output_matrix(layer))
            if not self._same(bias - bias[-1], torch.zeros_like(bias), gained):
                return "has heads whose outputs are changed before they reach the residual stream"
        return None

    @cached_property
    def _read_out_problem(self) -> str | None:
        """Why differences of logits do not differ by <u, r> between positions; None where they do."""
        ids, states = self._trial()
        streams = states[self._hooked.last_name].float()
        n = len(streams)
        with torch.no_grad():
            logits = self._read_out.uncapped(self._forward.logits_at(ids, range(n))[0])
        leads = (streams * self._directions(streams, [3] * n, [5] * n)).sum(-1)
        expected = logits[:, 3] - logits[:, 5]
        if not self._same(leads - leads[0], expected - expected[0], logits):
            return "has logits that are not its unembedding of the final norm alone"
        return None

    def _adds_up(self, before: torch.Tensor, attention: torch.Tensor, mlp: torch.Tensor, after: torch.Tensor) -> bool:
        """Check whether a block adds what its parts write, but for each number's own rounding: a few dimensions of a residual
        stream may be a thousand times as large as what any block writes, and would hide everything else.
        """
        written = attention + mlp
        rounding = ROUNDINGS * torch.finfo(self._facts.model.dtype).eps * (before.abs() + attention.abs() + mlp.abs())
        return bool(((after - before - written).abs() <= rounding + SAME * written.abs().max()).all())

    def _same(self, one: torch.Tensor, other: torch.Tensor, scale: torch.Tensor | None = None) -> bool:
        allowed = may_differ(self._facts.model.dtype)
        return bool((one - other).abs().max() <= allowed * (other if scale is None else scale).abs().max())

    @torch.no_grad()
    def _directions(self, streams: torch.Tensor, ids: Sequence[int], foils: Sequence[int | None]) -> torch.Tensor:
        norm = self._heads.final_norm
        rows = self._read_out.unembeddings(ids)
        opposed = self._read_out.unembeddings([0 if foil is None else foil for foil in foils])
        opposed[[foil is None for foil in foils]] = 0
        return norm.folded(rows - opposed) * norm.standardised(streams)[1]
