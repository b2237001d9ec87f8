"""What does this answer rest on?"""

from dataclasses import asdict

import streamlit as st

from heval_core.present.html import plain
from heval_core.ui import address, frame, links, logs, own_answer, own_menus, own_prompts, own_requests, sidebar
from heval_core.ui.component import component

TITLE, LOG_TITLE = "What does this answer rest on?", "What do these answers rest on?"
TABS = {"one": "Answer", "log": "Log"}


def page() -> None:
    address.notices()
    name = address.value("result")
    pending = own_requests.of(name) if name else None
    growing = pending is not None and pending.running
    saved = own_prompts.find(name) if name and not growing else None
    with st.container(horizontal=True, key="own_bar", vertical_alignment="center"):
        st.title(LOG_TITLE if address.value("tab") == "log" else TITLE)
        tab = address.one_of("Traced", list(TABS), "tab", hidden=True, titles=TABS)
        if tab == "one":
            own_menus.draw(name, saved)
    links.follow()
    if tab == "log":
        logs.draw()
        return
    if pending is not None and not growing and pending.trouble:
        (st.info if pending.ticket.cancelled else st.error)(plain(pending.trouble))
    if pending is not None and growing:
        own_answer.watch(pending)
    elif saved is not None:
        own_menus.draw_kept(name, saved)
    else:
        empty(name, bool(pending and pending.trouble))


def empty(name: str, explained: bool) -> None:
    """Draw what to do where there is nothing to show, what the link asks for, and answers that open without a model.

    explained: whether it is said already why there is no answer.
    """
    prompt = own_prompts.unpacked(address.value("asked")) if address.value("asked") else None
    if explained:
        pass
    elif prompt is not None and prompt.model in sidebar.models_here():
        st.info(f"This link asks {plain(prompt.model)}: *{plain(prompt.question)}* Press Explain to compute its answer here.")
    elif prompt is not None:
        st.warning(f"The link asks the model {plain(prompt.model)}, which is not here. Choose another in the form, or add it:")
        sidebar.how_to_add()
    elif address.value("asked"):
        st.error("The link's prompt cannot be read; copy the link again.")
    elif name:
        st.warning("The link's answer is no longer here. Ask again with the form at the left.")
    else:
        st.markdown("Paste documents, ask a question, press **Explain**. Then click any word of the answer.")
    if groups := own_prompts.cards():
        shown = [(title, [asdict(card) for card in cards]) for title, cards in groups]
        component("answer", "cards", {"documents": [None] * 3, "groups": shown})


frame.through_app()
page()
