"""Documents' tokens taken out one after another: what an order costs the answer, and the least and the most that any costs.

Formula: for n tokens of the documents in an order, mean over i = 1..n of log p(a|x) - log p(a|x without the first i), in nats
of the answer's first token; a token that is out is the baseline token. The least and the most are those over all n! orders:
exact up to EXACT tokens, by the 2^n sets, since what a set costs does not depend on the order within it; beyond, a beam search
of BEAM sets at each step, by what they have cost so far.
Reference: Edin et al. 2025, Normalized AOPC (arXiv 2408.08137). Departures: log-probabilities in place of probabilities, and
the documents' tokens alone, since no answer survives without the question's end.
Cost: 2^n passes, or up to BEAM n^2; each over the rest of the prompt, from the first of these tokens on.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

import numpy as np

from heval_core.explaining.faithfulness import Faithfulness
from heval_core.records import BASELINE

if TYPE_CHECKING:
    from heval_core.lm.clean_pass import CleanPass
    from heval_core.records import TokenisedPrompt

EXACT, BEAM = 10, 3
# Of documents with more tokens there are no bounds: they would take tens of thousands of passes.
LONGEST = 48


def documents_tokens(prompt: TokenisedPrompt) -> int:
    """Return how many tokens of a prompt may be taken out."""
    return len(Faithfulness(protect_question=True).best(prompt, np.zeros(len(prompt.ids))))


def passes(tokens: int) -> int:
    """Return about how many sets of so many tokens both searches read; none where the documents are too long."""
    return 0 if not 1 < tokens <= LONGEST else 2**tokens if tokens <= EXACT else BEAM * tokens * tokens


class Removal:
    """One prompt, and what its answer loses without sets of the documents' tokens. Each set is read once.

    A set is a number, whose bits are the tokens.
    """

    def __init__(self, clean: CleanPass, token_id: int):
        """Begin with nothing taken out. clean: a pass of one prompt. token_id: the answer's first token."""
        (self._prompt,) = clean.prompts
        self._clean, self._target = clean, token_id
        self._baseline = clean.lm.baseline(BASELINE)
        self._free = Faithfulness(protect_question=True).best(self._prompt, np.zeros(clean.length))
        self._before = float(clean.logits.log_softmax(-1)[0, token_id])
        self._known: dict[int, float] = {0: 0.0}

    @property
    def size(self) -> int:
        """n, the number of tokens that may be taken out."""
        return len(self._free)

    def order(self, scores: np.ndarray) -> list[int]:
        """Return the tokens by falling score, (n,): each by its bit."""
        bit_of = {int(token): bit for bit, token in enumerate(self._free)}
        return [bit_of[int(token)] for token in Faithfulness(protect_question=True).best(self._prompt, scores)]

    def cost(self, order: Iterable[int]) -> float:
        """Return what an order costs, in nats: the mean over its steps."""
        sets = np.bitwise_or.accumulate([1 << bit for bit in order]).tolist()
        return float(np.mean(self._lost(sets)))

    def bounds(self) -> tuple[float, float]:
        """Return the least and the most that an order costs, in nats: exact, or as a beam finds them."""
        search = self._exact if self.size <= EXACT else self._beam
        return -search(-1), search(1)

    def _exact(self, sign: int) -> float:
        """Return the most that an order costs, of losses times a sign."""
        sets = range(1, 1 << self.size)
        best = [0.0]
        for which, lost in zip(sets, self._lost(sets), strict=True):
            best.append(sign * lost + max(best[which ^ bit] for bit in _bits(which)))
        return best[-1] / self.size

    def _beam(self, sign: int) -> float:
        everything, beam = (1 << self.size) - 1, {0: 0.0}
        for _ in range(self.size):
            grown: dict[int, float] = {}
            for which, cost in beam.items():
                for bit in _bits(everything ^ which):
                    grown[which | bit] = max(cost, grown.get(which | bit, cost))
            costs = {which: grown[which] + sign * lost for which, lost in zip(grown, self._lost(list(grown)), strict=True)}
            beam = dict(sorted(costs.items(), key=lambda pair: -pair[1])[:BEAM])
        return max(beam.values()) / self.size

    def _lost(self, sets: Sequence[int]) -> list[float]:
        """Return what the answer loses without each set, in nats."""
        new = [which for which in dict.fromkeys(sets) if which not in self._known]
        if new:
            self._known |= dict(zip(new, self._computed(new), strict=True))
        return [self._known[which] for which in sets]

    def _computed(self, sets: Sequence[int]) -> list[float]:
        import torch

        clean, lm, first = self._clean, self._clean.lm, int(self._free.min()) if self._clean.prefix.layers else 0
        out = list[float]()

        def work(some: list[int]) -> None:
            ids = np.tile(np.array(self._prompt.ids), (len(some), 1))
            for row, which in zip(ids, some, strict=True):
                row[[token for bit, token in enumerate(self._free) if which >> bit & 1]] = self._baseline
            suffixes = torch.from_numpy(ids[:, first:]).to(lm.device)
            with torch.no_grad():
                logits = lm.forward.suffix_logits(clean.prefix, first, suffixes, (-1,), [0] * len(some))[:, -1]
            after = logits[:, self._target] - logits.logsumexp(-1)
            out.extend((self._before - after).double().cpu().tolist())

        lm.budget.in_batches(list(sets), clean.length, work)
        return out


def _bits(which: int) -> Iterable[int]:
    while which:
        bit = which & -which
        yield bit
        which ^= bit
