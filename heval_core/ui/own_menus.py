"""Menus of *Your prompt*: what is kept, the link, and files; and a kept answer as its kind is drawn."""

from __future__ import annotations

import json
from dataclasses import asdict
from functools import partial

import streamlit as st

from heval_core.figures.answer import answer_card, answer_page
from heval_core.figures.highlights import instance_page
from heval_core.folders import program
from heval_core.metrics.shared.cell import DEFAULT_K
from heval_core.records.whole_answers import WholeAnswer
from heval_core.records.word_answers import WordAnswer
from heval_core.ui import address, own_answer, own_prompts, own_word
from heval_core.ui.component import component
from heval_core.ui.exports import download
from heval_core.ui.own_prompts import AnswerLine, SavedAnswer

_REMOVED = "own_removed_answer"


def draw(name: str, saved: SavedAnswer | None) -> None:
    """Draw the menus, in a row. name: of the answer that is shown, if one is."""
    if lines := own_prompts.answer_lines():  # what cannot be opened is not offered
        _kept_menu(name, lines)
    if saved is not None:
        _menus(saved)


def draw_kept(name: str, saved: SavedAnswer) -> None:
    """Draw a kept answer: a word alone, one beside another, or a whole one."""
    if isinstance(saved.result, WordAnswer):
        own_word.draw(name, saved.result)
        return
    other = own_prompts.find(address.value("beside"))
    if other is not None and isinstance(other.result, WholeAnswer):
        own_answer.draw_beside((saved.prompt, saved.result), (other.prompt, other.result))
    else:
        own_answer.draw(name, saved.prompt, saved.result)


def _kept_menu(name: str, lines: list[AnswerLine]) -> None:
    """Draw the menu of answers that are kept. name: of the one that is shown."""
    with st.popover("Kept", icon=":material/collections_bookmark:"):
        about = {"lines": [line._asdict() for line in lines], "shown": name, "removed": st.session_state.get(_REMOVED)}
        component("kept", "own_kept", about, asked=_of_kept)


def _menus(saved: SavedAnswer) -> None:
    """Draw menus of the link, and of files."""
    prompt, result, file = saved.prompt, saved.result, f"heval-{saved.prompt.id}"
    with st.popover("Link", icon=":material/link:"):
        component("copy_link", "link_to_this_view", {"more": {"asked": own_prompts.packed(prompt)}})
        st.caption("It opens this answer on this machine. In another explorer, put behind its address, it asks again.")
        st.markdown("The same in Python")
        st.code(own_prompts.as_code(prompt), language="python")
    with st.popover("Save", icon=":material/download:"):
        if isinstance(result, WordAnswer):
            make = partial(instance_page, result.instance, own_word.rows_of(result), DEFAULT_K, "own prompt")
            download("One HTML file", make, f"{file}.html", "own_html")
        else:
            page = partial(answer_page, result, prompt.question, prompt.explainers, own_answer.view())
            download("One HTML file", page, f"{file}.html", "own_html")
            card = answer_card(result, prompt.question)
            component("picture", "own_png", {"svg": card, "file": f"{file}.png"})
            download("A picture (SVG)", card, f"{file}.svg", "own_svg")
        same = f"The object that `{program()} explain --generate N --format json` prints." if prompt.mode == "whole" else ""
        download("As JSON", lambda: json.dumps(asdict(result), ensure_ascii=False), f"{file}.json", "own_json", same)


def _of_kept(message: str) -> None:
    """Remove a kept answer, bring it back, or put it beside the one that is shown."""
    heard = json.loads(message)
    if heard["what"] == "remove":
        st.session_state[_REMOVED] = next((one._asdict() for one in own_prompts.answer_lines() if one.id == heard["id"]), None)
        own_prompts.remove(heard["id"])
        if heard["id"] in (address.value("result"), address.value("beside")):
            address.put(beside=None, **({"result": None} if heard["id"] == address.value("result") else {}))
    elif heard["what"] == "put back":
        st.session_state.pop(_REMOVED, None)
        own_prompts.put_back(heard["id"])
    else:
        address.put(beside=heard["id"], without=None, instead=None)
