"""Plug-ins that somebody is writing: a file that offers none is named with its reason, and costs only itself."""

from __future__ import annotations

import importlib
import os
import re
import shutil
import subprocess
import sys

import pytest

from heval_core.figures import palette
from heval_core.plugins import catalogue
from heval_core.records import HEvalError
from tests.conftest import ROOT
from tests.test_contributing import EXPLAINER

KEY, (ORDER,) = 'key = "saliency"', re.findall(r"order = \d+", EXPLAINER)
# What stands in a file beside the others, and what is said of it.
FAULTS = {
    "(": r"SyntaxError: '\(' was never closed",
    "import nosuch": "ModuleNotFoundError: No module named 'nosuch'",
    "from heval_core import nosuch": "ImportError: cannot import name 'nosuch'",
    "raise SystemExit(3)": "SystemExit: 3",
    "x = 1": "PLUGIN is not there",
    EXPLAINER.replace("PLUGIN = Saliency()", "PLUGIN = Saliency"): "PLUGIN is no instance of a frozen",
    EXPLAINER.replace(f"    {ORDER}\n", ""): "PLUGIN lacks order; heval_core/plugins/protocols.py says",
    EXPLAINER.replace(ORDER, "order = '7'"): "PLUGIN has the order '7', which is no int",
    EXPLAINER.replace("def scored", "def score"): "NotImplementedError: it has neither `scored` nor `explain`",
}


@pytest.fixture
def beside(tmp_path, monkeypatch):
    """A function: read a kind's plug-ins with files more; name ▶ text."""

    def read(kind, **files):
        package = importlib.import_module(f"heval_core.{catalogue.KINDS[kind]}")
        monkeypatch.setattr(package, "__path__", [*package.__path__, str(tmp_path)])
        for name, text in files.items():
            (tmp_path / f"{name}.py").write_text(text)
            monkeypatch.delitem(sys.modules, f"{package.__name__}.{name}", raising=False)
        for cached in (catalogue._read, catalogue.find):
            cached.cache_clear()
        importlib.invalidate_caches()
        return catalogue.plugins(kind)

    yield read
    monkeypatch.undo()
    catalogue._read.cache_clear()
    catalogue.find.cache_clear()


@pytest.mark.parametrize(("text", "told"), FAULTS.items(), ids=FAULTS.values())
def test_a_file_that_offers_no_explainer_is_named_and_the_others_are_there(text, told, beside, caplog):
    others = [*catalogue.plugins("explainer")]
    assert [*beside("explainer", mine=text.replace(KEY, 'key = "mine"'))] == others
    (said,) = [record.getMessage() for record in caplog.records]
    for key in ("mine", "mined"):  # whoever asks for it is told, also by a key that is not the file's name
        with pytest.raises(HEvalError, match=f"heval_core/explainers/mine.py cannot be used: {told}") as refused:
            catalogue.find("explainer", key)
        assert said in str(refused.value)
    assert all(palette.look(key) == palette.look_of_method(own.order) for key, own in catalogue.explainers().items())


@pytest.mark.parametrize("kind", catalogue.KINDS)
def test_two_files_with_one_key_are_refused_by_both_names_whatever_their_kind(kind, beside):
    key, plugin = next(iter(catalogue.plugins(kind).items()))
    module = sys.modules[type(plugin).__module__].__name__
    others = [*catalogue.plugins(kind)][1:]
    assert [*beside(kind, zz=f"from {module} import PLUGIN")] == others
    folder = f"heval_core/{catalogue.KINDS[kind].replace('.', '/')}"
    files = f"{module.replace('.', '/')}.py and {folder}/zz.py have the same key '{key}'"
    with pytest.raises(HEvalError, match=files):
        catalogue.find(kind, key)
    assert kind == "metric" or catalogue.find(kind, others[0])


@pytest.mark.slow
def test_all_commands_and_pages_work_beside_half_written_plugins(tmp_path, model_folders):
    """A file of every kind, in a copy of the project; what needs none of them does as before, and says so."""
    for folder in ("heval_core", "precompute", "pages", ".streamlit", "tests"):
        shutil.copytree(ROOT / folder, tmp_path / folder, ignore=shutil.ignore_patterns("golden"))
    shutil.copy(ROOT / "app.py", tmp_path)
    (tmp_path / "cache").symlink_to(ROOT / "cache")
    for folder in catalogue.KINDS.values():
        (tmp_path / "heval_core" / folder.replace(".", "/") / "half.py").write_text("def half(:\n")
    store = tmp_path / "store"
    shards = f"--models {model_folders['gpt2']} --datasets world_capital --regimes conflicting --limit 2 --store {store}"
    ask = f"explain --model {model_folders['gpt2']} --question Why? --context a."
    ends = {
        f"run {shards} --explainers attn": 0, f"status --store {store}": 0, f"{ask} --explainers attn": 0,
        f"{ask} --explainers half": 2, f"plan {shards} --techniques half": 2, f"publish --store {store}": 0,
    }  # fmt: skip
    code = f"""
from precompute.cli import main
from tests.pages.opening import open_page
assert {{text: main(text.split()) for text in {list(ends)}}} == {ends}
assert not open_page("leaderboard").exception
"""
    environment = {**os.environ, "HEVAL_STORE": str(store)}  # without it the page publishes all bundled results first
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=300
    )
    assert done.returncode == 0, done.stderr
    assert "half.py" not in done.stdout
    for kind in ("explainer", "metric", "technique", "dataset"):
        file = f"heval_core/{catalogue.KINDS[kind]}/half.py"
        assert f"{file} cannot be used: SyntaxError: invalid syntax (half.py, line 1)." in done.stderr.splitlines()
    assert "error: heval_core/explainers/half.py cannot be used" in done.stderr
    assert "error: heval_core/techniques/half.py cannot be used" in done.stderr
