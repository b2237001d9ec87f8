"""`python -m tests.metrics.speed`: how long the metrics of a large cell take, for docs/benchmarks.md. No test.

2,000 instances × 7 explainers × 150 tokens; and the literal MDL protocol over scikit-learn's nets, three reshuffles of one
of these cells, scaled up.
"""

from __future__ import annotations

import functools
import time

import numpy as np

from benchmarks.timing import best
from heval_core import catalogue
from heval_core.evaluation import cells
from heval_core.evaluation.regime import Regime
from heval_core.evaluation.scored import ScoreRows, cell_of
from heval_core.metrics._features import labelled
from heval_core.metrics.shared.cell import KS, Layout
from heval_core.records import RegimeKey
from heval_core.statistics.bootstrap import Resamples
from tests.metrics import literal

INSTANCES, TOKENS = 2000, 150
EXPLAINERS = ("fa", "ig", "attn", "mechlight", "random", "position", "lexical")
LITERAL_RUNS = 3


def regime(two_documents: bool, rng: np.random.Generator) -> Regime:
    """A made-up regime: random lengths and groups."""
    lengths = rng.integers(TOKENS - 20, TOKENS + 1, INSTANCES).tolist()
    if two_documents:
        documents, gold = [[(0, 50), (50, n - 20)] for n in lengths], [[(10, 11), (70,)]] * INSTANCES
        groups = rng.choice(["C1", "C2", "M"], INSTANCES, p=[0.5, 0.4, 0.1])
    else:
        documents, gold = [[(0, n - 20)] for n in lengths], [[(10, 11)]] * INSTANCES
        groups = rng.choice(["C", "M"], INSTANCES, p=[0.6, 0.4])
    layout = Layout.of(lengths, [0] * INSTANCES, documents, gold, groups.tolist())
    ids = np.array([f"q{index}" for index in range(INSTANCES)], dtype=object)
    name = "double_conflicting" if two_documents else "conflicting"
    drawn = Resamples("data", ids)
    return Regime(RegimeKey("model", "data", name, "regular"), ids, ids, layout, drawn.of(ids), drawn.order(ids))


def scored(explainer: str, rows: list[np.ndarray]) -> ScoreRows:
    return ScoreRows.listed(rows, catalogue.find("explainer", explainer).signed)


def main() -> None:
    rng = np.random.default_rng(0)
    for two_documents in (False, True):
        whole = regime(two_documents, rng)
        scores = {key: [rng.standard_normal(n).astype(np.float32) for n in whole.layout.lengths] for key in EXPLAINERS}
        found = {key: cell_of(whole, key, scored(key, rows)) for key, rows in scores.items()}
        print(f"{'two documents' if two_documents else 'one document'}")
        accuracy = [catalogue.find("metric", key) for key in ("rank_at_k", "group_rank_margin", "instance_rank_margin", "mrr")]

        def ranks_and_all(whole=whole, scores=scores, accuracy=accuracy) -> None:
            made = ((key, cell_of(whole, key, scored(key, rows))) for key, rows in scores.items())
            cells.evaluate(whole, made, accuracy)

        print(f"  ranks, margins, MRR, with intervals: {best(ranks_and_all, rounds=1)[0]:.2f} s")
        fast = {}
        for key in ("nmutinf", "mdl", "probe", "position_bias", "length_sensitivity"):
            metric = catalogue.find("metric", key)
            work = functools.partial(cells.evaluate, whole, found.items(), [metric])
            (fast[key],) = best(work, rounds=1)
            print(f"  {key}, all k: {fast[key]:.2f} s")
        if not two_documents:
            _against_scikit_learn(found, fast["mdl"])


def _against_scikit_learn(found: dict, fast: float) -> None:
    one = labelled(found["fa"], 5)[0]
    started = time.perf_counter()
    for run in range(LITERAL_RUNS):
        literal.mdl_bits(one.features, one.labels, np.random.default_rng(run))
    each = (time.perf_counter() - started) / LITERAL_RUNS
    total = each * catalogue.find("metric", "mdl").reshuffles * len(KS) * len(EXPLAINERS)
    print(f"  mdl by scikit-learn: {each:.2f} s a reshuffle, {total:.0f} s for all; ratio {total / fast:.0f}")


if __name__ == "__main__":
    main()
