"""The backward rules that explainers choose among, and what a pass under them costs. Imports no torch, so that plans know it.

Of all of them (`changed_modules`): a norm divides by a detached std or RMS; gate x up gives half of its relevance to each
factor; an activation f(x) passes x times the detached f(x)/x. The rules below say what differs: the attention's.
Reference: Achtibat et al. 2024 (arXiv 2402.05602); Edin et al. 2025 (GIM, arXiv 2505.17630).
"""

from dataclasses import dataclass

from heval_core.records import Cost

# Prompts of more tokens run each layer twice, so that only one layer's states are kept; `changed_backward` has the arithmetic.
MOST_SAVED = 1024


@dataclass(frozen=True)
class Rules:
    """What attention passes back.

    query_key: share of the gradient that queries and keys each get; values: share that the values get. temperature: at which
    the gradient through the softmax is taken; 1 for the plain one.
    """

    query_key: float = 0.25
    values: float = 0.5
    temperature: float = 1.0


# softmax x value gives half to each, and query x key half of that half to each.
ATTNLRP = Rules()
CGIM = Rules(temperature=2.0)
# Attention as a fixed mixture of values: nothing is lost in the softmax, so that relevance is complete.
FIXED_ATTENTION = Rules(query_key=0.0, values=1.0)


def cost(tokens: float) -> Cost:
    """Return the cost: forward and back; a long prompt forward twice."""
    passes = 2 if tokens <= MOST_SAVED else 3
    return Cost(passes, passes * tokens)
