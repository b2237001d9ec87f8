"""What the same question was answered under other techniques, and what a technique asked before it answered."""

from __future__ import annotations

import json
from typing import Any

import pandas as pd
import streamlit as st

from heval_core.records import TECHNIQUE
from heval_core.store.reader import Reader
from heval_core.stored import StoredInstance
from heval_core.ui import listing
from heval_core.ui.names import names_of
from heval_core.ui.published_results import query
from heval_core.ui.text import plain

_LONGEST = 4000


def draw(results: Reader, instance: StoredInstance) -> None:
    """A button for each technique's answer, which leads to that instance; nothing where there was only one technique."""
    answers = query(results, Reader.behaviour_of, instance.instance_id)
    if len(answers) > 1:
        _strip(results, instance, answers)
    own = answers[answers["instance_id"] == instance.instance_id]
    trace = own["trace"].iloc[0] if len(own) else None
    if isinstance(trace, str) and trace:
        _trace(trace)


def _strip(results: Reader, instance: StoredInstance, answers: pd.DataFrame) -> None:
    names = names_of(results)
    with st.container(key="under_techniques", horizontal=True, gap="xsmall", vertical_alignment="center"):
        st.markdown("**Answers under techniques**", width="content")
        for row in answers.to_dict("records"):
            title, text = names.technique(row["technique"]), str(row["predicted_text"] or "").strip()
            here = row["instance_id"] == instance.instance_id
            st.button(
                f"{plain(title)}: **{plain(text)}** {_mark(row)}",
                key=f"under_{row['instance_id']}",
                type="primary" if here else "secondary",
                help=_told(row),
                on_click=_open,
                args=(str(row["instance_id"]), str(row["technique"])),
            )


def _mark(row: dict[str, Any]) -> str:
    return "" if pd.isna(row["bcu"]) else "✓" if row["bcu"] == 1 else "✗"


def _told(row: dict[str, Any]) -> str:
    if pd.isna(row["bcu"]):
        return "No BCU: metrics leave this answer out."
    asked = "what" if row["bcu"] == 1 else "not what"
    return f"BCU {row['bcu']:.0f}: the answer is {asked} this kind of context asks for."


def _open(instance_id: str, technique: str) -> None:
    """The list goes along: it is of one technique."""
    listing.show_instance(instance_id, technique=None if technique == TECHNIQUE else technique)


def _trace(trace: str) -> None:
    """Plain text, whatever a model wrote."""
    box = st.expander("What was asked and answered before this answer", key="trace", on_change="rerun")
    if box.open:
        with box:
            for number, step in enumerate(steps_of(trace), start=1):
                st.caption(f"Call {number}")
                st.code(step[:_LONGEST], language=None, wrap_lines=True)


def steps_of(trace: str) -> list[str]:
    """Each step of a trace, a line for each thing that it says; what is no JSON list is one step."""
    try:
        parsed = json.loads(trace)
    except ValueError:
        return [trace]
    steps = parsed if isinstance(parsed, list) else [parsed]
    return [
        "\n".join(f"{name}: {value}" for name, value in step.items()) if isinstance(step, dict) else str(step)
        for step in steps
    ]
