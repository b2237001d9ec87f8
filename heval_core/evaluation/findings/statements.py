"""The sentences of Sun et al. 2025, and the effects that each implies for a store."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np

from heval_core.evaluation.findings.effects import Part, Statistic, deviation, mean, median, size
from heval_core.evaluation.findings.evidence import BETWEEN, BIAS, DUAL, MARGIN, METHODS, OVERALL, SLOPES, K, Series

NEAR_ZERO = 0.1


@dataclass(frozen=True)
class Claim:
    """A sentence of the paper. published: the paper's numbers. parts: the effects it implies for a store.

    levels: quantities with the value that the paper reports; shown for comparison, not part of the verdict. construction: what
    the demo models' taught rule makes true anyway, a key of `Rule.says`.
    """

    key: str
    sentence: str
    published: str
    unit: str
    parts: tuple[Part, ...]
    construction: str = "origin"
    levels: tuple[tuple[Part, float], ...] = ()

    @property
    def explainers(self) -> frozenset[str]:
        """All explainers that the sentence names; every effect of it is computed over the same cells."""
        return frozenset(name for part in self.parts for name in part.names)


def _ordered(series: Series, names: Sequence[str], statistic: Statistic = mean) -> tuple[Part, ...]:
    """The effects that each explainer is above the next."""
    return tuple(Part((series,), one, other, statistic) for one, other in pairwise(names))


def _levels(series: Series, statistic: Statistic = mean, **published: float) -> tuple[tuple[Part, float], ...]:
    return tuple((Part((series,), name, statistic=statistic), value) for name, value in published.items())


def _above(best: str, others: Iterable[str], **more: Any) -> tuple[Part, ...]:
    return tuple(Part(OVERALL, best, other, **more) for other in others)


def _nmutinf(regime: str) -> Series:
    return Series("NMutInf", "nmutinf", ("raw",), (regime,), K)


def _bias(name: str, earlier: bool) -> Part:
    return Part((BIAS,), name, least=0.0 if earlier else -np.inf, most=np.inf if earlier else 0.0)


_CONFLICTING = Series("MRR", "mrr", ("C",), ("conflicting",))
_TWO = Series("MRR", "mrr", ("balanced",), DUAL)
CLAIMS: tuple[Claim, ...] = (
    Claim(
        "mrr_conflicting", "With one conflicting document MechLight has the highest MRR, then IG, then FA.",
        "median MRR over models and datasets: mechlight .345, ig .310, fa .175 (attn: mean .147)", "MRR",
        (*_ordered(_CONFLICTING, ("mechlight", "ig", "fa"), median), Part((_CONFLICTING,), "mechlight", "attn", median)),
        levels=(*_levels(_CONFLICTING, median, mechlight=0.345, ig=0.310, fa=0.175), *_levels(_CONFLICTING, attn=0.147)),
    ),
    Claim(
        "mrr_dual", "With two documents MechLight has the highest MRR, then IG, then attention.",
        "mean MRR: mechlight .526, ig .436, attn .162", "MRR", _ordered(_TWO, ("mechlight", "ig", "attn")),
        levels=_levels(_TWO, mechlight=0.526, ig=0.436, attn=0.162),
    ),
    Claim(
        "nmutinf_conflicting", "With one conflicting document FA removes the most uncertainty about the answer's origin, then "
        "MechLight, then IG and attention.",
        "NMutInf: fa 19.8 %, mechlight 16.5 %, ig and attn 9 %", "share of the uncertainty",
        (*_ordered(_nmutinf("conflicting"), ("fa", "mechlight", "ig")), Part((_nmutinf("conflicting"),), "mechlight", "attn")),
        levels=_levels(_nmutinf("conflicting"), fa=0.198, mechlight=0.165, ig=0.09, attn=0.09),
    ),
    Claim(
        "nmutinf_double_conflicting", "With two conflicting documents MechLight removes more of the uncertainty about the "
        "answer's origin than FA.",
        "NMutInf: mechlight 24.9 %, fa 17.9 %", "share of the uncertainty",
        (Part((_nmutinf("double_conflicting"),), "mechlight", "fa"),),
        levels=_levels(_nmutinf("double_conflicting"), mechlight=0.249, fa=0.179),
    ),
    Claim(
        "best_overall", "MechLight is the best of the four over all three questions.", "MechLight best overall",
        "normalised", _above("mechlight", ("fa", "ig", "attn")),
    ),
    Claim(
        "fa_second", "FA is second best over all three questions: behind MechLight, ahead of IG and attention.",
        "FA second", "normalised",
        (*_above("mechlight", ("fa",)), *_above("fa", ("ig", "attn"))),
    ),
    Claim(
        "fa_variable", "FA is the most variable over models, datasets and regimes.", "FA most variable",
        "standard deviation, normalised", _above("fa", ("mechlight", "ig", "attn"), statistic=deviation, fewest=2),
    ),
    Claim(
        "near_zero", "IG and attention are near zero on \"context or memory?\" and on \"which document?\".",
        "IG and attention near zero on RQ1 and RQ2", "normalised, root mean square over cells",
        tuple(
            Part((one,), name, statistic=size, least=-np.inf, most=NEAR_ZERO)
            for name in ("ig", "attn") for one in (MARGIN, BETWEEN)
        ),
    ),
    Claim(
        "length", "All four get worse with longer contexts.", "everything gets worse with longer contexts",
        "normalised value per standard deviation of the lengths",
        tuple(Part((one,), name, least=-np.inf, most=0.0) for name in METHODS for one in SLOPES), "length",
    ),
    Claim(
        "earlier", "The attention methods favour the earlier document.", "attention methods favour the earlier document",
        "share of the prompt", (_bias("attn", True), _bias("mechlight", True)), "position",
    ),
    Claim(
        "later", "FA and IG favour the later document.", "FA and IG favour the later document", "share of the prompt",
        (_bias("fa", False), _bias("ig", False)), "position",
    ),
)  # fmt: skip
