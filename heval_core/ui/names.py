"""What these results call their explainers, datasets and regimes, and which explainers are controls."""

from __future__ import annotations

import re

from heval_core import words
from heval_core.figures.measured_panels import Names
from heval_core.present.names import regime_title
from heval_core.store.reader import Reader
from heval_core.stored import StoredInstance
from heval_core.ui.published_results import query
from heval_core.words import dataset_title


def titles_of(results: Reader, kind: str = "explainer") -> dict[str, str]:
    """Key ▶ title, of all explainers, datasets, regimes or groups. A model's name is its title."""
    if kind == "regime":
        return words.titles(words.REGIMES) | {
            key: regime_title(key) for key in query(results, Reader.choices)["regime"].unique()
        }
    if kind == "group":
        return words.titles(words.GROUPS)
    if kind == "model":
        return {}
    known = query(results, Reader.catalogue, kind)
    titles = dict(zip(known["key"], known["title"], strict=True))
    if kind == "explainer":
        return titles
    asked = list(dict.fromkeys(query(results, Reader.choices)["dataset"]))
    return titles | {key: dataset_title(key, titles) for key in asked}


def controls_of(results: Reader) -> set[str]:
    """The keys of the controls."""
    known = query(results, Reader.catalogue, "explainer")
    return set(known[known["control"]]["key"])


def names_of(results: Reader) -> Names:
    """What figures call explainers and datasets."""
    return Names(titles_of(results), titles_of(results, "dataset"), frozenset(controls_of(results)), meanings_of(results))


def meanings_of(results: Reader, kind: str = "explainer") -> dict[str, str]:
    """Key ▶ what it is, in a sentence: the first one of its docstring, without its name in front."""
    known = query(results, Reader.catalogue, kind)
    return {row.key: first_sentence(row.docstring) for row in known.itertuples()}


def first_sentence(docstring: str) -> str:
    """The first sentence of a plug-in's docstring, without the name or the word `Control` before its colon."""
    lead = " ".join(docstring.split("\n\n")[0].split())
    sentence = (re.match(r".*?[.?](?=\s|$)", lead) or re.match(".*", lead) or [lead])[0]
    name, colon, rest = sentence.partition(": ")
    told = rest if colon and len(name) < 30 else sentence
    return told[:1].upper() + told[1:]


def document_caption(instance: StoredInstance, index: int) -> str:
    """Of the document with this index, from 0: `document 1 · answer Nairobi · conflicting · source: atlas`."""
    document = instance.documents[index]
    parts = [f"document {index + 1}", f"answer {document.answer}" if document.answer else "no answer"]
    if document.kind != "own":
        parts.append(document.kind.replace("_", " "))
    if document.origin == "substituted":
        parts.append("answer substituted")
    if document.source:
        parts.append(f"source: {document.source.replace('_', ' ')}")
    return " · ".join(parts)
