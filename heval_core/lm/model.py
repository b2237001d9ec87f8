"""A causal language model as the explainers see it: ids in, last-position logits, gradients' layer and heads out.

Shapes: n prompt tokens, b sequences, V vocabulary, L layers, H query heads, d width, d_h head width.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import torch
from transformer_lens.model_bridge import TransformerBridge
from transformers import DynamicCache, PreTrainedModel

from heval_core.lm import read_out
from heval_core.lm.needs import lacks, require
from heval_core.lm.spans import tokenise
from heval_core.records import HEvalError, Prompt, TokenisedPrompt
from heval_core.regimes import PromptStyle

# How far a pass with hooks may be from the plain one, as a share of the logits' norm. In float32 25 random architectures come
# to 2e-6; in bfloat16, where the two passes round apart, to .06, and to .14 where rounding sends a token to another expert.
SAME, SAME_ROUNDINGS = 1e-4, 25


@dataclass(frozen=True, eq=False)
class Prefix:
    """Keys and values that B clean prompts of n tokens left in every layer, each (B, KV heads, n, d_h).

    logits: (B, V) of the pass that left them, which any other way of running the same prompts has to meet.
    """

    layers: tuple[tuple[torch.Tensor, torch.Tensor], ...]
    logits: torch.Tensor

    def first(self, length: int, copies: int = 1) -> DynamicCache:
        """A cache of the first `length` positions, with `copies` rows for each prompt, one prompt after the other."""
        cache = DynamicCache()
        if length:
            for index, layer in enumerate(self.layers):
                keys, values = (_repeated(tensor[:, :, :length], copies) for tensor in layer)
                cache.update(keys, values, index)
        return cache


def _repeated(tensor: torch.Tensor, copies: int) -> torch.Tensor:
    if copies == 1:
        return tensor
    if tensor.shape[0] == 1:
        return tensor.expand(copies, -1, -1, -1)  # no copy: what follows concatenates, and so copies once
    return tensor.repeat_interleave(copies, 0)


@dataclass(frozen=True, eq=False)
class Heads:
    """What the heads of B prompts do at the last position.

    attention: (B, L, H, n), the last query's row of every head. outputs: (B, L, H, d_h), every head's z before the output
    projection. last_layer: (B, d), the last decoder layer's output before the final norm. All float32.
    """

    attention: torch.Tensor
    outputs: torch.Tensor
    last_layer: torch.Tensor


def out_of_memory(error: BaseException) -> bool:
    """Whether an error says that the device's memory did not suffice."""
    return isinstance(error, torch.OutOfMemoryError) or (
        isinstance(error, RuntimeError) and ("out of memory" in str(error) or "can't allocate memory" in str(error))
    )


