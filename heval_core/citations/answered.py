"""What a model said, as an answer: without thoughts spoken aloud, and text that can be stored."""

from __future__ import annotations

from heval_core.citations.speaker import Answer

# Some models think aloud before they answer. The opening sign may stand in the prompt's template, out of sight.
_THINKS, _THOUGHT = "<think>", "</think>"


def answered(text: str, tokens: int | None) -> Answer:
    """tokens: how many were generated, with the thoughts; None where that is not told. The text is stripped."""
    spoken = storable(text)
    if _THOUGHT in spoken:
        spoken = spoken.rpartition(_THOUGHT)[2]
    elif spoken.lstrip().startswith(_THINKS):
        return Answer("", tokens, "the model thought aloud until its tokens were used up; allow it more")
    return Answer(spoken.strip(), tokens)


def storable(text: str) -> str:
    """The text without halves of surrogate pairs, which JSON can write and no file can hold."""
    return text.encode("utf-8", "replace").decode("utf-8")
