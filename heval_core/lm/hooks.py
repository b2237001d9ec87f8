"""Passes with hooks: reads or changes a model's activations through TransformerLens.

Every pass with hooks is compared with the plain model. If their logits differ by more than rounding, the hooks do not show
what the model does, and the model is refused by name.
"""

from collections.abc import Sequence
from contextlib import nullcontext
from functools import cached_property
from typing import Any

import torch
from transformer_lens.model_bridge import TransformerBridge
from transformer_lens.model_bridge.sources import build_bridge_from_module
from transformer_lens.model_bridge.sources.transformers import determine_architecture_from_hf_config
from transformers import DynamicCache

from heval_core.lm.facts import ModelFacts
from heval_core.lm.needs import lacks, require, unknown_to_library
from heval_core.lm.read_out import ReadOut, in_float32, largest_difference, may_differ


class Hooked:
    """The model as TransformerLens sees it, made when it is first needed."""

    def __init__(self, facts: ModelFacts, read_out: ReadOut):
        self._facts, self._read_out = facts, read_out
        layers = range(facts.layers)
        self.pattern_names = tuple(f"blocks.{layer}.attn.hook_pattern" for layer in layers)
        # The hook's canonical name: `hook_z` is its alias, and hooks report the canonical one.
        self.output_names = tuple(f"blocks.{layer}.attn.o.hook_in" for layer in layers)
        self.written_names = tuple(f"blocks.{layer}.attn.o.hook_out" for layer in layers)
        self.last_name = f"blocks.{facts.layers - 1}.hook_out"

    @cached_property
    def bridge(self) -> TransformerBridge:
        """Raises HEvalError for a model whose heads cannot be read."""
        require(self._facts, ("softmax attention", "heads"))
        # The bridge rewires the modules it is given. A copy of the modules that shares every weight keeps the original plain
        # and fast, and costs no memory. Only eager attention forms the pattern that head methods need.
        facts, twin = self._facts, self._facts.twin()
        twin.set_attn_implementation("eager")
        self._twin_head = twin.get_output_embeddings()
        with unknown_to_library(facts, "heads", "is not supported by TransformerLens"):
            # `boot_transformers` would read the tokenizer once more, perhaps from the hub, and for a model that sees pictures
            # too it installs torchvision by pip, and another torch with it. Hooks need neither.
            kind = determine_architecture_from_hf_config(twin.config)
            bridge = build_bridge_from_module(twin, kind, hf_config=twin.config, model_name=facts.key)
        for name in (*self.pattern_names, *self.output_names, *self.written_names, self.last_name):
            if name not in bridge.hook_dict:
                raise lacks(self._facts, "heads", f"has no hook {name}, at which its heads would be read")
        return bridge

    def check_same(self, hooked: torch.Tensor, plain: torch.Tensor) -> None:
        """Compare (b, V) logits of a pass with hooks with the plain model's. Raises HEvalError if they differ."""
        dtype = self._facts.model.dtype
        share = largest_difference(hooked, plain)
        if not share <= may_differ(dtype):
            raise lacks(
                self._facts,
                "heads",
                f"gives other logits when its heads are read: they differ by {share:.2%}, which is more than rounding in "
                f"{str(dtype).removeprefix('torch.')} explains",
            )

    def run(
        self, ids: torch.Tensor, hooks: Sequence[tuple[str, Any]], start: int, at: torch.Tensor | None = None, **options: Any
    ) -> torch.Tensor:
        """Run a pass with hooks over (b, n) ids at positions from `start` on ▶ (b, V) last logits, float32.

        at: (b, 1) positions of single tokens, in place of those. The tokens before them are not there (`start` is 0): the
        hooks must give every head's output.
        """
        bridge, device, attended = self.bridge, self._facts.device, start + ids.shape[1]
        positions = torch.arange(start, attended, device=device).expand(len(ids), -1) if at is None else at
        in_full = in_float32(self._twin_head) if self._read_out.is_float32 else nullcontext()
        with unknown_to_library(self._facts, "heads", "cannot be run with hooks"), in_full:
            logits = bridge.run_with_hooks(
                ids,
                fwd_hooks=list(hooks),
                position_ids=positions,
                attention_mask=torch.ones(len(ids), attended, dtype=torch.long, device=device),
                logits_to_keep=1,
                **options,
            )
        return torch.as_tensor(logits)[:, -1].float()

    def seen(
        self, ids: torch.Tensor, cache: DynamicCache, start: int, names: Sequence[str]
    ) -> tuple[dict[str, torch.Tensor], torch.Tensor]:
        """Return the activations at the hooks of these names, and the logits (b, V) of the last position."""
        saved: dict[str, torch.Tensor] = {}

        def save(tensor: torch.Tensor, hook: Any) -> None:
            saved[hook.name] = tensor

        logits = self.run(ids, [(name, save) for name in names], start, past_key_values=cache, use_cache=True)
        return saved, logits
