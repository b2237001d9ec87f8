"""What answering and explaining a prompt costs, in forward passes and in tokens that go through the model."""

from __future__ import annotations

from collections.abc import Iterable

from heval_core import catalogue
from heval_core.behaviour import TEXT_TOKENS
from heval_core.faithfulness import LEVELS, Faithfulness
from heval_core.generated import WRITTEN as MOST
from heval_core.records import REPLACEMENTS, Cost
from heval_core.shared_passes import CLEAN, HEADS, added
from heval_core.store.kinds import ANSWER, BEHAVIOUR, FAITHFULNESS, FAITHFULNESS_PROTECTED

# How each kind of faithfulness is measured. The repr of a value is part of its shards' keys.
MEASURED = {FAITHFULNESS.name: Faithfulness(), FAITHFULNESS_PROTECTED.name: Faithfulness(protect_question=True)}
# How long a question without documents is, in prompts with them.
QUESTION_SHARE = 0.2
# Writing out the answer's text if it decides the group.
WRITTEN = "written answer"


def total(costs: Iterable[tuple[float, Cost]]) -> Cost:
    """Of several, each so many times."""
    counted = list(costs)
    return Cost(*(sum(count * getattr(one, name) for count, one in counted) for name in ("passes", "tokens")))


def together(kinds: Iterable[str], tokens: float) -> Cost:
    """The cost of several, done for one instance in one go: a shared pass counts for the first of them alone."""
    return total((1, one) for one in added((cost(kind, tokens) for kind in kinds), tokens))


def cost(what: str, tokens: float) -> Cost:
    """what: a kind of shard, or the key of an explainer, which declares it."""
    if what == WRITTEN:
        count = 1 + TEXT_TOKENS / max(tokens, 1.0)
        return Cost(count, count * tokens)
    if what == ANSWER.name:  # each token by itself; then without two documents, all, ten sentences, and with 20 other texts
        return Cost(MOST + 2 + 33, MOST + (2 + 33 / 2) * tokens)
    # The passes that keep only the best tokens, without replacing the others, are too short to count.
    if what == BEHAVIOUR.name:
        return Cost(1.0, QUESTION_SHARE * tokens)
    whole = {"instance": 2, "head_attention": 1, **dict.fromkeys(MEASURED, (2 * len(REPLACEMENTS) - 1) * LEVELS)}
    shared = {"instance": (CLEAN,), "head_attention": (HEADS,)}
    if what in whole:
        return Cost(whole[what], whole[what] * tokens, shared.get(what, ()))
    return catalogue.method(what).cost(tokens)
