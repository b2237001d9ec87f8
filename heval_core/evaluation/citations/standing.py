"""Which shards of the study stand: those of the newest run of each source of claims, writer, selector and annotator.

Answers belong to the text of an explanation, whose id is a hash of it: answers to another text meet no explanation, and are
never published with it.
"""

from typing import Any, NamedTuple

from heval_core.store.kinds import CLAIM, EXPLANATION, RECOVERY
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
    """What the newest runs asked for, as far as it is there; nothing where no citations were studied.

    Until something of a newer run is there, what is there stands.
    """
    lines = [(Asked(*(line[name] for name in Asked._fields)), line) for line in store.journal(ASKED)]
    if not lines:
        return Standing([], {})
    entries = [entry for entry in store.entries().values() if entry.kind in _KINDS]
    explained = {(entry.dataset, entry.fingerprint) for entry in entries if entry.kind == EXPLANATION.name}
    datasets = {dataset for dataset, _ in explained}
    there = {(asked_of(entry), entry.settings) for entry in entries if entry.kind != CLAIM.name}
    newest: dict[Asked, dict[str, Any]] = {}
    for asked, line in lines:
        if asked.writer:
            stands = bool(line["unavailable"]) or (asked, line["settings"]) in there
        else:
            stands = asked.dataset not in datasets or (asked.dataset, line["fingerprint"]) in explained
        if stands:
            newest[asked] = line
    kept = [entry for entry in entries if _stands(entry, newest)]
    return Standing(kept, {asked: line["unavailable"] for asked, line in newest.items() if line["unavailable"]})


_KINDS = (CLAIM.name, EXPLANATION.name, RECOVERY.name)


def _stands(entry: Entry, newest: dict[Asked, dict[str, Any]]) -> bool:
    source = newest.get(Asked(entry.dataset, "", "", ""))
    if entry.kind == CLAIM.name:
        return source is not None and entry.key == source["settings"]
    found = newest.get(asked_of(entry))
    if found is None or found["settings"] != entry.settings:
        return False
    # Answers to a text that is still the same stay right when other claims of the source have changed.
    return entry.kind == RECOVERY.name or (source is not None and entry.fingerprint == source["fingerprint"])


def asked_of(entry: Entry) -> Asked:
    """What a shard of explanations or answers was made for. An entry's model is the writer, its technique the selector."""
    return Asked(entry.dataset, entry.model, entry.technique, entry.explainer)


def line_of(asked: Asked, fingerprint: str, settings: str, unavailable: str = "") -> dict[str, Any]:
    """A line of the journal; see `Entry` for fingerprint and settings."""
    return {**asked._asdict(), "fingerprint": fingerprint, "settings": settings, "unavailable": unavailable}
