"""Loads a model from the hub, a folder or a GGUF file (`gguf` dequantises it first): no remote code, one-line messages."""

import socket
from dataclasses import dataclass, replace
from difflib import get_close_matches
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit
from urllib.request import getproxies

import psutil
import torch
from huggingface_hub import constants, try_to_load_from_cache
from transformers import AutoConfig, AutoModelForCausalLM, AutoTokenizer, GenerationConfig, PreTrainedModel
from transformers.activations import NewGELUActivation
from transformers.utils import logging as transformers_logging

from heval_core.folders import program
from heval_core.lm.budget import Budget, first_line
from heval_core.lm.chat import require_template
from heval_core.lm.faults import NO_TOKENIZER, cannot_load, check_folder, plain, read, settings
from heval_core.lm.generation import ends_of
from heval_core.lm.gguf import dequantised
from heval_core.lm.installed import PACKAGED, folder_of, installed_models, is_gguf, key_of, revision_of
from heval_core.lm.model import LanguageModel
from heval_core.prompting.prompts import AUTO, TEMPLATE, is_chat
from heval_core.records import HEvalError

PLAIN = "plain"
DTYPES = {"float32": torch.float32, "bfloat16": torch.bfloat16}
# Memory that parsing a GGUF file takes, as a multiple of its size; measured on files of 4 bits.
PARSED = 14
# How far logits may be from those before another last token: a share of the largest, above what bfloat16 rounds.
SAME_BEFORE = 0.03


def choose_device(name: str) -> torch.device:
    """Choose a device: `auto` is the first GPU if there is one.

    Raises HEvalError for a device that this machine does not have.
    """
    if name == "auto":
        name = "cuda" if torch.cuda.is_available() else "mps" if torch.backends.mps.is_available() else "cpu"
    try:
        device = torch.device(name)
        torch.empty(1, device=device)
    except (RuntimeError, AssertionError, NotImplementedError) as error:
        raise HEvalError(f"This machine has no device {name!r}; use cpu, or auto to let the program choose.") from error
    return device


def choose_dtype(name: str, device: torch.device) -> torch.dtype:
    """Choose a dtype: `auto` is bfloat16 on a CUDA GPU and float32 elsewhere. Scores are float32 either way."""
    if name == "auto":
        return torch.bfloat16 if device.type == "cuda" else torch.float32
    if name not in DTYPES:
        raise HEvalError(f"The dtype {name!r} is not supported; use auto, {' or '.join(DTYPES)}.")
    return DTYPES[name]


@dataclass(frozen=True)
class Identity:
    """What is known about a model before its weights are loaded.

    style: the name of its prompt style. template: as its folder says; `auto` where it has no style of its own either.
    path: its folder or GGUF file; None for a model from the hub.
    """

    key: str
    revision: str
    style: str
    template: str
    path: Path | None
    offline: bool = False  # whether a model from the hub is looked for in its cache alone

    @property
    def where(self) -> dict[str, Any]:
        """What `from_pretrained` is told, so that it reads this very model and runs no code of its own."""
        source, revision = (self.key, self.revision) if self.path is None else (str(self.path), "main")
        if self.path is not None and self.path.is_file():
            source = str(dequantised(self.path, self.key))
        where: dict[str, Any] = {"pretrained_model_name_or_path": source, "trust_remote_code": False, "revision": revision}
        return where | ({"local_files_only": True} if self.offline else {})


