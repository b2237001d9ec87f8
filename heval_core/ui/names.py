"""What these results call what they hold, and what a document of an instance is."""

from __future__ import annotations

from heval_core.present import names
from heval_core.present.names import Names
from heval_core.store.reader import Reader
from heval_core.stored import StoredInstance
from heval_core.ui.published_results import query


def names_of(results: Reader) -> Names:
    return query(results, names.names_of)


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
