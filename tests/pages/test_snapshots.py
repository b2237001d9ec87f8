"""A tab stays on the results it was opened with; links name them; the batch job's state is shown beside them."""

from __future__ import annotations

import json
import shutil

import pytest

from heval_core.evaluation import evaluator
from heval_core.store.filters import Filter
from heval_core.store.published import current_file
from heval_core.store.reader import Reader
from heval_core.ui.published_results import query
from precompute.run import only_writer
from tests.pages.opening import open_page
from tests.planted import published


@pytest.fixture
def store(made_up, tmp_path, monkeypatch):
    """A published store of one's own."""
    folder = shutil.copytree(made_up, tmp_path / "store")
    monkeypatch.setenv("HEVAL_STORE", str(folder))
    return folder


def publish_less(folder, leave_out):
    """Publish without the shards of one explainer: another state, with a file of its own."""
    manifest = folder / "manifest.jsonl"
    lines = manifest.read_text().splitlines(keepends=True)
    manifest.write_text("".join(line for line in lines if json.loads(line)["explainer"] != leave_out))
    return published(folder)


def shown(app):
    """The snapshot a page says its numbers come from."""
    label = next(box.label for box in app.expander if box.label.startswith("Where these numbers come from"))
    return label.split("snapshot ")[1].split(",")[0]


def test_an_open_tab_stays_on_its_results_until_it_asks_for_the_newer_ones(store):
    first = Reader(current_file(store)).snapshot_id
    app = open_page("about", tab="data")
    assert shown(app) == first
    second = publish_less(store, "ig").snapshot_id
    app.run()
    assert shown(app) == first
    assert "Newer results have been published" in app.info[0].value
    app.button(key="reload_results").click().run()
    assert shown(app) == second
    assert not any("Newer results" in info.value for info in app.info)


@pytest.mark.slow
def test_a_link_opens_the_results_it_names_while_they_are_there(store):
    first = Reader(current_file(store)).snapshot_id
    publish_less(store, "ig")
    app = open_page("about", tab="data", snapshot=first)
    assert shown(app) == first
    assert not app.warning
    third = publish_less(store, "fa").snapshot_id  # two files are kept: the first is gone now
    app = open_page("about", tab="data", snapshot=first)
    assert shown(app) == third
    assert f"results {first}, which no longer exist" in app.warning[0].value


@pytest.mark.parametrize("value", ["../../etc/passwd", "<img src=x>", "x" * 5000, "' OR 1=1"])
def test_a_snapshot_in_a_link_is_compared_and_never_a_path(store, value):
    app = open_page("about", tab="data", snapshot=value)
    assert len(app.warning) == 1
    assert shown(app) == Reader(current_file(store)).snapshot_id


@pytest.fixture
def other_code(monkeypatch):
    """From here on this program is one whose formulas have changed."""
    yield lambda: (monkeypatch.setattr(evaluator, "source_hash", lambda: "changed"), evaluator.evaluator_id.cache_clear())
    evaluator.evaluator_id.cache_clear()


@pytest.mark.slow
def test_results_of_other_code_are_published_again_when_a_page_is_opened(store, other_code):
    first = Reader(current_file(store)).snapshot_id
    other_code()
    app = open_page("about", tab="data")
    assert not app.warning
    assert shown(app) == Reader(current_file(store)).snapshot_id != first
    assert Reader(current_file(store)).evaluator == evaluator.evaluator_id()
    before = current_file(store).stat().st_mtime_ns
    open_page("overview")
    assert current_file(store).stat().st_mtime_ns == before


def test_where_they_cannot_be_published_again_a_page_says_so_and_shows_the_old_ones(store, other_code):
    first = Reader(current_file(store)).snapshot_id
    other_code()
    with only_writer(store):
        app = open_page("about", tab="data")
    assert shown(app) == first
    assert "Another version of this program evaluated these results" in app.warning[0].value
    assert "is writing to the store" in app.warning[0].value
    (store / "manifest.jsonl").unlink()
    app = open_page("about", tab="data")
    assert shown(app) == first
    assert "its shards are not in" in app.warning[0].value


def test_a_query_is_asked_once_and_told_apart_by_everything_it_depends_on(demo):
    asked = []

    def counted(results: Reader, *arguments: object, **named: object) -> int:
        asked.append((arguments, named))
        return len(asked)

    first = query(demo, counted, Filter(("a",)), "1")
    assert query(demo, counted, Filter(("a",)), "1") == first
    others = [
        query(demo, counted, Filter(("b",)), "1"),
        query(demo, counted, Filter(("a",)), 1),
        query(demo, counted, Filter(("a",)), k="1"),
        query(demo, counted, Filter(("a",)), part="1"),
    ]
    assert len({first, *others}) == len(asked) == 5


def test_a_query_of_the_reader_gives_what_the_reader_gives(demo):
    chosen = Filter(regime=("mixed",))
    assert query(demo, Reader.instance_ids, chosen) == demo.instance_ids(chosen)
    assert query(demo, Reader.cells, chosen, "mrr", k=0).equals(demo.cells(chosen, "mrr", 0))
