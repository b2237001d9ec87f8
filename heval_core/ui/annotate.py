"""The page *Annotate*: what one person has before them, and what their answers do. All else happens in the component.

Who annotates stands in the address, so that a page loaded again goes on. What is not saved yet is kept in the browser.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from functools import partial
from typing import Any

import streamlit as st

from heval_core.citations.people.annotations import OF_BUNDLED, AnnotationStore, command
from heval_core.citations.people.items import PRACTICE
from heval_core.figures.citation_claim import masked
from heval_core.folders import bundled_shards
from heval_core.records import HEvalError
from heval_core.ui import address
from heval_core.ui.component import component
from heval_core.ui.published_results import results_folder

TITLE = "Annotate"
KEY = "annotate"
# In the session: the item that is being changed; the practice item whose feedback is read; what went wrong.
_CHANGED, _FEEDBACK, _ERROR = "annotate_changed", "annotate_feedback", "annotate_error"
# And the last message that was done, which tells the component that an answer is saved.
_DONE = "annotate_done"
_SHOWN = "annotate_shown"


def is_on() -> bool:
    """Return whether this server lets people annotate."""
    return os.environ.get("HEVAL_ANNOTATE") == "1"


def study() -> AnnotationStore:
    """Return the study of the store that this server shows.

    Raises HEvalError if there is none, as in what comes with the program.
    """
    folder = results_folder()
    if shards := bundled_shards(folder):
        recipe = command(OF_BUNDLED, shards)
        raise HEvalError(
            f"These results come with the program; a study of them lies in a store of one's own. Make one: {recipe}"
        )
    return AnnotationStore.open(folder)


@st.fragment
def draw(store: AnnotationStore) -> None:
    """Draw what the person of the address has before them; an answer draws this part of the page again, and nothing else."""
    try:
        data = st.session_state[_SHOWN] = shown(store)
    except HEvalError as error:
        # What the person has before them stays, with what they have chosen so far.
        if _SHOWN not in st.session_state:
            raise
        data = st.session_state[_SHOWN] | {"error": str(error)}
    component("annotate", KEY, data, did=partial(act, store))


def shown(store: AnnotationStore) -> dict[str, Any]:
    """Return what the component draws."""
    name = address.value("person")
    person = store.person(name) if name else None
    common = {"error": st.session_state.pop(_ERROR, ""), "done": st.session_state.get(_DONE, ""), "person": person}
    if person is None:
        return common | {"view": "sign_in", "name": name, "practice": len(store.practice())}
    answers = store.answers_of(person)
    turn = store.turn(person)
    view = common | {"answered": len(answers), "left": turn.left}
    feedback, changed = st.session_state.get(_FEEDBACK), st.session_state.get(_CHANGED)
    positions = {answer.item_id: position for position, answer in enumerate(answers)}
    if feedback is not None:
        return view | _item(store, feedback["item"]) | {"feedback": feedback["chosen"], "can_go_back": False}
    if changed in positions:
        index = positions[changed]
        earlier = {"chosen": list(answers[index].predicted), "helpfulness": answers[index].helpfulness}
        return view | _item(store, changed) | {"earlier": earlier, "can_go_back": index > 0, "nth": index + 1}
    if turn.item_id is None:
        return view | {"view": "done", "can_go_back": bool(answers)}
    return view | _item(store, turn.item_id) | {"can_go_back": bool(answers), "nth": len(answers) + 1}


def _item(store: AnnotationStore, item_id: str) -> dict[str, Any]:
    item, practice_ids = store.item(item_id), store.practice()
    others = [passage.number for passage in item.passages if passage.number != item.passage]
    practice = {"number": practice_ids.index(item_id) + 1, "of": len(practice_ids)} if item_id in practice_ids else None
    return {
        "view": "item",
        "id": item.item_id,
        "claim": item.claim,
        "verdict": item.verdict,
        "passages": [{"number": passage.number, "title": passage.title, "text": passage.text} for passage in item.passages],
        "passage": item.passage,
        "sentences": [masked(sentence, item.passage, others) for sentence in item.sentences],
        "practice": practice,
        # What is right is told of practice items only.
        "gold": sorted(item.gold) if item.kind == PRACTICE else None,
        "why": item.feedback,
        "feedback": None,
        "earlier": None,
    }


def act(store: AnnotationStore, message: Mapping[str, Any]) -> None:
    """Do what the component asks for. What goes wrong is told in a line, and the answer stays where it was."""
    op = message.get("op")
    try:
        if op == "save":
            _save(store, message)
        elif op == "back":
            _back(store, message)
        elif op in ("sign_in", "leave", "onward"):
            _forget()
            if op != "onward":
                address.put(person=store.sign_in(str(message.get("name", ""))) if op == "sign_in" else None)
        st.session_state[_DONE] = str(message.get("token"))
    except HEvalError as error:
        st.session_state[_ERROR] = str(error)


def _forget() -> None:
    for name in (_CHANGED, _FEEDBACK):
        st.session_state.pop(name, None)


def _save(store: AnnotationStore, message: Mapping[str, Any]) -> None:
    person, item_id = address.value("person"), str(message.get("item"))
    try:
        chosen = [int(number) for number in message["chosen"]]
        helpfulness, seconds = float(message["helpfulness"]), float(message["seconds"])
    except (KeyError, TypeError, ValueError):
        raise HEvalError("The answer cannot be read; choose again, and save.") from None
    store.save(store.person(person) or person, item_id, chosen, helpfulness, seconds, str(message.get("token")))
    _forget()
    if store.item(item_id).kind == PRACTICE:
        st.session_state[_FEEDBACK] = {"item": item_id, "chosen": chosen}


def _back(store: AnnotationStore, message: Mapping[str, Any]) -> None:
    """Go to the item before the one on screen, of those that the person has answered."""
    person = address.value("person")
    answers = store.answers_of(store.person(person) or person)
    item_ids = [answer.item_id for answer in answers]
    position = item_ids.index(message["item"]) if message.get("item") in item_ids else len(item_ids)
    if position > 0:
        st.session_state[_CHANGED] = item_ids[position - 1]
