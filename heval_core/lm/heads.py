"""Attention heads: their patterns, value vectors, outputs and output matrices, at any position of a prompt.

A head adds s z W_O to the residual stream, with z = sum over positions j of A[query, j] v_j. `Heads.read` gives A, z and s at
one query position, `read_all` at several, `values` v, `output_matrix` W_O, and `logits` how much s z W_O adds to a logit.
Query heads that share keys and values each have their own row; an output bias belongs to no head.

Where a norm stands behind attention (Gemma 2 and 3, OLMo 2), it divides what all heads write together by its RMS or std at
that position, and multiplies it by the norm's gain: s is one over that RMS or std, as it was in the clean pass, and the gain
is part of W_O. So is a constant by which a model multiplies what its blocks add (Granite). Elsewhere s is 1.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import torch
from transformers import DynamicCache

from heval_core.lm.changed_modules import Norm, UnknownPart
from heval_core.lm.facts import ModelFacts
from heval_core.lm.forward import Forward, Prefix
from heval_core.lm.hooks import Hooked
from heval_core.lm.needs import lacks
from heval_core.lm.read_out import ReadOut
from heval_core.records import HEvalError


@dataclass(frozen=True, eq=False)
class HeadReading:
    """The heads of B prompts at one query position q, counted from 0.

    attention: (B, L, H, q + 1), the query's row in every head. outputs: (B, L, H, d_h), every head's z before the output
    projection. written: (B, L, d), what attention writes, before a norm behind it. last_layer: (B, d), the last decoder
    layer's output before the final norm. All float32.
    """

    attention: torch.Tensor
    outputs: torch.Tensor
    written: torch.Tensor
    last_layer: torch.Tensor


def mean_rows(rows: Sequence[torch.Tensor], length: int) -> torch.Tensor:
    """Average rows of attention (…, q + 1) at several query positions ▶ (…, n). Tokens after a query get 0 from it."""
    if len(rows) == 1 and rows[0].shape[-1] == length:
        return rows[0]
    return torch.stack([torch.nn.functional.pad(row, (0, length - row.shape[-1])) for row in rows]).mean(0)


def working(facts: ModelFacts, layers: Sequence[int] = ()) -> torch.Tensor:
    """Return which heads of some layers, by default of all, are not pruned: (len(layers), H) bool.

    Raises HEvalError if all are.
    """
    heads = range(facts.heads_per_layer)
    alive = [[(layer, head) not in facts.pruned for head in heads] for layer in layers or range(facts.layers)]
    if not any(map(any, alive)):
        raise HEvalError(f"Every head is pruned from which one would be chosen in {facts.key}, so none can be.")
    return torch.tensor(alive, device=facts.device)


class Heads:
    """The heads of one model. Every read raises HEvalError for a model whose heads cannot be read."""

    def __init__(self, facts: ModelFacts, read_out: ReadOut, forward: Forward, hooked: Hooked):
        self._facts, self._read_out, self._forward, self._hooked = facts, read_out, forward, hooked

    def read(self, ids: torch.Tensor, prefix: Prefix, position: int = -1) -> HeadReading:
        """Read the heads of (B, n) ids at one query position, by default the last; see `read_all`."""
        n = ids.shape[1]
        if not -n <= position < n:
            raise HEvalError(f"A prompt of {n} tokens has no position {position}.")
        return self.read_all(ids, prefix, range(position % n, position % n + 1))[0]

    @torch.no_grad()
    def read_all(self, ids: torch.Tensor, prefix: Prefix, positions: range) -> list[HeadReading]:
        """Read the heads of (B, n) ids at neighbouring query positions, from one pass.

        prefix: of the clean pass over these ids.

        Only the queries' tokens are run again, over the kept keys and values of the tokens before them. So only their rows of
        the attention pattern are formed, and memory grows with n, not n².
        """
        hooked, start, stop = self._hooked, positions.start, positions.stop
        queries, shape = ids[:, start:stop], (len(ids), len(positions), -1)
        names = (*hooked.pattern_names, *hooked.output_names, *hooked.written_names, hooked.last_name)
        seen, logits = hooked.seen(queries, prefix.first(start), start, names)
        hooked.check_same(logits, prefix.logits if stop == ids.shape[1] else self._plainly(prefix, start, queries))
        attention = torch.stack([seen[name] for name in hooked.pattern_names], 1).float()
        if not torch.allclose(attention.sum(-1), torch.ones((), device=attention.device), atol=1e-2):
            raise lacks(self._facts, "softmax attention", "has attention rows that do not sum to one")
        outputs = torch.stack([seen[name].reshape(shape) for name in hooked.output_names], 2).float()
        outputs = outputs.unflatten(-1, (self._facts.heads_per_layer, -1))
        written = torch.stack([seen[name].reshape(shape) for name in hooked.written_names], 2).float()
        last = seen[hooked.last_name].reshape(shape).float()
        return [
            HeadReading(attention[:, :, :, row, : query + 1], outputs[:, row], written[:, row], last[:, row])
            for row, query in enumerate(positions)
        ]

    @torch.no_grad()
    def mean_attention(self, ids: torch.Tensor, prefix: Prefix, start: int) -> torch.Tensor:
        """Average rows of attention of (1, n) ids from `start` on over all layers and heads: (n - start, n) float32.

        prefix: of the clean pass over these ids. Only tokens from `start` on run again, a layer's rows at a time.
        """
        hooked, n = self._hooked, ids.shape[1]
        total = torch.zeros(n - start, n, device=self._facts.device)

        def add(tensor: torch.Tensor, hook: Any) -> None:
            total.add_(tensor[0].float().mean(0))

        hooks = [(name, add) for name in hooked.pattern_names]
        logits = hooked.run(ids[:, start:], hooks, start, past_key_values=prefix.first(start), use_cache=True)
        hooked.check_same(logits, prefix.logits)
        return total / self._facts.layers

    def _plainly(self, prefix: Prefix, start: int, queries: torch.Tensor) -> torch.Tensor:
        """Compute the plain model's logits, (B, V), at the last of some positions from `start` on."""
        return self._read_out.logits(self._forward.suffix_states(prefix, start, queries))[:, 0]

    def values(self, prefix: Prefix, layer: int) -> torch.Tensor:
        """Return the value vectors of one layer's query heads at every position of the clean pass: (B, H, n, d_h) float32."""
        values = prefix.layers[layer][1].float()
        return values.repeat_interleave(self._facts.heads_per_layer // values.shape[1], 1)

    def output_matrix(self, layer: int) -> torch.Tensor:
        """Return W_O of one layer's heads, with the gain of a norm behind attention: (H, d_h, d) float32.

        A head adds s z W_O.
        """
        weight: torch.Tensor = self._hooked.bridge.blocks[layer].attn.W_O
        return self.gained(layer, weight.detach().view(self._facts.heads_per_layer, -1, self._facts.width))

    def gained(self, layer: int, written: torch.Tensor) -> torch.Tensor:
        """Multiply what one layer's heads write, (…, d), by the gain of a norm behind attention, but not by s; float32."""
        norm = self._behind[layer]
        return self.multiplier * (written.float() if norm is None else norm.linear(written))

    def scale(self, layer: int, written: torch.Tensor) -> torch.Tensor:
        """Compute s, (…, 1), from (…, d) what one layer's attention writes, before a norm behind it."""
        norm = self._behind[layer]
        return torch.ones_like(written[..., :1], dtype=torch.float32) if norm is None else norm.standardised(written)[1]

    def added(self, layer: int, written: torch.Tensor) -> torch.Tensor:
        """Map (…, d) what one layer's attention writes, before a norm behind it ▶ (…, d) what it adds to the stream,
        float32.
        """
        norm = self._behind[layer]
        return self.multiplier * (written if norm is None else norm(written)).float()

    @cached_property
    def _behind(self) -> tuple[Norm | None, ...]:
        """The norm behind each layer's attention. Raises HEvalError for one that is not known."""
        behind = (getattr(block, "ln1_post", None) for block in self._hooked.bridge.blocks)
        return tuple(part if part is None else self._norm(part) for part in behind)

    @cached_property
    def final_norm(self) -> Norm:
        """The norm before the unembedding. Raises HEvalError for one that is not known."""
        return self._norm(self._hooked.bridge.ln_final)

    def _norm(self, part: Any) -> Norm:
        try:
            return Norm(part.original_component)
        except UnknownPart as error:
            raise lacks(self._facts, "the effects of heads", str(error)) from error

    @property
    def multiplier(self) -> float:
        """What a model multiplies by whatever its blocks add."""
        return float(getattr(self._facts.model.config.get_text_config(), "residual_multiplier", 1.0))

    @torch.no_grad()
    def logits(self, reading: HeadReading, token_ids: Sequence[int], fold: bool = False) -> torch.Tensor:
        """Compute what each head adds in the direction of each prompt's token, <W_U[t], s z W_O>, without any bias: (B, L, H).

        fold: fold the final norm's gain into W_U, and centre W_U if the norm centres.
        """
        directions = self._read_out.unembeddings(token_ids)
        if fold:
            directions = self.final_norm.folded(directions)
        by_layer = [
            self.scale(layer, reading.written[:, layer])
            * (reading.outputs[:, layer] * (self.output_matrix(layer) @ directions.T).permute(2, 0, 1)).sum(-1)
            for layer in range(self._facts.layers)
        ]
        return torch.stack(by_layer, 1)

    @torch.no_grad()
    def column_means(self, ids: torch.Tensor) -> torch.Tensor:
        """Average the last layer's attention to each token over that token and all later queries: (B, n) ids ▶ (B, H, n).

        This needs the whole pattern: memory and time grow with n².
        """
        name = self._hooked.pattern_names[-1]
        seen, logits = self._hooked.seen(ids, DynamicCache(), 0, (name,))
        self._hooked.check_same(logits, self._forward.logits(ids))
        return seen[name].float().sum(-2) / torch.arange(ids.shape[1], 0, -1, device=ids.device)
