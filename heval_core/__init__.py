"""HEval: which highlight explanations tell the truth about where a language model's answer came from.

`from heval_core import explain` explains one prompt, in a notebook for instance (`heval_core/explanation.py`).
"""

from typing import Any

__version__ = "0.1.0"
__all__ = ["explain"]


def __getattr__(name: str) -> Any:
    """`explain` is imported when it is asked for, so that importing the package costs nothing."""
    if name == "explain":
        from heval_core.explanation import explain

        return explain
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
