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

import numpy as np
import streamlit as st

from heval_core import catalogue
from heval_core.figures.palette import in_order
from heval_core.installed import installed_models
from heval_core.present.names import first_sentence
from heval_core.prompts import AUTO, CHAT
from heval_core.records import MATCHES, TARGETS, TECHNIQUE, Candidate, Span
from heval_core.stored import PromptDocument, StoredInstance
from heval_core.ui.heads import AS_INSTALLED, HeadMap
from heval_core.ui.reading import Row
from heval_core.ui.text import plain

# How the prompt is written, of the names that `heval_core.prompts` knows.
TEMPLATES = (AUTO, "plain", CHAT)
# What `--match` and `--target` of the command line are called here.
MATCH_TITLES = dict(zip(MATCHES, ("its first token", "its whole text", "its first sentence"), strict=True))
TARGET_TITLES = dict(zip(TARGETS, ("the model's answer", "document 1's answer"), strict=True))
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


def label_of(kept: Kept) -> str:
    """`demo-gpt2: Oslo · What is the capital of Kenya?`, or `demo-instruct, chat template: Oslo · …`"""
    result, chat = kept.result, ", chat template" if kept.asked["template"] == CHAT else ""
    return f"{result['model']}{chat}: {result['answer']['text'].strip()} · {kept.asked['question']}"


def rows_of(result: dict[str, Any]) -> list[Row]:
    plugins = catalogue.variants(result["explainers"])
    return [
        Row(
            key,
            plugins[key].title,
            plugins[key].signed,
            scored["scores"],
            first_sentence(catalogue.docstring(plugins[key])),
            note=scored.get("head", ""),
        )
        for key, scored in ((key, result["explainers"][key]) for key in in_order(list(result["explainers"])))
    ]


def instance_of(kept: Kept) -> StoredInstance:
    """The result as a stored instance, which the shared views read."""
    result = kept.result
    answer, question = result["answer"], result["question"]
    return StoredInstance(
        instance_id=id_of(kept.asked),
        model=result["model"],
        revision=AS_INSTALLED,
        dataset="own prompt",
        regime="own prompt",
        technique=TECHNIQUE,
        subject=result["prompt"][:60],
        tokens=tuple(result["tokens"]),
        first_ranked=result["first_ranked"],
        ranked_end=result.get("ranked_end"),
        documents=tuple(
            PromptDocument(d["start"], d["end"], d["answer"] or "unknown", tuple(d["answer_tokens"]))
            for d in result["documents"]
        ),
        question_span=Span(question["start"], question["end"]),
        memory_answer=answer["memory_answer"],
        candidates=tuple(Candidate(**candidate) for candidate in answer["candidates"]),
        predicted_text=answer["text"],
        predicted_probability=answer["probability"],
        predicted_id=answer["token_id"],
        group=answer["group"],
        answer_text=answer["answer_text"],
        prompt=result["prompt"],
        question=kept.asked["question"],
    )


def heads_of(result: dict[str, Any]) -> HeadMap | None:
    """MechLight's heads; None if it was not asked for."""
    chosen = result["explainers"].get("mechlight")
    if not chosen or "head_scores" not in chosen:
        return None
    foil = str(chosen.get("foil", ""))
    return HeadMap(np.asarray(chosen["head_scores"], dtype=np.float64), chosen["head"], str(chosen.get("runner_up", "")), foil)


def options_line(kept: Kept) -> str:
    """How the model was asked, what was explained, and what decided where the answer came from."""
    result, asked = kept.result, "Asked through the chat template. " if kept.asked["template"] == CHAT else ""
    written, match = result["answer"]["answer_text"] is not None, kept.asked["match"]
    decided = MATCH_TITLES["within" if match == "within" else "text" if written else "first"]
    target = f"{TARGET_TITLES[result['target']]} ({plain(result['target_text'].strip())})"
    return f"{asked}Explained: {target}. The group was decided by {decided}."


def left_out(result: dict[str, Any]) -> list[str]:
    """A sentence for each explainer that could not explain the prompt, with its reason."""
    refused = result["refused"]
    plugins = catalogue.variants(refused)
    return [f"{plain(plugins[key].title)} is left out: {plain(why)}" for key, why in refused.items()]


def same_answer(kept: Kept) -> str:
    """A sentence if the model gave an answer that documents agree on, which cannot tell which of them was used; else empty."""
    answers = [(answer or "").strip() for answer in kept.asked["context_answers"]]
    twice = next((answer for answer in answers if answer and answers.count(answer) > 1), None)
    if twice is None or kept.result["answer"]["group"] != "ambiguous":
        return ""
    which = " and ".join(str(number) for number, answer in enumerate(answers, start=1) if answer == twice)
    return (
        f"Documents {which} agree on {plain(twice)}, so the answer alone cannot tell which of them was used: no token is "
        "marked as its source. The highlights show where each explainer points."
    )
