"""Which shards of the study stand: those of the newest run of each source of claims, writer, selector and annotator.

Answers belong to the text of an explanation, whose id is a hash of it: answers to another text meet no explanation, and are
never published with it.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from heval_core.store.citation_kinds import CLAIM, EXPLANATION, RECOVERY
from heval_core.store.shards import Entry, ShardStore

# The kind of the journal's lines about what was asked last.
ASKED = "citations"


class Asked(NamedTuple):
    """What a run asks for. writer: "" of the claims themselves; annotator: "" of explanations."""

    dataset: str
    writer: str
    selector: str
    annotator: str


class Standing(NamedTuple):
    """entries: of claims, explanations and answers. unavailable: why an annotator could not be asked."""

    entries: list[Entry]
    unavailable: dict[Asked, str]


def standing(store: ShardStore) -> Standing:
    """What the newest runs asked for, as far as it is there; nothing where no citations were studied."""
    newest = {
        Asked(*(line[name] for name in Asked._fields)): (line["fingerprint"], line["settings"], line["unavailable"])
        for line in store.journal(ASKED)
    }
    fingerprints = {asked.dataset: value[0] for asked, value in newest.items() if not asked.writer}
    kept = [entry for entry in store.entries().values() if _stands(entry, newest, fingerprints)]
    unavailable = {asked: value[2] for asked, value in newest.items() if value[2]}
    return Standing(kept, unavailable)


def _stands(entry: Entry, newest: dict[Asked, tuple[str, str, str]], fingerprints: dict[str, str]) -> bool:
    if entry.kind == CLAIM.name:
        return entry.fingerprint == fingerprints.get(entry.dataset)
    if entry.kind not in (EXPLANATION.name, RECOVERY.name):
        return False
    found = newest.get(asked_of(entry))
    if found is None or found[1] != entry.settings:
        return False
    # Answers to a text that is still the same stay right when other claims of the source have changed.
    return entry.kind == RECOVERY.name or entry.fingerprint == fingerprints.get(entry.dataset)


def asked_of(entry: Entry) -> Asked:
    """What a shard of explanations or answers was made for. An entry's model is the writer, its technique the selector."""
    return Asked(entry.dataset, entry.model, entry.technique, entry.explainer)


def line_of(asked: Asked, fingerprint: str, settings: str, unavailable: str = "") -> dict[str, Any]:
    """A line of the journal; see `Entry` for fingerprint and settings."""
    return {**asked._asdict(), "fingerprint": fingerprint, "settings": settings, "unavailable": unavailable}
