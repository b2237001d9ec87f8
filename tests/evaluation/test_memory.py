"""Publishing and slicing need memory for one explainer's scores at a time, however many explainers there are."""

import tracemalloc
from contextlib import closing
from functools import partial

import numpy as np
import pytest

from heval_core.evaluation import measuring, scored
from heval_core.evaluation.cells import cells_of
from heval_core.evaluation.publishing import publish
from heval_core.statistics import bootstrap
from heval_core.store.filters import Filter
from heval_core.store.published import current_file
from heval_core.store.reader import Reader
from tests.planted import assert_same, plant

INSTANCES, TOKENS = 12, 8000
FEW, MORE = 2, 6
# Of all that are more, only their normalised scores.
DENSE = (MORE - FEW) * INSTANCES * TOKENS * 8 / 1e6


def draw(instance, explainer, rng):
    return rng.standard_normal(len(instance["tokens"])).astype(np.float32)


@pytest.fixture(scope="module")
def stores(tmp_path_factory):
    """Number of explainers ▶ a store with as many."""
    found = {count: tmp_path_factory.mktemp(f"{count}") for count in (FEW, MORE)}
    for count, folder in found.items():
        names = [f"made-up-{number}" for number in range(count)]
        regimes = ("double_conflicting", "double_conflicting_swap")
        how = {"count": INSTANCES, "lengths": (TOKENS, TOKENS), "regimes": regimes}
        plant(folder, draw, explainers=names, **how)
        publish(folder)
    return found


def few_at_a_time(patch):
    """Scores are read for several explainers at once where there are few tokens; here there would be few enough."""
    for module in (scored, measuring):
        patch.setattr(module, "TOGETHER", INSTANCES * TOKENS)


def megabytes(work):
    """The most that Python and NumPy had in use."""
    tracemalloc.start()
    try:
        work()
        return tracemalloc.get_traced_memory()[1] / 1e6
    finally:
        tracemalloc.stop()


@pytest.mark.slow
def test_publishing_takes_no_more_for_more_explainers(stores, tmp_path, monkeypatch):
    few_at_a_time(monkeypatch)
    taken = {n: megabytes(lambda n=n, store=store: publish(store, tmp_path / f"{n}")) for n, store in stores.items()}
    assert taken[MORE] - taken[FEW] < DENSE


@pytest.mark.slow
@pytest.mark.parametrize(
    ("metric", "k"), [("mrr", 0), ("nmutinf", 5), ("position_bias", 5)], ids=("mean", "learned", "mirrored")
)
def test_a_slice_takes_no_more_for_more_explainers(metric, k, stores, monkeypatch):
    few_at_a_time(monkeypatch)
    taken = {}
    for count, store in stores.items():
        with closing(Reader(current_file(store))) as reader:
            chosen = Filter(relation=tuple(f"relation {number}" for number in range(6)))
            if not taken:
                cells_of(reader, chosen, metric, k)  # what is imported on the way is not counted
            taken[count] = megabytes(partial(cells_of, reader, chosen, metric, k))
    assert taken[MORE] - taken[FEW] < DENSE


@pytest.mark.slow
def test_it_does_not_matter_how_many_scores_are_read_at_a_time(tmp_path, monkeypatch):
    def failed(instance, explainer):
        return explainer == "ig" and instance["place"] % 5 == 0

    store = tmp_path / "store"
    plant(store, draw, count=30, regimes=("mixed", "mixed_swap"), explainers=("fa", "ig", "attn"), failed=failed)
    whole = publish(store, tmp_path / "whole", keep=False)
    monkeypatch.setattr(scored, "TOGETHER", 1)
    monkeypatch.setattr(measuring, "TOGETHER", 1000)
    monkeypatch.setattr(bootstrap, "SMALL_BLOCK", 64)
    pieces = publish(store, tmp_path / "pieces", keep=False)
    assert_same(whole, pieces)
    with closing(Reader(pieces)) as reader:
        assert len(reader.query("SELECT * FROM score")) > 1000
