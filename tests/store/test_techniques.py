"""Two techniques in one store: every number is that of a store of the technique alone, and nothing is pooled."""

from __future__ import annotations

import shutil

import pandas as pd
import pytest

from heval_core.evaluation.cells import cells_of
from heval_core.evaluation.patterns import patterns_under
from heval_core.evaluation.publishing import publish
from heval_core.metrics import _nets
from heval_core.records import CELL, TECHNIQUE
from heval_core.report.sections import sections
from heval_core.statistics import bootstrap
from heval_core.store.filters import Filter
from heval_core.store.published import current_file
from heval_core.store.reader import Reader
from heval_core.store.shards import ShardStore
from tests.planted import marking, plant

OTHER = "rephrased"
REGIMES = ("conflicting", "double_conflicting", "double_conflicting_swap")
SHOWN = (("mrr", 0), ("group_rank_margin", 5), ("instance_rank_margin", 5), ("position_bias", 5))

pytestmark = pytest.mark.slow


# Scores that know the used document's answer, far better under the other technique.
DRAW = marking(lambda instance, explainer: 0.9 if instance["technique"] == OTHER else 0.2)


def planted(folder, *techniques, count=110, regimes=REGIMES, publishing=publish):
    for technique in techniques:
        plant(
            folder, DRAW, regimes=regimes, explainers=("fa", "mechlight"), count=count, lengths=(40, 60), technique=technique
        )
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(bootstrap, "SPLITS", 10)  # twenty halves, for metrics that learn
        patched.setattr(_nets, "EPOCHS", 2)  # nets that have learnt little tell techniques apart as well
        publishing(folder)
    return Reader(current_file(folder))


@pytest.fixture(scope="module")
def folders(tmp_path_factory):
    return {name: tmp_path_factory.mktemp(name) for name in ("both", TECHNIQUE, OTHER)}


@pytest.fixture(scope="module")
def both(folders):
    return planted(folders["both"], TECHNIQUE, OTHER)


@pytest.fixture(scope="module")
def alone(folders):
    return {technique: planted(folders[technique], technique) for technique in (TECHNIQUE, OTHER)}


def same(one: pd.DataFrame, other: pd.DataFrame) -> None:
    assert len(one)
    one, other = (own.reset_index(drop=True).astype(object).where(lambda values: values.notna(), None) for own in (one, other))
    pd.testing.assert_frame_equal(one, other, rtol=1e-9)


@pytest.mark.parametrize("technique", [TECHNIQUE, OTHER])
@pytest.mark.parametrize("table", ["cell_metric", "headline", "pattern_share", "context"])
def test_every_published_number_is_that_of_the_technique_alone(both, alone, table, technique):
    aside = "place" if table == "pattern_share" else "technique"
    rows = f"SELECT * EXCLUDE ({aside}) FROM {table} WHERE technique = ? ORDER BY ALL"
    same(both.query(rows, [technique]), alone[technique].query(rows, [technique]))


@pytest.mark.parametrize("technique", [TECHNIQUE, OTHER])
def test_live_values_and_patterns_are_those_of_the_technique_alone(both, alone, technique):
    chosen, every = Filter(technique=(technique,)), Filter()
    own = alone[technique]
    for metric, k in SHOWN:
        same(cells_of(both, chosen, metric, k), cells_of(own, every, metric, k))
        everything = cells_of(both, every, metric, k)
        same(everything[everything["technique"] == technique], cells_of(own, every, metric, k))
    same(both.headline(chosen), own.headline())
    same(patterns_under(both, chosen), patterns_under(own, every))
    sliced = {"relation": ("relation 1", "relation 2")}
    same(patterns_under(both, Filter(technique=(technique,), **sliced)), patterns_under(own, Filter(**sliced)))
    same(both.outcomes(chosen), own.outcomes(every))
    assert sorted(both.instance_ids(chosen)) == sorted(own.instance_ids(every))


def test_the_two_differ_so_that_a_pool_would_show(both):
    found = both.cells(Filter(), "mrr", 0)
    assert not found.duplicated([*CELL, "part", "explainer"]).any()
    means = found[(found["explainer"] == "fa") & (found["part"] != "C2")].groupby("technique")["value"].mean()
    assert means[OTHER] > means[TECHNIQUE] + 0.1
    assert set(both.headline()["technique"]) == {TECHNIQUE, OTHER}


def test_findings_are_about_the_regular_technique_only(both, alone):
    same(both.findings(), alone[TECHNIQUE].findings())


def test_a_report_names_the_technique_of_every_row_and_figure(both, alone):
    def named(section):
        """The techniques that its tables have a column for."""
        frames = [table.frame() for table in section.shown]
        return {key for frame in frames if "technique" in frame.columns for key in frame["technique"]}

    for section, single in zip(sections(both), sections(alone[TECHNIQUE]), strict=True):
        assert not named(single)
        if section.plan.key in ("datasets", "board"):  # under Regular, and say so
            assert not named(section)
            assert "under Regular" in section.text
        elif len(section.rows):
            assert named(section) == {TECHNIQUE, OTHER}, section.plan.key
            captions = [caption for caption, _ in section.figures]
            assert len(captions) == len(set(captions))


def test_other_settings_of_one_technique_do_not_drop_the_other_ones_results(folders, both, tmp_path):
    store = ShardStore(shutil.copytree(folders["both"], tmp_path / "store"))
    entry = next(e for e in store.entries().values() if e.technique == OTHER)
    named = {name: getattr(entry, name) for name in ("model", "dataset", "revision", "fingerprint")}
    for technique in (TECHNIQUE, OTHER):
        store.note("state", {**named, "settings": "", "technique": technique, "shard_size": 1})
    again = Reader(publish(store.folder))
    assert set(again.choices()["technique"]) == {TECHNIQUE, OTHER}
