"""Values that are kept between publishings: the same as computed, found by what they depend on, and harmless when damaged."""

import numpy as np
import pytest

from heval_core.evaluation import cells, value_cache
from heval_core.evaluation.value_cache import ValueCache
from heval_core.metrics import _nets
from heval_core.metrics._features import LearnedMetric
from heval_core.plugins import catalogue
from heval_core.records import RegimeKey
from tests.contracts.test_metrics import drawn, layout

PLACE = RegimeKey("org/model", "data", "mixed", "regular")
NEEDED = {("nmutinf", "raw", 5)}
SOME = (3, 5)  # values of k
METRICS = [plugin for plugin in catalogue.plugins("metric").values() if isinstance(plugin, LearnedMetric)]


def opened(folder, writable=True):
    return ValueCache(folder, PLACE, NEEDED, writable)


def evaluated(store, found, metrics=METRICS, ks=SOME):
    return cells.estimates(metrics, found.items(), ks, store)


@pytest.fixture(scope="module")
def own():
    where = layout(True, 120)
    return {"fa": drawn(where, 1), "ig": drawn(where, 2)}


@pytest.mark.slow
def test_what_is_kept_is_what_is_computed(tmp_path, own, monkeypatch):
    monkeypatch.setattr(_nets, "EPOCHS", 5)  # nets of whatever skill
    first = opened(tmp_path)
    found = evaluated(first, own)
    assert first.missed == len(METRICS) * 2 * len(SOME) * 2  # explainers, k, targets
    first.save()
    second = opened(tmp_path)
    again = evaluated(second, own)
    assert second.missed == 0
    for metric in METRICS:
        fresh = evaluated(None, own, [metric])[metric.key]
        for place, estimates in fresh.items():
            for one, kept_one, told in zip(estimates, again[metric.key][place], found[metric.key][place], strict=True):
                assert (one.part, one.sizes, one.unavailable) == (kept_one.part, kept_one.sizes, kept_one.unavailable)
                np.testing.assert_allclose(kept_one.intervals(), told.intervals())
                np.testing.assert_allclose(kept_one.intervals(), one.intervals(), rtol=2e-3, atol=2e-3)
                assert bool(len(kept_one.error.deviations)) == ((metric.key, one.part, place[1]) in NEEDED)


def test_other_scores_settings_or_code_are_computed_anew(tmp_path, own, monkeypatch):
    first = opened(tmp_path)
    (metric,) = (one for one in METRICS if one.key == "nmutinf")
    evaluated(first, own, [metric], (5,))
    first.save()
    changed = own | {"ig": drawn(own["ig"].layout, 7)}
    for found, plugin, missed in ((changed, metric, 2), (own, catalogue.find("metric", "nmutinf(n_neighbors=4)"), 4)):
        again = opened(tmp_path)
        evaluated(again, found, [plugin], (5,))
        assert again.missed == missed
    monkeypatch.setattr(value_cache, "_sources", lambda: "edited")
    edited = opened(tmp_path)
    evaluated(edited, own, [metric], (5,))
    assert edited.missed == 4


def test_a_damaged_file_or_a_folder_that_may_not_be_written_costs_time_only(tmp_path, own):
    (metric,) = (one for one in METRICS if one.key == "probe")
    first = opened(tmp_path, writable=False)
    expected = evaluated(first, own, [metric], (5,))["probe"]
    first.save()
    assert not (tmp_path / value_cache.FOLDER).exists()
    second = opened(tmp_path)
    evaluated(second, own, [metric], (5,))
    second.save()
    (file,) = (tmp_path / value_cache.FOLDER).glob("*.parquet")
    assert file.name == "org_model.parquet"
    file.write_bytes(file.read_bytes()[:100])
    third = opened(tmp_path)
    found = evaluated(third, own, [metric], (5,))["probe"]
    assert third.missed == 4
    assert [e.value for e in found["fa", 5]] == [e.value for e in expected["fa", 5]]