def identify(name: str) -> Identity:
    """Find a model by its name. A folder's key is its name, a GGUF file's its name without `.gguf`, a hub model's its id.

    `ID@REVISION` pins a hub model to a commit, tag or branch. A packaged model's name (`smollm2`) and what `precompute models`
    lists stand for their files. Raises HEvalError if there is no such folder or file, or if the hub model is not cached and
    the hub cannot be reached.
    """
    path = Path(name).expanduser()
    if not path.exists() and name in PACKAGED:
        path = PACKAGED[name].path()
    elif not path.exists() and "/" not in name and (here := installed_models().get(name)):
        path = here.path
    if path.is_dir():
        check_folder(name, path)
        ours = settings(path, "heval.json")  # it may name the model's prompt style and template
        style = ours.get("prompt_style", PLAIN)
        template = ours.get("template", AUTO if style == PLAIN else TEMPLATE)
        return Identity(path.resolve().name, revision_of(path), style, template, path)
    if path.is_file():
        return _of_gguf(path, name)
    if name.startswith((".", "/", "~")) or name.endswith(".gguf") or name.count("/") > 1:
        raise HEvalError(f"There is no model folder {name!r}, and no such GGUF file; give one, or a Hugging Face model id.")
    # The hub would be asked for half a minute. One of its models is never taken for another that is here.
    if "/" not in name and (near := get_close_matches(name, PACKAGED, 1, 0.85)):
        raise HEvalError(f"There is no model {name!r}; did you mean {near[0]}? {program()} models lists what is here.")
    if "/" not in name and (same := [key for key in installed_models() if key.endswith(f"/{name}")]):
        raise HEvalError(f"{name!r} does not say which of these models: {', '.join(same)}. Give one as it stands there.")
    name, _, revision = name.partition("@")
    identity = Identity(name, revision or "main", PLAIN, AUTO, None, _is_offline())
    where = identity.where
    try:
        config = AutoConfig.from_pretrained(where.pop("pretrained_model_name_or_path"), **where)
    except Exception as error:  # from_pretrained raises nearly every class there is, for many reasons
        missing = identity.offline and isinstance(error, OSError)
        why = "the hub is out of reach (no network, or HF_HUB_OFFLINE is set)" if missing else first_line(error)
        raise HEvalError(f"There is no model folder {name!r}, and no such model on the hub or in its cache: {why}") from error
    return replace(identity, revision=str(getattr(config, "_commit_hash", None) or identity.revision))


def _is_offline() -> bool:
    """Return whether the hub is out of reach: its library would try again for half a minute."""
    if constants.HF_HUB_OFFLINE or getproxies():
        return bool(constants.HF_HUB_OFFLINE)
    hub = urlsplit(constants.ENDPOINT)
    try:
        socket.create_connection((hub.hostname, hub.port or {"http": 80}.get(hub.scheme, 443)), timeout=3).close()
    except OSError:
        return True
    return False


def _of_gguf(path: Path, name: str) -> Identity:
    """Identify a GGUF file.

    Raises HEvalError for another file, and for one that a package's file would be but for some bytes.
    """
    if not is_gguf(path):
        raise HEvalError(f"{name!r} is no GGUF file; give one, a local folder, or a Hugging Face model id.")
    for packaged in PACKAGED.values():
        if path.name == packaged.file and path.stat().st_size == packaged.size:
            packaged.checked(path)
    return Identity(key_of(path) if path.suffix == ".gguf" else name, revision_of(path), PLAIN, AUTO, path.resolve())


def tokenizer_of(identity: Identity) -> Any:
    """Load the tokenizer alone; plans and surveys need nothing else of a model.

    Raises HEvalError for one that cannot be read.
    """
    try:
        tokenizer = AutoTokenizer.from_pretrained(**identity.where)
        if len(tokenizer.get_vocab()) <= len(tokenizer.added_tokens_decoder):  # made of nothing but its special tokens
            raise ValueError(NO_TOKENIZER)
    except Exception as error:  # as above
        raise cannot_load(identity.key, error, identity.path) from error
    return tokenizer


def in_template(identity: Identity, template: str) -> Identity:
    """Return the model with another template (see `heval_core.prompting.prompts`).

    Raises HEvalError for a chat where the tokenizer has no chat template, or cannot be read.
    """
    if is_chat(template):
        require_template(tokenizer_of(identity))
    return replace(identity, template=template)


def load(name: str, device: str = "auto", dtype: str = "auto", batch_tokens: int | None = None) -> LanguageModel:
    """Load a causal language model and its tokenizer. name: as `identify` reads it.

    batch_tokens: the budget of tokens for one forward pass; see `Budget.of`.
    Raises HEvalError if the folder or id does not exist, is not a causal language model, or has no safetensors.
    """
    identity = identify(name)
    chosen = choose_device(device)
    kind = choose_dtype(dtype, chosen)
    check_room(identity, chosen, kind)
    transformers_logging.disable_progress_bar()
    try:
        config = AutoConfig.from_pretrained(**identity.where)
        tokenizer = tokenizer_of(identity)
        model = read(AutoModelForCausalLM, identity.key, config=config, dtype=kind, use_safetensors=True, **identity.where)
    except Exception as error:  # as above
        raise cannot_load(name, error, identity.path) from error
    model.requires_grad_(False)
    return as_language_model(
        identity.key, model.eval().to(chosen), tokenizer, identity.style, identity.revision, identity.template, batch_tokens
    )


