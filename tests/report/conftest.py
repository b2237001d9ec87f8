"""What several files report: a few cells of the demo results, and a small store without techniques and citations."""

from __future__ import annotations

import pytest

from heval_core.report.write import report_of
from tests.planted import marking, plant, published


@pytest.fixture(scope="session")
def report(few):
    return report_of(few)


@pytest.fixture(scope="session")
def plain(tmp_path_factory):
    """One model, one dataset, one kind of documents; fa knows the answer and ig does not."""
    draw = marking(lambda instance, explainer: 2 if explainer == "fa" else 0)
    folder = tmp_path_factory.mktemp("plain")
    plant(folder, draw, regimes=("conflicting",), explainers=("fa", "ig"), count=80)
    return published(folder)


@pytest.fixture(scope="session")
def plain_report(plain):
    return report_of(plain)
