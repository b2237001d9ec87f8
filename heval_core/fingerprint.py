"""Identifies the model in a local folder without loading it. The explorer needs this too, so nothing here imports torch."""

from __future__ import annotations

import hashlib
import os
from pathlib import Path


def folder_revision(folder: Path) -> str:
    """A fingerprint of a local folder: its small files whole, and the first and last MiB of each weight file."""
    digest = hashlib.sha256()
    for file in sorted(folder.iterdir()):
        if file.suffix not in (".json", ".safetensors", ".txt", ".model"):
            continue
        digest.update(f"{file.name}|{file.stat().st_size}".encode())
        with file.open("rb") as stream:
            digest.update(stream.read(1 << 20))
            if file.stat().st_size > 2 << 20:
                stream.seek(-(1 << 20), os.SEEK_END)
                digest.update(stream.read())
    return digest.hexdigest()[:16]
