"""Rows of another store for the same instances: what is there is not computed again.

An instance is the same if model and its revision, data, settings, regime and question are: then its id is. Shards of another
limit hold other questions and have other keys, so their rows are taken, not their files.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from heval_core import catalogue
from heval_core.lm.fits import Fit
from heval_core.store.kinds import ATTRIBUTION, INSTANCE, MEMORY
from heval_core.store.shards import Entry, ShardStore
from precompute.grid import Job, Shard, instance_id, missing
from precompute.measured_kinds import MEASURED
from precompute.models import Model
from precompute.preparation import MemoryTask
from precompute.questions import Questions

Rows = list[dict[str, Any]]
KINDS = (INSTANCE.name, ATTRIBUTION.name, *MEASURED)


@dataclass
class Lender:
    """Another store. fits: of the explainers that have parameters. taken: how many shards were made of its rows."""

    source: ShardStore
    fits: tuple[Fit, ...] = ()
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

    def lend_memory(self, store: ShardStore, tasks: Iterable[MemoryTask], settings: str) -> None:
        """settings: of the grid; memory shards do not tell theirs, so a store without others of these settings lends none."""
        there = store.entries()
        for task in tasks:
            own = [entry for entry in self.entries if (entry.model, entry.dataset) == (task.model.key, task.dataset)]
            asked_so = any(entry.settings == settings for entry in own)
            if task.key in there or not asked_so:
                continue
            rows: dict[str, dict[str, Any]] = {}
            for entry in own:
                same = (entry.revision, entry.fingerprint) == (task.model.identity.revision, task.fingerprint)
                if entry.kind == MEMORY.name and same and self.source.intact(entry):
                    rows |= {row["question"]: row for row in self.source.read(entry).to_pylist()}
            if all(question in rows for question in task.asked):
                self._write(store, task.entry("memory", task.key, len(task.asked)), [rows[asked] for asked in task.asked])

    def lend(self, store: ShardStore, model: Model, questions: Questions, jobs: Iterable[Job]) -> None:
        """Write the missing shards of jobs whose rows are all there."""
        there = store.entries()
        for job in jobs:
            wanted = [shard for shard in missing(job, there) if shard.kind in KINDS and not _of_own_code(shard)]
            ids = {instance_id(job, model.identity.style, questions.facts[place].id): place for place in job.places}
            explained = self._explained(job, ids) if wanted else None
            if explained is None:
                continue
            for shard in wanted:
                rows = self._rows(job, shard, ids)
                whole = ids.keys() if shard.kind == INSTANCE.name else explained
                if {row["instance_id"] for row in rows} >= whole:
                    self._write(store, job.entry(shard), rows)

    def _write(self, store: ShardStore, entry: dict[str, Any], rows: Rows) -> None:
        store.write(entry, rows)
        self.taken += 1

    def _explained(self, job: Job, ids: Mapping[str, int]) -> set[str] | None:
        """The job's instances that were not dropped; None where the source does not have all of the job's instances."""
        rows = self._rows(job, job.shards[0], ids)
        answered = rows if job.shards[0].kind == INSTANCE.name else []
        if {row["instance_id"] for row in answered} != ids.keys():
            return None
        return {row["instance_id"] for row in answered if row["dropped_because"] is None}

    def _rows(self, job: Job, shard: Shard, ids: Mapping[str, int]) -> Rows:
        """The source's rows for a shard, in the order of the questions; those of other settings of the explainer left out."""
        settings = self._settings(job, shard)
        found = [
            row
            for entry in self._like(job, shard)
            for row in self.source.read(entry).to_pylist()
            if row["instance_id"] in ids and row.get("settings") == settings
        ]
        return sorted(found, key=lambda row: ids[row["instance_id"]])

    def _settings(self, job: Job, shard: Shard) -> str | None:
        """The column `settings` of a shard's rows; None where its kind has none."""
        if shard.kind in MEASURED:
            return repr(MEASURED[shard.kind])
        if shard.kind == INSTANCE.name:
            return None
        settings = repr(catalogue.find("explainer", shard.explainer))
        whose = (job.model, job.revision, settings)
        return f"{settings}{''.join(f' fit {fit.digest}' for fit in self.fits if fit.whose == whose)}"

    def _like(self, job: Job, shard: Shard) -> Iterator[Entry]:
        own = job.entry(shard)
        same = ("model", "revision", "dataset", "fingerprint", "settings", "regime", "technique", "kind", "explainer")
        for entry in self.entries:
            alike = all(getattr(entry, name) == own[name] for name in same)
            if alike and entry.start < job.stop and job.start < entry.stop and self.source.intact(entry):
                yield entry


def _of_own_code(shard: Shard) -> bool:
    """Whether an explainer from outside the package made it: rows do not tell by which version of its file."""
    explainer = catalogue.find("explainer", shard.explainer) if shard.explainer else None
    return explainer is not None and catalogue.identity("explainer", explainer) != repr(explainer)
