"""GGUF files, dequantised once into a folder of float32 safetensors in `cache/models`, from which they load like any model.

Why a copy: transformers parses a GGUF file three times in Python, for the configuration, the tokenizer and the weights. Gemma
3 270M takes 36 s and 3.9 GB that way and 2 s from the copy; the values are the same, bit by bit. The copy's name holds the
file's hash, and it may be deleted at any time.
"""

import os
import shutil
from functools import partial
from pathlib import Path
from typing import Any

import torch
from tqdm import tqdm
from transformers import AutoConfig, AutoModelForCausalLM, AutoTokenizer, modeling_gguf_pytorch_utils
from transformers.utils import logging as transformers_logging

from heval_core.lm.budget import first_line
from heval_core.lm.faults import read
from heval_core.lm.installed import folder_of
from heval_core.records import HEvalError


def dequantised(file: Path, key: str) -> Path:
    """Return the folder of a GGUF file's weights in float32, made if it is not there yet; some seconds for 100 million
    weights.

    Raises HEvalError for a file that is cut short or has no tokenizer, and for an architecture that transformers cannot read.
    """
    folder = folder_of(file, key)
    if folder.is_dir():
        return folder
    where = {"pretrained_model_name_or_path": str(file.parent), "gguf_file": file.name, "trust_remote_code": False}
    unfinished = folder.with_name(f"{folder.name}.{os.getpid()}.tmp")
    transformers_logging.disable_progress_bar()
    modeling_gguf_pytorch_utils.tqdm = partial(tqdm, disable=True)  # this one has no switch
    try:
        AutoTokenizer.from_pretrained(**where).save_pretrained(unfinished)
        config = AutoConfig.from_pretrained(**where)
        model: Any = read(AutoModelForCausalLM, file.name, config=config, dtype=torch.float32, **where)
        # What is saved is no longer quantised; with these left on, transformers refuses to save it.
        model.hf_quantizer = None
        if hasattr(model.config, "quantization_config"):
            del model.config.quantization_config
        model.save_pretrained(unfinished)
        unfinished.replace(folder)
    except ImportError as error:
        raise HEvalError(f"GGUF files need the package gguf; run: make install ({first_line(error)})") from error
    except Exception as error:  # a damaged file may make the library raise anything
        if not isinstance(error, OSError) or not folder.is_dir():  # another process may have made it meanwhile
            raise HEvalError(f"The GGUF file {file.name} cannot be read: {first_line(error)}") from error
    finally:
        shutil.rmtree(unfinished, ignore_errors=True)
    return folder
