"""What an explainer may need of a model, and the one refusal of a model that lacks it.

An explainer declares `needs`, keys of NEEDS; the pipeline asks `require` before it runs. What shows only when a model is run
with hooks (it answers otherwise, or the library stumbles) is refused in the same words.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING

from heval_core.records import HEvalError

if TYPE_CHECKING:
    from heval_core.lm.facts import ModelFacts


def _gradients(lm: ModelFacts) -> str | None:
    weight = lm.model.get_input_embeddings().weight
    return None if weight.is_floating_point() and not weight.is_inference() else "has embeddings without gradients"


def _softmax_attention(lm: ModelFacts) -> str | None:
    return None if lm.keeps_prefix else "has layers without softmax attention, so there are no heads to look into"


def _heads(lm: ModelFacts) -> str | None:
    config = lm.model.config
    if tuple(lm.model.get_output_embeddings().weight.shape)[1:] != (lm.width,):
        return f"reads its answer from fewer than {lm.width} dimensions, which no head writes to directly"
    if config.model_type == "falcon" and config.alibi and str(lm.model.dtype) != "torch.float32":
        # In float32 the pass with hooks shows it; in bfloat16 it is no larger than what other models' rounding comes to.
        return "adds its ALiBi twice where transformers shows attention, so that these are not its own rows"
    return None


# What may be needed ▶ why a model lacks it, or None where it has it; known before anything is run.
NEEDS: dict[str, Callable[[ModelFacts], str | None]] = {
    "gradients": _gradients,
    "softmax attention": _softmax_attention,
    "heads": _heads,
}


def require(lm: ModelFacts, needs: Iterable[str]) -> None:
    """Raises HEvalError where the model lacks something that an explainer needs."""
    for need in needs:
        why = NEEDS[need](lm)
        if why is not None:
            raise lacks(lm, need, why)


def lacks(lm: ModelFacts, need: str, why: str) -> HEvalError:
    return HEvalError(
        f"{lm.key} ({lm.model.config.model_type}) {why}. Explainers that need {need} cannot explain it; the others can."
    )
