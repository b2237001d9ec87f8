"""Publishes again what another version of the code evaluated; in a process of its own for a program that must stay quick.

`python -m heval_core.evaluation.publisher SOURCE TARGET [bundled]` writes how far it is as JSON lines, and at the end why it
was not possible, if it was not. It ends with the program that started it.
"""

from __future__ import annotations

import json
import logging
import os
import subprocess
import sys
import tempfile
import threading
from pathlib import Path

from heval_core.evaluation import evaluator
from heval_core.evaluation.publishing import Tell, Told, publish, silent
from heval_core.records import HEvalError
from heval_core.store.lock import holder
from heval_core.store.shards import POINTER, PUBLISHED_FORMAT

_ROOT = Path(__file__).resolve().parent.parent.parent
_log = logging.getLogger("heval")


def is_outdated(folder: Path) -> bool:
    """Whether a folder's published results were evaluated by other code, or have another format; False if there are none."""
    pointer = folder / POINTER
    try:
        line = json.loads(pointer.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return False  # nothing published, or damaged: reading the results reports that
    now = (PUBLISHED_FORMAT, evaluator.evaluator_id())
    return not isinstance(line, dict) or (line.get("format"), line.get("evaluator")) != now


def obstacle(source: Path, target: Path) -> str | None:
    """Why the shards of `source` cannot be published into `target` now, as half a sentence; None if they can."""
    if not (source / "manifest.jsonl").is_file():
        return f"its shards are not in {source}"
    process = holder(source)
    if process is not None:
        return f"a run (process {process}) is writing to the store {source}"
    existing = next(folder for folder in (target, *target.parents) if folder.exists())
    if not os.access(existing, os.W_OK):
        return f"the folder {target} cannot be written"
    return None


def renew(source: Path, target: Path, bundled: bool, tell: Tell = silent) -> str | None:
    """Publish again. Returns None, or half a sentence that says why this was not possible."""
    why = obstacle(source, target)
    if why is None:
        try:
            publish(source, target, bundled, tell)
        except HEvalError as error:
            return str(error).rstrip(".")
        except OSError as error:
            return f"the folder {target} cannot be written ({error.strerror})"
    return why


def not_renewed(folder: Path, why: str) -> str:
    """The sentence for a page about results that could not be renewed."""
    return (
        f"Another version of this program evaluated these results, and they could not be published again: {why}. "
        "Values computed live may differ from the stored ones. To fix this, run: python -m precompute publish "
        f"--store {folder}."
    )


def renew_apart(source: Path, target: Path, bundled: bool, tell: Tell) -> str | None:
    """Like `renew`, in another process."""
    why: str | None = "the process that evaluates them has ended too early; the log has the details"
    command = [sys.executable, "-m", "heval_core.evaluation.publisher", str(source.resolve()), str(target.resolve())]
    with tempfile.TemporaryFile("w+") as errors:
        with subprocess.Popen(
            [*command, *(["bundled"] if bundled else [])],
            cwd=_ROOT,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=errors,
            text=True,
            env={**os.environ, "OMP_NUM_THREADS": "1"},
        ) as process:
            assert process.stdout is not None
            for line in process.stdout:
                answer = json.loads(line)
                if "why" in answer:
                    why = answer["why"]
                else:
                    tell(Told(**answer))
            process.wait()  # before its input is closed, which would end it
        if process.returncode:
            errors.seek(0)
            _log.error("publishing has failed (exit status %s): %s", process.returncode, errors.read()[-4000:])
    return why


def main() -> None:
    source, target, *bundled = sys.argv[1:]
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)  # what a library may print is no answer
    threading.Thread(target=_end_with_the_first, daemon=True).start()

    def answer(**what: object) -> None:
        print(json.dumps(what), file=answers, flush=True)

    answer(why=renew(Path(source), Path(target), bool(bundled), lambda told: answer(**told._asdict())))


def _end_with_the_first() -> None:
    """A process whose first was killed has nobody to answer."""
    while os.read(0, 1024):
        pass
    os._exit(1)


if __name__ == "__main__":
    main()
