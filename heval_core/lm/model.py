"""A causal language model as the explainers see it: ids in, last-position logits, gradients' layer and heads out.

Shapes: n prompt tokens, b sequences, V vocabulary, L layers, H query heads, d width, d_h head width.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import torch
from transformer_lens.model_bridge import TransformerBridge
from transformers import DynamicCache, PreTrainedModel

from heval_core.lm.spans import tokenise
from heval_core.records import HEvalError, Prompt, TokenisedPrompt
from heval_core.regimes import PromptStyle


@dataclass(frozen=True, eq=False)
class Prefix:
    """Keys and values that the clean prompt left in every layer, each (1, KV heads, n, d_h)."""

    layers: tuple[tuple[torch.Tensor, torch.Tensor], ...]

    def expanded(self, length: int, batch: int) -> DynamicCache:
        """A cache with the first `length` positions, repeated over a batch."""
        cache = DynamicCache()
        if length:
            for index, (keys, values) in enumerate(self.layers):
                keys = keys[:, :, :length].expand(batch, -1, -1, -1)
                values = values[:, :, :length].expand(batch, -1, -1, -1)
                cache.update(keys, values, index)
        return cache


@dataclass(frozen=True, eq=False)
class Heads:
    """What one forward pass says of the heads at the last position.

    attention: (L, H, n), the last query's row of every head. outputs: (L, H, d_h), every head's z before the output
    projection. last_layer: (d,), the last decoder layer's output before the final norm. All float32.
    """

    attention: torch.Tensor
    outputs: torch.Tensor
    last_layer: torch.Tensor


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
    ):
        self.key, self.model, self.tokenizer = key, model, tokenizer
        self.style, self.revision, self.template = style, revision, template
        self.batch_tokens = batch_tokens
        self.device = model.device
        config = model.config.get_text_config()
        self.layers, self.heads_per_layer = int(config.num_hidden_layers), int(config.num_attention_heads)
        self.kv_heads = int(getattr(config, "num_key_value_heads", None) or self.heads_per_layer)
        self.width = int(config.hidden_size)
        self.positions = int(getattr(config, "max_position_embeddings", None) or tokenizer.model_max_length)
        self.vocabulary = int(model.get_input_embeddings().weight.shape[0])

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
        return (
            self.model(input_ids=ids, attention_mask=torch.ones_like(ids), use_cache=False, logits_to_keep=1)
            .logits[:, -1]
            .float()
        )

    @torch.no_grad()
    def logits(self, ids: torch.Tensor) -> torch.Tensor:
        """`forward` without gradients. Raises HEvalError where the logits are not finite."""
        logits = self.forward(ids)
        if not torch.isfinite(logits).all():
            raise HEvalError(f"{self.key} gave logits that are not finite; try another dtype.")
        return logits

    @torch.no_grad()
    def prefix(self, ids: torch.Tensor) -> Prefix:
        """One clean pass over (1, n) ids that keeps keys and values."""
        cache = DynamicCache()
        self.model(input_ids=ids, past_key_values=cache, use_cache=True, logits_to_keep=1)
        return Prefix(tuple((layer.keys, layer.values) for layer in cache.layers))

    @torch.no_grad()
    def suffix_logits(self, prefix: Prefix, start: int, suffixes: torch.Tensor) -> torch.Tensor:
        """(b, n - start) ids that follow the prefix's first `start` positions ▶ (b, V) logits of the last position."""
        batch, length = suffixes.shape
        positions = torch.arange(start, start + length, device=self.device)
        return (
            self.model(
                input_ids=suffixes,
                past_key_values=prefix.expanded(start, batch),
                position_ids=positions.expand(batch, -1),
                attention_mask=torch.ones(batch, start + length, dtype=torch.long, device=self.device),
                use_cache=True,
                logits_to_keep=1,
            )
            .logits[:, -1]
            .float()
        )

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
        ends = self.model.generation_config.eos_token_id
        ends = set(ends if isinstance(ends, list) else [ends])
        return [_up_to_end(row[width:], ends) for row in found.tolist()]

    @property
    def embedding_layer(self) -> torch.nn.Module:
        return self.model.get_input_embeddings()

    def unembedding(self, token_id: int) -> torch.Tensor:
        """(d,) the raw row of W_U, float32."""
        return self.model.get_output_embeddings().weight[token_id].detach().float()

    @cached_property
    def _bridge(self) -> TransformerBridge:
        # The bridge rewires the modules it is given; a copy of the modules that shares every weight keeps `forward`
        # plain and fast, at no memory. Head methods need eager attention: the others never form the pattern.
        shared = {id(t): t for t in (*self.model.parameters(), *self.model.buffers())}
        twin = copy.deepcopy(self.model, shared)
        twin.set_attn_implementation("eager")
        try:
            bridge = TransformerBridge.boot_transformers(
                self.tokenizer.name_or_path or self.key, hf_model=twin, tokenizer=self.tokenizer
            )
        except Exception as error:
            raise HEvalError(
                f"TransformerLens cannot look into {self.key} ({self.model.config.model_type}): {error}. "
                "fa and ig still work; attn and mechlight do not."
            ) from error
        for layer in range(self.layers):
            if f"blocks.{layer}.attn.hook_pattern" not in bridge.hook_dict:
                raise HEvalError(f"Layer {layer} of {self.key} has no softmax attention, so its heads have no pattern.")
        return bridge

    @torch.no_grad()
    def heads(self, ids: torch.Tensor) -> Heads:
        """One pass over (1, n) ids through TransformerLens' hooks, keeping only the last query's rows."""
        bridge = self._bridge
        kept: dict[str, torch.Tensor] = {}

        def keep(tensor: torch.Tensor, hook: Any) -> None:
            # (1, H, n, n) patterns and (1, n, …) activations alike have the query, or position, second to last or second.
            row = tensor[0, :, -1] if hook.name.endswith("hook_pattern") else tensor[0, -1]
            kept[hook.name] = row.float().clone()

        names = [f"blocks.{i}.attn.hook_pattern" for i in range(self.layers)]
        # The hook's canonical name: `hook_z` is its alias, and hooks report the canonical one.
        names += [f"blocks.{i}.attn.o.hook_in" for i in range(self.layers)]
        names.append(f"blocks.{self.layers - 1}.hook_out")
        bridge.run_with_hooks(ids, fwd_hooks=[(name, keep) for name in names])
        attention = torch.stack([kept[name] for name in names[: self.layers]])
        if not torch.allclose(attention.sum(-1), torch.ones((), device=self.device), atol=1e-2):
            raise HEvalError(f"The attention rows of {self.key} do not sum to one: this is not softmax attention.")
        outputs = torch.stack([kept[name] for name in names[self.layers : -1]])
        outputs = outputs.view(self.layers, self.heads_per_layer, -1)
        return Heads(attention, outputs, kept[names[-1]].view(-1))

    @torch.no_grad()
    def head_logits(self, heads: Heads, token_id: int) -> torch.Tensor:
        """(L, H): what each head writes in the direction of a token, <W_U[t], z W_O>; the bias belongs to no head."""
        direction = self.unembedding(token_id)
        rows = []
        for layer, outputs in enumerate(heads.outputs):
            weight = self._bridge.blocks[layer].attn.W_O.float()  # (H, d_h, d)
            weight = weight.view(self.heads_per_layer, -1, self.width)
            rows.append((outputs * (weight @ direction)).sum(-1))
        return torch.stack(rows)


def _up_to_end(ids: list[int], ends: set[int | None]) -> tuple[int, ...]:
    """Generation fills up with padding after a row's end."""
    end = next((index for index, token_id in enumerate(ids) if token_id in ends), len(ids) - 1)
    return tuple(ids[: end + 1])


class CleanPass:
    """One prompt with what its unchanged forward passes leave, each made once and shared by all explainers."""

    def __init__(self, lm: LanguageModel, prompt: TokenisedPrompt):
        self.lm, self.prompt = lm, prompt

    @cached_property
    def ids(self) -> torch.Tensor:
        return self.lm.ids(self.prompt.ids)

    @cached_property
    def logits(self) -> torch.Tensor:
        """(V,) float32."""
        return self.lm.logits(self.ids)[0]

    @cached_property
    def prefix(self) -> Prefix:
        return self.lm.prefix(self.ids)

    @cached_property
    def heads(self) -> Heads:
        return self.lm.heads(self.ids)
