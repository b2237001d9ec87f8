"""What comes out the same is taken from the last published file, and nothing else is: the new file is the one that publishing
everything anew would give, row by row."""

from __future__ import annotations

import shutil
from collections import defaultdict
from contextlib import closing

import duckdb
import pandas as pd
import pyarrow.parquet as pq
import pytest

from heval_core.evaluation import cells, evaluator, measuring, parallel
from heval_core.evaluation.publishing import publish
from heval_core.metrics import description_length, mutual_information, probe
from heval_core.metrics.mrr import PLUGIN as MRR
from heval_core.plugins import catalogue
from heval_core.statistics import bootstrap
from heval_core.store.published import current_file
from heval_core.store.reader import Reader
from heval_core.store.shards import Shard, ShardStore
from tests.planted import assert_same, noise, plant

SINGLE, DUAL, SWAPPED = "conflicting", "mixed", "mixed_swap"
HOW = {"regimes": (SINGLE, DUAL, SWAPPED), "explainers": ("fa",), "count": 40}
OF_ONE, OF_BOTH = "made-up-0", ("made-up-0", "made-up-1")


@pytest.fixture(scope="module", autouse=True)
def quick():
    """Values on halves take most of the time; nothing here depends on how they are computed."""
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(bootstrap, "SPLITS", 10)
        for module in (description_length, mutual_information, probe):
            patched.setattr(type(module.PLUGIN), "of_all", _left_out)
        yield


def _left_out(metric, data):
    return [one.unavailable(metric.parts, "left out of this test") for one in data]


@pytest.fixture(scope="module")
def first(tmp_path_factory):
    """A store that was published once."""
    folder = tmp_path_factory.mktemp("first")
    plant(folder, noise, models=2, **HOW)
    publish(folder)
    return folder


@pytest.fixture
def store(first, tmp_path):
    return shutil.copytree(first, tmp_path / "store")


@pytest.fixture(autouse=True)
def forget():
    yield
    evaluator.evaluator_id.cache_clear()


@pytest.fixture
def evaluated(monkeypatch):
    """Model and regime ▶ the metrics that were computed there."""
    computed = defaultdict(set)
    evaluate = cells.evaluate_all

    def noting(whole, scored, **how):
        computed[whole.key.model, whole.key.regime] |= {metric.key for metric in how["metrics"]}
        return evaluate(whole, scored, **how)

    monkeypatch.setattr(measuring.cells, "evaluate_all", noting)
    return computed


def other_code(monkeypatch, *metrics):
    """The program changed somewhere, and some metrics did."""
    ids = evaluator.metric_id
    monkeypatch.setattr(evaluator, "source_hash", lambda: f"changed, with {metrics}")
    monkeypatch.setattr(evaluator, "metric_id", lambda key: "changed" if key in metrics else ids(key))
    evaluator.evaluator_id.cache_clear()


def anew(store):
    """The file that publishing gives where there is no last one."""
    copy = shutil.copytree(
        store, store.with_name("anew"), ignore=shutil.ignore_patterns("results-*", "current.json", "evaluated")
    )
    return publish(copy)


def test_where_no_metric_changed_none_is_computed(store, monkeypatch, evaluated):
    before = current_file(store)
    other_code(monkeypatch)
    path = publish(store)
    assert path != before
    assert not evaluated
    assert_same(before, path)


@pytest.mark.parametrize("workers", [1, 2])
def test_a_changed_metric_is_computed_and_no_other(store, monkeypatch, evaluated, workers):
    before = current_file(store)
    other_code(monkeypatch, "mrr", "position_bias")
    assert_same(before, publish(store, workers=workers))
    if workers == 1:  # else others compute them
        cells_of = {(model, regime): {"mrr", "position_bias"} for model in OF_BOTH for regime in HOW["regimes"]}
        assert evaluated == cells_of


@pytest.mark.slow
def test_what_a_changed_metric_gives_is_published(store, monkeypatch):
    monkeypatch.setattr(type(MRR), "over", lambda self, cell, k: [])
    other_code(monkeypatch, "mrr")
    reader = Reader(publish(store))
    assert "mrr" not in {*reader.rows("cell_metric")["metric"]}
    assert_same(anew(store), reader.path)


@pytest.mark.slow
def test_the_values_of_a_metric_that_is_gone_are_gone(store, monkeypatch, evaluated):
    known = catalogue.plugins
    others = {key: metric for key, metric in known("metric").items() if key != "hit_at_k"}
    monkeypatch.setattr(catalogue, "plugins", lambda kind: others if kind == "metric" else known(kind))
    evaluator.evaluator_id.cache_clear()
    reader = Reader(publish(store))
    assert not set().union(*evaluated.values())
    for table in ("cell_metric", "score"):
        assert "hit_at_k" not in {*reader.rows(table)["metric"]}
    assert_same(anew(store), reader.path)


