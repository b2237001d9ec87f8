"""What a task needs to have loaded. A worker holds one such model at a time, and asks it to make itself ready for the task."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from heval_core.lm.fits import Fit
from heval_core.lm.loading import Identity, load
from heval_core.lm.model import LanguageModel
from precompute.own_file import OwnFile


@dataclass(frozen=True)
class Loading:
    """How models are loaded; see `load`. threads: of torch; None leaves them as they are.

    answers: where answers of servers are kept, by a worker in the driver's own process; None elsewhere. own: explainers that
    no package has; a worker in another process is told them too.
    fits: of explainers that have parameters.
    """

    device: str = "auto"
    dtype: str = "auto"
    batch_tokens: int | None = None
    threads: int | None = None
    answers: Path | None = None
    own: tuple[OwnFile, ...] = ()
    fits: tuple[Fit, ...] = ()


@dataclass(frozen=True)
class NoModel:
    """Of a task that reads nothing but its own data. A worker keeps what it has loaded."""

    name = ""
    key = ""
    # Whether a worker keeps it loaded for the next task, in place of what it held.
    stays = False

    def load(self, loading: Loading) -> Any:
        return None

    def ready(self, loaded: Any) -> Any:
        """What the task is given. loaded: as `load` gave it."""
        return loaded

    def facts(self, loaded: Any) -> dict[str, Any]:
        """A row of the table `model`; empty if it has none."""
        return {}


@dataclass(frozen=True)
class Model:
    """A language model. name: as `load` reads it. identity: with the grid's template, if the grid has one."""

    name: str
    identity: Identity
    stays = True

    @property
    def key(self) -> str:
        return self.identity.key

    def load(self, loading: Loading) -> LanguageModel:
        lm = load(self.name, loading.device, loading.dtype, loading.batch_tokens)
        lm.fits.give(loading.fits)
        return lm

    def ready(self, loaded: LanguageModel) -> Any:
        loaded.template = self.identity.template
        return loaded

    def facts(self, loaded: LanguageModel) -> dict[str, Any]:
        return facts_of(loaded)


def facts_of(lm: LanguageModel) -> dict[str, Any]:
    """A row of the table `model`."""
    tokenizer = lm.tokenizer
    encoded = tokenizer("x").input_ids
    bos = tokenizer.bos_token_id
    return {
        "model": lm.key,
        "revision": lm.revision,
        "architecture": lm.model.config.model_type,
        "layers": lm.layers,
        "heads": lm.heads_per_layer,
        "kv_heads": lm.kv_heads,
        "width": lm.width,
        "parameters": sum(p.numel() for p in lm.model.parameters()),
        "positions": lm.positions,
        "bos_id": bos,
        "adds_bos": bool(encoded) and bos is not None and encoded[0] == bos,
        "pad_id": tokenizer.pad_token_id,
        "baseline_id": lm.baseline(),
        "prompt_style": lm.style,
        "float32_logits": lm.read_out.is_float32,
    }
