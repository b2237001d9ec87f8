"""A tokenizer's chat template: what it writes around the user's words, and where these words stand in it.

The template writes the special tokens itself, a BOS too: its text is tokenised without adding any (`heval_core.lm.spans`).
"""

from pathlib import Path
from typing import Any

from heval_core.lm.memory import first_line
from heval_core.records import HEvalError, Prompt, Span

# Stands for the user's words, to see what a template writes before and after them.
_WORDS = "heval-what-the-user-says"
# Some templates write today's date, which would change the prompt from day to day; others let the model think aloud first,
# and then its answer would not follow the header.
_FIXED = {"date_string": "26 Jul 2024", "enable_thinking": False}


def has_template(tokenizer: Any) -> bool:
    """Whether the tokenizer has a chat template."""
    return bool(getattr(tokenizer, "chat_template", None))


def require_template(tokenizer: Any) -> None:
    """Raises HEvalError, naming the model, for a tokenizer without a chat template."""
    if not has_template(tokenizer):
        raise HEvalError(
            f"{_name_of(tokenizer)} has no chat template, so it cannot be asked through one; leave out --template chat, "
            "or use the version of the model that follows instructions."
        )


def said(tokenizer: Any, words: str) -> str:
    """What a user says as the model reads it, up to the header of the assistant's turn.

    Raises HEvalError for a tokenizer without a chat template, or whose template refuses these words.
    """
    require_template(tokenizer)
    turn = [{"role": "user", "content": words}]
    try:
        return str(tokenizer.apply_chat_template(turn, tokenize=False, add_generation_prompt=True, **_FIXED))
    except Exception as error:  # a template may raise anything
        raise HEvalError(
            f"The chat template of {_name_of(tokenizer)} does not take these messages: {first_line(error)}"
        ) from error


def in_chat(prompt: Prompt, tokenizer: Any) -> Prompt:
    """The prompt as the user's turn of a conversation: its text with the template around it, its spans moved along.

    A template may strip white space from the user's words; spans are cut accordingly.
    Raises HEvalError as `said` does, and for a template that writes something else instead of these words.
    """
    head, _, tail = said(tokenizer, _WORDS).partition(_WORDS)
    text = said(tokenizer, prompt.text)
    start, end = len(head), len(text) - len(tail)
    kept = text[start:end]
    if not (text.startswith(head) and text.endswith(tail) and kept.strip() == prompt.text.strip() and kept in prompt.text):
        raise HEvalError(
            f"The chat template of {_name_of(tokenizer)} changes what the user says, so documents cannot be found in it; "
            "leave out --template chat."
        )
    by = start - prompt.text.index(kept)

    def moved(span: Span) -> Span:
        first = min(max(span.start + by, start), end)
        return Span(first, max(first, min(span.end + by, end)))

    return prompt.moved(moved, text=text + prompt.beginning, chat=False, ranked=Span(start, end), adds_special=False)


def answers_bare(tokenizer: Any, before: str | None = None) -> bool:
    """Whether an answer begins bare: after white space or a special token. before: by default the assistant's header."""
    before = said(tokenizer, _WORDS).partition(_WORDS)[2] if before is None else before
    return before[-1:].isspace() or any(before.endswith(token) for token in tokenizer.all_special_tokens)


def _name_of(tokenizer: Any) -> str:
    name = str(getattr(tokenizer, "name_or_path", "") or "The model")
    return Path(name).name if Path(name).is_dir() else name
