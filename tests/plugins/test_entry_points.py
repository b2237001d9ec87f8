"""Plug-ins of other packages, which name them as entry points: here of packages that are a folder on the path."""

from __future__ import annotations

import importlib
import re
import subprocess
import sys

import pytest

from heval_core.figures import palette
from heval_core.plugins import catalogue
from heval_core.records import HEvalError
from tests.conftest import ROOT
from tests.test_contributing import ANNOTATOR, DATASET, EXPLAINER, TECHNIQUE

KEY = 'key = "saliency"'
TOY = EXPLAINER.replace(KEY, 'key = "toy"')


@pytest.fixture
def installed(tmp_path, monkeypatch):
    """A function: install a package with one module and one entry point, and read all plug-ins again."""

    def forget():
        for cached in (catalogue._read, catalogue.find):
            cached.cache_clear()

    def install(name, text, group="heval.explainers", version="1.0"):
        (tmp_path / f"{name}.py").write_text(text)
        about = tmp_path / f"{name}-{version}.dist-info"
        about.mkdir(exist_ok=True)
        (about / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n")
        (about / "entry_points.txt").write_text(f"[{group}]\n{name} = {name}:PLUGIN\n")
        sys.modules.pop(name, None)
        importlib.invalidate_caches()
        forget()

    monkeypatch.syspath_prepend(tmp_path)
    yield install
    monkeypatch.undo()
    importlib.invalidate_caches()
    forget()


def test_an_explainer_of_another_package_is_offered_and_its_shards_depend_on_its_code(installed):
    own = catalogue.built_in("explainer")
    installed("toy", TOY)
    toy = catalogue.find("explainer", "toy")
    assert catalogue.explainers()["toy"] is toy
    assert catalogue.built_in("explainer").keys() == own.keys()
    assert palette.look("toy") not in {palette.look(key) for key in own}  # as that of any that is no part of this program
    before = catalogue.identity("explainer", toy)
    assert before.startswith(f"{toy!r} from toy 1.0 ")
    installed("toy", TOY + "\n# changed\n")
    assert catalogue.identity("explainer", catalogue.find("explainer", "toy")) not in {before, repr(toy)}
    assert catalogue.identity("explainer", catalogue.find("explainer", "fa")) == repr(catalogue.find("explainer", "fa"))


@pytest.mark.parametrize(("kind", "text"), [("dataset", DATASET), ("technique", TECHNIQUE), ("annotator", ANNOTATOR)])
def test_every_kind_has_a_group_of_its_own(kind, text, installed):
    before = {*catalogue.plugins(kind)}
    installed("theirs", re.sub(r'key = "\w+"', 'key = "theirs"', text), catalogue.group_of(kind))
    (new,) = {*catalogue.plugins(kind)} - before
    assert " from theirs 1.0 " in catalogue.identity(kind, catalogue.find(kind, new))


def test_the_groups_are_as_promised():
    kinds = ("explainers", "datasets", "metrics", "techniques", "annotators", "claims", "selectors")
    assert {catalogue.group_of(kind) for kind in catalogue.KINDS} == {f"heval.{name}" for name in kinds}


@pytest.mark.parametrize(("text", "told"), [
    ("import nosuch", "ModuleNotFoundError: No module named 'nosuch'"), ("x = 1", "AttributeError: .* no attribute 'PLUGIN'"),
    (re.sub(r"    order = \d+\n", "", TOY), "PLUGIN lacks order"),
])  # fmt: skip
def test_one_that_is_broken_is_named_with_its_package_and_costs_only_itself(text, told, installed, caplog):
    others = [*catalogue.plugins("explainer")]
    installed("toy", text)
    assert [*catalogue.plugins("explainer")] == others
    with pytest.raises(HEvalError, match=f"toy:PLUGIN of toy 1.0 cannot be used: {told}") as refused:
        catalogue.find("explainer", "toy")
    assert caplog.records[0].getMessage() in str(refused.value)


@pytest.mark.parametrize(("key", "other"), [("", "heval_core/explainers/"), ("toy", "second:PLUGIN of second 1.0")])
def test_two_with_one_key_are_refused_by_both_names(key, other, installed):
    key = key or next(iter(catalogue.built_in("explainer")))
    text = EXPLAINER.replace(KEY, f'key = "{key}"')
    installed("second", text)
    installed("toy", text) if key == "toy" else None
    others = {*catalogue.plugins("explainer")}
    with pytest.raises(HEvalError, match=f"have the same key '{key}'; none of them is used") as refused:
        catalogue.find("explainer", key)
    assert other in str(refused.value)
    assert "second:PLUGIN of second 1.0" in str(refused.value)
    assert key not in others


@pytest.mark.slow
def test_another_process_and_the_batch_find_it_too(installed, tmp_path):
    installed("toy", TOY)
    command = f"run --grid smoke --limit 2 --regimes conflicting --explainers toy --store {tmp_path / 'store'}"
    there = {"PYTHONPATH": str(tmp_path), "HF_HUB_OFFLINE": "1"}
    whole = [sys.executable, "-m", "precompute", *command.split()]
    done = subprocess.run(whole, cwd=ROOT, env=there, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    assert "toy" in (tmp_path / "store" / "manifest.jsonl").read_text()
