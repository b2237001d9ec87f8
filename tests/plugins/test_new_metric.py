"""A new metric is one file: pages, comparisons, the report, the export and the contract tests find it by themselves."""

import sys

import numpy as np
import pandas as pd
import pytest

import heval_core.metrics
from heval_core.evaluation import evaluator
from heval_core.evaluation.publishing import publish
from heval_core.plugins import catalogue
from heval_core.report.sections import plans, section
from heval_core.store.export import export
from heval_core.store.reader import Reader
from tests.pages.opening import open_page, unfolded
from tests.planted import marking, plant

FILE = '''"""Share on the answer: how much of an explanation lies on the answer's tokens?

Formula: the gold tokens' share of the scores' absolute sum. Reference: a test. Range: 0 to 1. Chance: the gold tokens' share
of the prompt. Best: 1.
"""

from dataclasses import dataclass

import numpy as np

from heval_core.metrics.shared.ranks import of_used_document
from heval_core.statistics.values import means_of
from heval_core.metrics.shared.measure import Measure


@dataclass(frozen=True)
class ShareOnAnswer:
    key = "share_on_answer"
    title = "Share of the scores on the answer"
    higher_is_better = True
    uses_k = False
    reference = "a test"
    measures = (
        Measure(
            "share_on_answer", "Share on the answer", ("C", "balanced"), "share of the scores",
            "How much of an explanation lies on the answer's tokens.", "RQ3", instance_parts=("C", "C1", "C2"),
            instance_title="Share on the answer ({part})",
        ),
    )

    def each(self, cell, k):
        size = np.abs(cell.scores)
        total = size.sum(axis=1)

        def share(gold):
            return (size * gold).sum(axis=1) / np.where(total > 0, total, 1)

        return of_used_document(cell, share, lambda gold, length: gold / np.maximum(length, 1))

    def over(self, cell, k):
        return means_of(self.each(cell, k), 3)


PLUGIN = ShareOnAnswer()
'''
KEY, TITLE = "share_on_answer", "Share on the answer"


def _forget():
    for cached in (catalogue._read, catalogue.find, evaluator.evaluator_id):
        cached.cache_clear()


@pytest.fixture(scope="module")
def added(tmp_path_factory):
    """The metric's file in a folder that is searched too."""
    folder = tmp_path_factory.mktemp("metrics")
    (folder / f"{KEY}.py").write_text(FILE)
    heval_core.metrics.__path__.append(str(folder))
    _forget()
    yield
    heval_core.metrics.__path__.remove(str(folder))
    sys.modules.pop(f"heval_core.metrics.{KEY}", None)
    _forget()


@pytest.fixture(scope="module")
def store(added, tmp_path_factory):
    """A small store whose explainers mark the answer, ig less clearly than fa."""
    folder = tmp_path_factory.mktemp("store")

    draw = marking(lambda instance, explainer: 20 if explainer == "fa" else 5)
    plant(folder, draw, regimes=("conflicting", "mixed"), explainers=("fa", "ig"), count=18)
    return folder, publish(folder)


@pytest.fixture
def asked(store, monkeypatch):
    monkeypatch.setenv("HEVAL_STORE", str(store[0]))
    return Reader(store[1])


@pytest.mark.slow
def test_its_question_s_page_offers_and_draws_it(asked):
    app = unfolded(open_page("leaderboard", tab="regime", token=TITLE))
    assert not app.error
    (shown,) = (frame.value for frame in app.dataframe if "group sizes" in frame.value.columns)
    shown = shown.set_index(["regime", "explainer"])["value"]
    assert shown["Conflicting", "Feature ablation"] > shown["Conflicting", "Integrated gradients"] > 0.05
    assert any("How much of an explanation lies on the answer's tokens" in caption.value for caption in app.caption)
    assert any("finding the token" in markdown.value for markdown in app.markdown)


def test_an_instance_s_page_shows_it(asked):
    (instance, *_) = asked.query("SELECT instance_id FROM instance WHERE \"group\" = 'C'")["instance_id"]
    app = open_page("instances", instance=instance)
    assert any(column.startswith(f"{TITLE} (the document)") for frame in app.dataframe for column in frame.value.columns)


def test_the_report_and_the_export_have_it(asked, store, tmp_path):
    assert KEY in plans()
    found = section(asked, KEY)
    assert found.plan.title == TITLE
    assert found.rows["value"].notna().any()
    export(store[0], tmp_path, ["csv"])
    for table in ("cell_metric", "score"):
        assert KEY in set(pd.read_csv(tmp_path / f"{table}.csv")["metric"])
    assert KEY in set(pd.read_csv(tmp_path / "catalogue.csv")["key"])


def test_contract_tests_collect_it_and_it_keeps_them(added):
    from tests.contracts import test_metrics as contracts

    metric = catalogue.plugins("metric")[KEY]
    where = contracts.layout(dual=True)
    for estimate in metric.over(contracts.oracle(where), 5):
        assert np.isfinite(estimate.value)
    contracts.test_what_a_metric_declares_is_whole(metric)
