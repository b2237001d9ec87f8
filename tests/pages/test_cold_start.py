"""A server without published results: one publishing for all tabs, a bar and the time left, and what shards show already."""

import json
import shutil
import threading
from concurrent.futures import ThreadPoolExecutor

import pytest
import streamlit as st
from streamlit.testing.v1 import AppTest

from heval_core.evaluation import publishing_thread
from heval_core.evaluation.publishing import PublishProgress, publish
from heval_core.evaluation.publishing_thread import Publishing
from heval_core.present.html import plain
from heval_core.store.published import current_file
from heval_core.ui import published_results
from tests.conftest import DEMO


@pytest.fixture
def cold(made_up, tmp_path, monkeypatch):
    """The demo's place holds the shards of a small store, and nothing is published."""
    shards = tmp_path / "shards"
    shutil.copytree(made_up, shards, ignore=shutil.ignore_patterns("results-*", "current.json"))
    monkeypatch.delenv("HEVAL_STORE", raising=False)
    monkeypatch.setattr(published_results, "BUNDLED", {"demo": (tmp_path / "results", shards)})
    monkeypatch.setattr(published_results, "RESULTS", tmp_path / "none")
    monkeypatch.setattr(published_results, "LOOK", 0.01)
    st.cache_resource.clear()
    return tmp_path / "results"


def a_page():
    import streamlit as st

    from heval_core.ui.published_results import reader

    results = reader()
    st.write(f"{results.bundled} {len(results.models())}")


def opened():
    return AppTest.from_function(a_page, default_timeout=300).run()


def texts(app):
    assert not app.exception
    return [one.value for one in app.markdown]


def test_a_page_waits_for_its_results_and_then_shows_them(cold):
    app = opened()
    assert texts(app) == ["True 1"]  # the bar and its sentence are gone
    assert current_file(cold) is not None


def test_published_results_are_opened_without_looking_at_shards_again(cold, monkeypatch):
    publish(published_results.BUNDLED["demo"][1], cold, bundled=True)
    monkeypatch.setattr(published_results, "_publishing", lambda *given: pytest.fail("published once more"))
    assert texts(opened()) == ["True 1"]


@pytest.mark.slow
def test_other_shards_or_a_lost_file_are_published_again(cold):
    before = publish(published_results.BUNDLED["demo"][1], cold, bundled=True)
    manifest = published_results.BUNDLED["demo"][1] / "manifest.jsonl"
    lines = manifest.read_text().splitlines(keepends=True)
    manifest.write_text("".join(line for line in lines if json.loads(line)["explainer"] != "ig"))
    opened()
    after = current_file(cold)
    assert after != before
    after.unlink()
    st.cache_resource.clear()
    assert texts(opened()) == ["True 1"]


def test_many_tabs_publish_once_and_each_sees_how_far_it_is(cold, monkeypatch):
    # Threads outside of a session: several AppTests at once replace one another's runtime.
    begun, bars, all_look, all_told = [], {}, threading.Barrier(3), threading.Barrier(4)

    def renew(source, target, bundled, on_progress):
        begun.append(source)
        on_progress(PublishProgress("Marking every explainer", "", 0.25, 30.0))
        all_told.wait(300)
        publish(source, target, bundled)

    def tab():
        all_look.wait(300)
        return published_results.ensure_published()

    monkeypatch.setattr(publishing_thread, "renew", renew)
    monkeypatch.setattr(published_results, "results_folder", lambda: cold)

    def bar(self, share, text):
        if "explainer" in text and threading.get_ident() not in bars:
            bars[threading.get_ident()] = (share, text)
            all_told.wait(300)

    monkeypatch.setattr(st.delta_generator.DeltaGenerator, "progress", bar)
    with ThreadPoolExecutor(3) as tabs:
        assert [one.result() for one in [tabs.submit(tab) for _ in range(3)]] == [""] * 3
    known = [share >= 0.25 and "seconds left" in text for share, text in bars.values()]
    assert (len(begun), known) == (1, [True] * 3)


@pytest.mark.parametrize("why", ["the folder /x cannot be written", None])
def test_what_went_wrong_is_one_sentence(cold, monkeypatch, why):
    def renew(*given):
        if why is None:
            raise RuntimeError("secret details")
        return why

    monkeypatch.setattr(publishing_thread, "renew", renew)
    app = opened()
    said = why or "evaluating them has failed; the log has the details"
    assert [error.value for error in app.error] == [plain(f"The bundled results cannot be published: {said}.")]
    assert not texts(app)


def test_the_bar_moves_between_two_reports_and_never_beyond_what_is_expected(monkeypatch):
    clock = [0.0]
    monkeypatch.setattr(publishing_thread.time, "monotonic", lambda: clock[0])
    monkeypatch.setattr(publishing_thread, "renew", lambda *given: None)
    job = Publishing(DEMO, DEMO, bundled=True)
    job._hear(PublishProgress("Marking", "", 0.5, 10.0))
    clock[0] = 4.0
    assert (job.now().share, job.now().seconds_left) == (pytest.approx(0.7), pytest.approx(6.0))
    clock[0] = 40.0
    assert (job.now().share, job.now().seconds_left) == (1.0, 0.0)
