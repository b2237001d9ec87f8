"""Passes that explainers of one prompt do once for all of them, and what explainers cost together.

An explainer's cost is what it costs alone. Together, a pass that several of them use is done once: `added` charges it to the
first that uses it. What no explainer declares as shared is counted each time, so that a sum may be too high, never too low.
"""

from collections.abc import Iterable

from heval_core.records import Cost

# The model's own pass over the prompt, whose logits, keys and values are kept; and one over the last token alone, which reads
# the heads.
CLEAN, HEADS = "clean", "heads"


def size_of(name: str, tokens: float) -> Cost:
    """What a shared pass costs by itself, for a prompt of `tokens` tokens."""
    return Cost(1, {CLEAN: tokens, HEADS: 1.0}[name])


def added(costs: Iterable[Cost], tokens: float) -> list[Cost]:
    """What each of several explainers of one prompt of `tokens` tokens costs beyond those before it."""
    done: set[str] = set()
    beyond = []
    for cost in costs:
        again = [size_of(name, tokens) for name in cost.shared if name in done]
        done |= set(cost.shared)
        passes, run = (sum(getattr(shared, name) for shared in again) for name in ("passes", "tokens"))
        beyond.append(Cost(cost.passes - passes, cost.tokens - run))
    return beyond
