"""Passes that explainers of one prompt do once for all of them, and what explainers cost together.

An explainer's cost is what it costs alone. Together, a pass that several of them use is done once: `added` charges it to the
first that uses it. What no explainer declares as shared is counted each time, so that a sum may be too high, never too low.
"""

from collections.abc import Iterable

from heval_core.records import Cost

# The model's own pass over the prompt, whose logits, keys and values are kept; one of the last token, which reads the heads.
CLEAN, HEADS = "clean", "heads"


def added(costs: Iterable[Cost], tokens: float) -> list[Cost]:
    """Return what each of several explainers of one prompt of `tokens` tokens costs beyond those before it."""
    run, done, beyond = {CLEAN: tokens, HEADS: 1.0}, set[str](), list[Cost]()
    for cost in costs:
        again = [run[name] for name in cost.shared if name in done]
        done |= set(cost.shared)
        beyond.append(Cost(cost.passes - len(again), cost.tokens - sum(again)))
    return beyond
