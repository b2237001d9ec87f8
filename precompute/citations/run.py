"""`citations run`: make what is missing of a study, with the driver, the store and the executors of other runs."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import torch

from heval_core.citations.remembering import FILE as ANSWERS
from heval_core.evaluation.citations.standing import ASKED, Asked, line_of
from heval_core.lm.loading import choose_dtype
from heval_core.records import HEvalError
from heval_core.store.lock import only_writer
from heval_core.store.shards import ShardStore
from precompute import journal
from precompute.citations import sources
from precompute.citations.planned import Chunk, Writing, check_names, chunks_of, writing_of
from precompute.citations.schedule import Schedule
from precompute.citations.study import Study, check
from precompute.driver import Drive, MakeExecutor, Outcome
from precompute.executors.local import Local
from precompute.journal import SAID_BAD, say
from precompute.models import Loading


def run(study: Study, folder: Path, make_executor: MakeExecutor = Local) -> Outcome:
    """Make and store what is missing of a study.

    Raises HEvalError for a wrong study or store, before anything is loaded. A model that cannot be loaded, a record, a claim
    or a question that fails is noted in the journal, and the rest goes on.
    """
    check(study)
    store = ShardStore(folder)
    store.create()
    with only_writer(folder):
        store.remove_unfinished()
        return _Run(study, store, make_executor).go()


class _Run(Drive):
    """The run of a study."""

    def __init__(self, study: Study, store: ShardStore, make_executor: MakeExecutor):
        loading = Loading(study.device, study.dtype, study.batch_tokens, answers=store.folder / ANSWERS)
        super().__init__(store, make_executor, loading)
        self.study = study

    def start(self, device: str) -> str:
        dtype = str(choose_dtype(self.study.dtype, torch.device(device))).removeprefix("torch.")
        self.study = dataclasses.replace(self.study, dtype=dtype)
        asked = {"study": "citations", **dataclasses.asdict(self.study)}
        return journal.note_start(self.store, asked, device, dtype, self.study.seed)

    def plan(self) -> None:
        read = [source for name in self.study.claims if (source := self._read(name)) is not None]
        chunks: list[Chunk] = []
        for writing in self._writings():
            for source in read:
                check_names(source, writing)
                self._note_asked(source, writing)
                chunks += chunks_of(self.study, source, writing)
        schedule = Schedule(self.study, chunks, self.store)
        self.add(schedule, schedule.instances)

    def _read(self, name: str) -> sources.Source | None:
        """A source with its shard; None if it cannot be read, which is then noted."""
        try:
            source = sources.read(name)
        except HEvalError as error:
            self.data_failed(name, error)
            return None
        failures = [
            {"dataset": source.dataset, "place": bad.place, "error": f"HEvalError: {bad.reason}"} for bad in source.bad
        ]
        journal.note_failures(self.store, failures)
        self.outcome.failed += len(source.bad)
        for bad in source.bad[:SAID_BAD]:
            say(f"{source.dataset}, {bad.place}: {bad.reason}; the record was left out")
        entry = self.store.entries().get(source.key)
        if entry is None or not self.store.intact(entry):
            self.store.write(source.entry(), source.rows())
        self._note(Asked(source.dataset, "", "", ""), source.fingerprint, source.key)
        return source

    def _writings(self) -> list[Writing]:
        """Writers with selectors; without those whose model there is not, which is then noted."""
        found = []
        for writer, selector in self.study.pairs():
            try:
                found.append(writing_of(self.study, writer, selector))
            except HEvalError as error:
                self.model_failed(writer.key, str(error))
        missing = {key: reason for own in found for key, reason in own.unavailable if key in own.missing}
        for annotator, reason in missing.items():
            self.model_failed(annotator, reason)
        return found

    def _note_asked(self, source: sources.Source, writing: Writing) -> None:
        """What is asked for stands from now on: publishing takes the newest."""
        asked = Asked(source.dataset, writing.writer.key, writing.selector, "")
        self._note(asked, source.fingerprint, writing.settings)
        for reading in writing.readings:
            self._note(asked._replace(annotator=reading.key), source.fingerprint, reading.settings)
        for annotator, reason in writing.unavailable:
            self._note(asked._replace(annotator=annotator), source.fingerprint, "", reason)
            say(f"{writing.writer.key} · {source.dataset} · {annotator}: {reason}")

    def _note(self, asked: Asked, fingerprint: str, settings: str, unavailable: str = "") -> None:
        line = line_of(asked, fingerprint, settings, unavailable)
        before = [old for old in self.store.journal(ASKED) if all(old[name] == line[name] for name in Asked._fields)]
        if line not in before[-1:]:
            self.store.note(ASKED, line)
