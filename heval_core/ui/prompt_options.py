"""The form's options, of a whole answer and of one in a word."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from heval_core.lm.installed import has_bfloat16, has_chat_template
from heval_core.plugins import catalogue
from heval_core.present.numbers import so_many
from heval_core.prompting.prompts import AUTO, CHAT
from heval_core.ui import own_word
from heval_core.ui.own_prompts import OwnPrompt, Precision

LAYOUT = "own_template"
# `auto` is the layout that the model's folder names, else four solved examples, after which answers are short.
TEMPLATE_TITLES = {CHAT: "chat", AUTO: "its own", "plain": "plain"}
NAMED = "Each is the answer of the document in which it stands; one that stands in none is the model's memory."
COARSE = "bfloat16 is faster on this processor, and coarser. MechLight and feature ablation are computed in float32."
# Models whose answers have the same sources in both, and which are faster so (docs/answers.md).
_AGREE = ("SmolLM2-135M-Instruct.Q4_1",)


def keep() -> None:
    """Keep what the options of both modes hold: Streamlit forgets a field that is not drawn. Called before they are."""
    fields = ("generate", "answer", "explainers", "dtype", "named", "target", "word_explainers")
    for key in (f"own_{field}" for field in fields):
        if key in st.session_state:
            st.session_state[key] = st.session_state[key]


def draw(prompt: OwnPrompt, folder: Path, slots: dict[str, DeltaGenerator]) -> OwnPrompt:
    """Offer the options of a mode; return the prompt with them. slots: see `sidebar.draw_form`."""
    word = st.session_state.get("own_mode") == "word"
    return _options_of_word(prompt, folder, slots) if word else _options(prompt, folder)


def _options(prompt: OwnPrompt, folder: Path) -> OwnPrompt:
    """Offer options of a whole answer: tokens at most, a custom answer, explainers, the layout, and the precision."""
    state = st.session_state
    tokens, count = so_many(state["own_generate"], "token"), so_many(len(state["own_explainers"]), "explainer")
    with st.expander(f"Options: up to {tokens}, {count}"):
        generate = int(st.number_input("Tokens, at most", 1, 400, key="own_generate"))
        answer = st.text_area("Or explain an answer of your own", key="own_answer", height=72, placeholder="word for word")
        explainers, template = _options_of_both("own_explainers", folder)
        dtypes: list[Precision] = ["float32", "bfloat16"] if has_bfloat16() else ["float32"]
        dtype = st.radio("Computed in", dtypes, key="own_dtype", horizontal=True, help=COARSE) if dtypes[1:] else dtypes[0]
    given = answer.strip() or None
    return replace(prompt, explainers=explainers, template=template, dtype=dtype, generate=generate, answer=given)


def _options_of_word(prompt: OwnPrompt, folder: Path, slots: dict[str, DeltaGenerator]) -> OwnPrompt:
    """Offer the answers between which a word is decided, and options: what is explained, explainers, layout, precision."""
    text = st.text_input("The answer is one of", key="own_named", placeholder="Lisbon / Nairobi (optional)", help=NAMED)
    slots["named"] = st.empty()
    with st.expander(f"Options: {so_many(len(st.session_state['own_word_explainers']), 'explainer')}"):
        targets = {"answer": "the answer given", "context": "the first document's answer"}
        target = st.radio("Explained", list(targets), format_func=targets.get, key="own_target", horizontal=True)
        explainers, template = _options_of_both("own_word_explainers", folder)
    about: dict[str, Any] = {"mode": "word", "target": target}
    with suppress(ValueError):  # `missing` says what is wrong
        about["answers"], about["memory"] = own_word.named(text, prompt.documents)
    return replace(prompt, explainers=explainers, template=template, **about)


def _options_of_both(key: str, folder: Path) -> tuple[tuple[str, ...], str]:
    methods = catalogue.explainers()
    explainers = st.multiselect("Explainers", list(methods), key=key, format_func=lambda key: methods[key].title)
    layouts = [name for name in TEMPLATE_TITLES if name != CHAT or has_chat_template(folder)]
    template = st.radio("Asked with", layouts, format_func=TEMPLATE_TITLES.get, key=LAYOUT, horizontal=True)
    return tuple(explainers), template


def usual_layout(folder: Path) -> str:
    """Return the layout that a model is asked in: its chat template where it has one."""
    return CHAT if has_chat_template(folder) else AUTO


def usual_dtype(model: str) -> Precision:
    """Return in what a model computes: the faster, where the processor has it and the model says the same in it."""
    return "bfloat16" if model in _AGREE and has_bfloat16() else "float32"