def check_room(identity: Identity, device: torch.device, dtype: torch.dtype) -> None:
    """Raise HEvalError where the weights of a local model do not fit into the memory that is free."""
    if identity.path is None or (need := weights_of(identity, dtype)) is None:
        return
    free = torch.cuda.mem_get_info(device)[0] if device.type == "cuda" else psutil.virtual_memory().available
    if need > free:
        raise HEvalError(
            f"{identity.key} needs {need / 1e9:.1f} GB of memory, and {free / 1e9:.1f} GB are free; end other programs, or "
            "choose a smaller model."
        )


def weights_of(identity: Identity, dtype: torch.dtype) -> float | None:
    """Return the bytes of a model's weights in memory; None for one from the hub that is not in its cache.

    Of a GGUF file that was never read it is what reading takes.
    """
    if identity.path is None:
        config = try_to_load_from_cache(identity.key, "config.json", revision=identity.revision)
        if not isinstance(config, str):
            return None
        folder, packed = Path(config).parent, 0
    else:
        folder, packed = folder_of(identity.path, identity.key), identity.path.stat().st_size * PARSED
    stored = settings(folder, "config.json").get("dtype", "float32") if folder.is_dir() else ""
    weights = sum(file.stat().st_size for file in folder.glob("*.safetensors")) or packed or None
    if weights is None:
        return None
    return weights * (dtype.itemsize / DTYPES[stored].itemsize if stored in DTYPES else 1)


def as_language_model(
    key: str,
    model: PreTrainedModel,
    tokenizer: Any,
    style: str = PLAIN,
    revision: str = "",
    template: str = TEMPLATE,
    batch_tokens: int | None = None,
) -> LanguageModel:
    """Wrap a model that is in memory already; it stays on its device.

    Raises HEvalError for one that cannot be looked into, sees later tokens, or gives values that are not finite.
    """
    model = plain(model)
    # Memory answers are decoded greedily, whatever sampling or penalties the model's defaults would add.
    model.generation_config = GenerationConfig(do_sample=False, eos_token_id=ends_of(model, tokenizer))
    _fuse_activations(model)
    _read_in_one_piece(model)
    torch.backends.cuda.enable_cudnn_sdp(False)  # it plans for each new length, .1 s; exact fa has hundreds
    config = model.config.get_text_config()
    if getattr(config, "num_key_value_heads", None) == 1 or getattr(config, "multi_query", False):
        # Under a mask its kernel reads wrong values of one head that all share: up to .9 of Gemma 3's logits (pytorch#191937).
        torch.backends.cuda.enable_mem_efficient_sdp(False)
    lm = LanguageModel(key, model, tokenizer, style, revision, template, Budget.of(batch_tokens, model.device))
    _check_causal(lm)
    return lm


def _fuse_activations(model: torch.nn.Module) -> None:
    """Compute GPT-2's GELU with one kernel instead of eight: the same function, and a tenth of a forward pass saved."""
    for module in model.modules():
        for name, child in module.named_children():
            if isinstance(child, NewGELUActivation):
                setattr(module, name, torch.nn.GELU(approximate="tanh"))


def _check_causal(lm: LanguageModel) -> None:
    """Raise HEvalError for a model that sees later tokens.

    Encoders (BERT) are loaded as causal language models too. Their tokens see later ones, so that no pass can be continued,
    and prompts cannot be padded. Decoders of speech and pictures give logits that were not asked for.
    """
    ids = torch.tensor([[1, 2, 3, 4], [1, 2, 3, 5]], device=lm.device)
    with torch.no_grad():
        one, other = lm.model(input_ids=ids, use_cache=False, logits_to_keep=torch.arange(3)).logits.float()
    if len(one) > 3:
        raise HEvalError(
            f"{lm.key!r} cannot be used: asked for some tokens' logits (`logits_to_keep`), it gives those of all."
        )
    lm.forward.checked(one)
    if float((one - other).abs().max()) > SAME_BEFORE * float(one.abs().max()):
        raise HEvalError(
            f"{lm.key!r} cannot be used as a causal language model: what it says after a token depends on later ones."
        )


def _read_in_one_piece(model: PreTrainedModel) -> None:
    """Lay states side by side before the unembedding reads them.

    For a slice of several prompts, torch would copy the matrix once for each of them (1.3 GB for four prompts of Gemma 3 in
    bfloat16, and a hundred times the time).
    """
    head = model.get_output_embeddings()
    if head is not None and _in_one_piece not in head._forward_pre_hooks.values():  # a notebook's model comes here again
        head.register_forward_pre_hook(_in_one_piece)


def _in_one_piece(_: torch.nn.Module, inputs: tuple[Any, ...]) -> tuple[Any, ...]:
    return (inputs[0].contiguous(), *inputs[1:])
