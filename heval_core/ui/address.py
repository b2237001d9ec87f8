"""The view is the address: what a page's controls hold stands in its link, and nowhere else.

A control shows what the address says, and a change of it writes the address. So a copied address opens the same view
elsewhere, the browser's Back goes back one view, and no second copy of the state can disagree.
"""

from __future__ import annotations

import difflib
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any, TypeVar

import streamlit as st

from heval_core.present.html import plain
from heval_core.ui.published_results import SNAPSHOT, WHICH_RESULTS

T = TypeVar("T")
# The slice of the instances; and all that goes along to other pages: which instances are looked at, and by how many tokens.
SLICED = ("relation", "origin", "tokens", "answer_at", "head", "best", "changed", "explained", "explained_by")
SHARED = ("technique", "model", "dataset", "regime", "group", *SLICED, "search", "k", WHICH_RESULTS)
_PAGE, _VIEWS, _NOTICES, _REPORTED = "page_of_view", "views", "notices", "said_of_link"
# How many of the known values an error lists.
_LISTED = 8
# With how many of them a wrong one is compared, at most.
_COMPARED = 3000


def enter(page: str) -> None:
    """Remember which page is shown; called by app.py before it runs."""
    st.session_state[_PAGE] = page


def notices() -> None:
    """Mark where errors about the link stand, even those of controls that are folded away; called at the top of a page."""
    st.session_state[_NOTICES] = st.container(key="notices")
    st.session_state[_REPORTED] = set()


def leave() -> None:
    """Remember what the page was left with, for `onward`; called when it has run."""
    views = st.session_state.setdefault(_VIEWS, {})
    views[st.session_state.get(_PAGE, "")] = _now()


def onward(page: str) -> dict[str, list[str]]:
    """Return the parameters of a link in the navigation to a page: its own as it was left, and what goes along from
    this one.
    """
    before = st.session_state.get(_VIEWS, {}).get(page, {})
    shared = {name: values for name, values in _now().items() if name in SHARED}
    # In another list the instance and the page of before mean nothing.
    same_list = shared == {name: values for name, values in before.items() if name in SHARED}
    left_out = (*SHARED, SNAPSHOT, *(() if same_list else ("instance", "page")))
    return {name: values for name, values in before.items() if name not in left_out} | shared


def _now() -> dict[str, list[str]]:
    return {name: st.query_params.get_all(name) for name in st.query_params}


# Values of parameters that released links have, and what is called otherwise now.
MOVED = {("tab", "prompts"): "source"}


def values(name: str) -> list[str]:
    """Return all values of a parameter, in the link's order."""
    return [MOVED.get((name, value), value) for value in st.query_params.get_all(name) if value != ""]


def value(name: str, default: str = "") -> str:
    """Return the only value of a parameter, or its last one."""
    return (values(name) or [default])[-1]


def put(**changed: Any) -> None:
    """Write parameters into the address, all at once: the browser's Back undoes them together.

    Nothing, an empty text or list, and False remove a parameter.
    """
    before = _now()
    view = {name: before[name] for name in before if name not in changed}
    for name, new in changed.items():
        texts = [_text(item) for item in (new if isinstance(new, (list, tuple)) else [new])]
        if filled := [text for text in texts if text]:
            view[name] = filled
    if view != before:
        st.query_params.from_dict(view)


def forget(**view: str) -> None:
    """Start anew, on this page and in the links to all others: other results have other models and instances."""
    st.session_state.pop(_VIEWS, None)
    st.query_params.from_dict(view)


def _text(item: Any) -> str:
    if item is None or item is False:
        return ""
    return "true" if item is True else str(item)


def known(name: str, options: Sequence[T], what: str = "") -> list[T]:
    """Return the options that the address asks for.

    Shows an error, with the nearest option, for anything else that it asks for.

    what: the name of an option in the message.
    """
    by_text = {_text(option): option for option in options}
    texts = values(name)
    for wrong in (text for text in texts if text not in by_text):
        refuse(name, wrong, list(by_text), what or name)
    return [by_text[text] for text in texts if text in by_text]


def requested(name: str, options: Sequence[T], default: T | None = None, what: str = "") -> T:
    """Return the option that the address asks for, by default the first; with an error as above."""
    return (known(name, options, what) or [options[0] if default is None else default])[-1]


def refuse(name: str, wrong: str, options: Sequence[str], what: str) -> None:
    """Show an error on the page: the link asks for something that is not there. Offers the nearest that is."""
    listed = ", ".join(options[:_LISTED]) + (f", and {len(options) - _LISTED:,} more" if len(options) > _LISTED else "")
    available = f"there are: {plain(listed)}." if options else "there is none under these filters."
    # Of very many it takes seconds.
    nearest = (difflib.get_close_matches(wrong, options[:_COMPARED], 1, cutoff=0.4) or [""])[0]
    rest = [text for text in values(name) if text != wrong]
    label = f"Show {plain(nearest)} instead" if nearest else "Show the page without it"
    error = f"The link asks for the {what} {plain(wrong[:80])}, which is not in these results; {available}"
    _say(name, wrong, error, label, [*rest, nearest])


