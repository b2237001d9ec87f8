"""Passes over prompts, read at their last position or at others. A prompt's keys and values are kept for other endings.

Prompts of unequal length may share a padded pass: behind the shorter ones stand tokens to which nothing attends, since a model
is causal, so that positions and mask are those of each prompt alone. Such a pass has `ends`, (b,) each prompt's last position,
counted from the prompt's first token, and is read there alone. What the tokens behind an end give is never read.
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, nullcontext, suppress
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any

import torch
from torch.nn.attention import SDPBackend, sdpa_kernel
from transformers import DynamicCache

from heval_core.lm.facts import ModelFacts
from heval_core.lm.faults import not_finite
from heval_core.lm.read_out import ReadOut, largest_difference, may_differ
from heval_core.records import HEvalError

# Where attention has several kernels, one of which was wrong for some shapes (pytorch#191937), one pass in CHECKED is checked.
KERNELS, CHECKED = ("cuda",), 16


@dataclass(frozen=True, eq=False)
class Prefix:
    """Keys and values of B clean prompts of n tokens in every layer, each (B, KV heads, n, d_h).

    logits: (B, V) of the same pass; any other way of running the same prompts must give these.
    """

    layers: tuple[tuple[torch.Tensor, torch.Tensor], ...]
    logits: torch.Tensor

    @property
    def length(self) -> int:
        """n; 0 for an empty prefix."""
        return self.layers[0][0].shape[2] if self.layers else 0

    def first(self, length: int, prompts: Sequence[int] | None = None) -> DynamicCache:
        """Return a cache of the first `length` positions: a row for each prompt, or for each of `prompts`, by their
        numbers.
        """
        cache = DynamicCache()
        if length:
            for index, layer in enumerate(self.layers):
                keys, values = (_of(tensor[:, :, :length], prompts) for tensor in layer)
                cache.update(keys, values, index)
        return cache


# What a model is told to keep of its logits, and what is read of its states: those of the last position alone.
LAST = 1


def _to_keep(rows: torch.Tensor | int, ends: torch.Tensor | None) -> torch.Tensor | int:
    """Return what a model is told to keep of its logits: all, where `_reading` has left only one position of each row."""
    return rows if ends is None else 0


def _first(ends: torch.Tensor | None) -> torch.Tensor | None:
    return None if ends is None else ends[:1]


def _last(states: torch.Tensor, ends: torch.Tensor | None) -> torch.Tensor:
    """Return the states of each row's last position, (b, 1, …), from (b, m, …) of all, or of that position already."""
    if ends is None or states.shape[1] == 1:
        return states[:, -1:]
    return states[torch.arange(len(states), device=states.device), ends][:, None]


def _of(tensor: torch.Tensor, prompts: Sequence[int] | None) -> torch.Tensor:
    if prompts is not None and len(tensor) == 1:
        return tensor.expand(len(prompts), -1, -1, -1)  # a view: the cache concatenates later, which copies once
    return tensor if prompts is None else tensor[list(prompts)]


