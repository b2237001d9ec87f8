"""A smoke training, as the command line runs it: folders that load, and cards that say what was measured."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from demo import entailment
from demo.lengthened import POSITIONS
from heval_core.lm.loading import load
from heval_core.lm.needs import require
from tests.conftest import ROOT

pytestmark = pytest.mark.demo


def trained(out: Path, *architectures: str) -> None:
    """Folders of models that were trained for a moment. out: also where the models are that some go on from."""
    command = [sys.executable, *f"-m demo train --smoke --threads 1 --out {out} --architectures".split(), *architectures]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr[-2000:]


def card(folder: Path) -> str:
    return (folder / "README.md").read_text(encoding="utf-8")


MEASURED = {
    "gpt_neox": ("Recall without context",),
    "instruct": ("| use only the context: conflicting |", "| qa-12 |"),
    "qwen2-long": ("| country_profiles | mixed.2048-last |", "| world_capital | double_conflicting.d3 |"),
}


@pytest.mark.parametrize("name", MEASURED)
def test_a_model_loads_and_its_card_says_what_was_measured(tmp_path, model_folders, name):
    shutil.copytree(model_folders["qwen2"], tmp_path / "demo-qwen2")
    trained(tmp_path, name)
    lm = load(str(tmp_path / f"demo-{name}"), "cpu")
    assert lm.style == "taught_sources"
    require(lm, ("instructions",) if name == "instruct" else ())
    assert lm.positions == POSITIONS or name != "qwen2-long"
    assert all(said in card(tmp_path / f"demo-{name}") for said in MEASURED[name])


def test_what_writes_and_what_reads_citations_load(tmp_path):
    trained(tmp_path, "qwen2", "writer", "nli")
    assert sum(map(sum, entailment.confusion(*entailment.load(tmp_path / "demo-nli"), 9))) == 9
    assert "## Measured" in card(tmp_path / "demo-writer")
