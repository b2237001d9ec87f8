"""The sidebar of every page: explain your own prompt with an installed model.

The model's worker process does it, not the page: you can go to other pages, watch the progress from there, and cancel.
"""

from __future__ import annotations

from pathlib import Path

import streamlit as st

from heval_core.installed import installed_models
from heval_core.prompt_service.client import Ticket, begin
from heval_core.ui import address, links, own_form, own_prompts
from heval_core.ui.own_prompts import Asked
from heval_core.ui.text import plain

PAGE = "pages/your_prompt.py"
TICKET, ASKED, LAST = "own_ticket", "own_asked", "own_last"
# What the form asks for now, and the results of this tab: ids.
FORM, MINE = "own_form", "own_mine"
_FILLED = "own_filled_from"
# Why the last request has no result. It stays until the next one: a page may be run again right after the run that says it.
_REFUSED = "own_refused"
# A result that is to be opened on its own page.
_OPENS = "own_opens"


def draw(on_own_page: bool = False) -> None:
    """The form; a result is kept by the server and shown on its own page."""
    with st.sidebar:
        st.subheader("Explain a prompt")
        models = installed_models()
        if not models:
            st.info("No model is installed. Put model folders into HEVAL_MODELS and start the explorer again.")
            return
        ticket: Ticket | None = st.session_state.get(TICKET)
        if ticket is not None and ticket.over.is_set():
            _finish(ticket)
            ticket = None
        if on_own_page:
            if opens := st.session_state.pop(_OPENS, None):
                address.put(result=opens, asked=None, pick=None, pin=None, need=None)
            _fill_from_link(models)
        elif st.session_state.get(_OPENS):
            # By the browser: a page with charts that take clicks would take a switch of the server back (Streamlit 1.67).
            links.go("your_prompt", {"result": st.session_state[_OPENS]})
        asked, places = own_form.draw(models)
        st.session_state[FORM] = asked
        st.caption(own_form.cost(asked, models[asked["model"]]))
        pressed = st.button("Explain", type="primary", width="stretch", key="own_send", disabled=ticket is not None)
        lack = own_form.missing(asked, models)
        if lack:
            place, said = lack
            places[place].error(said)
            if pressed:
                st.caption("Nothing was asked yet: a note above says what is missing.")
        elif pressed:
            ticket = _send(asked, models)
        _below(ticket)


def _below(ticket: Ticket | None) -> None:
    """What stands below the button: how far the request is, or what became of the last one."""
    if ticket is not None:
        st.fragment(_watch, run_every=0.4)()
    elif st.session_state.get(_REFUSED):
        st.error(plain(st.session_state[_REFUSED]))
    elif st.session_state.get(LAST):
        asked = {"result": st.session_state[LAST]}
        st.page_link(PAGE, label="Open the result", icon=":material/edit_note:", query_params=asked)


def _send(asked: Asked, models: dict[str, Path]) -> Ticket:
    st.session_state[ASKED] = asked
    st.session_state[_REFUSED] = None
    folder = models[asked["model"]]
    template = own_form.template_of(asked, folder)
    ticket = st.session_state[TICKET] = begin({**asked, "op": "explain", "model": str(folder), "template": template})
    return ticket


def _fill_from_link(models: dict[str, Path]) -> None:
    """The form shows what the link's result was asked with, once; what is typed afterwards stays."""
    name = address.value("result") or address.value("asked")
    if not name or st.session_state.get(_FILLED) == name or name in st.session_state.get(MINE, []):
        return
    st.session_state[_FILLED] = name
    kept = own_prompts.find(address.value("result"))
    asked = kept.asked if kept else own_prompts.unpacked(address.value("asked"))
    if asked is None:
        return
    if asked["model"] not in models:
        asked = {**asked, "model": ""}
    own_form.fill(asked)


def _watch() -> None:
    """The progress of the request, and a button to cancel it; the page is run again when it is over."""
    ticket: Ticket | None = st.session_state.get(TICKET)
    if ticket is None:
        return
    if ticket.over.is_set():
        st.rerun(scope="app")
    worker = ticket.worker
    if worker.current is not ticket and worker.ahead() > 1:
        st.info(f"Busy: {worker.ahead() - 1} request(s) ahead.", icon=":material/hourglass_top:")
    else:
        done = [text for text in ticket.progress if text.endswith(" done")]
        st.progress(
            min(1.0, len(done) / len(ticket.request["explainers"])),
            f"Asking {plain(Path(ticket.request['model']).name)}: {plain((ticket.progress or ['starting'])[-1])} …",
        )
    if st.button("Cancel", key="own_cancel", width="stretch"):
        worker.cancel(ticket)


def _finish(ticket: Ticket) -> None:
    """The request is over: keep its result, and open it, or say why there is none."""
    del st.session_state[TICKET]
    st.session_state[_REFUSED] = ticket.error
    if ticket.error:
        return
    result = ticket.result
    name = own_prompts.keep(st.session_state[ASKED], result)
    mine = st.session_state.setdefault(MINE, [])
    st.session_state[MINE] = [*(other for other in mine if other != name), name]
    st.session_state[LAST] = name
    st.session_state[_OPENS] = name
    st.success(f"{plain(result['model'])} answers {plain(result['answer']['text'].strip())}.", icon=":material/check_circle:")
