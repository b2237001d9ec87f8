"""What an explainer may need of a model, and the one error for a model that lacks it.

An explainer declares `needs`, keys of NEEDS; the pipeline calls `require` before the explainer runs. Problems that show only
when a model runs with hooks (its answer changes, or the library fails) raise the same error.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from heval_core.lm.budget import first_line, out_of_memory
from heval_core.lm.chat import has_template
from heval_core.records import HEvalError

if TYPE_CHECKING:
    from heval_core.lm.facts import ModelFacts


def _gradients(lm: ModelFacts) -> str | None:
    weight = lm.model.get_input_embeddings().weight
    return None if weight.is_floating_point() and not weight.is_inference() else "has embeddings without gradients"


def _softmax_attention(lm: ModelFacts) -> str | None:
    return None if lm.keeps_prefix else "has layers without softmax attention, so it has no heads to read there"


def _heads(lm: ModelFacts) -> str | None:
    config = lm.model.config
    if tuple(lm.model.get_output_embeddings().weight.shape)[1:] != (lm.width,):
        return f"has an unembedding that does not read the residual stream's {lm.width} dimensions, to which heads write"
    if config.model_type == "falcon" and config.alibi and str(lm.model.dtype) != "torch.float32":
        # In float32 the comparison with the plain pass catches this; in bfloat16 the error is no larger than rounding.
        return "has its ALiBi added twice where transformers returns attention, so these are not the model's own patterns"
    return None


def _instructions(lm: ModelFacts) -> str | None:
    return None if has_template(lm.tokenizer) else "follows no instructions: its tokenizer has no chat template"


def _float32(lm: ModelFacts) -> str | None:
    # Measured (docs/benchmarks.md) on a processor: ranks of tokens that hardly matter are those of rounding.
    return "was loaded in bfloat16" if lm.device.type == "cpu" and str(lm.model.dtype) == "torch.bfloat16" else None


# A need ▶ why a model lacks it, or None if it does not; known before anything is run.
NEEDS: dict[str, Callable[[ModelFacts], str | None]] = {
    "gradients": _gradients,
    "softmax attention": _softmax_attention,
    "heads": _heads,
    "instructions": _instructions,
    "float32": _float32,
}


def require(lm: ModelFacts, needs: Iterable[str]) -> None:
    """Raise HEvalError if the model lacks something that an explainer needs."""
    for need in needs:
        why = NEEDS[need](lm)
        if why is not None:
            raise lacks(lm, need, why)


def lacks(lm: ModelFacts, need: str, why: str) -> HEvalError:
    return HEvalError(
        f"{lm.key} ({lm.model.config.model_type}) {why}. What needs {need} cannot be used with it; all else can."
    )


@contextmanager
def unknown_to_library(lm: ModelFacts, need: str, why: str) -> Iterator[None]:
    """Turn whatever a library raises inside, for an architecture that it does not know, into that error, with its
    first line.
    """
    try:
        yield
    except HEvalError:
        raise
    except Exception as error:  # it may raise anything
        if out_of_memory(error):
            raise
        message = first_line(error).partition(" Available architectures")[0].rstrip(".")  # two hundred of them
        raise lacks(lm, need, f"{why}: {message}") from error
