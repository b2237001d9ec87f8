"""Whether explainers look at the model: their scores, and those on the same model with shuffled weights.

Formula: `heval_core/metrics/randomised.py`. Cost: four times what the explainers take, and a copy of the model in memory.
"""

from collections.abc import Iterator, Sequence

from heval_core.explaining.pipeline import Answered, Prepared
from heval_core.lm.model import LanguageModel
from heval_core.lm.shuffled import shuffled
from heval_core.records import Cost
from heval_core.statistics.correlation import spearman
from heval_core.store.kinds import RANDOMISED
from precompute.closer import CloserTask, Scores, closer_tasks
from precompute.pair import Pair
from precompute.task import Failure, ShardRow, together, total


class RandomisedTask(CloserTask):
    """Explain the answers to some questions on the model and on the shuffled one."""

    @property
    def what(self) -> str:
        return f"shuffled weights, {len(self.indices)} questions"

    def cost(self, tokens: float) -> Cost:
        """Return the cost: answers, and each explainer on four models."""
        parts = [together(["instance"], tokens), *(together(self.explainers, tokens) for _ in range(4))]
        return total((len(self.indices), part) for part in parts)

    def rows(self, lm: LanguageModel, answered: Sequence[Answered], failures: list[Failure]) -> Iterator[ShardRow]:
        """Yield a rank correlation for each explainer, answer and depth."""
        before = self.scores(lm, answered, failures)
        after = {depth: self.scores(other, answered, failures) for depth, other in shuffled(lm)}
        for part in answered:
            for prepared in part.prepared:
                yield from self._of_prompt(lm, prepared, before, after)

    def _of_prompt(
        self, lm: LanguageModel, prepared: Prepared, before: Scores, after: dict[str, Scores]
    ) -> Iterator[ShardRow]:
        fact_id, ranked = prepared.instance.fact_id, slice(prepared.prompt.ranked.start, prepared.prompt.ranked.stop)
        for depth, scores in after.items():
            for key in dict.fromkeys(explainer for explainer, _ in before):
                if (key, fact_id) in before and (key, fact_id) in scores:
                    left = spearman(before[key, fact_id][ranked], scores[key, fact_id][ranked])
                    row = {"instance_id": self.instance_id(lm.style, fact_id), "explainer": key, "part": depth}
                    yield row | {"randomised": left}


def randomised_tasks(pair: Pair) -> list[RandomisedTask]:
    return closer_tasks(pair, RandomisedTask, RANDOMISED.name, pair.grid.randomised)
