"""Where an answer came from: `C` the document, `C1`, `C2`, … one of several documents, `M` the model's memory.

These are the published words. Everything that asks which document was used, or which groups are compared, asks here.
"""

import re

MEMORY = "M"
GOLD = "gold"


def context_groups(documents: int) -> tuple[str, ...]:
    """Return the group of each document's answer, in the order of the documents.

    >>> context_groups(1), context_groups(3)
    (('C',), ('C1', 'C2', 'C3'))
    """
    return ("C",) if documents == 1 else tuple(f"C{number}" for number in range(1, documents + 1))


def compared_groups(documents: int) -> tuple[str, ...]:
    """Return the groups that metrics compare: one document's answer with memory's, several documents' with one another.

    >>> compared_groups(1), compared_groups(2)
    (('C', 'M'), ('C1', 'C2'))
    """
    return (*context_groups(1), MEMORY) if documents == 1 else context_groups(documents)


def document_of(group: str) -> int | None:
    """Return the index of the document that an answer of this group came from; None if it came from none.

    >>> document_of("C"), document_of("C2"), document_of("M"), document_of("other")
    (0, 1, None, None)
    """
    match = re.fullmatch(r"C(\d*)", group)
    return int(match[1] or 1) - 1 if match else None


def competes(group: str, rival: str) -> bool:
    """Return whether a candidate of the group `rival` competes with an answer of `group`.

    Memory competes with the only document, the other documents with one of several, every document with memory. With any
    other answer, every candidate does.
    """
    if group == MEMORY:
        return rival != MEMORY
    if document_of(group) is None:
        return True
    return rival == MEMORY if group == "C" else rival not in (group, MEMORY)
