"""COIECD, contextual information-entropy constraint decoding: as surprising as expected, a token keeps memory's probability.

Formula: lp_c and lp are the log-softmax with the documents and without. q = log_softmax(-lp_c - H(p)), lo = min q -
log lambda, hi = max q + log lambda; base = lp where lo <= q <= hi, else lp_c; if a single token lies below lo, it takes lp
too; score = base + alpha (lp_c - lp). lambda = 1 and alpha = 1 give Regular exactly.
Reference: Yuan et al. 2024, arXiv 2402.11893, as in CUB (arXiv 2505.16518).
Departure: none in the formula. lambda and alpha are those with the highest BCU on development questions with gold documents,
as in CUB; where several settings are best, all are stored as ties.
Options: `lam` in [.1, 1] and `alpha` in [0, 2]; with both given, nothing is searched.
Cost: two passes, with the documents and without; the search needs no more than these two for each development question.
"""

import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from math import log
from typing import Any

from heval_core.records import HEvalError
from heval_core.techniques.shared.base import NOTHING, Base, Development, Setting, Tensor, Trial, best_by, on_arrays

LAMBDAS = (0.1, 0.25, 0.5, 0.75, 1.0)
ALPHAS = (0.0, 0.5, 1.0, 1.5, 2.0)


@on_arrays
def coiecd(z_c: Tensor, z_0: Tensor, lam: float = 0.25, alpha: float = 1.0) -> Tensor:
    """Combine logits with context and without, as COIECD does.

    Args:
        z_c: (…, V) logits with context.
        z_0: (…, V) logits without.
        lam: lambda, from .1 to 1: how wide the interval is in which a token is no conflict.
        alpha: how far the context is stressed, from 0 to 2.

    Returns:
        (…, V) scores, whose softmax is the answer's distribution.

    Raises:
        HEvalError: for lam or alpha out of range.
    """
    Coiecd(lam, alpha).check()
    return _scores(z_c, z_0)(lam, alpha)


def _scores(z_c: Tensor, z_0: Tensor) -> Callable[[float, float], Tensor]:
    """Return the scores as a function of lambda and alpha; what they have in common is computed once."""
    lp_c, lp = z_c.double().log_softmax(-1), z_0.double().log_softmax(-1)
    entropy = -(lp.exp() * lp).nan_to_num(0.0).sum(-1, keepdim=True)
    q = (-lp_c - entropy).log_softmax(-1)
    least, most, gained = q.amin(-1, keepdim=True), q.amax(-1, keepdim=True), lp_c - lp

    @cache
    def base(lam: float) -> Tensor:
        low, high = least - log(lam), most + log(lam)
        below = q < low
        expected = ((q >= low) & (q <= high)) | (below & (below.sum(-1, keepdim=True) == 1))
        return lp.where(expected, lp_c)

    return lambda lam, alpha: base(lam) + alpha * gained


@dataclass(frozen=True)
class Coiecd(Base):
    lam: float | None = None
    alpha: float | None = None

    key = "coiecd"
    title = "COIECD"
    family = "decoding"
    order = 3
    passes = 2.0
    preparation = "tuned"
    reference = "Yuan et al. 2024 (arXiv 2402.11893)"

    def check(self) -> None:
        """Raise HEvalError for a lambda or an alpha out of range."""
        if self.lam is not None and not 0.1 <= self.lam <= 1:
            raise HEvalError(f"coiecd needs a lambda (lam) from 0.1 to 1, not {self.lam}.")
        if self.alpha is not None and not 0 <= self.alpha <= 2:
            raise HEvalError(f"coiecd needs an alpha from 0 to 2, not {self.alpha}.")

    @property
    def preparing(self) -> float:
        """Return both passes, unless both numbers are given."""
        return 0.0 if self.lam is not None and self.alpha is not None else super().preparing

    def settings(self, development: Development) -> Sequence[Setting]:
        if self.lam is not None and self.alpha is not None:
            return (NOTHING,)
        lambdas = LAMBDAS if self.lam is None else (self.lam,)
        alphas = ALPHAS if self.alpha is None else (self.alpha,)
        # From Regular outwards, so that of several best settings the mildest is used.
        pairs = sorted(((lam, alpha) for lam in lambdas for alpha in alphas), key=lambda one: (1 - one[0]) + abs(1 - one[1]))
        return [Setting(json.dumps({"lam": lam, "alpha": alpha})) for lam, alpha in pairs]

    def best(self, trials: Sequence[Trial]) -> tuple[int, ...]:
        """Choose on gold documents, as in CUB; by the mean over kinds where there are none."""
        if all("gold" in trial.bcu for trial in trials):
            return best_by(trials, lambda trial: trial.bcu["gold"])
        return best_by(trials, lambda trial: trial.mean)

    def combined(self, z_c: Tensor, z_0: Tensor, setting: Setting) -> Any:
        return coiecd(z_c, z_0, **self._values(setting))

    def combined_by(self, z_c: Tensor, z_0: Tensor, settings: Sequence[Setting]) -> Iterator[Any]:
        scores = _scores(z_c, z_0)
        return (scores(values["lam"], values["alpha"]) for values in map(self._values, settings))

    def _values(self, setting: Setting) -> dict[str, Any]:
        return json.loads(setting.text) if setting.text else {"lam": self.lam, "alpha": self.alpha}


PLUGIN = Coiecd()
