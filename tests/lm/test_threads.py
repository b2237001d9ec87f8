"""Threads of torch that wait leave their core to others, unless somebody said otherwise: told before torch is loaded."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from tests.conftest import ROOT

# Ends where torch would be loaded, and prints what its threads would be told.
BEFORE_TORCH = """
import os, sys
class Ends:
    def find_spec(self, name, *rest):
        if name == "torch":
            print(os.environ.get("OMP_WAIT_POLICY"), os.environ.get("GOMP_SPINCOUNT"), flush=True)
            os._exit(0)
sys.meta_path.insert(0, Ends())
"""
ENTRIES = {
    "a notebook": "from heval_core import explain", "the page's worker": "import heval_core.prompt_service.child",
    "the command line": "import precompute.cli", "a batch": "import precompute.run",
    "a worker of Ray": "import precompute.worker", "the demo": "import demo.__main__",
    "the benchmarks": "import benchmarks.__main__", "the tests": "import tests.conftest",
}  # fmt: skip


def told(code: str, **said: str) -> subprocess.CompletedProcess:
    """A program in a process of its own. said: what its environment says of threads that wait."""
    silent = {name: value for name, value in os.environ.items() if name not in {"OMP_WAIT_POLICY", "GOMP_SPINCOUNT"}}
    command = [sys.executable, "-c", f"{code}\nimport torch"]
    return subprocess.run(command, cwd=ROOT, env=silent | said, capture_output=True, text=True, check=True)


@pytest.mark.parametrize("entry", ENTRIES)
def test_every_entry_tells_threads_to_wait_passively_before_it_loads_torch(entry):
    assert told(BEFORE_TORCH + ENTRIES[entry]).stdout == "PASSIVE 0\n"


@pytest.mark.parametrize(("name", "kept"), [("OMP_WAIT_POLICY", "own None\n"), ("GOMP_SPINCOUNT", "None own\n")])
def test_who_says_otherwise_is_heard(name, kept):
    assert told(BEFORE_TORCH + ENTRIES["a notebook"], **{name: "own"}).stdout == kept


def test_torchs_threads_hear_it_though_the_process_has_begun():
    shown = told("import heval_core", OMP_DISPLAY_ENV="VERBOSE").stderr
    if "GOMP_SPINCOUNT" not in shown:
        pytest.skip("torch's OpenMP is not GNU's here")
    assert "GOMP_SPINCOUNT = '0'" in shown
