"""The passages that an explanation which came with the claim was written from: another writer, given the same.

Formula: `selected` of the claim's first explanation, or of the first one by `writer`; in the order of the claim's passages.
Reference: the data's own. Departure: none. Cost: none.
"""

from dataclasses import dataclass

from heval_core.citations.records import Claim
from heval_core.citations.speaker import ByClaim


@dataclass(frozen=True)
class Shipped(ByClaim):
    writer: str = ""

    key = "shipped"
    title = "As shipped"
    order = 5
    reference = "the data"
    first = "writer"

    def of(self, claim: Claim) -> tuple[tuple[int, ...], str]:
        written = next((explanation for explanation in claim.written if self.writer in ("", explanation.writer)), None)
        if written is None:
            by = f" by {self.writer!r}" if self.writer else ""
            return (), f"no explanation{by} came with the claim"
        return claim.in_order(written.selected), "the explanation that came with the claim names none of its passages"


PLUGIN = Shipped()
