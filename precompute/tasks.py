"""The task that makes the missing shards of a job."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from heval_core.lm.model import LanguageModel
from heval_core.records import Cost, RegimeKey
from heval_core.store.kinds import ANSWER, ATTRIBUTION, CONTEXT_ATTRIBUTION
from precompute.compute import compute
from precompute.costs import WRITTEN, cost, together, total
from precompute.jobs import Job
from precompute.memories import Memories
from precompute.questions import Questions
from precompute.task import Result, Row, Task


@dataclass(frozen=True)
class JobTask(Task):
    """memories: of the job's questions. stored: rows of the job's existing attributions, by shard key, whose scores
    faithfulness needs."""

    job: Job
    memories: Memories = field(default_factory=lambda: Memories({}), repr=False)
    stored: Mapping[str, list[Row]] = field(default_factory=dict, repr=False)

    @property
    def what(self) -> str:
        return f"{self.places[0]}-{self.places[-1] + 1}"

    @property
    def whose(self) -> RegimeKey:
        """Of the technique whose pass others may share."""
        return self.shards[0].whose._replace(technique=self.job.arrangement.main.key)

    @property
    def places(self) -> tuple[int, ...]:
        return self.job.places

    @property
    def size(self) -> int:  # type: ignore[override]  # of others it is a constant
        return len(self.places)

    def do(self, ready: LanguageModel, questions: Questions, progress: Callable[[], None]) -> Result:
        return compute(ready, self.job, self.shards, questions, self.memories, progress, self.stored)

    def cost(self, tokens: float) -> Cost:
        """At most all instances have another answer than the first document's; how many is known after they are answered."""
        main, scores = self.job.arrangement.main, (ATTRIBUTION.name, CONTEXT_ATTRIBUTION.name)
        # A technique that only combines the logits of the main one's passes costs nothing.
        answers = [one.kind for one in self.shards if not one.explainer and one.technique == main.key]
        usual, towards = ([one.explainer for one in self.shards if one.kind == kind] for kind in scores)
        measured = [one.kind for one in self.shards if one.explainer and one.kind not in scores]
        # Whatever a job does, it answers its instances first.
        written = [WRITTEN] if self.job.match == "text" else []
        parts = [together([*written, *answers, *usual, *measured], tokens), together(towards, tokens)]
        parts += [together(self.job.answers, tokens)] if ANSWER.name in answers else []
        again = [(main.technique.passes - 1, cost(kind, tokens)) for kind in answers]
        return total([(self.size, total([*((1, one) for one in parts), *again]))])
