"""What no library may do in a test is met, also where the library goes on in silence."""

import socket
import subprocess
import sys

import pytest

from tests import guard


def of_a_library(code):
    """Runs code that says it comes from a package."""
    exec(compile(code, "/somewhere/site-packages/library/it.py", "exec"), {})


@pytest.mark.parametrize("code", [
    "import subprocess, sys; subprocess.check_call([sys.executable, '-m', 'pip', '--version'])",
    "import os; os.system('true')",
    "import socket; socket.getaddrinfo('huggingface.co', 443)",
    "import socket; socket.create_connection(('192.0.2.1', 443), 1)",
])  # fmt: skip
def test_a_library_that_starts_or_fetches_something_is_met(code):
    of_a_library(f"try:\n    {code}\nexcept OSError:\n    pass")
    assert len(guard.met) == 1
    guard.met.clear()


def test_what_is_meant_is_let_through():
    assert subprocess.run([sys.executable, "-c", ""]).returncode == 0
    with socket.create_server(("127.0.0.1", 0)) as server, socket.create_connection(server.getsockname()):
        pass
