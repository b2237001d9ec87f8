"""What people are asked about: the explanations of a store."""

from __future__ import annotations

from heval_core.citations.records import Explained
from heval_core.evaluation.citations.standing import standing
from heval_core.store.citation_kinds import CLAIM, EXPLANATION
from heval_core.store.shards import ShardStore
from precompute.citations.explaining import explained_of
from precompute.citations.sources import claim_of


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
