"""Files of JSON lines that only grow: manifests, journals, and what a reader model has said."""

import json
import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any


def append_lines(path: Path, records: Sequence[dict[str, Any]]) -> None:
    """Append JSON lines and sync them; an incomplete line before them is ended first."""
    if not records:
        return
    data = "".join(json.dumps(record, ensure_ascii=False) + "\n" for record in records).encode()
    with path.open("ab+") as file:
        if file.tell():
            file.seek(-1, os.SEEK_END)
            data = data if file.read(1) == b"\n" else b"\n" + data
        file.write(data)
        file.flush()
        os.fsync(file.fileno())


def read_lines(path: Path) -> Iterator[dict[str, Any]]:
    """Yield the JSON lines of a file, if there is one; lines that are none are passed over."""
    if not path.is_file():
        return
    with path.open("rb") as lines:  # a text would end its line at other characters, too
        for line in lines:
            try:
                yield json.loads(line)
            except ValueError:
                continue  # incomplete after a crash: what it would have listed does not count yet
