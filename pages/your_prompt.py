"""Where did the answer to my own prompt come from?"""

import json
from typing import Any

import streamlit as st

from heval_core.figures.instance_page import instance_page
from heval_core.metrics.shared.cell import KS
from heval_core.stored import StoredInstance
from heval_core.ui import page_run
from heval_core.ui.exports import download
from heval_core.ui.grid_controls import How, grid_controls
from heval_core.ui.head_map import head_map
from heval_core.ui.instance_tables import agreement_table, tokens_of
from heval_core.ui.own_results import choose_result, id_of, instance_of, options_line, pressed, rows_of, summary
from heval_core.ui.shown_instance import origin, prompt_grid
from heval_core.ui.sidebar import KEPT
from heval_core.ui.text import plain
from heval_core.ui.token_grid import Row
from heval_core.wording import number, percent

K = KS[1]


def page() -> None:
    st.title("Where did the answer to my own prompt come from?")
    result = choose_result()
    if result is None:
        st.info(
            "Nothing is explained yet. The sidebar has a filled-in example: press Explain there, and the answer opens here.",
            icon=":material/edit_note:",
        )
    else:
        show(result)


def show(result: dict[str, Any]) -> None:
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
    files(result, instance, rows)
    compare()


def answer_line(result: dict[str, Any]) -> None:
    answer = result["answer"]
    st.markdown(
        f"**{plain(result['model'])}** answers **{plain(answer['text'].strip())}** (p = {number(answer['probability'])}), "
        f"{origin(answer['group'])}. From memory it says *{plain(answer['memory_answer'])}*."
    )
    candidates = [f"{plain(c['group'])}: {plain(c['text'])} {percent(c['probability'])}" for c in answer["candidates"]]
    st.caption(f"candidates: {' · '.join(candidates)} · set against {plain(result['foil'])}")
    st.caption(options_line(result))


def head_section(result: dict[str, Any]) -> None:
    """The map of S behind MechLight, with the head it chose."""
    chosen = result["explainers"].get("mechlight")
    if not chosen:
        return
    st.subheader("The heads behind MechLight")
    head_map(chosen["head_scores"], chosen["head"], str(chosen.get("runner_up", "")), key=f"own_head_{id_of(result)}")
    st.caption(
        f"{chosen['head']} chosen; runner-up {chosen.get('runner_up', '–')}, {number(chosen.get('margin'))} behind. "
        "Orange squares speak for the answer, blue ones for its competitor."
    )


def files(result: dict[str, Any], instance: StoredInstance, rows: list[Row]) -> None:
    left, right, _ = st.columns([1, 1, 2])
    stem = f"heval-{id_of(result)}"
    with left:
        download("As an HTML file", instance_page(instance, rows, K, "own prompt"), f"{stem}.html", "own_html")
    with right:
        same = "The object that `python -m precompute explain --format json` prints."
        download("As JSON", json.dumps(result, ensure_ascii=False), f"{stem}.json", "own_json", same)


def compare() -> None:
    """The kept results beside one another: what was answered, and each explainer's best token."""
    kept: list[dict[str, Any]] = st.session_state.get(KEPT, [])
    if len(kept) < 2:
        return
    st.subheader("Beside the others of this tab")
    st.dataframe([summary(result) for result in kept], hide_index=True)
    st.caption("Each explainer's best-ranked token. Results are kept while the tab is open.")


page_run.through_app()
page()
