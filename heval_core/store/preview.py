"""What a store's shards show before anything is published: one instance with its attributions."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from pathlib import Path

from heval_core.regime_keys import read_key
from heval_core.store.instances import attribution_of, instance_of
from heval_core.store.kinds import ATTRIBUTION, INSTANCE
from heval_core.store.shards import Entry, ShardStore
from heval_core.stored import StoredAttribution, StoredInstance


def preview(source: Path) -> tuple[StoredInstance, dict[str, StoredAttribution]] | None:
    """One instance and the methods' attributions by explainer; None if there is none answered from a document.

    Of the smallest shard with two documents the shortest prompt in which some methods' best token is the answer, and some
    methods' is not. Controls have no attributions yet: they are computed at publishing.
    """
    store = ShardStore(source)
    shards = _of_kind(store, INSTANCE.name)
    if not shards:
        return None
    shard = min(
        shards, key=lambda one: (not read_key(one.regime).dual, not read_key(one.regime).plain, store.size([one]), one.path)
    )
    found: dict[str, dict[str, StoredAttribution]] = defaultdict(dict)
    for entry in _of_kind(store, ATTRIBUTION.name):
        if entry.cell.of_regime == shard.cell.of_regime:
            for row in store.read(entry).to_pylist():
                found[row["instance_id"]][row["explainer"]] = attribution_of(row)
    kept = (row for row in store.read(shard).to_pylist() if row["dropped_because"] is None and row["instance_id"] in found)
    # As published: a prompt that is ranked to its end says where that is.
    rows = [row if row["ranked_end"] else row | {"ranked_end": len(row["tokens"])} for row in kept]
    told = [one for one in map(instance_of, rows) if one.used_document is not None]
    if not told:
        return None
    best = min(told, key=lambda one: (not _differ(one, found[one.instance_id].values()), len(one.tokens), one.instance_id))
    return best, found[best.instance_id]


def _of_kind(store: ShardStore, kind: str) -> list[Entry]:
    return [entry for entry in store.entries().values() if entry.kind == kind]


def _differ(instance: StoredInstance, attributions: Iterable[StoredAttribution]) -> bool:
    """Whether some explainers' best token is the used document's answer, and others' is not."""
    assert instance.used_document is not None
    gold = instance.documents[instance.used_document].answer_tokens
    return len({max(instance.ranked, key=own.scores.__getitem__) in gold for own in attributions}) == 2
