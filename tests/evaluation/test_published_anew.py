"""The bundled results once more, with one thread: the same to the bit, the report too, and nothing slow."""

import pytest
from threadpoolctl import threadpool_limits

from heval_core.evaluation.publishing import publish
from heval_core.evaluation.value_cache import ValueCache
from heval_core.store.published import current_file
from tests.conftest import DEMO
from tests.planted import assert_same
from tests.report.conftest import same_bytes

pytestmark = [pytest.mark.slow, pytest.mark.demo]


@pytest.fixture(scope="module")
def anew(tmp_path_factory):
    """The folder, and how many values that take long each set of prompts had to compute."""
    folder, missed = tmp_path_factory.mktemp("anew"), []
    with pytest.MonkeyPatch.context() as patched, threadpool_limits(1):
        patched.setattr(ValueCache, "save", lambda self: missed.append(self.missed))
        publish(DEMO, folder, bundled=True)
    return folder, missed


def test_they_are_the_same_with_one_thread(anew, demo_results):
    assert_same(current_file(anew[0]), current_file(demo_results))


def test_they_need_nothing_to_be_computed_that_takes_long(anew):
    """Else the first start of the explorer takes minutes: `python -m demo keep` makes them again."""
    missed = anew[1]
    assert len(missed) == 35  # the sets of prompts that methods ran on
    assert not any(missed)


def test_their_report_has_the_same_bytes(anew, demo_results, tmp_path):
    """Nothing of the hour or the machine is in a report."""
    _, names = same_bytes(tmp_path, demo_results, anew[0])
    assert {"report.html", "results.json", "tables/mrr.tex"} <= names
