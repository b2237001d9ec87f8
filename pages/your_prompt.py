"""What does this answer rest on?"""

import json
from dataclasses import asdict

import streamlit as st

from heval_core.figures.answer import answer_card, answer_page
from heval_core.folders import program
from heval_core.present.html import plain
from heval_core.ui import address, frame, links, own_answer, own_prompts, sidebar
from heval_core.ui.component import component
from heval_core.ui.exports import download
from heval_core.ui.own_prompts import SavedAnswer

TITLE = "What does this answer rest on?"


def page() -> None:
    address.notices()
    name = address.value("result")
    saved = own_prompts.find(name) if name else None
    growing = sidebar.TICKET in st.session_state
    with st.container(horizontal=True, key="own_bar", vertical_alignment="center"):
        st.title(TITLE)
        if saved is not None and not growing:
            menus(saved)
    if own_answer.under_way():
        return
    if saved is None:
        empty(name)
    else:
        own_answer.draw(name, saved.prompt, saved.result)


def menus(saved: SavedAnswer) -> None:
    """Draw menus of other answers, the link, and files."""
    prompt, result, file = saved.prompt, saved.result, f"heval-{saved.prompt.id}"
    with st.popover("Kept", icon=":material/collections_bookmark:"):
        for name, title in own_prompts.titles().items():  # what cannot be opened is not offered
            # No link: where the page itself is its aim, Streamlit 1.67 runs it once more with the address of before.
            opens = address.setter(result=name, words=None, by=None, without=None, instead=None)
            st.button(plain(title), key=f"own_open_{name}", type="tertiary", on_click=opens)
        if prompt.id in own_prompts.mine() and st.button("Remove this answer", key="own_forget"):
            own_prompts.remove(prompt.id)
            address.put(result=None)
            st.rerun()
    with st.popover("Link", icon=":material/link:"):
        component("copy_link", "link_to_this_view", {"more": {"asked": own_prompts.packed(prompt)}})
        st.caption("It opens this answer; where that is gone, or on another machine with the model, it asks again.")
    with st.popover("Save", icon=":material/download:"):
        download("One HTML file", lambda: answer_page(result, prompt.question, prompt.explainers), f"{file}.html", "own_html")
        download("A picture (SVG)", lambda: answer_card(result, prompt.question), f"{file}.svg", "own_svg")
        same = f"The object that `{program()} explain --generate N --format json` prints."
        download("As JSON", lambda: json.dumps(asdict(result), ensure_ascii=False), f"{file}.json", "own_json", same)


def empty(name: str) -> None:
    """Draw what to do where there is nothing to show, what the link asks for, and answers that open without a model."""
    prompt = own_prompts.unpacked(address.value("asked")) if address.value("asked") else None
    if sidebar.say_refused():
        pass  # it is said
    elif prompt is not None and prompt.model in sidebar.models_here():
        st.info(f"This link asks {plain(prompt.model)}: *{plain(prompt.question)}* Press Explain to compute its answer here.")
    elif prompt is not None:
        st.warning(f"The link asks the model {plain(prompt.model)}, which is not installed here; choose another in the form.")
    elif address.value("asked"):
        st.error("The link's prompt cannot be read; copy the link again.")
    elif name:
        st.warning("The link's answer is no longer here. Ask again with the form at the left.")
    else:
        st.markdown("Paste documents, ask a question, press **Explain**. Then click any word of the answer.")
    if groups := own_prompts.cards():
        shown = [(title, [asdict(card) for card in cards]) for title, cards in groups]
        component("answer", "cards", {"documents": [None] * 3, "groups": shown})
        links.follow()


frame.through_app()
page()
