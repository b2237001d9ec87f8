"""Prompts of one's own: what is asked, as a link carries it, and the results that the server keeps.

A result is found again by its id in the address, after a reload and in another browser, as long as the server runs. A link
to send also carries what was asked, so that it can be computed again elsewhere.
"""

from __future__ import annotations

import base64
import hashlib
import json
import threading
import zlib
from collections import OrderedDict
from typing import Any, NamedTuple, TypedDict

import streamlit as st

from heval_core.installed import installed_models
from heval_core.prompts import CHAT
from heval_core.records import MATCHES, TARGETS

# How the prompt is written: in the model's layout of one text, or through its chat template.
TEMPLATES = ("plain", CHAT)
# Results that the server keeps, for all tabs.
MOST_KEPT = 64
# A link's request is not unpacked beyond this many characters.
LONGEST = 400_000


class Asked(TypedDict):
    """What a form asks for. model: the name of an installed one. template: one of TEMPLATES. The rest is as in
    `messages.Explain`.
    """

    model: str
    documents: list[str]
    context_answers: list[str | None]
    question: str
    memory_answer: str | None
    explainers: list[str]
    match: str
    target: str
    template: str


class Kept(NamedTuple):
    """result: what `Explanation.to_json` gives."""

    asked: Asked
    result: dict[str, Any]


def id_of(asked: Asked) -> str:
    """The same question has the same id everywhere."""
    return hashlib.sha256(json.dumps(asked, sort_keys=True).encode()).hexdigest()[:12]


class _Shelf:
    """The newest results, oldest first. Tabs are threads of one server."""

    def __init__(self) -> None:
        self._kept: OrderedDict[str, Kept] = OrderedDict()
        self._lock = threading.Lock()

    def put(self, name: str, kept: Kept) -> None:
        with self._lock:
            self._kept.pop(name, None)
            self._kept[name] = kept
            while len(self._kept) > MOST_KEPT:
                self._kept.popitem(last=False)

    def get(self, name: str) -> Kept | None:
        with self._lock:
            return self._kept.get(name)


@st.cache_resource(show_spinner=False)
def _shelf() -> _Shelf:
    return _Shelf()


def keep(asked: Asked, result: dict[str, Any]) -> str:
    """Keep a result. Returns its id."""
    name = id_of(asked)
    _shelf().put(name, Kept(asked, result))
    return name


def find(name: str) -> Kept | None:
    """None for a result that was never there, or had to make room, or went with the server."""
    return _shelf().get(name)


def can_be_asked(asked: Asked) -> bool:
    """Whether its model is installed here."""
    return asked["model"] in installed_models()


def packed(asked: Asked) -> str:
    """A request as a parameter of a link."""
    return base64.urlsafe_b64encode(zlib.compress(json.dumps(asked, ensure_ascii=False).encode(), 9)).decode().rstrip("=")


def unpacked(text: str) -> Asked | None:
    """The request in a link; None if there is none in it. A link is anybody's text: types are checked, nothing is run."""
    try:
        raw = zlib.decompressobj().decompress(base64.urlsafe_b64decode(text + "=" * (-len(text) % 4)), LONGEST)
        asked = json.loads(raw)
    except (ValueError, zlib.error, RecursionError):
        return None
    if not isinstance(asked, dict) or set(asked) != set(Asked.__annotations__):
        return None
    texts = [asked["model"], asked["question"], *_list(asked["documents"]), *_list(asked["explainers"])]
    maybe = [asked["memory_answer"], *_list(asked["context_answers"])]
    right = all(isinstance(each, str) for each in texts) and all(each is None or isinstance(each, str) for each in maybe)
    if not right or len(asked["documents"]) != len(asked["context_answers"]):
        return None
    chosen = ((asked["match"], MATCHES), (asked["target"], TARGETS), (asked["template"], TEMPLATES))
    if any(one not in there for one, there in chosen):
        return None
    known: Asked = asked  # type: ignore[assignment]  # checked above, field by field
    return known


def _list(value: Any) -> list[Any]:
    """The items of a list; of anything else one that is no text, so that it is refused."""
    return value if isinstance(value, list) else [object()]
