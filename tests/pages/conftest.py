"""A few cells of the demo results, as a reader and as what pages show; and a store whose groups are small."""

import pytest

from tests.pages import golden


@pytest.fixture(scope="session")
def made_up(tmp_path_factory):
    """A small published store, of which tests that change it take a copy."""
    return golden.made_up(tmp_path_factory.mktemp("made-up"))


@pytest.fixture
def own_store(store, monkeypatch):
    """Pages show the store that the file of tests has."""
    monkeypatch.setenv("HEVAL_STORE", str(store.path.parent))


@pytest.fixture
def demo(few, monkeypatch):
    monkeypatch.setenv("HEVAL_STORE", str(few.path.parent))
    return few
