"""Keys of shards: hashes of everything that their rows depend on."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from typing import Any

from heval_core import catalogue
from heval_core.lm.fits import Fit
from heval_core.protocols import Explainer


def key_of(common: Mapping[str, Any], what: str) -> str:
    """common: what all shards of a job depend on. what: what else one of them does."""
    return hashlib.sha256(json.dumps({**common, "what": what}, sort_keys=True).encode()).hexdigest()[:24]


def identity(fits: Sequence[Fit], common: Mapping[str, Any], explainer: Explainer) -> str:
    """What an explainer's scores depend on beside the prompt: its settings, its code if it is one's own, its parameters."""
    whose = (common["model"], common["revision"], repr(explainer))
    fitted = "".join(f" fit {fit.digest}" for fit in fits if fit.whose == whose)
    return f"{catalogue.identity('explainer', explainer)}{fitted}"