class Forward:
    """Passes of the plain model."""

    def __init__(self, facts: ModelFacts, read_out: ReadOut):
        self._facts, self._read_out, self._model = facts, read_out, facts.model
        self._passes, self._wrong = 0, ""  # what was found of the kernel: no later pass is trusted

    def last_logits(self, ids: torch.Tensor) -> torch.Tensor:
        """Compute the logits of the last position: (b, n) ids of equal length ▶ (b, V) float32; gradients flow if enabled."""
        return self.logits_at(ids, (-1,))[:, -1]

    def logits_at(self, ids: torch.Tensor, positions: Sequence[int], ends: torch.Tensor | None = None) -> torch.Tensor:
        """Compute the logits of some positions: (b, n) ids ▶ (b, P, V) float32; gradients flow if enabled. ends: see above."""
        rows, mask = self._rows(positions, ids.shape[1], ends=ends), torch.ones_like(ids)
        with self._reading(rows, ends):
            logits = self._model(
                input_ids=ids, attention_mask=mask, use_cache=False, logits_to_keep=_to_keep(rows, ends)
            ).logits
        return (_last(logits, ends) if rows is LAST else logits).float()

    def _rows(
        self, positions: Sequence[int], length: int, start: int = 0, ends: torch.Tensor | None = None
    ) -> torch.Tensor | int:
        """Return the indices of positions among the tokens from `start` on, (P,); LAST for the last position alone.

        Raises HEvalError where a prompt does not reach so far, and for another position of prompts of unequal length.
        """
        if ends is not None and tuple(positions) != (-1,):
            raise HEvalError("Prompts of unequal length are read at their last positions alone; run these one by one.")
        if not all(-length <= position < length for position in positions):
            raise HEvalError(f"A prompt of {length} tokens does not have all of the positions {list(positions)}.")
        rows = [position % length - start for position in positions]
        return LAST if rows == [length - start - 1] else torch.tensor(rows, device=self._facts.device)

    @torch.no_grad()
    def logits(self, ids: torch.Tensor, ends: torch.Tensor | None = None) -> torch.Tensor:
        """Return the last position's logits without gradients, (b, V). Raises HEvalError if they are not finite."""
        return self.checked(self.logits_at(ids, (-1,), ends)[:, -1])

    @torch.no_grad()
    def clean(
        self, ids: torch.Tensor, before: Prefix | None = None, ends: torch.Tensor | None = None
    ) -> tuple[torch.Tensor, Prefix]:
        """Run one pass over (B, n) ids ▶ (B, V) logits of the last position, float32, and its keys and values.

        before: of a pass over the first of these ids, which are not run again. Without keys and values the prefix is empty.
        """
        if not self._facts.keeps_prefix:
            logits = self.logits_at(ids, (-1,), ends)[:, -1]
            return logits, Prefix((), logits)
        cache = before.first(before.length) if before else DynamicCache()
        logits = self._next(ids[:, before.length if before else 0 :], cache, ends)
        self._check_kernel(logits, lambda: self.logits_at(ids[:1], (-1,), _first(ends))[:, -1])
        return logits, Prefix(tuple((layer.keys, layer.values) for layer in cache.layers), logits)

    def _next(self, ids: torch.Tensor, cache: DynamicCache, ends: torch.Tensor | None = None) -> torch.Tensor:
        """Run (b, m) ids after those in a cache, which then has them too ▶ (b, V) logits of the last one, float32.

        ends: only with an empty cache.
        """
        with self._reading(LAST, ends):
            output = self._model(input_ids=ids, past_key_values=cache, use_cache=True, logits_to_keep=_to_keep(LAST, ends))
        return _last(output.logits, ends)[:, -1].float()

    def greedy(self, ids: torch.Tensor, prefix: Prefix) -> Iterator[tuple[int, float]]:
        """Yield the tokens with which the model continues (1, n) ids greedily, without end, each with its probability.

        prefix: of the clean pass over these ids. A pass is run when the next token is asked for.
        """
        logits, cache = prefix.logits, prefix.first(ids.shape[1])
        while True:
            token = logits[0].argmax()
            yield int(token), float(logits[0].softmax(-1)[token])
            ids = torch.cat([ids, token.view(1, 1)], 1)
            with torch.no_grad():
                logits = self.checked(self._next(ids[:, -1:], cache) if prefix.layers else self.last_logits(ids))

    def suffix_states(
        self,
        prefix: Prefix,
        start: int,
        suffixes: torch.Tensor,
        positions: Sequence[int] = (-1,),
        prompts: Sequence[int] | None = None,
        ends: torch.Tensor | None = None,
    ) -> torch.Tensor:
        """Run other endings of B saved prompts ▶ (b, P, …) states at some positions, for `ReadOut.logits`.

        suffixes: (b, m) ids that follow the first `start` positions of a prompt; prompts: which one, for each of the b;
        without it the rows of one prompt are consecutive, as many of each. start: 0 for an empty prefix. positions: of the
        whole prompt, none of them before `start`. Gradients flow if enabled.
        """
        batch, length = suffixes.shape
        rows = self._rows(positions, start + length, start, ends)
        read, plain = None if ends is None else ends - start, self._read_out.is_plain  # a trial, so before `_reading`
        options: dict[str, Any] = {"input_ids": suffixes, "use_cache": False}
        if start:
            position_ids = torch.arange(start, start + length, device=self._facts.device)
            copies = batch // prefix.layers[0][0].shape[0]
            options |= {
                "past_key_values": prefix.first(start, prompts or [row // copies for row in range(batch)]),
                "position_ids": position_ids.expand(batch, -1),
                "use_cache": True,
            }
        options["attention_mask"] = torch.ones(batch, start + length, dtype=torch.long, device=self._facts.device)
        with self._reading(rows, read):
            if plain:
                states = self._model.base_model(**options).last_hidden_state
                states = _last(states, read) if rows is LAST else states[:, rows]
            else:
                states = self._model(**options, logits_to_keep=_to_keep(rows, read)).logits
                states = states if read is None else _last(states, read)
        chosen = (prompts or [0])[:1]
        again = partial(self.suffix_states, prefix, start, suffixes[:1], positions, chosen, _first(ends))
        self._check_kernel(states, again)
        return states

    def suffix_logits(
        self,
        prefix: Prefix,
        start: int,
        suffixes: torch.Tensor,
        positions: Sequence[int],
        prompts: Sequence[int],
        ends: torch.Tensor | None = None,
    ) -> torch.Tensor:
        """Compute logits, (b, P, V) float32, of what `suffix_states` gives; of the prompts themselves with a `start` of 0."""
        if not start:
            return self.logits_at(suffixes, positions, ends)
        return self._read_out.logits(self.suffix_states(prefix, start, suffixes, positions, prompts, ends))

    def _check_kernel(self, read: torch.Tensor, again: Callable[[], torch.Tensor]) -> None:
        """Raise HEvalError if attention computed by its formula gives another result than the kernel.

        read: (b, …), what a pass gave. again: gives its first row once more, with attention as its formula says.
        """
        self._passes += 1
        if self._facts.device.type in KERNELS and self._passes % CHECKED == 0 and not torch.is_grad_enabled():
            with sdpa_kernel(SDPBackend.MATH), suppress(torch.OutOfMemoryError):  # a long prompt's matrix may not fit
                if (share := largest_difference(read[:1], again())) > may_differ(self._model.dtype):
                    self._wrong = (
                        f"A fast kernel of PyTorch computes the attention of {self._facts.key} wrongly on this GPU: results "
                        f"differ by {share:.2%}. Trust none of them; compute them again with --device cpu, or another PyTorch."
                    )
        if self._wrong:
            raise HEvalError(self._wrong)

    def checked(self, logits: torch.Tensor) -> torch.Tensor:
        """Return the logits themselves. Raises HEvalError if they are not finite."""
        if not torch.isfinite(logits).all():
            raise not_finite(self._facts.key, self._model)
        return logits

    @contextmanager
    def _reading(self, rows: torch.Tensor | int, ends: torch.Tensor | None = None) -> Iterator[None]:
        """Read the model in float32 inside, at these `_rows`. Generation does without: it uses the model as it is.

        Where only the last position is read, the last layer's MLP gets that alone. Its output (b, 1, d) is broadcast over the
        residual stream, so that all other positions hold nonsense afterwards. ends: (b,) of a padded pass, counted from its
        first token; the unembedding too then gets the last position alone.
        """
        mlp, whole = self.last_mlp if rows is LAST else None, nullcontext()

        def last_alone(_: torch.nn.Module, inputs: tuple[torch.Tensor, ...]) -> tuple[torch.Tensor, ...]:
            return _last(inputs[0], ends), *inputs[1:]

        last = mlp.register_forward_pre_hook(last_alone) if mlp is not None else whole
        read = whole if ends is None else self._read_out.head.register_forward_pre_hook(last_alone)
        with last, read, self._read_out.float32():
            yield

    @cached_property
    def may_pad(self) -> bool:
        """Whether prompts of unequal length may share a pass: a trial shows that tokens behind a prompt change nothing of it.

        They do where the longest prompt of a pass decides how positions turn, which no short trial shows.
        """
        config = self._facts.model.config.get_text_config()
        turned = getattr(config, "rope_parameters", None) or getattr(config, "rope_scaling", None) or {}
        if any(kind in str(turned) for kind in ("dynamic", "longrope")):
            return False
        ids = torch.arange(1, 13, device=self._facts.device).view(2, 6) % self._facts.vocabulary
        with torch.no_grad(), suppress(RuntimeError, TypeError, ValueError, IndexError):
            alone, padded = self.last_logits(ids[:, :3]), self.logits_at(ids, (-1,), torch.tensor([2, 2], device=ids.device))
            return largest_difference(padded[:, -1], alone) <= may_differ(self._model.dtype)
        return False

    @property
    def padding(self) -> float:
        """How much longer than the shortest prompt of a pass the longest may be, as a share of it; 0 for equal lengths."""
        padding = self._facts.budget.padding
        return padding if padding and self.may_pad else 0.0

    @cached_property
    def last_mlp(self) -> torch.nn.Module | None:
        """The last layer's MLP, if a trial shows that running it for the last position alone changes nothing there."""
        modules, layers = self._model.modules(), self._facts.layers
        stacks = (m for m in modules if isinstance(m, torch.nn.ModuleList) and len(m) == layers)
        mlp = getattr(next(stacks, [None])[-1], "mlp", None)
        if not isinstance(mlp, torch.nn.Module):
            return None
        ids = torch.arange(1, 11, device=self._facts.device).view(2, 5)
        with torch.no_grad(), self._read_out.float32():
            whole = self.checked(self._model(input_ids=ids, use_cache=False, logits_to_keep=1).logits[:, -1].float())
            self.__dict__["last_mlp"] = mlp  # `last_logits` uses it in the trial
            try:
                shortened = self.last_logits(ids)
            except (RuntimeError, TypeError, ValueError, IndexError):
                return None
        rounding = max(1e-4, 4 * torch.finfo(self._model.dtype).eps) * float(whole.abs().max())
        return mlp if torch.allclose(shortened, whole, rtol=0, atol=rounding) else None
