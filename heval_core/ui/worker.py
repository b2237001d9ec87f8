"""The explorer's side of the worker process: start it, ask it, take it down; browsing never waits for it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import streamlit as st

from heval_core.records import HEvalError
from heval_core.ui.results import ROOT


@dataclass
class Worker:
    """One worker process for the whole server; a lock lets one request in at a time."""

    lock: threading.Lock = field(default_factory=threading.Lock)
    process: subprocess.Popen[str] | None = None

    def ask(self, request: dict[str, Any], progress: Callable[[str], None] = lambda text: None) -> Any:
        """Send one request and wait for its result.

        Raises HEvalError with the worker's message, or where the worker is busy or died (it is started afresh then).
        """
        if not self.lock.acquire(timeout=60):
            raise HEvalError("The worker is busy with another request; try again in a moment.")
        try:
            return self._converse(request, progress)
        finally:
            self.lock.release()

    def _converse(self, request: dict[str, Any], progress: Callable[[str], None]) -> Any:
        process = self._running()
        assert process.stdin is not None
        assert process.stdout is not None
        try:
            process.stdin.write(json.dumps(request) + "\n")
            process.stdin.flush()
            for line in process.stdout:
                answer = json.loads(line)
                if "progress" in answer:
                    progress(answer["progress"])
                elif "error" in answer:
                    raise HEvalError(answer["error"])
                else:
                    return answer["result"]
        except (BrokenPipeError, json.JSONDecodeError):
            pass
        except BaseException:
            # The page was left in the middle of an answer: what is still to come must not meet the next request.
            if not isinstance(sys.exc_info()[1], HEvalError):
                self.stop()
            raise
        self.stop()
        raise HEvalError("The worker process ended before it answered; it starts afresh with the next request.")

    def _running(self) -> subprocess.Popen[str]:
        if self.process is None or self.process.poll() is not None:
            self.process = subprocess.Popen(
                [sys.executable, "-m", "heval_core.serve"],
                cwd=ROOT,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                text=True,
                env={**os.environ, "TOKENIZERS_PARALLELISM": "false"},
            )
        return self.process

    def stop(self) -> None:
        if self.process is not None:
            self.process.kill()
            self.process.wait()
            self.process = None


@st.cache_resource(show_spinner=False)
def worker() -> Worker:
    return Worker()


def installed_models() -> dict[str, Path]:
    """The models that may be asked, by key: the demo's, and the folders in `HEVAL_MODELS` (separated like PATH)."""
    folders = sorted((ROOT / "cache" / "demo" / "models").glob("*/config.json"))
    found = {config.parent.name: config.parent for config in folders}
    for name in filter(None, os.environ.get("HEVAL_MODELS", "").split(os.pathsep)):
        found[Path(name).name] = Path(name)
    return found
