"""A prompt of one's own, explained: the same views as a stored instance."""

from __future__ import annotations

from typing import Any

import numpy as np
import streamlit as st

from heval_core import catalogue
from heval_core.figures.palette import in_order
from heval_core.ui.head_map import head_map
from heval_core.ui.text import number, percent, plain
from heval_core.ui.token_grid import Row, blocks_of, token_grid


def answer_line(result: dict[str, Any]) -> None:
    answer = result["answer"]
    st.markdown(
        f"**{plain(result['model'])}** answers **{plain(answer['text'].strip())}** (p = {number(answer['probability'])}), "
        f"which makes group **{plain(answer['group'])}**. From memory it says *{plain(answer['memory_answer'])}*."
    )
    candidates = [f"{plain(c['group'])}: {plain(c['text'])} {percent(c['probability'])}" for c in answer["candidates"]]
    st.caption(f"candidates: {' · '.join(candidates)} · set against {plain(result['foil'])}")


def grid(result: dict[str, Any]) -> None:
    plugins = catalogue.variants(result["explainers"])
    rows = [
        Row(key, plugins[key].title, plugins[key].signed, found["scores"], found.get("head", ""))
        for key in in_order(list(result["explainers"]))
        for found in [result["explainers"][key]]
    ]
    documents = result["documents"]
    captions = [
        f"document {i}" + (f" · answer {d['answer']}" if d["answer"] else "") for i, d in enumerate(documents, start=1)
    ]
    question = (result["question"]["start"], result["question"]["end"])
    spans = [(d["start"], d["end"]) for d in documents]
    gold = [token for d in documents for token in d["answer_tokens"]]
    token_grid(
        result["tokens"], blocks_of(len(result["tokens"]), spans, question, captions), gold, rows, key="own_grid"
    )
    times = " · ".join(f"{key} {result['explainers'][key]['seconds']:.2f} s" for key in result["explainers"])
    st.caption(f"{len(result['tokens'])} tokens · {times}")


def head_section(result: dict[str, Any]) -> None:
    """The map of S behind MechLight, with the head it chose."""
    found = result["explainers"].get("mechlight")
    if not found:
        return
    st.subheader("The heads behind MechLight")
    head_map(np.array(found["head_scores"]), found["head"], str(found.get("runner_up", "")), key="own_head")
    st.caption(
        f"{found['head']} chosen; runner-up {found.get('runner_up', '–')}, {number(found.get('margin'))} behind. "
        "Orange squares speak for the answer, blue ones for its competitor."
    )
