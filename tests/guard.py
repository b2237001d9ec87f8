"""Fails a test in which a library starts a process, or asks another machine for something, on its own account.

What this project's own code starts is meant (the prompts' worker, git, servers of tests), and so is this machine itself. The
call is refused, and told at the test's end too: libraries go on in silence where such a call fails.
"""

from __future__ import annotations

import ipaddress
import sys
import sysconfig
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

ROOT = str(Path(__file__).parent.parent)
STDLIB = (sysconfig.get_path("stdlib"), "<")  # and what is made in memory
STARTS = ("subprocess.Popen", "os.system", "os.exec", "os.posix_spawn", "os.spawn")
CALLS = ("socket.connect", "socket.getaddrinfo")
# Whoever uses these libraries means the processes that they start; captum brings matplotlib, which asks fc-list once, in a new
# home, which fonts are here.
MEANT = ("execnet", "matplotlib", "playwright", "ray", "xdist")
met: list[str] = []


def _is_here(host: Any) -> bool:
    """Whether a name or a number is this machine's."""
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host in (None, "", "localhost")


def _is_meant(event: str, details: tuple[Any, ...]) -> bool:
    if event in CALLS:
        address = details[1] if event == "socket.connect" else details
        return not isinstance(address, tuple) or _is_here(address[0])  # else the path of a file
    if details[0] == "uname":  # Python's own `platform` asks it what this machine is
        return True
    frame = sys._getframe(1)
    while frame := frame.f_back:
        file = frame.f_code.co_filename
        library = file.rpartition("-packages/")[2].partition("/")[0]
        if library in MEANT or (file != __file__ and not file.startswith(STDLIB)):
            return library in MEANT or (file.startswith(ROOT) and "-packages/" not in file)
    return False


def _watch(event: str, details: tuple[Any, ...]) -> None:
    if event in (*STARTS, *CALLS) and not _is_meant(event, details):
        met.append(f"{event}{details[:2]}")
        raise PermissionError(f"A library does this on its own account: {met[-1]}")


sys.addaudithook(_watch)


@pytest.fixture(autouse=True)
def guarded() -> Iterator[None]:
    """Every test ends with nothing met."""
    met.clear()
    yield
    assert not met, f"A library does this on its own account: {'; '.join(met)}"
