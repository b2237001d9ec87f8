"""Results that other code evaluated: noticing them, and publishing them again from their shards where that can be done."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path

from heval_core.evaluation import evaluator
from heval_core.evaluation.publishing import publish
from heval_core.records import HEvalError
from heval_core.store.lock import holder
from heval_core.store.shards import POINTER, PUBLISHED_FORMAT


def is_outdated(folder: Path) -> bool:
    """Whether what is published in a folder was evaluated by other code, or has another format; False where nothing is."""
    pointer = folder / POINTER
    try:
        line = json.loads(pointer.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return False  # nothing published, or damaged: who reads the results says so
    now = (PUBLISHED_FORMAT, evaluator.evaluator_id())
    return not isinstance(line, dict) or (line.get("format"), line.get("evaluator")) != now


def obstacle(source: Path, target: Path) -> str | None:
    """Why the shards of `source` cannot be published into `target` now, as half a sentence; None where they can."""
    if not (source / "manifest.jsonl").is_file():
        return f"its shards are not in {source}"
    process = holder(source)
    if process is not None:
        return f"a run (process {process}) holds the store {source}"
    there = next(folder for folder in (target, *target.parents) if folder.exists())
    if not os.access(there, os.W_OK):
        return f"the folder {target} cannot be written"
    return None


def renew(source: Path, target: Path, bundled: bool, progress: Callable[[str], None] = lambda _: None) -> str | None:
    """Publish again. Returns why that could not be done, as half a sentence; None where it was."""
    why = obstacle(source, target)
    if why is None:
        try:
            publish(source, target, bundled, progress)
        except HEvalError as error:
            return str(error).rstrip(".")
        except OSError as error:
            return f"the folder {target} cannot be written ({error.strerror})"
    return why


def told(folder: Path, why: str) -> str:
    """The sentence for a page, of results that stay as they are."""
    return (
        f"These results were evaluated by other code than this program's, and could not be published again: {why}. "
        "What is computed live may differ from what is stored; to mend it: python -m precompute publish "
        f"--store {folder}."
    )
