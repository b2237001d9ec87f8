"""The passages that share the rarest words with the claim, without any model: what a selector that reads should beat.

Formula: the score of a passage is the sum, over the words that it shares with the claim, of
log(1 + (N - n + 0.5) / (n + 0.5)), N being the number of the claim's passages and n the number of those with the word. The k
best are taken, in the claim's order; among equals the earlier one. A passage that shares no word is never taken.
Reference: the inverse document frequency of BM25 (Robertson and Zaragoza 2009).
Departure: how often a word occurs in a passage, and how long the passage is, make no difference: passages are sentences.
Cost: no model; linear in the words.
"""

import re
from collections import Counter
from dataclasses import dataclass
from math import fsum, log

from heval_core.citations.records import Claim
from heval_core.citations.speaker import ByClaim
from heval_core.records import HEvalError


@dataclass(frozen=True)
class Lexical(ByClaim):
    k: int = 5

    key = "lexical"
    title = "Shared words"
    order = 3
    reference = "Robertson and Zaragoza 2009"
    first = "k"

    def check(self) -> None:
        if self.k < 1:
            raise HEvalError(f"The selector lexical takes the k best passages, at least one; k={self.k} is none.")

    def of(self, claim: Claim) -> tuple[tuple[int, ...], str]:
        scores = overlaps(claim)
        best = sorted((index for index, score in enumerate(scores) if score > 0), key=lambda index: (-scores[index], index))
        numbers = tuple(claim.passages[index].number for index in sorted(best[: self.k]))
        return numbers, "no passage shares a word with the claim"


def overlaps(claim: Claim) -> list[float]:
    """Compute the score of each passage; see above."""
    words = [_words(f"{passage.title} {passage.text}") for passage in claim.passages]
    having = Counter(word for of_passage in words for word in of_passage)
    of_claim, size = _words(claim.claim), len(words)
    rarity = {word: log(1 + (size - count + 0.5) / (count + 0.5)) for word, count in having.items()}
    # A sum that depended on the order of its terms would part equals by their last digits.
    return [fsum(rarity[word] for word in of_passage & of_claim) for of_passage in words]


def _words(text: str) -> set[str]:
    return set(re.findall(r"\w+", text.casefold()))


PLUGIN = Lexical()
