"""Rows of another store for the same instances: what is there is not computed again.

An instance is the same if model and its revision, data, settings, regime and question are: then its id is. Shards of another
limit hold other questions and have other keys, so their rows are taken, not their files.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field

from heval_core import catalogue
from heval_core.store.kinds import ATTRIBUTION, INSTANCE, MEMORY
from heval_core.store.shards import Entry, ShardStore
from precompute.compute import JobTask
from precompute.costs import MEASURED
from precompute.highlights import Highlights
from precompute.memory import memory_tasks
from precompute.pair import Pair
from precompute.task import Row, Shard, entries_like, unfinished

WHOSE = ("model", "revision", "dataset", "fingerprint", "settings", "regime", "technique", "kind", "explainer")
KINDS = (INSTANCE.name, ATTRIBUTION.name, *MEASURED)


@dataclass
class Lender:
    """Another store. taken: how many shards were made of its rows."""

    source: ShardStore
    taken: int = 0
    entries: list[Entry] = field(init=False)

    def __post_init__(self) -> None:
        self.entries = [entry for entry in self.source.entries().values() if not entry.failed]

    def explainers(self, models: Mapping[str, str], datasets: Iterable[str]) -> tuple[str, ...]:
        """Keys of the installed methods that have scores of models (key ▶ revision) on datasets, in their order."""
        wanted = set(datasets)
        stored = {
            entry.explainer
            for entry in self.entries
            if entry.kind == ATTRIBUTION.name and models.get(entry.model) == entry.revision and entry.dataset in wanted
        }
        known = catalogue.explainers()
        return tuple(
            sorted(
                (key for key in stored if key.split("(")[0] in known), key=lambda key: (known[key.split("(")[0]].order, key)
            )
        )

    def whole(self, models: Mapping[str, str], explainers: Iterable[str]) -> set[tuple[str, str]]:
        """(dataset, regime) in which there are scores of all models (key ▶ revision) by all explainers; no technique."""
        stored = {
            (entry.dataset, entry.regime, entry.model, entry.explainer)
            for entry in self.entries
            if entry.kind == ATTRIBUTION.name and models.get(entry.model) == entry.revision and entry.technique == "regular"
        }
        pairs = [(model, explainer) for model in models for explainer in explainers]
        return {where[:2] for where in stored if all((*where[:2], *pair) in stored for pair in pairs)}

    def lend(self, part: Highlights) -> None:
        """Write the missing shards of a pair whose rows are all there."""
        self._lend_memory(part)
        for task in unfinished(part.jobs(), part.store):
            style, facts = part.pair.model.identity.style, part.questions.facts
            ids = {task.instance_id(style, facts[place].id): place for place in task.places}
            explained = self._explained(part.pair, task, ids)
            if explained is None:
                continue
            for shard in (own for own in task.shards if own.kind in KINDS and not _of_own_code(own)):
                rows = self._rows(part.pair, shard, ids)
                if {row["instance_id"] for row in rows} >= (ids.keys() if shard.kind == INSTANCE.name else explained):
                    self._write(part.store, shard, rows)

    def _lend_memory(self, part: Highlights) -> None:
        """Memory shards do not tell their settings, so a store without others of the pair's settings lends none."""
        tasks = unfinished(memory_tasks(part.pair), part.store)
        whose = part.pair.shard(MEMORY.name, "", settings=part.pair.settings)
        if not any(entries_like(whose, self.entries, ("model", "dataset", "settings"))):
            return
        rows: dict[str, Row] = {}
        for entry in entries_like(whose, self.entries, ("kind", "model", "revision", "dataset", "fingerprint")):
            if self.source.intact(entry):
                rows |= {row["question"]: row for row in self.source.read(entry).to_pylist()}
        for task in tasks:
            if all(question in rows for question in task.asked):
                self._write(part.store, task.shards[0], [rows[asked] for asked in task.asked])

    def _write(self, store: ShardStore, shard: Shard, rows: list[Row]) -> None:
        store.write(asdict(shard), rows)
        self.taken += 1

    def _explained(self, pair: Pair, task: JobTask, ids: Mapping[str, int]) -> set[str] | None:
        """The task's instances that were not dropped; None where the source does not have all of the task's instances."""
        first = task.every[0]
        answered = self._rows(pair, first, ids) if first.kind == INSTANCE.name else []
        if {row["instance_id"] for row in answered} != ids.keys():
            return None
        return {row["instance_id"] for row in answered if row["dropped_because"] is None}

    def _rows(self, pair: Pair, shard: Shard, ids: Mapping[str, int]) -> list[Row]:
        """The source's rows for a shard, in the order of the questions; those of other settings of the explainer left out."""
        settings = _settings(pair, shard)
        found = [
            row
            for entry in entries_like(shard, self.entries, WHOSE)
            if entry.start < shard.stop and shard.start < entry.stop and self.source.intact(entry)
            for row in self.source.read(entry).to_pylist()
            if row["instance_id"] in ids and row.get("settings") == settings
        ]
        return sorted(found, key=lambda row: ids[row["instance_id"]])


def _settings(pair: Pair, shard: Shard) -> str | None:
    """The column `settings` of a shard's rows; None where its kind has none."""
    if shard.kind in MEASURED:
        return repr(MEASURED[shard.kind])
    if shard.kind == INSTANCE.name:
        return None
    explainer = catalogue.find("explainer", shard.explainer)
    return f"{explainer!r}{pair.fit_of(explainer)}"


def _of_own_code(shard: Shard) -> bool:
    """Whether an explainer from outside the package made it: rows do not tell by which version of its file."""
    explainer = catalogue.find("explainer", shard.explainer) if shard.explainer else None
    return explainer is not None and catalogue.identity("explainer", explainer) != repr(explainer)
