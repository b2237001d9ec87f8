"""A few cells of the demo results, as a reader and as what pages show; and a store whose groups are small."""

import pytest

from heval_core.ui import links, marks, own_requests
from tests.pages import golden
from tests.pages.whole_answers import over


@pytest.fixture(scope="session")
def made_up(tmp_path_factory):
    """A small published store, of which tests that change it take a copy."""
    return golden.made_up(tmp_path_factory.mktemp("made-up"))


@pytest.fixture
def own_store(store, monkeypatch):
    """Pages show the store that the file of tests has."""
    monkeypatch.setenv("HEVAL_STORE", str(store.path.parent))


@pytest.fixture
def sent(monkeypatch):
    """The requests that the form's button sends, none of which is carried out."""
    requests: list[dict] = []
    monkeypatch.setattr(own_requests, "_requests", {})
    monkeypatch.setattr(own_requests, "begin", lambda request, **how: requests.append(request) or over())
    monkeypatch.setattr(links, "component", lambda *drawn: None)
    return requests


@pytest.fixture
def figures(monkeypatch):
    """By its key what was drawn last of a figure of marks, which AppTest does not see: its parts, and the picked mark."""
    drawn = {}

    def component(name, key, data, picked):
        drawn[key] = [part.figure for part in data["html"]], data["picked"]

    monkeypatch.setattr(marks, "as_html", lambda *parts: parts)
    monkeypatch.setattr(marks, "component", component)
    return drawn


@pytest.fixture
def demo(few, monkeypatch):
    monkeypatch.setenv("HEVAL_STORE", str(few.path.parent))
    return few


@pytest.fixture
def gallery(tmp_path, monkeypatch):
    """An empty folder of one's own answers, and no request."""
    monkeypatch.setenv("HEVAL_ANSWERS", str(tmp_path / "answers"))
    monkeypatch.setenv("HEVAL_TRACES", str(tmp_path / "traces"))
    monkeypatch.setattr(own_requests, "_requests", {})
    return tmp_path / "answers"
