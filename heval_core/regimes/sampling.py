"""Which questions are asked, and which of their instances are explained: samples that depend on the seed alone."""

from __future__ import annotations

import hashlib
import heapq
from collections.abc import Iterable, Sequence

from heval_core.datasets.quotesum import Quoted
from heval_core.prompt_styles import PromptStyle
from heval_core.records import UNCOMPARED, Fact
from heval_core.regimes.pool import DIGEST_SIZE, digest

# The paper's caps: how many instances of one model, dataset and regime are explained, and how many of them the smaller
# groups may claim.
CAPS = {"short": 2000, "long": 1000}
MINORITY = 500


def in_fixed_order(seed: int, fact_ids: Sequence[str]) -> list[int]:
    """The places of the ids in the seed's fixed order, in one loop: a data set has tens of thousands."""
    texts = [f"{seed}|{fact_id}".encode("utf-8", "surrogatepass") for fact_id in fact_ids]
    keys = [hashlib.blake2b(text, digest_size=DIGEST_SIZE).digest() for text in texts]
    return sorted(range(len(keys)), key=keys.__getitem__)


def may_be_asked(style: PromptStyle, fact: Fact) -> bool:
    """Whether a fact has documents, and the style admits its first false answer."""
    if fact.conflicting:
        return style.admits(fact.subject, fact.conflicting[0].answer)
    return isinstance(fact, Quoted) or any((fact.own, fact.irrelevant, fact.off_topic))


def first(facts: Iterable[Fact], limit: int | None, seed: int) -> tuple[Fact, ...]:
    """The first `limit` facts in the seed's fixed order; no more of them are held in memory.

    The records' order does not matter, and a smaller limit takes a prefix.
    """

    def order(fact: Fact) -> bytes:
        return digest(f"{seed}|{fact.id}")

    return tuple(sorted(facts, key=order) if limit is None else heapq.nsmallest(limit, facts, key=order))


def sample(groups: Sequence[str], cap: int, minority: int = MINORITY) -> tuple[int, ...]:
    """The instances of a cell that are explained if there are more than its cap: their indices, ascending.

    groups: each instance's group, in the fixed order of the seed, so that the sample is seeded and by question. Each group
    that metrics compare first gets up to `minority` instances (fewer if the groups together would exceed the cap); the rest
    is filled in order, which keeps proportions. Groups that no metric reads come last.
    """
    if len(groups) <= cap:
        return tuple(range(len(groups)))
    by_group: dict[str, list[int]] = {}
    for index, group in enumerate(groups):
        if group not in UNCOMPARED:
            by_group.setdefault(group, []).append(index)
    quota = min(minority, cap // max(1, len(by_group)))
    chosen = {index for members in by_group.values() for index in members[:quota]}
    eligible = sorted(index for members in by_group.values() for index in members)
    rest = [index for index in range(len(groups)) if groups[index] in UNCOMPARED]
    for index in (*eligible, *rest):
        if len(chosen) >= cap:
            break
        chosen.add(index)
    return tuple(sorted(chosen))
