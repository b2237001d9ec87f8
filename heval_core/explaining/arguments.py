"""What `explain` takes, checked once for notebooks, the command line and the page: one sentence names what is wrong.

A document is a text, or an object that has one as `page_content` or `text`, as LangChain's and LlamaIndex's do, also as the
`node` of a search result; its source or id is then the document's name.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Mapping
from numbers import Integral, Number, Real
from typing import TYPE_CHECKING, Any

from heval_core.prompting.prompts import CHAT, LAYOUTS
from heval_core.records import MATCHES, TARGETS, HEvalError

if TYPE_CHECKING:  # importing this costs no torch
    from heval_core.explaining.pipeline import Request

# What names a document: in its metadata, or of its own.
_IN_METADATA, _OF_ITSELF = ("source", "id", "title", "file_name"), ("id", "id_", "node_id")


def request_of(
    question: Any, context: Any = (), context_answer: Any = (), memory_answer: Any = None, answer: Any = None
) -> Request:
    """Return the request of some arguments of `explain`. Raises HEvalError for one that is no text, or no documents."""
    from heval_core.explaining.pipeline import Request

    documents = several("context", context, "a text, a document, or a list of them")
    known = several("context_answer", context_answer, "a text, or a list with one or None for each document")
    for name, one in (("memory_answer", memory_answer), ("answer", answer)):
        if one is not None and not text(name, one).strip():
            raise HEvalError(f"{name} is empty; write one, or leave it out.")
    return Request(
        tuple(text(f"context[{index}]", _inside(one), one) for index, one in enumerate(documents)),
        text("question", question),
        tuple(one if one is None else text(f"context_answer[{index}]", one) for index, one in enumerate(known)),
        memory_answer,
        tuple(map(_name, documents)),
    )


def check_options(
    match: Any = MATCHES[0],
    target: Any = TARGETS[0],
    template: Any = None,
    dtype: Any = "auto",
    generate: Any = None,
    answer: Any = None,
) -> None:
    """Raise HEvalError, with the nearest ones, for a word that an option of `explain` or `explain_answer` cannot have, for no
    number, and for an answer that is given and to be generated."""
    from heval_core.lm.loading import DTYPES

    one_of("match", match, MATCHES)
    one_of("target", target, (*TARGETS, "named"))
    one_of("dtype", dtype, ("auto", *DTYPES))
    if generate is not None and answer is not None:
        raise HEvalError(
            "answer and generate are both given: an answer that is given is not generated; leave one of them out."
        )
    if template is not None and not text("template", template).startswith(f"{CHAT}:") and "{" not in template:
        one_of("template", template, LAYOUTS)
    if generate is not None and (isinstance(generate, bool) or not isinstance(generate, Integral) or generate < 1):
        raise HEvalError(
            f"generate is {_kind(generate)}; it must be a whole number, at least 1: the most tokens of the answer."
        )


def one_of(name: str, value: Any, words: Iterable[str]) -> None:
    """Raise HEvalError for a word that is none of these."""
    if value not in (words := tuple(words)):
        near = difflib.get_close_matches(value, words, n=3, cutoff=0.5) if isinstance(value, str) else []
        hint = f"did you mean {' or '.join(near)}?" if near else f"there are: {', '.join(words)}."
        raise HEvalError(f"There is no {name} {value!r}; {hint}")


def several(name: str, value: Any, right: str) -> list[Any]:
    """Return the texts or documents of an argument, which may be one. right: what it may be."""
    if _inside(value) is not None:
        return [value]
    if isinstance(value, bytes | Mapping | set) or hasattr(value, "columns") or not isinstance(value, Iterable):
        raise HEvalError(f"{name} is {_kind(value)}; it must be {right}.")
    return list(value)


def text(name: str, value: Any, given: Any = None) -> str:
    """Return an argument's text. given: what holds it. Raises HEvalError for none, and for half a character."""
    if not isinstance(value, str):
        raise HEvalError(f"{name} is {_kind(value if given is None else given)}; it must be a text.")
    if any("\ud800" <= letter <= "\udfff" for letter in value):
        raise HEvalError("A text holds half a character, as a file in another encoding than UTF-8 does; write it whole.")
    return value


def _inside(document: Any) -> str | None:
    """Return the text of a text, or of a document; None for anything else."""
    node = getattr(document, "node", document)
    fields = (document, getattr(node, "page_content", None), getattr(node, "text", None))
    return next((field for field in fields if isinstance(field, str)), None)


def _kind(value: Any) -> str:
    """Describe an argument, and how it becomes a text, where that is known."""
    if isinstance(value, Real) and value != value:
        return "NaN, as an empty cell of a table is"
    if isinstance(value, Mapping | bytes):
        return "a dict (give the text in it)" if isinstance(value, Mapping) else "bytes (decode them: b.decode())"
    return f"{value!r:.60}" if value is None or isinstance(value, str | Number) else f"a {type(value).__name__}"


def _name(document: Any) -> str:
    """Return the source or id of a document; "" for a text, and for one without."""
    node = getattr(document, "node", document)
    about = getattr(node, "metadata", None)
    names = [about.get(key) for key in _IN_METADATA] if isinstance(about, Mapping) else []
    names += [getattr(node, key, None) for key in _OF_ITSELF]
    return next((str(one).strip() for one in names if str(one or "").strip()), "").encode("utf-8", "replace").decode()
