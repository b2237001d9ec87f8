"""What these results call their explainers, and which of them are controls."""

from __future__ import annotations

from heval_core.store.reader import Reader
from heval_core.ui.published_results import query


def titles_of(results: Reader) -> dict[str, str]:
    """Key ▶ title, of every explainer in the catalogue of these results."""
    known = query(results, Reader.catalogue, "explainer")
    return dict(zip(known["key"], known["title"], strict=True))


def controls_of(results: Reader) -> set[str]:
    """The keys of the controls."""
    known = query(results, Reader.catalogue, "explainer")
    return set(known[known["control"]]["key"])
