"""A prompt of one's own, explained: the same views as a stored instance, kept, compared and exported."""

from __future__ import annotations

import hashlib
import json
from typing import Any

import numpy as np
import pandas as pd
import streamlit as st

from heval_core import catalogue
from heval_core.figures.instance_page import instance_page
from heval_core.figures.palette import in_order
from heval_core.metrics.shared.cell import KS
from heval_core.records import TECHNIQUE, Candidate, Span
from heval_core.stored import PromptDocument, StoredInstance
from heval_core.ui.grid_controls import How, grid_controls
from heval_core.ui.head_map import head_map
from heval_core.ui.instance_tables import agreement_table, tokens_of
from heval_core.ui.instance_view import next_level, origin, prompt_grid
from heval_core.ui.sidebar import KEPT, RESULT
from heval_core.ui.text import plain
from heval_core.ui.token_grid import Row
from heval_core.wording import number, percent

K = KS[1]


def choose() -> dict[str, Any] | None:
    """The result that is shown: the last one, or another of those this tab has kept."""
    kept: list[dict[str, Any]] = st.session_state.get(KEPT, [])
    if not kept:
        found: dict[str, Any] | None = st.session_state.get(RESULT)
        return found
    if len(kept) == 1:
        return kept[0]
    # By number, newest first: two prompts may begin alike. A new result is shown at once, whatever was looked at before.
    places = list(range(len(kept)))[::-1]
    shown = st.selectbox(
        "Result", places, format_func=lambda place: _label(place + 1, kept[place]), key=f"own_shown_{_id(kept[-1])}",
        help=f"The last {len(kept)} results of this tab; they are gone when it is closed.",
    )  # fmt: skip
    return kept[shown]


def _label(place: int, result: dict[str, Any]) -> str:
    question = "".join(result["tokens"][result["question"]["start"] : result["question"]["end"]]).strip()
    return f"{place} · {result['model']} · {result['answer']['text'].strip()} · {question} · {result['prompt'][:60]}"


def _id(result: dict[str, Any]) -> str:
    return hashlib.sha256(json.dumps(result, sort_keys=True).encode()).hexdigest()[:16]


def draw(result: dict[str, Any]) -> None:
    """Answer, grid, numbers, heads, and the files."""
    answer_line(result)
    instance, rows = instance_of(result), rows_of(result)
    how = grid_controls(len(result["tokens"]), prefix="own_")
    prompt_grid(instance, rows, key="own_grid", k=K, how=How(how.scale, how.level, how.dense), on_key=pressed)
    times = " · ".join(f"{key} {result['explainers'][key]['seconds']:.2f} s" for key in result["explainers"])
    st.caption(f"{len(result['tokens'])} tokens · {times}")
    agreement_table(rows, result["first_ranked"], K)
    with st.expander("Every token's rank and score"):
        st.dataframe(tokens_of(instance, rows), hide_index=True)
    head_section(result)
    _files(result, instance, rows)
    _compare()


def pressed(key: str) -> None:
    """What a key pressed in the grid does here: g cuts finer or coarser; there is no other k, and no next instance."""
    if key == "g":
        next_level("own_level")


def answer_line(result: dict[str, Any]) -> None:
    answer = result["answer"]
    st.markdown(
        f"**{plain(result['model'])}** answers **{plain(answer['text'].strip())}** (p = {number(answer['probability'])}), "
        f"{origin(answer['group'])}. From memory it says *{plain(answer['memory_answer'])}*."
    )
    candidates = [f"{plain(c['group'])}: {plain(c['text'])} {percent(c['probability'])}" for c in answer["candidates"]]
    st.caption(f"candidates: {' · '.join(candidates)} · set against {plain(result['foil'])}")


def rows_of(result: dict[str, Any]) -> list[Row]:
    plugins = catalogue.variants(result["explainers"])
    return [
        Row(key, plugins[key].title, plugins[key].signed, found["scores"], found.get("head", ""))
        for key in in_order(list(result["explainers"]))
        for found in [result["explainers"][key]]
    ]


def instance_of(result: dict[str, Any]) -> StoredInstance:
    """The result as a stored instance, which the shared views read."""
    answer, question = result["answer"], result["question"]
    return StoredInstance(
        instance_id=_id(result),
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


def head_section(result: dict[str, Any]) -> None:
    """The map of S behind MechLight, with the head it chose."""
    found = result["explainers"].get("mechlight")
    if not found:
        return
    st.subheader("The heads behind MechLight")
    head_map(
        np.array(found["head_scores"]), found["head"], str(found.get("runner_up", "")), key=f"own_head_{_id(result)}"
    )
    st.caption(
        f"{found['head']} chosen; runner-up {found.get('runner_up', '–')}, {number(found.get('margin'))} behind. "
        "Orange squares speak for the answer, blue ones for its competitor."
    )


def _files(result: dict[str, Any], instance: StoredInstance, rows: list[Row]) -> None:
    left, right, _ = st.columns([1, 1, 2])
    left.download_button(
        "As an HTML file", instance_page(instance, rows, K, "own prompt"), f"heval-{_id(result)}.html", "text/html",
        icon=":material/download:", key="own_html", on_click="ignore", width="stretch",
    )  # fmt: skip
    right.download_button(
        "As JSON", json.dumps(result, ensure_ascii=False), f"heval-{_id(result)}.json", "application/json",
        icon=":material/download:", key="own_json", on_click="ignore", width="stretch",
        help="The object that `python -m precompute explain --format json` prints.",
    )  # fmt: skip


def _compare() -> None:
    """The kept results beside one another: what was answered, and each explainer's best token."""
    kept: list[dict[str, Any]] = st.session_state.get(KEPT, [])
    if len(kept) < 2:
        return
    st.subheader("Beside the others of this tab")
    st.dataframe(pd.DataFrame([_line(result) for result in kept]), hide_index=True)
    st.caption("Each explainer's best-ranked token. Results are kept while the tab is open.")


def _line(result: dict[str, Any]) -> dict[str, Any]:
    answer, first = result["answer"], result["first_ranked"]
    best = {
        key: result["tokens"][first + int(np.argmax(found["normalised"][first:]))].strip()
        for key, found in result["explainers"].items()
    }
    return {"model": result["model"], "prompt": result["prompt"], "answer": answer["text"].strip(), "group": answer["group"],
            "p": round(answer["probability"], 3), **best}  # fmt: skip
