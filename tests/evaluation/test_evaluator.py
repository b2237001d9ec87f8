"""A snapshot says what evaluated it; a formula that has changed is computed again, and one that has not is not."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from heval_core import catalogue
from heval_core.evaluation import evaluator
from heval_core.evaluation.publishing import is_outdated, obstacle, renew
from heval_core.store.progress import only_writer
from heval_core.store.published import current_file
from heval_core.store.reader import Reader
from precompute.cli import main
from tests.conftest import ROOT
from tests.planted import marking, plant, published

PACKAGE = ROOT / "heval_core"


@pytest.fixture(scope="module")
def first(tmp_path_factory):
    folder = tmp_path_factory.mktemp("evaluated")
    plant(folder, marking(lambda *_: 0.5), regimes=("conflicting",), explainers=("fa",), count=70)
    published(folder)
    return folder


@pytest.fixture
def store(first, tmp_path):
    return shutil.copytree(first, tmp_path / "store")


def other_code(monkeypatch):
    monkeypatch.setattr(evaluator, "source_hash", lambda: "a formula has changed")
    evaluator.evaluator_id.cache_clear()


@pytest.fixture(autouse=True)
def forget():
    yield
    evaluator.evaluator_id.cache_clear()


EVALUATES = """
import sys
from heval_core import catalogue
from heval_core.evaluation import live, publishing
[catalogue.plugins(kind) for kind in ("metric", "explainer")]
print(*(module.__file__ for name, module in sys.modules.items() if name.split(".")[0] == "heval_core"), sep="\\n")
"""


def test_what_evaluation_has_imported_is_in_the_hash_and_nothing_else():
    done = subprocess.run([sys.executable, "-c", EVALUATES], cwd=ROOT, capture_output=True, text=True, timeout=60)
    imported = {Path(line) for line in done.stdout.split()}
    assert len(imported) > 100, done.stderr[-2000:]
    assert set(evaluator.sources()) == imported | {PACKAGE / "store" / "schema.sql"}


def test_the_snapshot_names_its_evaluator_and_nothing_is_published_again_where_it_is_the_same(store):
    path = current_file(store)
    reader = Reader(path)
    assert reader.evaluator == evaluator.evaluator_id()
    assert not is_outdated(store)
    before = path.stat().st_mtime_ns
    assert renew(store, store, bundled=False) is None
    assert current_file(store) == path
    assert path.stat().st_mtime_ns == before


@pytest.mark.slow
def test_other_code_gives_another_snapshot_of_the_same_shards(store, monkeypatch):
    path = current_file(store)
    other_code(monkeypatch)
    assert is_outdated(store)
    assert renew(store, store, bundled=False) is None
    again = current_file(store)
    assert again != path
    assert path.is_file()  # a tab that is open stays on it
    assert not is_outdated(store)


@pytest.mark.parametrize("what", ["settings", "versions"])
def test_settings_and_libraries_are_part_of_it(monkeypatch, what):
    before = evaluator.evaluator_id()
    evaluator.evaluator_id.cache_clear()
    if what == "versions":
        monkeypatch.setattr(evaluator, "version", lambda name: "0")
    else:
        known = catalogue.plugins
        other = {"mrr": catalogue.find("metric", "mrr(drop_first=1)")}
        monkeypatch.setattr(catalogue, "plugins", lambda kind: known(kind) | (other if kind == "metric" else {}))
    assert evaluator.evaluator_id() != before


def test_why_it_cannot_be_published_again_is_said(store, monkeypatch):
    path = current_file(store)
    other_code(monkeypatch)
    with only_writer(store):
        assert f"a run (process {os.getpid()}) is writing to the store" in (renew(store, store, bundled=False) or "")
    monkeypatch.setattr(os, "access", lambda *asked: False)
    assert "cannot be written" in (obstacle(store, store) or "")
    monkeypatch.undo()
    (store / "manifest.jsonl").unlink()
    assert "its shards are not in" in (renew(store, store, bundled=False) or "")
    assert current_file(store) == path


@pytest.mark.parametrize("command", ["status", "verify"])
def test_the_command_line_says_it_too(store, monkeypatch, capsys, command):
    said = "another version of this program evaluated the published results"
    assert main([command, "--store", str(store)]) == 0
    assert said not in capsys.readouterr().out
    other_code(monkeypatch)
    assert main([command, "--store", str(store)]) == 0
    assert f"{said}; run: python -m precompute publish --store {store}" in capsys.readouterr().out


PUBLISH = """
import sys
from pathlib import Path
from heval_core.evaluation import live
from heval_core.store.filters import Filter
from heval_core.store.published import current_file
from heval_core.store.reader import Reader
from heval_core.evaluation.publishing import is_outdated, renew
folder = Path(sys.argv[1])
outdated, why = is_outdated(folder), renew(folder, folder, bundled=False)
results = Reader(current_file(folder))
stored, now = results.cells(Filter(), "mrr", 0), live.cells_of(results, Filter(), "mrr", 0)
print(outdated, why, results.evaluator, *stored["value"], "|", *now["value"], "|", results.path)
"""


def run_copy(package: Path, folder: Path) -> tuple[list[str], np.ndarray, np.ndarray, str]:
    environment = os.environ | {"PYTHONPATH": str(package), "PYTHONDONTWRITEBYTECODE": "1"}
    done = subprocess.run(
        [sys.executable, "-c", PUBLISH, str(folder)], cwd=package, env=environment, capture_output=True, text=True, timeout=180
    )
    assert done.returncode == 0, done.stderr[-2000:]
    first, live, path = done.stdout.strip().split("|")
    words = first.split()
    return words[:3], np.array(words[3:], dtype=float), np.array(live.split(), dtype=float), path.strip()


@pytest.mark.slow
def test_an_edited_formula_is_published_again_and_live_values_agree(store, tmp_path):
    package = tmp_path / "copy"
    shutil.copytree(PACKAGE, package / "heval_core", ignore=shutil.ignore_patterns("__pycache__"))
    (outdated, why, one), stored, live, path = run_copy(package, store)
    assert (outdated, why, one) == ("False", "None", evaluator.evaluator_id())
    np.testing.assert_allclose(stored, live, rtol=1e-6)
    assert path == str(current_file(store))
    formula = package / "heval_core" / "metrics" / "shared" / "ranks.py"
    formula.write_text(
        formula.read_text() + "\n\n_whole = reciprocals\n\n\ndef reciprocals(*given):\n    return _whole(*given) / 2\n"
    )
    (outdated, why, other), halved, live, path_of_halved = run_copy(package, store)
    assert (outdated, why) == ("True", "None")
    assert other != one
    assert path_of_halved != path
    np.testing.assert_allclose(halved, live, rtol=1e-6)
    np.testing.assert_allclose(halved, stored / 2, rtol=1e-6)
