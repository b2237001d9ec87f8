"""Which parts of a text matter for what is said, from texts that lack some of them: ContextCite's surrogate.

Formula: 64 masks keep each of K parts with chance 1/2 (all 2^K where these are not more). A Lasso (alpha .01) fits the
log-odds of what is said on which parts are there; a part's weight is its coefficient.
Reference: Cohen-Wang et al. 2024 (arXiv 2409.00729). Engine: scikit-learn's Lasso. Cost: a fit takes about a millisecond.
"""

import itertools

import numpy as np

MASKS, ALPHA = 64, 0.01


def masks(parts: int, seed: int) -> np.ndarray:
    """Sample masks, (64, K) bool, each part kept with chance 1/2; all 2^K where these are not more."""
    if 2**parts <= MASKS:
        return np.array(list(itertools.product((False, True), repeat=parts)))
    return np.random.default_rng(seed).random((MASKS, parts)) < 0.5


def log_odds(logprobs: np.ndarray) -> np.ndarray:
    """Compute log p - log(1 - p); for a p that rounds to 1, that of the largest float32 below."""
    capped = np.minimum(logprobs, np.log1p(-np.finfo(np.float32).eps))
    return np.asarray(capped - np.log(-np.expm1(capped)))


def weights(present: np.ndarray, odds: np.ndarray) -> np.ndarray:
    """Fit the weight of each part, (K,), from (M, K) masks and (M,) log-odds."""
    from sklearn.linear_model import Lasso

    return np.asarray(Lasso(alpha=ALPHA).fit(present.astype(float), odds).coef_)
