"""What is wrong with a model, in one line with its remedy: with its files, by a loader's report, or with one in memory."""

import json
import re
import sys
from collections.abc import Collection
from pathlib import Path
from typing import Any

import torch
from torch.nn.parallel import DataParallel, DistributedDataParallel
from transformers import PreTrainedModel

from heval_core.lm.budget import first_line
from heval_core.records import HEvalError

# What a file begins with that git-lfs has not fetched.
POINTER = b"version https://git-lfs"
NO_TOKENIZER = "its files have no tokenizer; copy tokenizer.json and tokenizer_config.json from where the model comes from."
ENCODES = "is an encoder-decoder, whose documents stand in another part than its answer; take a decoder, such as Qwen2."
VOCABULARY = re.compile(r"token|vocab|merges|tekken|\.model$")


def settings(folder: Path, name: str) -> dict[str, Any]:
    """Read a JSON file of a folder; {} where it has none. Raises HEvalError for one that is broken."""
    file = folder / name
    try:
        return json.loads(file.read_text(encoding="utf-8")) if file.is_file() else {}
    except ValueError as error:
        why = f"The {name} of {str(folder)!r} is no JSON ({first_line(error)}); copy it again from where the model comes from."
        raise HEvalError(why) from None


def check_folder(name: str, folder: Path) -> None:
    """Raise HEvalError for a folder that holds no model."""
    if (folder / "adapter_config.json").is_file():  # of which transformers would load the base model, without a word
        base = settings(folder, "adapter_config.json").get("base_model_name_or_path")
        raise HEvalError(
            f"The folder {name!r} holds an adapter of the model {base!r}, not a model; merge it into that one, and save the "
            "result: PeftModel.from_pretrained(model, folder).merge_and_unload().save_pretrained(another folder)."
        )
    settings(folder, "config.json")
    if not (folder / "config.json").is_file():
        raise HEvalError(f"The folder {name!r} has no config.json, so it is not a Hugging Face model.")


def cannot_load(name: str, error: Exception, folder: Path | None, kind: str = "a causal language model") -> HEvalError:
    """Return the one-line error for a model that cannot be loaded.

    folder: where its files are; None for a model from the hub.
    """
    if isinstance(error, HEvalError):
        return error
    why = (fault_of(folder, str(error)) if folder and folder.is_dir() else "") or first_line(error)
    return HEvalError(f"{name!r} cannot be loaded as {kind}: {why}")


def fault_of(folder: Path, message: str = "") -> str:
    """Return what is wrong with a folder, as far as its files say; "" for nothing.

    message: the error of a library that read it.
    """
    names = [file.name for file in sorted(folder.iterdir()) if file.is_file()]
    for name in names:
        with (folder / name).open("rb") as stream:
            if stream.read(len(POINTER)) == POINTER:
                return f"its {name} is a git-lfs pointer, not the file itself; fetch it: git lfs pull."
    if not any(name.endswith(".safetensors") for name in names):
        pickled = [name for name in names if name.endswith(".bin")]
        how = "write them as safetensors: AutoModelForCausalLM.from_pretrained(folder).save_pretrained(folder)."
        return f"its weights are only in {pickled[0]}; {how}" if pickled else "it has no weights (*.safetensors)."
    if "Unrecognized configuration class" in message and settings(folder, "config.json").get("is_encoder_decoder"):
        return f"it {ENCODES}"
    return "" if any(VOCABULARY.search(name) for name in names) else NO_TOKENIZER


def read(kind: Any, name: str, **where: Any) -> PreTrainedModel:
    """Load weights by `kind.from_pretrained`. name: for people. Warns of weights that the model has no place for.

    Raises HEvalError for weights that are missing, or of another size: the library makes up random ones.
    """
    model, loading_info = kind.from_pretrained(output_loading_info=True, ignore_mismatched_sizes=True, **where)
    loaded = type(model).__name__

    def listed(weights: Collection[str]) -> str:
        return min(weights) if len(weights) == 1 else f"{len(weights)} of its weights, {min(weights)} first"

    other = {weight for weight, *_ in loading_info["mismatched_keys"]}
    if missing := loading_info["missing_keys"] or other:
        raise HEvalError(
            f"{name!r} cannot be used as {loaded}: its files {'have another size of' if missing is other else 'lack'} "
            f"{listed(missing)}, and random numbers would stand there. Get its files again, or those of a model that was "
            f"saved as {loaded}."
        )
    if loading_info["unexpected_keys"]:
        print(f"{loaded} does not use all of {name!r}: not {listed(loading_info['unexpected_keys'])}", file=sys.stderr)
    return model


def plain(model: Any) -> PreTrainedModel:
    """Return a model in memory without what only runs it elsewhere or faster.

    Raises HEvalError for one that cannot be explained.
    """
    model = model.module if isinstance(model, (DataParallel, DistributedDataParallel)) else model
    model = getattr(model, "_orig_mod", model)  # as torch.compile leaves it
    name, fault = type(model).__name__, ""
    if hasattr(model, "get_base_model"):
        fault = "has an adapter beside its weights; merge it first: model = model.merge_and_unload()."
    elif model.config.is_encoder_decoder:
        fault = ENCODES
    elif model.get_output_embeddings() is None:
        fault = "has no head that writes tokens; load it with AutoModelForCausalLM."
    elif model.config.get_text_config()._attn_implementation == "flex_attention":
        fault = "runs with flex attention, without gradients on a processor; first: model.set_attn_implementation('sdpa')."
    if fault:
        raise HEvalError(f"This {name} {fault}")
    return model


def not_finite(key: str, model: PreTrainedModel) -> HEvalError:
    """Return the error for a model whose logits are not finite."""
    broken = next((name for name, weight in model.named_parameters() if not torch.isfinite(weight.float()).all()), None)
    if broken:
        return HEvalError(f"{key} has weights that are not finite, {broken} first; get its files again.")
    dtype = str(model.dtype).removeprefix("torch.")
    other = "bfloat16 or float32, whose numbers reach further" if dtype == "float16" else "another dtype"
    return HEvalError(f"{key} gave logits that are not finite in {dtype}; try {other}.")
