"""The form's draft outlives a reload: the browser's tab keeps it, and nobody else sees it.

A session begins by asking the tab what it holds; until that has answered nothing is written over it.
"""

from __future__ import annotations

import json
from collections.abc import Callable

import streamlit as st

from heval_core.ui import own_prompts
from heval_core.ui.component import component
from heval_core.ui.own_prompts import OwnPrompt

_ANSWERED = "own_draft_answered"


def keep(prompt: OwnPrompt, filled: str, restore: Callable[[OwnPrompt | None, str], None]) -> None:
    """Have the tab keep what the form holds.

    filled: the id of the answer that the form was filled from. restore: called once with what the tab held, None for nothing,
    and of which answer, before the form is drawn again.
    """

    def heard(text: str) -> None:
        st.session_state[_ANSWERED] = True
        try:
            held = json.loads(text) if text != "none" else {}
            draft = own_prompts.unpacked(held.get("asked", ""))
        except (ValueError, AttributeError):  # of an older program
            draft = None
            held = {}
        restore(draft, held.get("filled", ""))

    now = json.dumps({"asked": own_prompts.packed(prompt), "filled": filled})
    component("own_draft", "own_draft", {"draft": now if st.session_state.get(_ANSWERED) else None}, "content", held=heard)
