"""HEval: which highlight explanations tell the truth about where a language model's answer came from.

`from heval_core import explain` explains one prompt, in a notebook for instance (`heval_core/explaining/api.py`). Import it
before torch, whose threads read how they shall wait when it is loaded: `wait_passively` says so.
"""

import os
from typing import Any

__version__ = "0.1.0"
__all__ = ["explain"]


def wait_passively() -> None:
    """Threads of torch that wait leave their core to others, unless the user has said otherwise. Theirs is to spin: beside one
    other busy process, two that spin take ten times as long as one. Where torch is loaded already it is too late."""
    if not {"OMP_WAIT_POLICY", "GOMP_SPINCOUNT"} & os.environ.keys():
        os.environ.update(OMP_WAIT_POLICY="PASSIVE", GOMP_SPINCOUNT="0")


wait_passively()


def __getattr__(name: str) -> Any:
    """`explain` is imported when it is asked for, so that importing the package costs nothing."""
    if name == "explain":
        from heval_core.explaining.api import explain

        return explain
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
