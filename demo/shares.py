"""Shares with their intervals, and the tables that cards show them in."""

from collections.abc import Iterable
from dataclasses import dataclass, field

Z = 1.96


@dataclass
class Share:
    """right of n replies, sentences or explanations. chance: the sum of each one's chance. claims: those that they belong to,
    if they do: the sentences of one claim are not independent."""

    right: int = 0
    n: int = 0
    chance: float = 0.0
    claims: set[str] = field(default_factory=set)

    def count(self, right: bool, chance: float, *claim: str) -> None:
        self.right += right
        self.n += 1
        self.chance += chance
        self.claims.update(claim)

    @property
    def share(self) -> float:
        return self.right / max(self.n, 1)

    def written(self, digits: int = 2) -> str:
        """Write the share with Wilson's interval at 95 %, of as many trials as there are claims; without any, of n."""
        share, n = self.share, len(self.claims) or max(self.n, 1)
        middle, spread = share + Z**2 / (2 * n), Z * (share * (1 - share) / n + Z**2 / (4 * n * n)) ** 0.5
        low, high = max(0.0, (middle - spread) / (1 + Z**2 / n)), min(1.0, (middle + spread) / (1 + Z**2 / n))
        return f"{share:.{digits}f} ({low:.{digits}f}–{high:.{digits}f})"


def markdown(*rows: Iterable[object]) -> list[str]:
    """Write the lines of a table, whose first row is its head."""
    lines = [f"| {' | '.join(map(str, row))} |" for row in rows]
    return [lines[0], "|---" * (lines[0].count(" | ") + 1) + "|", *lines[1:]]
