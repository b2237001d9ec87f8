"""Where tasks run: one module for each kind of `Executor`."""

from __future__ import annotations

from typing import Protocol

from precompute.questions import Questions
from precompute.task import Task
from precompute.worker import Done


class Executor(Protocol):
    """Takes tasks while a worker is free, and returns their outcomes in the order in which they end."""

    def device(self) -> str:
        """What its workers compute on: cpu, cuda or mps."""

    def free(self) -> bool:
        """Whether a worker could begin a task now."""

    def held(self) -> frozenset[str]:
        """The names of the models that free workers hold: their tasks begin without loading."""

    def submit(self, task: Task, questions: Questions | None) -> None:
        """Begin a task on a free worker, one that holds its model if there is one."""

    def next_done(self) -> tuple[Task, Done]:
        """Wait for any of the running tasks. A worker's death is returned as an error, not raised."""

    def close(self) -> None:
        """End the workers; their running tasks are dropped."""