@pytest.mark.parametrize("workers", [1, pytest.param(2, marks=pytest.mark.slow)])
def test_new_shards_are_evaluated_and_no_others(store, evaluated, monkeypatch, workers):
    taken, parts = [], parallel.parts
    monkeypatch.setattr(parallel, "parts", lambda job, regimes, *how: taken.extend(regimes) or parts(job, regimes, *how))
    plant(store, noise, models=3, **HOW)
    with closing(Reader(current_file(store))):  # an explorer is open, in this very process
        path = publish(store, workers=workers)
    assert {model for model, _ in evaluated} | {shards.key.model for shards in taken} == {"made-up-2"}
    if workers == 1:
        assert_same(anew(store), path)
    else:  # others compute values on halves, which are left out here
        made, expected = Reader(path), Reader(anew(store))
        for name in ("instance", "attribution", "score"):
            pd.testing.assert_frame_equal(made.rows(name), expected.rows(name))


@pytest.mark.slow
def test_further_questions_of_a_data_set_change_the_intervals_of_all_its_cells(store, evaluated):
    plant(store, noise, models=3, **HOW | {"count": 41})
    path = publish(store)
    assert {model for model, _ in evaluated} == {*OF_BOTH, "made-up-2"}
    assert_same(anew(store), path)


def other_scores(store, regime):
    """The first model's regime was computed again, with other scores."""
    shards = ShardStore(store)
    for entry in [*shards.entries().values()]:
        if (entry.model, entry.regime, entry.explainer) == (OF_ONE, regime, "fa"):
            rows = shards.read(entry).to_pylist()
            shard = Shard(**{field: getattr(entry, field) for field in Shard.__dataclass_fields__})
            shards.write(shard, [row | {"scores": row["scores"][::-1]} for row in rows])


@pytest.mark.parametrize("changed", [DUAL, pytest.param(SWAPPED, marks=pytest.mark.slow)])
def test_what_compares_a_regime_with_its_mirror_is_computed_in_both(store, evaluated, changed):
    other_scores(store, changed)
    path = publish(store)
    (other,) = {DUAL, SWAPPED} - {changed}
    assert evaluated[OF_ONE, other] == {"position_bias"}
    assert evaluated[OF_ONE, changed] == {*catalogue.plugins("metric")}
    assert len(evaluated) == 2
    assert_same(anew(store), path)


@pytest.mark.slow
def test_values_that_others_saved_stay_where_one_learned_metric_changed(store, monkeypatch):
    saved = {key for file in (store / "evaluated").glob("*.parquet") for key in pq.read_table(file)["key"].to_pylist()}
    other_code(monkeypatch, "probe")
    publish(store)
    after = {key for file in (store / "evaluated").glob("*.parquet") for key in pq.read_table(file)["key"].to_pylist()}
    assert saved
    assert saved <= after


@pytest.mark.slow
def test_of_what_lacks_scores_findings_are_measured_anew(tmp_path, evaluated, monkeypatch):
    store = tmp_path / "store"
    plant(store, noise, failed=lambda row, explainer: explainer == "fa" and row["place"] < 5, **HOW)
    before = publish(store)
    evaluated.clear()
    other_code(monkeypatch)
    path = publish(store)
    assert evaluated
    assert_same(before, path)


@pytest.mark.parametrize("last", ["damaged", "older", "gone"])
def test_without_a_last_file_that_can_be_read_all_is_computed(store, monkeypatch, evaluated, last):
    path = current_file(store)
    before = shutil.copy(path, store.with_name("before"))
    if last == "gone":
        path.unlink()
    elif last == "older":
        with duckdb.connect(str(path)) as database:
            database.execute("DROP SCHEMA again CASCADE")
    else:
        with path.open("r+b") as file:
            file.seek(20_000)
            file.write(bytes(range(256)) * (path.stat().st_size // 256 - 80))
    other_code(monkeypatch)
    assert_same(before, publish(store))
    assert all(keys == {*catalogue.plugins("metric")} for keys in evaluated.values())
    assert evaluated


def test_results_that_come_along_save_nothing_for_the_next_time(store, monkeypatch):
    other_code(monkeypatch)
    path = publish(store, keep=False)
    with duckdb.connect(str(path), read_only=True) as database:
        assert database.execute("SELECT count(*) FROM again.regime").fetchone() == (0,)
        assert database.execute("SELECT count(*) FROM again.drawn").fetchone() == (0,)
