"""What precedes the answers of a model to a dataset: its answers without documents."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from heval_core.behaviour import MEMORY_TOKENS, ask
from heval_core.lm.model import LanguageModel
from heval_core.prompts import spelled
from heval_core.store.kinds import MEMORY
from heval_core.store.shards import FORMAT
from precompute.pair import Pair
from precompute.questions import Questions
from precompute.task import Result, Task, hashed

# Questions per memory shard: enough to fill a GPU, few enough that an interruption costs little.
CHUNK = 512


@dataclass(frozen=True)
class MemoryTask(Task):
    """Ask some questions without context; one shard."""

    asked: tuple[str, ...]

    @property
    def what(self) -> str:
        return f"memory of {len(self.asked)} questions"

    def do(self, ready: LanguageModel, questions: Questions, progress: Callable[[], None]) -> Result:
        continuations = zip(self.asked, ask(ready, list(self.asked)), strict=True)
        rows = [{"question": one, "ids": list(ids), "text": ready.decode(list(ids)).strip()} for one, ids in continuations]
        return Result({self.keys[0]: rows}, [])


def memory_tasks(pair: Pair) -> Iterator[MemoryTask]:
    """The distinct questions in the fixed order, so that a larger limit adds to them."""
    model = pair.model.identity
    whose = [
        FORMAT,
        "memory",
        model.key,
        model.revision,
        pair.dtype,
        spelled(model.template),
        MEMORY_TOKENS,
        pair.questions.dataset,
    ]
    distinct = list(dict.fromkeys(fact.question for fact in pair.questions.facts))
    for start in range(0, len(distinct), CHUNK):
        asked = distinct[start : start + CHUNK]
        shard = pair.shard(MEMORY.name, hashed([*whose, asked]), stop=len(asked))
        yield MemoryTask(pair.model, (shard,), tuple(asked))
