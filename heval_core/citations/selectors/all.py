"""Every passage of the claim: what a selector is compared with.

Formula: all passages, in their order. Reference: the usual baseline. Departure: none. Cost: none.
"""

from dataclasses import dataclass

from heval_core.citations.records import Claim
from heval_core.citations.speaker import ByClaim


@dataclass(frozen=True)
class All(ByClaim):
    key = "all"
    title = "All passages"
    order = 2
    reference = "baseline"

    def of(self, claim: Claim) -> tuple[tuple[int, ...], str]:
        return tuple(passage.number for passage in claim.passages), "the claim has no passage"


PLUGIN = All()
