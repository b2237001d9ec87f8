"""Where did the answer to my own prompt come from?"""

import json
from dataclasses import replace

import streamlit as st

from heval_core.figures.highlights import instance_page
from heval_core.metrics.shared.cell import DEFAULT_K
from heval_core.ui import address, frame, heads, own_prompts, reading, sidebar, surface
from heval_core.ui.component import component
from heval_core.ui.exports import download
from heval_core.ui.instance_tables import more
from heval_core.ui.own_prompts import Kept
from heval_core.ui.text import plain

TITLE = "Where did the answer to my own prompt come from?"
# Results side by side.
MOST_BESIDE = 3


def page() -> None:
    address.notices()
    shown = {name: kept for name in address.values("result")[:MOST_BESIDE] if (kept := own_prompts.find(name))}
    lost = any(own_prompts.find(name) is None for name in address.values("result"))
    if lost and not own_prompts.unpacked(address.value("asked")):
        gone()
    bar(shown)
    if not shown:
        empty()
        return
    changed(shown)
    if len(shown) == 1:
        show(*next(iter(shown.items())), beside=False)
        return
    for column, (name, kept) in zip(st.columns(len(shown)), shown.items(), strict=True):
        with column:
            show(name, kept, beside=True)


def gone() -> None:
    st.warning(
        "The link's result is no longer here: results are kept while the server runs. Press Explain to compute it again.",
        icon=":material/history:",
    )


def bar(shown: dict[str, Kept]) -> None:
    """The results of this tab to choose from, files, and the link."""
    mine = [name for name in st.session_state.get(sidebar.MINE, []) if own_prompts.find(name)]
    asked = [name for name in address.values("result") if own_prompts.find(name)]
    there = list(dict.fromkeys([*shown, *asked, *reversed(mine)]))
    if not there:
        return
    with st.container(horizontal=True, key="filters", gap="xsmall", vertical_alignment="center"):
        if len(there) > 1:
            with st.popover(f"Results **{len(shown)} of {len(there)}**"):
                titles = {name: plain(own_prompts.label_of(kept)) for name in there if (kept := own_prompts.find(name))}
                about = f"Up to {MOST_BESIDE} are shown side by side."
                address.some_of("Shown side by side", there, "result", titles=titles, help=about, placeholder="choose some")
        if shown:
            first = next(iter(shown.values()))
            with st.popover("Save", icon=":material/download:"):
                files(first)
            with st.popover("Link", icon=":material/link:"):
                component("copy_link")(key="link_to_this_view", data={"more": {"asked": own_prompts.packed(first.asked)}})
                st.caption("It opens this result; where that is gone, or on another machine with the model, it asks again.")


def empty() -> None:
    """Nothing to show yet: what to do, or what the link asks for."""
    st.title(TITLE)
    asked = own_prompts.unpacked(address.value("asked")) if address.value("asked") else None
    if asked is not None and own_prompts.can_be_asked(asked):
        st.info(
            f"This link asks {plain(asked['model'])}: *{plain(asked['question'])}* Its documents are in the form; press "
            "Explain to compute the result here.",
            icon=":material/edit_note:",
        )
    elif asked is not None:
        st.warning(
            f"The link asks the model {plain(asked['model'])}, which is not installed here; choose another in the form."
        )
    elif address.value("asked"):
        st.error("The link's prompt cannot be read; copy the link again.")
    else:
        st.info(
            "Nothing is explained yet. The form at the left has a filled-in example: press Explain, and the answer opens "
            "here. The button above, or the key /, opens the form on every page.",
            icon=":material/edit_note:",
        )
        for title, (documents, question) in sidebar.EXAMPLES.items():
            texts = " ".join(f"“{text}”" for text, _ in documents)
            st.markdown(f"**{title}.** {plain(texts)} *{plain(question)}*")


def changed(shown: dict[str, Kept]) -> None:
    """An old result is marked as old as soon as the form holds something else."""
    form = st.session_state.get(sidebar.FORM)
    if form is not None and own_prompts.id_of(form) not in shown:
        st.warning("The form has changed since. Press Explain for a new result; this one stays.", icon=":material/update:")


def show(name: str, kept: Kept, beside: bool) -> None:
    """The reading surface of a result, and the numbers below it."""
    result, instance = kept.result, own_prompts.instance_of(kept)
    rows, mapped = own_prompts.rows_of(result), own_prompts.heads_of(result)
    view = surface.view_of(rows, None if beside else mapped.names if mapped else [], len(instance.tokens))
    if beside:
        view = replace(view, pin=None)
    all_rows, data = heads.with_map(None, instance, mapped, rows, view.pick)

    def asked(what: str) -> None:
        if what == "need":
            address.put(need=True)

    lead = [("", f"{instance.model}: "), *reading.sentence(instance, rows)]
    surface.draw(instance, all_rows, view, data, instance.question, lead, key=f"reading_{name}", asked=asked)
    agree = own_prompts.same_answer(kept)
    if agree:
        st.info(agree, icon=":material/handshake:")
    for left_out in own_prompts.left_out(result):
        st.warning(left_out, icon=":material/block:")
    times = " · ".join(f"{row.title} {result['explainers'][row.explainer]['seconds']:.2f} s" for row in rows)
    st.caption(f"{own_prompts.options_line(kept)} {len(result['tokens'])} tokens · {times}")
    if not beside:
        more(None, instance, rows, view.k, {})


def files(kept: Kept) -> None:
    name, instance, rows = own_prompts.id_of(kept.asked), own_prompts.instance_of(kept), own_prompts.rows_of(kept.result)
    download(
        "As an HTML file", lambda: instance_page(instance, rows, DEFAULT_K, "own prompt"), f"heval-{name}.html", "own_html"
    )
    same = "The object that `python -m precompute explain --format json` prints."
    made = json.dumps(kept.result, ensure_ascii=False)
    download("As JSON", made, f"heval-{name}.json", "own_json", same)


frame.through_app()
page()
