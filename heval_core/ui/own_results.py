"""The results of the reader's own prompts that this tab keeps, as the records that widgets draw."""

from __future__ import annotations

import hashlib
import json
from typing import Any

import numpy as np
import streamlit as st

from heval_core import catalogue
from heval_core.figures.palette import in_order
from heval_core.records import TECHNIQUE, Candidate, Span
from heval_core.stored import PromptDocument, StoredInstance
from heval_core.ui.shown_instance import next_level
from heval_core.ui.sidebar import KEPT, MATCH_TITLES, RESULT, TARGET_TITLES
from heval_core.ui.text import plain
from heval_core.ui.token_grid import Row


def choose_result() -> dict[str, Any] | None:
    """The result that is shown: the last one, or another of those this tab has kept."""
    kept: list[dict[str, Any]] = st.session_state.get(KEPT, [])
    if not kept:
        newest: dict[str, Any] | None = st.session_state.get(RESULT)
        return newest
    if len(kept) == 1:
        return kept[0]
    # By number, newest first: two prompts may begin alike. A new result is shown at once, whatever was shown before.
    numbers = list(range(len(kept)))[::-1]
    key, about = (
        f"own_shown_{id_of(kept[-1])}",
        f"The last {len(kept)} results of this tab; they are gone when it is closed.",
    )
    shown = st.selectbox("Result", numbers, format_func=lambda n: label_of(n + 1, kept[n]), key=key, help=about)
    return kept[shown]


def label_of(number: int, result: dict[str, Any]) -> str:
    question = "".join(result["tokens"][result["question"]["start"] : result["question"]["end"]]).strip()
    return f"{number} · {result['model']} · {result['answer']['text'].strip()} · {question} · {result['prompt'][:60]}"


def id_of(result: dict[str, Any]) -> str:
    return hashlib.sha256(json.dumps(result, sort_keys=True).encode()).hexdigest()[:16]


def pressed(key: str) -> None:
    """Handle a key pressed in the grid: g changes the columns; here is no other k, and no next instance."""
    if key == "g":
        next_level("own_level")


def rows_of(result: dict[str, Any]) -> list[Row]:
    plugins = catalogue.variants(result["explainers"])
    return [
        Row(key, plugins[key].title, plugins[key].signed, scored["scores"], scored.get("head", ""))
        for key, scored in ((key, result["explainers"][key]) for key in in_order(list(result["explainers"])))
    ]


def instance_of(result: dict[str, Any]) -> StoredInstance:
    """The result as a stored instance, which the shared views read."""
    answer, question = result["answer"], result["question"]
    return StoredInstance(
        instance_id=id_of(result),
        model=result["model"],
        revision="as installed",
        dataset="own prompt",
        regime="own prompt",
        technique=TECHNIQUE,
        subject=result["prompt"][:60],
        tokens=tuple(result["tokens"]),
        first_ranked=result["first_ranked"],
        documents=tuple(
            PromptDocument(d["start"], d["end"], d["answer"] or "unknown", tuple(d["answer_tokens"]))
            for d in result["documents"]
        ),
        question_span=Span(question["start"], question["end"]),
        memory_answer=answer["memory_answer"],
        candidates=tuple(Candidate(**candidate) for candidate in answer["candidates"]),
        predicted_text=answer["text"],
        predicted_probability=answer["probability"],
        group=answer["group"],
    )


def options_line(result: dict[str, Any]) -> str:
    """What was explained, and what decided where the answer came from."""
    # The whole text is only there if it decided.
    match = "first" if result["answer"]["answer_text"] is None else "text"
    target = f"{TARGET_TITLES[result['target']]} ({plain(result['target_text'].strip())})"
    return f"Explained: {target}. The group was decided by {MATCH_TITLES[match]}."


def summary(result: dict[str, Any]) -> dict[str, Any]:
    """What was answered, and each explainer's best token."""
    answer, first = result["answer"], result["first_ranked"]
    best = {
        key: result["tokens"][first + int(np.argmax(scored["normalised"][first:]))].strip()
        for key, scored in result["explainers"].items()
    }
    return {
        "model": result["model"],
        "prompt": result["prompt"],
        "answer": answer["text"].strip(),
        "group": answer["group"],
        "p": round(answer["probability"], 3),
        "explained": result["target_text"].strip(),
        **best,
    }
