"""The prompt styles that a model folder's `heval.json` may name, and which one a model uses.

`heval_core.lm` knows only the name of a style; what a style does to documents belongs to the regimes.
"""

from __future__ import annotations

from typing import Protocol

from heval_core.records import HEvalError
from heval_core.regimes import Plain, PromptStyle
from heval_core.source_trust import TaughtSources

STYLES: dict[str, PromptStyle] = {style.key: style for style in (Plain(), TaughtSources())}


class HasStyle(Protocol):
    """A model, or what is known of it before it is loaded."""

    @property
    def key(self) -> str:
        """What the model is called."""

    @property
    def style(self) -> str:
        """The name of its prompt style."""


def style_of(model: HasStyle) -> PromptStyle:
    """The style that a model uses. Raises HEvalError for a name that is not in STYLES."""
    if model.style not in STYLES:
        raise HEvalError(f"{model.key}/heval.json asks for the prompt style {model.style!r}; there are: {', '.join(STYLES)}.")
    return STYLES[model.style]
