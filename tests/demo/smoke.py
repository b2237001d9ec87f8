"""A smoke training, as the command line runs it."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from tests.conftest import ROOT


def trained(out: Path, *architectures: str) -> None:
    """Folders of models that were trained for a moment. out: also where the models are that some go on from."""
    command = [sys.executable, *f"-m demo train --smoke --threads 1 --out {out} --architectures".split(), *architectures]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr[-2000:]
