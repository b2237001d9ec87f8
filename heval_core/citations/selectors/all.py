"""Every passage of the claim: what a selector is compared with.

Formula: all passages, in their order. Reference: the usual baseline. Departure: none. Cost: none.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from heval_core.citations.records import Claim
from heval_core.citations.speaker import Selection, Speaker


@dataclass(frozen=True)
class All:
    key = "all"
    title = "All passages"
    order = 2
    asks = False
    reference = "baseline"

    def select(self, claims: Sequence[Claim], speaker: Speaker | None) -> list[Selection]:
        return [
            Selection(
                tuple(passage.number for passage in claim.passages), "" if claim.passages else "the claim has no passage"
            )
            for claim in claims
        ]


PLUGIN = All()
