"""One process, one device: tasks one after the other, in order."""

from __future__ import annotations

from collections.abc import Callable

from heval_core.lm.loading import choose_device
from precompute.models import Loading
from precompute.questions import Questions
from precompute.task import Task
from precompute.worker import Done, Worker


class Local:
    """progress: called after each instance."""

    def __init__(self, loading: Loading, progress: Callable[[], None]):
        self._worker = Worker(loading)
        self._progress = progress
        self._begun: tuple[Task, Questions | None] | None = None

    def device(self) -> str:
        return choose_device(self._worker.loading.device).type

    def free(self) -> bool:
        return self._begun is None

    def held(self) -> frozenset[str]:
        return frozenset({self._worker.held} if self._worker.held else ())

    def submit(self, task: Task, questions: Questions | None) -> None:
        self._begun = (task, questions)

    def next_done(self) -> tuple[Task, Done]:
        assert self._begun is not None
        task, questions = self._begun
        done = self._worker.do(task, questions, self._progress)
        self._begun = None
        return task, done

    def close(self) -> None:
        self._begun = None
