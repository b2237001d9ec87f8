"""The tasks of a study, and which can begin: explanations first, then the questions about them."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from typing import Any

from heval_core.store.shards import ShardStore
from precompute.citations.explaining import ExplainTask
from precompute.citations.planned import Chunk, Made, explain_task, recover_task, stored_of
from precompute.citations.recovering import RecoverTask
from precompute.citations.study import REGIME, Study

Task = ExplainTask | RecoverTask


class Schedule:
    """The tasks about some chunks of claims, of all writers and annotators: one after another of the model that is loaded."""

    questions = None

    def __init__(self, study: Study, chunks: list[Chunk], store: ShardStore):
        self.study, self.store, self._made = study, store, Made(store)
        self._chunks = {chunk.key: chunk for chunk in chunks}
        self.waiting: deque[Task] = deque()
        self._unloadable: set[str] = set()
        self.planned = {key for chunk in chunks for _, keys in self._keys(chunk) for key in keys}
        entries = store.entries()
        for chunk in chunks:
            entry = entries.get(chunk.key)
            if entry is None or entry.failed or not store.intact(entry):
                self.waiting.append(explain_task(study, chunk, self._made))
            else:
                self.waiting.extend(self._about(chunk))
        begun = {key for task in self.waiting for key in task.keys}
        self.missing = begun | (self.planned - entries.keys())

    @property
    def instances(self) -> int:
        """What the tasks that are known complete."""
        return sum(task.size for task in self.waiting)

    def prefers(self, held: frozenset[str]) -> bool:
        return any(task.model.name in held for task in self.waiting)

    def begin(self, held: frozenset[str]) -> Task:
        chosen = next((task for task in self.waiting if task.model.name in held), self.waiting[0])
        self.waiting.remove(chosen)
        return chosen

    def ended(self, task: Any) -> None:
        """Its explanations are there, as far as they could be made: they can be asked about."""
        if isinstance(task, ExplainTask) and task.key in self.store.entries():
            self.waiting.extend(self._about(self._chunks[task.key]))

    def abandon(self, model: str) -> None:
        self._unloadable.add(model)
        self.waiting = deque(task for task in self.waiting if task.model.name != model)

    def plans(self) -> Iterator[dict[str, Any]]:
        planned: dict[tuple[str, str, str], list[str]] = {}
        for chunk in self._chunks.values():
            asked = chunk.asked
            keys = planned.setdefault((asked.writer, asked.dataset, asked.selector), [])
            keys += [key for _, own in self._keys(chunk) for key in own]
        for (model, dataset, technique), keys in planned.items():
            yield {"model": model, "dataset": dataset, "regime": REGIME, "technique": technique, "keys": keys}

    def _keys(self, chunk: Chunk) -> Iterator[tuple[str, list[str]]]:
        """(annotator, keys of its shards) of a chunk; first the explanations' with no annotator."""
        yield "", [chunk.key]
        for reading in chunk.writing.readings:
            yield reading.key, [chunk.recovery_key(reading, part) for part in self.study.parts]

    def _about(self, chunk: Chunk) -> Iterator[RecoverTask]:
        """What is left to ask about a chunk's explanations."""
        rows = self.store.read(self.store.entries()[chunk.key]).to_pylist()
        explanations = stored_of(chunk, rows)
        for reading in chunk.writing.readings:
            if reading.reader.name not in self._unloadable or not reading.reader.name:
                task = recover_task(self.study, chunk, explanations, reading, self._made)
                if task is not None:
                    yield task