def unreadable(name: str, what: str, right: str) -> None:
    """Show an error on the page: a parameter is not what it should be. right: what would be, as in `a number`."""
    wrong = " to ".join(plain(text[:40]) for text in values(name))
    _say(name, "", f"The link asks for {what} {wrong}; it should be {right}.", "Show the page without it", [])


def _say(name: str, wrong: str, error: str, label: str, instead: Sequence[str]) -> None:
    """Show an error and the button that puts the parameter right; once, though several parts may read it, or a link
    repeat it.
    """
    reported, slot = st.session_state.get(_REPORTED, set()), st.session_state.get(_NOTICES, st)
    if (name, wrong) not in reported:
        reported.add((name, wrong))
        slot.error(error)
        slot.button(label, key=f"nearest_{name}_{wrong}", on_click=setter(**{name: instead}))


def bound(name: str, held: Any, written: Callable[[Any], Any] = lambda new: new) -> dict[str, Any]:
    """Return what makes a control show `held` and write its changes into the address."""
    st.session_state[name] = held
    return {"key": name, "on_change": lambda: put(**{name: written(st.session_state.get(name))})}


def _shown(titles: Mapping[Any, str] | None = None, hidden: bool = False, help: str | None = None) -> dict[str, Any]:
    """Return how a control looks. hidden: its label. titles: of its options."""
    looks = {"help": help, "label_visibility": "collapsed" if hidden else "visible"}
    return looks | ({"format_func": titles.get} if titles else {})


def one_of(
    label: str, options: Sequence[T], name: str, default: T | None = None, *, what: str = "", menu: bool = False, **looks: Any
) -> T:
    """Offer options, one of which is chosen, by default the first, as buttons or a menu.

    what: its name in messages. looks: see `_shown`.
    """
    first = options[0] if default is None else default
    held = requested(name, options, first, what)
    looks = _shown(**looks) | bound(name, held, lambda new: None if new in (None, first) else new)
    if menu:
        st.selectbox(label, options, **looks)
    else:
        st.segmented_control(label, options, required=True, **looks)
    return held


def chip(label: str, options: Sequence[str], name: str, titles: Mapping[str, str], *, alone: bool = True) -> str:
    """Draw a chip that says which of some options is chosen, the first by default, with their menu.

    titles: a chip has what stands before their colon. alone: whether a single option has a chip, too.
    """
    what = label.lower()
    chosen = requested(name, options, what=what)
    if len(options) > 1 or alone:
        with st.popover(f"{label} **{plain(titles.get(chosen, chosen).partition(':')[0])}**"):
            option_titles = {option: titles.get(option, option) for option in options}
            one_of(label, options, name, what=what, titles=option_titles, menu=True)
    return chosen


def some_of(
    label: str, options: Sequence[T], name: str, *, what: str = "", placeholder: str = "all", **looks: Any
) -> tuple[T, ...]:
    """Offer options, some of which are chosen; none where the address is empty."""
    held = known(name, options, what)
    st.multiselect(label, options, placeholder=placeholder, **_shown(**looks), **bound(name, held))
    return tuple(held)


def maybe(label: str, options: Sequence[T], name: str, *, what: str = "", **looks: Any) -> T | None:
    """Offer options, one or none of which is chosen, as buttons in a row."""
    chosen = known(name, options, what)
    held = chosen[-1] if chosen else None
    st.pills(label, options, **_shown(**looks), **bound(name, held))
    return held


def switch(label: str, name: str, *, help: str | None = None) -> bool:
    """Draw a switch that is off by default."""
    held = bool(known(name, (True,), label.lower()))
    st.toggle(label, help=help, **bound(name, held))
    return held


def text(label: str, name: str, placeholder: str = "") -> str:
    held = value(name)
    st.text_input(label, placeholder=placeholder, label_visibility="collapsed", **bound(name, held))
    return held


def whole(name: str, least: int, most: int, default: int, what: str) -> int:
    """Read a whole number that no control holds; outside its limits it is the nearest limit.

    Shows an error for anything else.
    """
    raw = value(name)
    if raw and not (raw.isascii() and raw.isdecimal()):
        unreadable(name, what, "a whole number")
        return default
    return min(max(least, int(raw)), most) if raw else default


def span(label: str, least: int, most: int, name: str, what: str) -> tuple[int, ...]:
    """Draw a slider with two ends for a range within limits; empty where it takes all.

    The link's is cut to the limits, and refused if none of it is left.
    """
    if least == most:
        return ()
    held = (least, most)
    texts = values(name)
    ends = [int(end) for end in texts if end.isascii() and end.isdecimal()]
    if len(texts) == len(ends) == 2 and ends[0] <= ends[1] and least <= ends[1] and ends[0] <= most:
        held = (max(least, ends[0]), min(most, ends[1]))
    elif texts:
        unreadable(name, what, f"two numbers from {least} to {most}")
    st.slider(label, least, most, **bound(name, held, lambda new: None if tuple(new) == (least, most) else new))
    return () if held == (least, most) else held


def setter(**changed: Any) -> Callable[[], None]:
    """Return a callback that writes parameters."""
    return partial(put, **changed)
