"""`run`: compute what is missing of a grid. `driver` has what the runs of all studies have in common."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import torch

from heval_core.lm.loading import choose_dtype, identify
from heval_core.prompt_styles import style_of
from heval_core.records import HEvalError
from heval_core.regimes import PromptStyle
from heval_core.store.lock import only_writer
from heval_core.store.shards import ShardStore
from precompute import journal
from precompute.costs import readable, shard_size
from precompute.driver import Drive, MakeExecutor, Outcome
from precompute.executors.local import Local
from precompute.fitting import check_fits, with_fits
from precompute.grid import Grid, asked_as, check, dtype_of
from precompute.journal import say
from precompute.models import Loading, Model
from precompute.questions import Questions, load_questions
from precompute.schedule import Schedule


def run(grid: Grid, folder: Path, make_executor: MakeExecutor = Local) -> Outcome:
    """Compute and store what is missing of a grid.

    Raises HEvalError for a wrong grid or store, before anything is loaded. A model that cannot load, a record or an
    instance that fails is noted in the journal, and the rest goes on.
    """
    check(grid)
    store = ShardStore(folder)
    store.create()
    with only_writer(folder):
        store.remove_unfinished()
        return _Run(with_fits(grid, folder), store, make_executor).go()


class _Run(Drive):
    """The run of a grid."""

    def __init__(self, grid: Grid, store: ShardStore, make_executor: MakeExecutor):
        super().__init__(
            store, make_executor, Loading(grid.device, grid.dtype, grid.batch_tokens, own=grid.own, fits=grid.fits)
        )
        self.grid = grid

    def start(self, device: str) -> str:
        dtype = str(choose_dtype(self.grid.dtype, torch.device(device))).removeprefix("torch.")
        self.grid = dataclasses.replace(self.grid, dtype=dtype)
        return journal.note_start(self.store, journal.noted(self.grid), device, dtype, self.grid.seed)

    def plan(self) -> None:
        """Make the schedules of all models and datasets, and write down for `status` what each plans."""
        noted: set[str] = set()
        read: dict[tuple[str, str], Questions | None] = {}
        for name in self.grid.models:
            try:
                identity = asked_as(self.grid, identify(name))
                style = style_of(identity)
            except HEvalError as error:
                self.model_failed(name, str(error))
                continue
            for dataset in self.grid.datasets:
                key = (dataset, identity.style)
                if key not in read:
                    read[key] = self._read(dataset, style)
                questions = read[key]
                if questions is None:
                    continue
                journal.note_training(self.store, identity, questions)
                if questions.dataset not in noted:
                    noted.add(questions.dataset)
                    self.outcome.failed += journal.note_dataset(self.store, questions)
                try:
                    self._add_schedule(Model(name, identity), questions)
                except HEvalError as error:
                    self.model_failed(name, str(error))
                    break

    def _read(self, dataset: str, style: PromptStyle) -> Questions | None:
        """The questions that may be put to a model; None if the dataset cannot be read, which is then noted."""
        try:
            return load_questions(dataset, self.grid.limit, self.grid.seed, style)
        except HEvalError as error:
            self.data_failed(dataset, error)
            return None

    def _add_schedule(self, model: Model, questions: Questions) -> None:
        grid = readable(self.grid, model.identity, say)
        if not grid.regimes:
            return
        grid, refused = check_fits(grid, model.identity, questions)
        for explainer, error in refused:
            self.explainer_failed(model.key, questions.dataset, explainer, error)
        size = shard_size(grid, model.identity, questions, self.store)
        grid = dataclasses.replace(grid, shard_size=size)
        journal.note_state(self.store, grid, model.identity, questions, size)
        schedule = Schedule(grid, model, questions, dtype_of(grid), self.store)
        self.add(schedule, schedule.instances)

    def note_end(self) -> None:
        """Which settings stand, now that all searches are done: of a technique with two, publishing takes the newest."""
        for one in self.schedules:
            for chosen in one.standing():
                size = one.grid.shard_size or 0
                journal.note_state(self.store, one.grid, one.model.identity, one.questions, size, chosen)
