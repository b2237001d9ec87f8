"""LoRA adapters: small matrices that are added to the weights of a model's linear layers.

Formula: W + alpha / r B A for each adapted layer; A is (r, inputs), B is (outputs, r).
Reference: Hu et al. 2021, arXiv 2106.09685.
An adapter is one safetensors file in float16, which names the model it was trained for. A model with an adapter is a copy of
the modules that shares every other weight with the model, which is never touched.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import safetensors
import safetensors.torch
import torch
from transformers.pytorch_utils import Conv1D

from heval_core.lm.facts import ModelFacts
from heval_core.lm.model import LanguageModel
from heval_core.lm.needs import lacks
from heval_core.records import HEvalError

LowRankPair = tuple[torch.Tensor, torch.Tensor]


@dataclass(frozen=True, eq=False)
class Adapter:
    """A low-rank adapter of a model.

    model, revision: what it was trained for. scale: alpha / r. pairs: A and B of each adapted layer, by its name.
    """

    model: str
    revision: str
    scale: float
    pairs: Mapping[str, LowRankPair]

    def as_bytes(self) -> bytes:
        """Write it as a safetensors file; equal adapters give equal bytes."""
        tensors: dict[str, torch.Tensor] = {}
        for name, (a, b) in self.pairs.items():
            tensors |= {f"{name}.lora_A": _stored(a), f"{name}.lora_B": _stored(b)}
        # One entry of metadata: the library writes several in no fixed order, and the file's hash is part of keys.
        config = json.dumps({"model": self.model, "revision": self.revision, "scale": self.scale})
        return safetensors.torch.save(tensors, {"adapter": config})

    @classmethod
    def read(cls, file: bytes) -> Adapter:
        """Read an adapter from bytes. Raises HEvalError for other bytes."""
        try:
            length = int.from_bytes(file[:8], "little")
            config = json.loads(json.loads(file[8 : 8 + length])["__metadata__"]["adapter"])
            tensors = safetensors.torch.load(file)
            names = sorted(key.removesuffix(".lora_A") for key in tensors if key.endswith(".lora_A"))
            pairs = {name: (tensors[f"{name}.lora_A"], tensors[f"{name}.lora_B"]) for name in names}
            return cls(str(config["model"]), str(config["revision"]), float(config["scale"]), pairs)
        except (ValueError, KeyError, TypeError, safetensors.SafetensorError) as error:
            raise HEvalError("The stored weights are not an adapter of fine_tuning; compute them again.") from error

    def added(self, name: str) -> torch.Tensor:
        """Compute what it adds to one layer's weight: (outputs, inputs) float32."""
        a, b = self.pairs[name]
        return self.scale * (b.float() @ a.float())


def _stored(matrix: torch.Tensor) -> torch.Tensor:
    return matrix.detach().to("cpu", torch.float16).contiguous()


def linear_layers(facts: ModelFacts) -> dict[str, torch.nn.Module]:
    """List the linear layers of the blocks, by name. Raises HEvalError for a model that has none in floating point."""
    layers = {
        name: module
        for name, module in facts.model.named_modules()
        if re.search(r"\.\d+\.", name) and isinstance(module, (torch.nn.Linear, Conv1D))
        # The weight of a quantised layer is no matrix of numbers.
        if module.weight.is_floating_point() and module.weight.ndim == 2
    }
    if not layers:
        raise lacks(facts, "an adapter", "has no linear layers in floating point in its blocks")
    return layers


@torch.no_grad()
def adapted(lm: LanguageModel, adapter: Adapter) -> LanguageModel:
    """Merge an adapter into the weights of a model's twin. Raises HEvalError for an adapter of another model."""
    if (adapter.model, adapter.revision) != (lm.key, lm.revision):
        raise HEvalError(
            f"The adapter was trained for {adapter.model} (revision {adapter.revision or 'unknown'}), and cannot be used with "
            f"{lm.key} (revision {lm.revision or 'unknown'})."
        )
    layers = linear_layers(lm)
    for name, (a, b) in adapter.pairs.items():
        if name not in layers or _shape(layers[name]) != (b.shape[0], a.shape[1]):
            fault = "another size in the model" if name in layers else "no place in the model"
            raise HEvalError(
                f"The adapter does not fit {lm.key}: its layer {name} ({a.shape[1]} inputs, {b.shape[0]} outputs) has {fault}."
            )
    twin = lm.twin()
    for name in adapter.pairs:
        module: Any = twin.get_submodule(name)
        added = adapter.added(name).to(lm.device)
        merged = module.weight.float() + (added.T if isinstance(module, Conv1D) else added)
        module.weight = torch.nn.Parameter(merged.to(module.weight.dtype), requires_grad=False)
    return replace(lm, model=twin)


def _shape(module: Any) -> tuple[int, int]:
    """Return (outputs, inputs)"""
    first, second = module.weight.shape
    return (second, first) if isinstance(module, Conv1D) else (first, second)
