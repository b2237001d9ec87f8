"""Which shards of the study stand: those of the newest run of each source of claims, writer, selector and annotator.

Answers belong to the text of an explanation, whose id is a hash of it: answers to another text are never published with it.
"""

from typing import Any, NamedTuple

from heval_core.store.kinds import CLAIM, EXPLANATION, RECOVERY
from heval_core.store.shards import Entry, ShardStore

# The kind of the journal's lines about what was asked last: a `StudyKey`, why there was none, fingerprint, settings (`Entry`).
ASKED = "citations"
_KINDS = (CLAIM.name, EXPLANATION.name, RECOVERY.name)


class StudyKey(NamedTuple):
    """What a run asks for. writer: "" of the claims themselves; annotator: "" of explanations."""

    dataset: str
    writer: str
    selector: str
    annotator: str


class Newest(NamedTuple):
    """entries: of claims, explanations and answers. unavailable: why an annotator could not be asked."""

    entries: list[Entry]
    unavailable: dict[StudyKey, str]


def standing(store: ShardStore) -> Newest:
    """Return what the newest runs asked for, as far as it is there; nothing where no citations were studied.

    Until something of a newer run is there, what is there stands.
    """
    entries = [entry for entry in store.entries().values() if entry.kind in _KINDS]
    explained = {(entry.dataset, entry.fingerprint) for entry in entries if entry.kind == EXPLANATION.name}
    datasets = {dataset for dataset, _ in explained}
    stored = {(asked_of(entry), entry.settings) for entry in entries if entry.kind != CLAIM.name}
    newest: dict[StudyKey, dict[str, Any]] = {}
    for line in store.journal(ASKED):
        asked = StudyKey(*(line[name] for name in StudyKey._fields))
        if asked.writer:
            stands = bool(line["unavailable"]) or (asked, line["settings"]) in stored
        else:
            stands = asked.dataset not in datasets or (asked.dataset, line["fingerprint"]) in explained
        if stands:
            newest[asked] = line
    kept = [entry for entry in entries if _stands(entry, newest)]
    return Newest(kept, {asked: line["unavailable"] for asked, line in newest.items() if line["unavailable"]})


def _stands(entry: Entry, newest: dict[StudyKey, dict[str, Any]]) -> bool:
    source = newest.get(StudyKey(entry.dataset, "", "", ""))
    if entry.kind == CLAIM.name:
        return source is not None and entry.key == source["settings"]
    line = newest.get(asked_of(entry))
    if line is None or line["settings"] != entry.settings:
        return False
    # Answers to a text that is still the same stay right when other claims of the source have changed.
    return entry.kind == RECOVERY.name or (source is not None and entry.fingerprint == source["fingerprint"])


def asked_of(entry: Entry) -> StudyKey:
    """Return what a shard of explanations or answers was made for.

    An entry's model is the writer, its technique the selector.
    """
    return StudyKey(entry.dataset, entry.model, entry.technique, entry.explainer)
