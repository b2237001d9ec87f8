"""Which shards of the study stand: those of the newest run of each source of claims, writer, selector and annotator.

Answers belong to the text of an explanation, whose id is a hash of it: answers to another text are never published with it.
"""

from typing import Any, NamedTuple

from heval_core.store.kinds import CLAIM, EXPLANATION, RECOVERY
from heval_core.store.shards import Entry, ShardStore

# The kind of the journal's lines about the last request: a `StudyKey`, why there was none, fingerprint, settings (`Entry`).
JOURNAL_KIND = "citations"
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
    stored = {(study_key_of(entry), entry.settings) for entry in entries if entry.kind != CLAIM.name}
    newest: dict[StudyKey, dict[str, Any]] = {}
    for line in store.journal(JOURNAL_KIND):
        study_key = StudyKey(*(line[name] for name in StudyKey._fields))
        if study_key.writer:
            stands = bool(line["unavailable"]) or (study_key, line["settings"]) in stored
        else:
            stands = study_key.dataset not in datasets or (study_key.dataset, line["fingerprint"]) in explained
        if stands:
            newest[study_key] = line
    current = [entry for entry in entries if _stands(entry, newest)]
    return Newest(current, {study_key: line["unavailable"] for study_key, line in newest.items() if line["unavailable"]})


def _stands(entry: Entry, newest: dict[StudyKey, dict[str, Any]]) -> bool:
    source = newest.get(StudyKey(entry.dataset, "", "", ""))
    if entry.kind == CLAIM.name:
        return source is not None and entry.key == source["settings"]
    line = newest.get(study_key_of(entry))
    if line is None or line["settings"] != entry.settings:
        return False
    # Answers to a text that is still the same stay right when other claims of the source have changed.
    return entry.kind == RECOVERY.name or (source is not None and entry.fingerprint == source["fingerprint"])


def study_key_of(entry: Entry) -> StudyKey:
    """Return what a shard of explanations or answers was made for.

    An entry's model is the writer, its technique the selector.
    """
    return StudyKey(entry.dataset, entry.model, entry.technique, entry.explainer)
