"""How large the form's prompt is, counted without the model: by its files."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import streamlit as st

from heval_core.lm.installed import folder_of
from heval_core.prompting.prompts import AUTO, TEMPLATE, assemble
from heval_core.ui.own_prompts import OwnPrompt

# What a model's configuration calls the number of positions it reads.
_LIMITS = ("max_position_embeddings", "n_positions", "n_ctx", "max_sequence_length")


def size(prompt: OwnPrompt, folder: Path) -> tuple[int | None, int | None]:
    """Return how many tokens the prompt has, without a chat template's, and how many the model reads; None where unknown."""
    template, folder = template_of(prompt, folder), folder_of(folder)
    config = _json_of(folder / "config.json")
    limit = next((config[name] for name in _LIMITS if isinstance(config.get(name), int)), None)
    return count_tokens(folder, prompt.documents, prompt.question, template), limit


def template_of(prompt: OwnPrompt, path: Path) -> str:
    """Return the template that the form asks for; for `auto`, what the model's folder says (`heval.json`)."""
    settings = _json_of(path / "heval.json") if prompt.template == AUTO else {}
    return str(settings.get("template", TEMPLATE if settings else prompt.template))


def _json_of(file: Path) -> dict[str, Any]:
    """Read a JSON object; empty where there is none, or none that can be read: asking the model will say what is wrong."""
    try:
        parsed = json.loads(file.read_text("utf-8"))
    except (OSError, ValueError):
        return {}
    return parsed if isinstance(parsed, dict) else {}


@st.cache_resource(max_entries=8, show_spinner=False)
def _tokenizer(folder: str, modified: float) -> Any:
    from tokenizers import Tokenizer

    tokenizer = Tokenizer.from_file(str(Path(folder) / "tokenizer.json"))
    tokenizer.encode_special_tokens = True
    return tokenizer


def count_tokens(folder: Path, documents: tuple[str, ...], question: str, template: str = TEMPLATE) -> int | None:
    """Count the tokens of the form's prompt; None if the form is incomplete, or the model's files cannot be read.

    Of CHAT those of the user's turn: what stands around it is written when the model is asked.
    """
    file = folder / "tokenizer.json"
    try:
        text = assemble(documents, (None,) * len(documents), question, template).text
        return len(_tokenizer(str(folder), file.stat().st_mtime).encode(text).ids)
    except Exception:  # tokenizers raises nothing narrower for a damaged file; asking the model will say what is wrong
        return None
