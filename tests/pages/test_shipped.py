"""What is shipped of the results: the Overview draws all of itself from it, at once, and goes on when they are computed."""

from __future__ import annotations

import shutil
import threading

import pytest
import streamlit as st

from heval_core.evaluation import publishing_thread
from heval_core.evaluation.publishing import PublishProgress
from heval_core.present.html import plain
from heval_core.store import shipped
from heval_core.store.published import current_file
from heval_core.ui import published_results
from tests.pages.opening import html_of, open_page, ran, text_of

LINKED = "It opens this view in any browser that reaches this server. The newest two sets of results are kept. "


def progress(app) -> list[str]:
    """What stands at the bar of the computing."""
    return [bar.proto.text for bar in app.get("progress")]


@pytest.fixture
def cold(few_cells, tmp_path, monkeypatch):
    """Nothing is published yet of results that come with the program. Gives what lets it end, and what it ends with."""
    shards, results, go_on, ends = tmp_path / "shards", tmp_path / "results", threading.Event(), [None]
    shards.mkdir()
    (shards / "manifest.jsonl").write_text("")
    shipped.cut(current_file(few_cells), shards / shipped.NAME)
    monkeypatch.delenv("HEVAL_STORE", raising=False)
    monkeypatch.setattr(published_results, "BUNDLED", {"demo": (results, shards)})
    monkeypatch.setattr(published_results, "RESULTS", tmp_path / "none")

    def renew(source, target, bundled, on_progress):
        on_progress(PublishProgress("Marking every explainer", "", 0.25, 30.0))
        assert go_on.wait(300)
        if ends[0] is None:  # the copy is newer than the shards
            shutil.copytree(few_cells, target, copy_function=shutil.copy)
        return ends[0]

    monkeypatch.setattr(publishing_thread, "renew", renew)
    st.cache_resource.clear()
    yield go_on, ends
    go_on.set()


def said(app) -> str:
    """What a page says, but for what stands beside its link, which is not there at first."""
    return f"{text_of(app)} {html_of(app)}".replace(LINKED, "")


def computed(app, go_on):
    """The page as it is when the results are there."""
    go_on.set()
    st.cache_data.clear()  # else the page would be compared with itself
    for job in threading.enumerate():
        if job.name.startswith("publish"):
            job.join()
    return ran(app)


def test_the_overview_is_whole_at_once_and_the_same_when_the_results_are_there(cold, figures):
    go_on, _ = cold
    app = ran(open_page("overview"))  # the computing begins when the page stands
    early, ((early_figure,), _) = said(app), figures.pop("overview_marks")
    assert progress(app)
    app = computed(app, go_on)
    assert not progress(app)
    ((figure,), _) = figures["overview_marks"]
    assert said(app) == early
    assert (repr(figure.rows), repr(figure.panels)) == (repr(early_figure.rows), repr(early_figure.panels))
    for page in ("leaderboard", "instances", "about"):  # nothing is left of what was shipped
        assert not progress(open_page(page))


def test_only_the_whole_is_shipped(cold):
    """A link that asks for a part waits until that can be computed."""
    go_on, _ = cold
    threading.Timer(0.1, go_on.set).start()
    assert not progress(open_page("overview", model="demo-qwen2"))


def test_what_was_shipped_stays_where_it_cannot_be_computed(cold):
    go_on, ends = cold
    ends[0] = "the folder /x cannot be written"
    app = computed(ran(open_page("overview")), go_on)
    told = "These numbers came with HEval, and cannot be computed here: the folder /x cannot be written."
    assert [error.value for error in app.error] == [plain(told)]
    assert "doors" in html_of(app)
