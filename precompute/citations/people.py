"""What people are asked about: the explanations of a store."""

from __future__ import annotations

from heval_core.citations.records import Explained
from heval_core.evaluation.citations.standing import ASKED, standing
from heval_core.store.kinds import CLAIM, EXPLANATION
from heval_core.store.lock import only_writer
from heval_core.store.shards import ShardStore
from precompute.citations.sources import claim_of, explained_of


def take_over(source: ShardStore, store: ShardStore) -> None:
    """What another store would publish of the study of citations, for a store of one's own; what is there stays."""
    store.create()
    with only_writer(store.folder):
        there, noted = store.entries(), store.journal(ASKED)
        for entry in standing(source).entries:
            if entry.key not in there:
                store.copy(entry, source)
        store.note(ASKED, *(line for line in source.journal(ASKED) if line not in noted))


def explanations_of(store: ShardStore) -> dict[str, Explained]:
    """By their ids, all that would be published and have a sentence."""
    entries = standing(store).entries
    rows = {
        kind: [row for entry in entries if entry.kind == kind for row in store.read(entry).to_pylist()]
        for kind in (CLAIM.name, EXPLANATION.name)
    }
    claims = {(row["dataset"], row["claim_id"]): claim_of(row) for row in rows[CLAIM.name] if not row["unusable"]}
    return {
        row["explanation_id"]: explained_of(row, claims[row["dataset"], row["claim_id"]])
        for row in rows[EXPLANATION.name]
        if not row["unavailable"]
    }