class LanguageModel:
    """A loaded model. Made by `loading.load`; holds no state between calls besides its weights."""

    def __init__(
        self,
        key: str,
        model: PreTrainedModel,
        tokenizer: Any,
        style: PromptStyle,
        revision: str,
        template: str,
        batch_tokens: int,
        growing: bool = False,
    ):
        self.key, self.model, self.tokenizer = key, model, tokenizer
        self.style, self.revision, self.template = style, revision, template
        self.batch_tokens, self._growing = batch_tokens, growing
        self.device = model.device
        config = model.config.get_text_config()
        self.layers = int(config.num_hidden_layers)
        self.heads_per_layer = int(getattr(config, "num_attention_heads", None) or 0)
        kinds = getattr(config, "layer_types", None) or ()
        # What a state-space or linear-attention layer leaves is one state, not keys and values that can be cut off.
        self.keeps_prefix = self.heads_per_layer > 0 and all(
            kind.endswith(("full_attention", "sliding_attention")) for kind in kinds
        )
        self.kv_heads = int(getattr(config, "num_key_value_heads", None) or self.heads_per_layer)
        self.width = int(config.hidden_size)
        self.positions = int(getattr(config, "max_position_embeddings", None) or tokenizer.model_max_length)
        self.vocabulary = int(model.get_input_embeddings().weight.shape[0])

    def grow_budget(self, used: int) -> None:
        """Double the budget of tokens per pass after one that used most of it, until memory has once said no."""
        if self._growing and 2 * used > self.batch_tokens:
            self.batch_tokens *= 2

    def shrink_budget(self, length: int) -> bool:
        """Halve the budget after memory said no. False where it holds less than one prompt of `length` tokens already."""
        self._growing = False
        if self.device.type == "cuda":
            torch.cuda.empty_cache()
        if self.batch_tokens < length:
            return False
        self.batch_tokens //= 2
        return True

    def tokenise(self, prompt: Prompt, check_length: bool = True) -> TokenisedPrompt:
        """Raises HEvalError where the prompt is longer than the model's positions, unless told not to check."""
        tokenised = tokenise(prompt, self.tokenizer)
        if not tokenised.ids:
            raise HEvalError("The prompt has no tokens.")
        if check_length and len(tokenised.ids) > self.positions:
            raise HEvalError(f"The prompt has {len(tokenised.ids)} tokens; {self.key} reads at most {self.positions}.")
        return tokenised

    @property
    def baseline_id(self) -> int:
        """The token that stands for an absent one: the tokenizer's pad if defined, else its end of text."""
        for token_id in (self.tokenizer.pad_token_id, self.tokenizer.eos_token_id):
            if token_id is not None:
                return int(token_id)
        raise HEvalError(f"The tokenizer of {self.key} has neither a pad nor an end-of-text token to ablate with.")

    def baseline(self, chosen: int | None) -> int:
        """The token to ablate with: a chosen one, else `baseline_id`. Raises HEvalError for one outside the vocabulary."""
        if chosen is not None and not 0 <= chosen < self.vocabulary:
            raise HEvalError(f"{self.key} has no token {chosen}; its vocabulary ends at {self.vocabulary - 1}.")
        return self.baseline_id if chosen is None else chosen

    def first_tokens(self, answer: str) -> tuple[int, ...]:
        """The ids an answer may begin with (methods.md, section 1).

        Those of " answer" and of "answer", and of both with a capital letter where it starts in lower case. Tokens that
        are only white space are left out: under SentencePiece every answer would begin with the same one.
        """
        answer = answer.strip()
        forms = [f" {answer}", answer]
        if answer[:1].islower():
            capital = answer[:1].upper() + answer[1:]
            forms += [f" {capital}", capital]
        found = []
        for form in forms:
            ids = self.tokenizer(form, add_special_tokens=False).input_ids
            first = next((i for i in ids if self.tokenizer.decode([i]).strip()), None)
            if first is not None and first not in found:
                found.append(first)
        return tuple(found)

    def decode(self, ids: list[int]) -> str:
        return str(self.tokenizer.decode(ids, skip_special_tokens=True))

    def ids(self, ids: tuple[int, ...]) -> torch.Tensor:
        """(1, n) on the model's device."""
        return torch.tensor([ids], device=self.device)

    def forward(self, ids: torch.Tensor) -> torch.Tensor:
        """(b, n) ids of equal length ▶ (b, V) logits of the last position, float32; gradients flow where asked for."""
        with self._reading():
            found = self.model(input_ids=ids, attention_mask=torch.ones_like(ids), use_cache=False, logits_to_keep=1)
        return found.logits[:, -1].float()

    @torch.no_grad()
    def logits(self, ids: torch.Tensor) -> torch.Tensor:
        """`forward` without gradients. Raises HEvalError where the logits are not finite."""
        logits = self.forward(ids)
        if not torch.isfinite(logits).all():
            raise HEvalError(f"{self.key} gave logits that are not finite; try another dtype.")
        return logits

    @torch.no_grad()
    def clean(self, ids: torch.Tensor) -> tuple[torch.Tensor, Prefix]:
        """One pass over (B, n) ids ▶ (B, V) logits of the last position, float32, and the keys and values it left.

        A model whose layers leave no keys and values gives an empty prefix.
        """
        if not self.keeps_prefix:
            logits = self.forward(ids)
            return logits, Prefix((), logits)
        cache = DynamicCache()
        with self._reading():
            logits = self.model(input_ids=ids, past_key_values=cache, use_cache=True, logits_to_keep=1).logits[:, -1]
        logits = logits.float()
        return logits, Prefix(tuple((layer.keys, layer.values) for layer in cache.layers), logits)

    @torch.no_grad()
    def suffix_states(self, prefix: Prefix, start: int, suffixes: torch.Tensor) -> torch.Tensor:
        """Other endings of B kept prompts ▶ (b, …) what the last position holds, for `read_out`.

        suffixes: (b, n - start) ids that follow the prompts' first `start` positions; b is a multiple of B, and the rows
        of a prompt stand together, in the order of the prompts. start: 0 for an empty prefix.
        """
        batch, length = suffixes.shape
        options: dict[str, Any] = {"input_ids": suffixes, "use_cache": False}
        if start:
            positions = torch.arange(start, start + length, device=self.device)
            options |= {
                "past_key_values": prefix.first(start, batch // prefix.layers[0][0].shape[0]),
                "position_ids": positions.expand(batch, -1),
                "use_cache": True,
            }
        options["attention_mask"] = torch.ones(batch, start + length, dtype=torch.long, device=self.device)
        with self._reading():
            if self.reads_out_plainly:
                return self.model.base_model(**options).last_hidden_state[:, -1]
            return self.model(**options, logits_to_keep=1).logits[:, -1]

    @contextmanager
    def _reading(self) -> Iterator[None]:
        """A pass that is read at its last position, in float32. Generation is not in it: it asks the model as it is."""
        with self._last_position_only(), self._float32():
            yield

    def _float32(self) -> AbstractContextManager[None]:
        return read_out.in_float32(self._head) if self.reads_out_in_float32 else nullcontext()

    @property
    def _head(self) -> torch.nn.Module:
        head: torch.nn.Module = self.model.get_output_embeddings()
        return head

    @cached_property
    def reads_out_in_float32(self) -> bool:
        """Whether logits are computed in float32 from the last states. Else they are the model's own, as coarse as its dtype.

        They are its own where the unembedding is no plain matrix, or float32 logits differ from its own by more than rounding.
        """
        return self.model.dtype == torch.float32 or read_out.agrees(self.model, self._head)

    @contextmanager
    def _last_position_only(self) -> Iterator[None]:
        """Within it the last layer's MLP is given the last position alone; what it adds to the others is never read.

        Its output (b, 1, d) is broadcast over the residual stream, so that every other position holds nonsense after it.
        """
        if self._last_mlp is None:
            yield
            return
        handle = self._last_mlp.register_forward_pre_hook(lambda _, inputs: (inputs[0][:, -1:], *inputs[1:]))
        try:
            yield
        finally:
            handle.remove()

    @cached_property
    def _last_mlp(self) -> torch.nn.Module | None:
        """The last layer's MLP, where running it for the last position alone provably changes nothing there."""
        stacks = (m for m in self.model.modules() if isinstance(m, torch.nn.ModuleList) and len(m) == self.layers)
        mlp = getattr(next(stacks, [None])[-1], "mlp", None)
        if not isinstance(mlp, torch.nn.Module):
            return None
        ids = torch.arange(1, 11, device=self.device).view(2, 5)
        with torch.no_grad(), self._float32():
            whole = self.model(input_ids=ids, use_cache=False, logits_to_keep=1).logits[:, -1].float()
            self.__dict__["_last_mlp"] = mlp  # what `forward` is to try out
            try:
                found = self.forward(ids)
            except (RuntimeError, TypeError, ValueError, IndexError):
                return None
        rounding = max(1e-4, 4 * torch.finfo(self.model.dtype).eps) * float(whole.abs().max())
        return mlp if torch.allclose(found, whole, rtol=0, atol=rounding) else None

    @torch.no_grad()
    def read_out(self, states: torch.Tensor) -> torch.Tensor:
        """States of last positions, of any leading shape ▶ (…, V) logits, float32.

        Apart from `suffix_states`, because the unembedding is a large matrix to read for a few rows.
        """
        if not self.reads_out_plainly:
            return states.float()
        with self._float32():
            return torch.as_tensor(self._head(states)).float()

    @cached_property
    def reads_out_plainly(self) -> bool:
        """Whether logits are the unembedding of the decoder's output and nothing else (no soft cap, no scale)."""
        config = self.model.config.get_text_config()
        scales = ("final_logit_softcapping", "logit_scale", "logits_scaling", "lm_head_multiplier", "output_multiplier")
        if any(getattr(config, name, None) not in (None, 1, 1.0) for name in scales) or not self.keeps_prefix:
            return False
        ids = torch.arange(1, 5, device=self.device)[None]
        with torch.no_grad(), self._float32():
            states = self.model.base_model(input_ids=ids, use_cache=False).last_hidden_state[:, -1]
            whole = self.model(input_ids=ids, use_cache=False, logits_to_keep=1).logits[:, -1]
            return torch.allclose(self._head(states), whole, rtol=1e-3, atol=1e-4)

    @torch.no_grad()
    def generate(
        self, prompts: Sequence[tuple[int, ...]], tokens: int, progress: Callable[[int], None] = lambda _: None
    ) -> list[tuple[int, ...]]:
        """Greedy continuations of at most `tokens` tokens, up to and with the end-of-text token, one per prompt.

        Prompts of similar length are padded on the left and asked together, within the budget of tokens. `progress` is
        called with how many are done. A prompt that leaves no position free gets ().
        """
        out: list[tuple[int, ...]] = [()] * len(prompts)
        askable = (i for i, ids in enumerate(prompts) if 0 < len(ids) < self.positions)
        waiting = sorted(askable, key=lambda i: len(prompts[i]), reverse=True)
        while waiting:
            width = len(prompts[waiting[0]])
            room = min(tokens, self.positions - width)
            # One that reaches the last position goes alone: the others would be cut short with it.
            size = max(1, self.batch_tokens // (width + tokens)) if room == tokens else 1
            batch, waiting = waiting[:size], waiting[size:]
            for index, ids in zip(batch, self._continue([prompts[i] for i in batch], width, room), strict=True):
                out[index] = ids
            progress(len(batch))
        return out

    def _continue(self, prompts: list[tuple[int, ...]], width: int, tokens: int) -> list[tuple[int, ...]]:
        pad = self.baseline_id
        ids = [[pad] * (width - len(prompt)) + list(prompt) for prompt in prompts]
        mask = [[0] * (width - len(prompt)) + [1] * len(prompt) for prompt in prompts]
        found = self.model.generate(
            torch.tensor(ids, device=self.device),
            attention_mask=torch.tensor(mask, device=self.device),
            max_new_tokens=tokens,
            pad_token_id=pad,
        )
        return [_up_to_end(row[width:], self.end_ids) for row in found.tolist()]

    @property
    def end_ids(self) -> set[int | None]:
        """The tokens with which the model ends its text."""
        ends = self.model.generation_config.eos_token_id
        return set(ends if isinstance(ends, list) else [ends])

    @property
    def embedding_layer(self) -> torch.nn.Module:
        return self.model.get_input_embeddings()

    def unembeddings(self, token_ids: Sequence[int]) -> torch.Tensor:
        """(B, d) raw rows of W_U, float32."""
        weight: torch.Tensor = self._head.weight  # type: ignore[assignment]
        return weight[list(token_ids)].detach().float()

    @cached_property
    def _bridge(self) -> TransformerBridge:
        require(self, ("softmax attention", "heads"))
        # The bridge rewires the modules it is given; a copy of the modules that shares every weight keeps `forward`
        # plain and fast, at no memory. Head methods need eager attention: the others never form the pattern.
        shared = {id(t): t for t in (*self.model.parameters(), *self.model.buffers())}
        twin = copy.deepcopy(self.model, shared)
        twin.set_attn_implementation("eager")
        self._twin_head = twin.get_output_embeddings()
        try:
            bridge = TransformerBridge.boot_transformers(
                self.tokenizer.name_or_path or self.key, hf_model=twin, tokenizer=self.tokenizer
            )
        except Exception as error:
            raise lacks(self, "heads", f"is not what TransformerLens can look into: {_first_line(error)}") from error
        for name in (*self._pattern_names, *self._output_names, self._last_name):
            if name not in bridge.hook_dict:
                raise lacks(self, "heads", f"has no {name}, where its heads would be looked into")
        return bridge

    def _check_same(self, found: torch.Tensor, clean: torch.Tensor) -> None:
        """Raises HEvalError where a pass with hooks answers otherwise than the plain model: those are not its heads, then."""
        apart = float(((found - clean).norm(dim=-1) / (clean - clean.mean(-1, keepdim=True)).norm(dim=-1)).max())
        if not apart <= max(SAME, SAME_ROUNDINGS * torch.finfo(self.model.dtype).eps):
            raise lacks(
                self,
                "heads",
                f"answers otherwise when its heads are looked into: its logits then differ by {apart:.2%}, which is more than "
                f"{str(self.model.dtype).removeprefix('torch.')} rounds",
            )

    @torch.no_grad()
    def heads(self, ids: torch.Tensor, prefix: Prefix) -> Heads:
        """The heads at the last position of (B, n) ids, through TransformerLens' hooks.

        Only the last token is run again, over the keys and values that the clean pass kept of the others: the last row of
        the attention pattern is all that is ever formed, so that memory grows with n, not n².
        """
        batch, n = ids.shape
        rows, logits = self._hooked(ids[:, -1:], prefix.first(n - 1), n - 1)
        self._check_same(logits, prefix.logits)
        attention = torch.stack([rows[name][:, :, -1] for name in self._pattern_names], 1).float()
        if not torch.allclose(attention.sum(-1), torch.ones((), device=self.device), atol=1e-2):
            raise lacks(self, "softmax attention", "has attention rows that do not sum to one")
        outputs = torch.stack([rows[name][:, -1].reshape(batch, -1) for name in self._output_names], 1).float()
        outputs = outputs.view(batch, self.layers, self.heads_per_layer, -1)
        return Heads(attention, outputs, rows[self._last_name].reshape(batch, -1).float())

    @torch.no_grad()
    def column_means(self, ids: torch.Tensor) -> torch.Tensor:
        """(B, n) ids ▶ (B, H, n) of the last layer: how much a token is attended to, on average over itself and all later
        queries. This needs the whole pattern: memory and time grow with n²."""
        n = ids.shape[1]
        (name,) = self._pattern_names[-1:]
        rows, logits = self._hooked(ids, DynamicCache(), 0, (name,))
        self._check_same(logits, self.logits(ids))
        pattern = rows[name].float()
        return pattern.sum(-2) / torch.arange(n, 0, -1, device=self.device)

    @torch.no_grad()
    def ablated(self, ids: torch.Tensor, heads: Sequence[tuple[int, int]], how: str = "zero") -> torch.Tensor:
        """Logits at the last position of (1, n) ids without one head at a time: (len(heads), V) float32.

        how: `zero`, the head's output is nothing at every position; `mean`, its mean over the prompt's positions. Raises
        HEvalError for another way, a head that is not there, or a model without softmax attention.
        """
        if how not in ("zero", "mean"):
            raise HEvalError(f"A head cannot be ablated by {how!r}; there are: zero, mean.")
        for layer, head in heads:
            if not (0 <= layer < self.layers and 0 <= head < self.heads_per_layer):
                raise HEvalError(f"{self.key} has no head L{layer}H{head}.")

        def without(tensor: torch.Tensor, hook: Any) -> torch.Tensor:
            layer = self._output_names.index(hook.name)
            outputs = tensor.reshape(*tensor.shape[:2], self.heads_per_layer, -1).clone()
            for row, (own, head) in enumerate(heads):
                if own == layer:
                    outputs[row, :, head] = 0 if how == "zero" else outputs[row, :, head].mean(0)
            return outputs.reshape(tensor.shape)

        rows = ids.expand(len(heads) + 1, -1)  # the last one keeps all its heads
        logits = self._run_bridge(rows, [(name, without) for name in self._output_names], 0, use_cache=False)
        self._check_same(logits[-1:], self.logits(ids))
        return logits[:-1]

    def _run_bridge(self, ids: torch.Tensor, hooks: list[Any], start: int, **options: Any) -> torch.Tensor:
        """A pass with hooks over (b, n) ids that stand at positions from `start` on ▶ (b, V) last logits, float32."""
        bridge, (batch, length) = self._bridge, ids.shape
        try:
            with read_out.in_float32(self._twin_head) if self.reads_out_in_float32 else nullcontext():
                logits = bridge.run_with_hooks(
                    ids,
                    fwd_hooks=hooks,
                    position_ids=torch.arange(start, start + length, device=self.device).expand(batch, -1),
                    attention_mask=torch.ones(batch, start + length, dtype=torch.long, device=self.device),
                    logits_to_keep=1,
                    **options,
                )
        except Exception as error:  # whatever a library's bridge to one architecture stumbles over
            if out_of_memory(error):
                raise
            raise lacks(self, "heads", f"cannot be run with hooks: {_first_line(error)}") from error
        return torch.as_tensor(logits)[:, -1].float()

    def _hooked(
        self, ids: torch.Tensor, cache: DynamicCache, start: int, names: tuple[str, ...] = ()
    ) -> tuple[dict[str, torch.Tensor], torch.Tensor]:
        """What the hooks of these names see, and the logits (b, V) of the last position."""
        kept: dict[str, torch.Tensor] = {}

        def keep(tensor: torch.Tensor, hook: Any) -> None:
            kept[hook.name] = tensor

        wanted = names or (*self._pattern_names, *self._output_names, self._last_name)
        hooks = [(name, keep) for name in wanted]
        logits = self._run_bridge(ids, hooks, start, past_key_values=cache, use_cache=True)
        return kept, logits

    @cached_property
    def _pattern_names(self) -> tuple[str, ...]:
        return tuple(f"blocks.{layer}.attn.hook_pattern" for layer in range(self.layers))

    @cached_property
    def _output_names(self) -> tuple[str, ...]:
        # The hook's canonical name: `hook_z` is its alias, and hooks report the canonical one.
        return tuple(f"blocks.{layer}.attn.o.hook_in" for layer in range(self.layers))

    @property
    def _last_name(self) -> str:
        return f"blocks.{self.layers - 1}.hook_out"

    @torch.no_grad()
    def head_logits(self, heads: Heads, token_ids: Sequence[int], fold: bool = False) -> torch.Tensor:
        """(B, L, H): what each head writes in the direction of each prompt's token, <W_U[t], z W_O>; no bias.

        fold: with the final norm's gain folded into W_U, and centred where the norm is one that centres.
        """
        directions = self.unembeddings(token_ids).T
        if fold:
            directions = self._folded(directions)
        rows = []
        for layer in range(self.layers):
            weight = self._bridge.blocks[layer].attn.W_O.float()  # (H, d_h, d)
            weight = weight.view(self.heads_per_layer, -1, self.width)
            rows.append((heads.outputs[:, layer] * (weight @ directions).permute(2, 0, 1)).sum(-1))
        return torch.stack(rows, 1)

    def _folded(self, directions: torch.Tensor) -> torch.Tensor:
        norm = self._bridge.ln_final.original_component
        gain = norm.weight.detach().float()
        if "Gemma" in type(norm).__name__:
            gain = 1 + gain  # Gemma's norms store their gain less one
        folded = directions * gain[:, None]
        # A LayerNorm takes the mean out of what it reads; moved over to the direction, that is the direction's own mean.
        return folded - folded.mean(0) if "LayerNorm" in type(norm).__name__ else folded


def _first_line(error: Exception) -> str:
    lines = str(error).strip().splitlines()
    return lines[0][:300] if lines else type(error).__name__


def _up_to_end(ids: list[int], ends: set[int | None]) -> tuple[int, ...]:
    """Generation fills up with padding after a row's end."""
    end = next((index for index, token_id in enumerate(ids) if token_id in ends), len(ids) - 1)
    return tuple(ids[: end + 1])


class CleanPass:
    """Prompts of equal length with what their unchanged forward pass leaves, made once and shared by all explainers.

    prompts: B of them, all of n tokens; one, for a prompt explained by itself.
    """

    def __init__(self, lm: LanguageModel, prompts: Sequence[TokenisedPrompt]):
        if len({len(prompt.ids) for prompt in prompts}) != 1:
            raise HEvalError("The prompts of one pass must have the same number of tokens.")
        self.lm, self.prompts = lm, tuple(prompts)

    @property
    def size(self) -> int:
        """B"""
        return len(self.prompts)

    @property
    def length(self) -> int:
        """n"""
        return len(self.prompts[0].ids)

    @cached_property
    def ids(self) -> torch.Tensor:
        """(B, n)"""
        return torch.tensor([prompt.ids for prompt in self.prompts], device=self.lm.device)

    @cached_property
    def _passed(self) -> tuple[torch.Tensor, Prefix]:
        logits, prefix = self.lm.clean(self.ids)
        if not torch.isfinite(logits).all():
            raise HEvalError(f"{self.lm.key} gave logits that are not finite; try another dtype.")
        return logits, prefix

    @property
    def logits(self) -> torch.Tensor:
        """(B, V) float32. Raises HEvalError where they are not finite."""
        return self._passed[0]

    @property
    def prefix(self) -> Prefix:
        return self._passed[1]

    @cached_property
    def heads(self) -> Heads:
        return self.lm.heads(self.ids, self.prefix)
