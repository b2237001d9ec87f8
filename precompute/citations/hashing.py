"""The hashes by which shards, settings and explanations are known."""

from __future__ import annotations

import hashlib
import json
from typing import Any


def hashed(depends: list[Any], length: int = 24) -> str:
    """A hash of what something depends on, as JSON."""
    return hashlib.sha256(json.dumps(depends).encode()).hexdigest()[:length]
