"""What explanations' orders of the documents' tokens cost an answer, between the least and the most that any order costs.

Formula: `heval_core/explaining/removal.py`. Cost: see there; and 2 n passes for each explainer.
"""

import dataclasses
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from statistics import mean

from heval_core.explaining.pipeline import Answered
from heval_core.explaining.removal import BEAM, EXACT, LONGEST, Removal, documents_tokens, passes
from heval_core.lm.model import LanguageModel
from heval_core.plugins import catalogue
from heval_core.records import BASELINE, ORDERS, Cost
from heval_core.store.kinds import BOUNDS
from precompute.closer import CloserTask, closer_tasks
from precompute.pair import Pair
from precompute.task import Failure, ShardRow, together, total


@dataclass(frozen=True)
class BoundsTask(CloserTask):
    """Take out the documents' tokens in the order of each explainer, and search for the best and the worst order.

    lengths: of the documents, in tokens, in the regime's first prompts.
    """

    lengths: tuple[int, ...] = ()

    @property
    def what(self) -> str:
        return f"bounds of faithfulness, {len(self.indices)} questions"

    def cost(self, tokens: float) -> Cost:
        """Return the cost: answers, explainers, two searches over the rest of the prompt, and each explainer's two orders."""
        orders = 2 * (len(self.explainers) + len(catalogue.explainers(control=True)))
        read = mean([passes(length) and passes(length) + orders * length for length in self.lengths] or [0])
        parts = [together(["instance"], tokens), together(self.explainers, tokens), Cost(read, read * tokens / 2)]
        return total((len(self.indices), part) for part in parts)

    def rows(self, lm: LanguageModel, answered: Sequence[Answered], failures: list[Failure]) -> Iterator[ShardRow]:
        """Yield for each explainer and answer what its order costs, falling and rising, and the least and the most."""
        scores = self.scores(lm, answered, failures)
        for part in answered:
            for row, (prepared, behaviour) in enumerate(zip(part.prepared, part.behaviours, strict=True)):
                removal, fact_id = Removal(part.clean.alone(row), behaviour.token_id), prepared.instance.fact_id
                if not 1 < removal.size <= LONGEST:
                    continue
                orders = {key: removal.order(scores[key, of]) for key, of in scores if of == fact_id}
                costs = {key: (removal.cost(order), removal.cost(order[::-1])) for key, order in orders.items()}
                bounds = [*removal.bounds(), *(cost for both in costs.values() for cost in both)]
                least, most = min(bounds), max(bounds)
                for key, both in costs.items():
                    for order, cost in zip(ORDERS, (*both, least, most), strict=True):
                        share = (cost - least) / (most - least) if order in ORDERS[:2] and most > least else None
                        yield {
                            "instance_id": self.instance_id(lm.style, fact_id),
                            "explainer": key,
                            "part": order,
                            "aopc": cost,
                            "naopc": share,
                        }


def bounds_tasks(pair: Pair) -> list[BoundsTask]:
    """List one task for each regime, as `closer_tasks` does; its key has how bounds are searched, and the controls."""
    controls = [pair.identity_of(control) for control in catalogue.explainers(control=True).values()]
    how = [EXACT, BEAM, LONGEST, BASELINE, controls]
    return [
        dataclasses.replace(task, lengths=tuple(map(documents_tokens, pair.first_prompts(task.regime_key.regime))))
        for task in closer_tasks(pair, BoundsTask, BOUNDS.name, pair.grid.bounds, how)
    ]
