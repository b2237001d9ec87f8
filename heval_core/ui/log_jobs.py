"""Logs that are traced for a page: the batch's own command, as a job of its own, which goes on when page and explorer end."""

from __future__ import annotations

import hashlib
import os
import re
import signal
import subprocess
import sys
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

from heval_core.folders import ROOT, traces_folder
from heval_core.logs.traced_log import ABOUT, ROWS, LogAbout, TracedLog
from heval_core.records import HEvalError
from heval_core.store.progress import holder

# Uploads, and what the command prints, in the log's folder.
_MESSAGES, _UPLOAD = "job.txt", "upload"
_NAME = re.compile(r"[\w.-]{1,100}")
# Jobs of this server, by their folder: until one holds its store only this tells that it runs.
_jobs: dict[Path, subprocess.Popen[bytes]] = {}


def folder_of(name: str) -> Path | None:
    """Return the folder of a log by its name; None for what is no name. It need not be there."""
    return traces_folder() / name if _NAME.fullmatch(name) and name.strip(".") else None


def traced_logs() -> list[tuple[str, LogAbout]]:
    """Return the logs that are here, the newest first."""
    files = sorted(traces_folder().glob(f"*/{ABOUT}"), key=lambda file: file.stat().st_mtime_ns, reverse=True)
    logs = list[tuple[str, LogAbout]]()
    for file in files:
        with suppress(HEvalError):  # somebody's own folder
            logs.append((file.parent.name, TracedLog(file.parent).about))
    return logs


def uploaded(name: str, content: bytes) -> Path:
    """Write a log that was dropped on the page, in a folder of its content. Raises HEvalError for a full disk."""
    safe = re.sub(r"[^\w.-]", "_", name)[-80:].lstrip(".") or "log.jsonl"
    path = traces_folder() / f"{safe}-{hashlib.sha256(content).hexdigest()[:8]}" / _UPLOAD / safe
    if path.is_file():
        return path
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        (temporary := path.with_name(f"{safe}.tmp")).write_bytes(content)
        temporary.replace(path)
    except OSError as error:
        raise HEvalError(f"The log cannot be written to {path.parent}: {error.strerror}.") from error
    return path


def folder_with(log: Path) -> Path:
    """Return the folder in which a log that was dropped is traced."""
    return log.parent.parent


def begin(log: Path, options: Sequence[str]) -> None:
    """Trace a log that was dropped, unless it is being traced. options: of the command."""
    folder = folder_with(log)
    if running(folder):
        return
    command = [sys.executable, "-m", "precompute", "trace", str(log), f"--store={folder}", *options]
    with (folder / _MESSAGES).open("wb") as messages:
        _jobs[folder] = subprocess.Popen(
            command, cwd=ROOT, stdout=messages, stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL, start_new_session=True,
            env={**os.environ, "HF_HUB_OFFLINE": "1"},  # a page fetches nothing
        )  # fmt: skip


def running(folder: Path) -> bool:
    """Return whether a log is being traced, by whoever."""
    job = _jobs.get(folder)
    return (job is not None and job.poll() is None) or holder(folder) is not None


def stop(folder: Path) -> None:
    """End the job of a log; what is read is kept."""
    process, job = holder(folder), _jobs.get(folder)
    number = int(process) if process and process.isdigit() else job.pid if job is not None and job.poll() is None else None
    if number is not None:
        with suppress(ProcessLookupError, PermissionError):
            os.kill(number, signal.SIGTERM)


def messages(folder: Path) -> list[str]:
    """Return what the command printed, line by line."""
    try:
        return (folder / _MESSAGES).read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return []


def trouble(folder: Path) -> str:
    """Return why a log was not traced to its end; "" where it was."""
    last = (messages(folder) or [""])[-1]
    if last.startswith("error: "):
        return last.removeprefix("error: ")
    return "" if (folder / f"{ROWS}.parquet").is_file() else last or "It was not traced to its end."
