"""What an answer depends on, by intervention: each mention of the answer is replaced, and the answer stays or not.

A mention is a source if neither of its two fresh answers leaves the answer as it is.
"""

from collections.abc import Sequence
from dataclasses import dataclass

# The first token then: still the answer's, another, or the fresh answer's.
OUTCOMES = ("stays", "moves", "follows")
# Mentions that are a source by themselves: exactly one, several, none but all together, none.
VERDICTS = ("one", "several", "either", "none")


@dataclass(frozen=True)
class Hidden:
    """Attention to a mention is taken away.

    changes: whether the first token is another. lost: nats that the answer's first token loses.
    """

    changes: bool
    lost: float


@dataclass(frozen=True)
class MentionOutcome:
    """A mention of the answer, and what becomes of the answer without it.

    document: its number, from 0; -1 in padding. start, end: tokens of the prompt, end exclusive. outcomes: of OUTCOMES, with
    each of two fresh answers in this place alone. lost: nats that the answer's first token loses, mean of the two.
    hidden: from all later tokens. route: from the last token only. Both None where they were not measured.
    """

    document: int
    start: int
    end: int
    outcomes: tuple[str, str]
    lost: float
    hidden: Hidden | None = None
    route: Hidden | None = None

    @property
    def is_source(self) -> bool:
        """Whether the answer depends on this mention alone."""
        return "stays" not in self.outcomes


@dataclass(frozen=True)
class AnswerSource:
    """What an answer depends on.

    fresh: the two fresh answers. mentions: in the order of the prompt. together: the outcome with the first fresh answer in
    all mentions; of a single mention its own. source: of VERDICTS, as `verdict` has it.
    """

    fresh: tuple[str, str]
    mentions: tuple[MentionOutcome, ...]
    together: str
    source: str


def verdict(mentions: Sequence[MentionOutcome], together: str) -> str:
    """Return how many mentions are a source by themselves, one of VERDICTS; a single one that one of two moves is none."""
    if sources := sum(mention.is_source for mention in mentions):
        return "one" if sources == 1 else "several"
    return "none" if together == "stays" or len(mentions) == 1 else "either"
