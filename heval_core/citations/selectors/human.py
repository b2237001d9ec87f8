"""The passages that people selected. Where they found several ways to the verdict, one of these chains is taken: the first.

Formula: chain `chain` of the claim, counted from 0, in the order of the claim's passages.
Reference: the human-selected evidence of Xing, Baldwin and Lau (arXiv 2406.12645), which are PolitiHop's chains.
Departure: the paper does not say which of several chains its writers were given. The first is a choice of ours: it is the same
in every run, not chosen by its length. `human(1)` takes the second; a claim without it is told, not written about. Cost: 0.
"""

from dataclasses import dataclass

from heval_core.citations.records import Claim
from heval_core.citations.speaker import ByClaim
from heval_core.records import HEvalError


@dataclass(frozen=True)
class Human(ByClaim):
    chain: int = 0

    key = "human"
    title = "People"
    order = 1
    reference = "Xing et al. 2024, arXiv 2406.12645"
    first = "chain"

    def check(self) -> None:
        if self.chain < 0:
            raise HEvalError(f"The selector human counts chains from 0; there is no chain {self.chain}.")

    def of(self, claim: Claim) -> tuple[tuple[int, ...], str]:
        if not claim.chains:
            return (), "people selected no passages of this claim"
        if self.chain >= len(claim.chains):
            count = f"{len(claim.chains)} chains" if len(claim.chains) > 1 else "one chain"
            return (), f"people selected {count}, counted from 0, so there is no chain {self.chain}"
        return claim.in_order(claim.chains[self.chain]), f"the claim has none of the passages of chain {self.chain}"


PLUGIN = Human()
