"""Traces a log: a shard for each row's content, whoever else stands in the log; and what a run notes about it.

A shard depends on what is read, and on who reads it how, so that a log with ten more rows computes ten. A row that the reader
cannot read, as one whose answer is longer than it reads, has a shard that says so.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from functools import cached_property
from typing import Any

from heval_core.explaining.log_rows import read_row
from heval_core.explaining.log_trace import EXPLAINERS
from heval_core.lm.budget import NotEnoughMemory
from heval_core.lm.loading import Identity, identify, in_template
from heval_core.lm.model import LanguageModel
from heval_core.logs.fields import Log
from heval_core.logs.rows import LogRow
from heval_core.plugins import catalogue
from heval_core.prompting.prompts import spelled
from heval_core.records import Cost, HEvalError
from heval_core.store.kinds import TRACED
from heval_core.store.shards import FORMAT, Shard, ShardStore
from precompute.grid import Options
from precompute.origins import InputOrigin, note_origins, where_is
from precompute.pair import dtype_of
from precompute.task import Result, Task, hashed, together, total, unfinished
from precompute.worker import Model

# What a row says of its reader changes with these rules: they are part of each shard's key.
RULES = 1
# The regime of a log's shards, so that they have a line where progress is told.
REGIME = "log"


@dataclass(frozen=True, kw_only=True)
class TraceOptions(Options):
    """A log, and who reads it.

    model: who reads the answers: a name that `models` lists, a hub id, a folder, or a GGUF file
    explainers: of whole answers, beside leaving out passages and their sentences
    template: the layout in which it reads; by default the model's own
    quick: no random level and no sentences: what rests on passages is not checked against chance
    """

    model: str
    log: Log
    explainers: tuple[str, ...] = EXPLAINERS
    template: str | None = None
    quick: bool = False

    def check(self) -> None:
        """Raise HEvalError for an option that cannot be had."""
        super().check()
        for key in self.explainers:
            catalogue.find("explainer", key)

    def noted(self) -> dict[str, Any]:
        about = {field: value for field, value in vars(self).items() if field != "log"}
        return {"study": TRACED.name, "rows": len(self.log.rows), **about}

    @property
    def rows(self) -> tuple[LogRow, ...]:
        """The rows that are traced."""
        return self.log.rows[: self.limit]

    @cached_property
    def reader(self) -> Identity:
        """Raises HEvalError for a model that does not exist, or a layout that it cannot have."""
        identity = identify(self.model)
        return in_template(identity, self.template) if self.template else identity

    @property
    def shards(self) -> dict[str, Shard]:
        """The shards of all rows that can be read, by their content."""
        reader, dtype = self.reader, dtype_of(self)
        about = [catalogue.identity("explainer", catalogue.find("explainer", key)) for key in self.explainers]
        state = [FORMAT, TRACED.name, RULES, reader.key, reader.revision, reader.style, spelled(reader.template), dtype]
        shards = dict[str, Shard]()
        for row in self.rows:
            if row.has_passages and row.content not in shards:
                key = hashed([*state, about, self.quick, row.content])
                shard = Shard(TRACED.name, key, reader.key, reader.revision, TRACED.name, row.content)
                shards[row.content] = replace(shard, regime=REGIME, start=row.number, stop=row.number + 1)
        return shards


@dataclass(frozen=True)
class TraceTask(Task):
    """Read one row."""

    row: LogRow
    explainers: tuple[str, ...]
    quick: bool

    @property
    def what(self) -> str:
        return f"row {self.row.id}"

    def do(self, ready: LanguageModel, questions: None) -> Result:
        methods = [catalogue.method(key) for key in self.explainers]
        about: dict[str, Any] = {"content": self.row.content, "read": [], "unread": "{}", "answer": None, "problem": None}
        try:
            reading = read_row(ready, self.row, methods, self.quick)
        except NotEnoughMemory:
            raise  # of this machine: another may have it
        except HEvalError as error:  # it is so again whenever it is tried
            return Result({self.keys[0]: [about | {"problem": str(error), "seconds": 0.0}]}, [])
        about |= {"read": list(reading.read), "unread": json.dumps(reading.unread), "seconds": reading.seconds}
        answer = json.dumps(asdict(reading.answer), ensure_ascii=False)
        return Result({self.keys[0]: [about | {"answer": answer}]}, [])

    def cost(self, tokens: float) -> Cost:
        """Return the cost: a pass, half a one without each passage, and without some texts and sentences."""
        passages = len(self.row.passages)
        left_out = passages if self.quick else passages + 10 + 6
        explained = together(self.explainers, tokens)
        return total([(1, Cost(1 + left_out, (1 + left_out / 2) * tokens)), (1, explained)])


class Traces:
    """What is left to do of a log."""

    questions = None

    def __init__(self, options: TraceOptions, store: ShardStore):
        self.options, self.store = options, store
        rows = {row.content: row for row in reversed(options.rows)}
        model = Model(options.model, options.reader)
        self._tasks = [
            TraceTask(model, (shard,), rows[content], options.explainers, options.quick)
            for content, shard in options.shards.items()
        ]

    def shards(self) -> Iterator[Shard]:
        return (task.shards[0] for task in self._tasks)

    def ready(self, tried: Collection[str]) -> Sequence[Task]:
        return unfinished(self._tasks, self.store, tried)

    def equipped(self, task: Task) -> Task:
        return task

    def note(self, noted: set[str]) -> int:
        """Note where the reader is from. Returns how many rows cannot be traced."""
        reader = self.options.reader
        note_origins(self.store, [InputOrigin("weights", reader.key, where_is(reader.path), reader.revision)])
        return len(self.options.log.bad)

    def note_end(self) -> None:
        """Do nothing: all is known before."""
