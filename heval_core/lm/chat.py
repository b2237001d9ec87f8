"""A tokenizer's chat template: what it writes around the user's words, and where these words stand in it.

The template writes the special tokens itself, a BOS too: its text is tokenised without adding any (`heval_core.lm.spans`).
"""

from datetime import datetime
from pathlib import Path
from typing import Any

from heval_core.lm.budget import first_line
from heval_core.lm.control import control_tokens_in
from heval_core.records import HEvalError, Prompt, Span

# Stands for the user's words, to see what a template writes before and after them.
_WORDS = "heval-what-the-user-says"
# Some templates write today's date, which would change the prompt from day to day: they are told the day that Llama 3 takes
# where it is told none. Others let the model think aloud first, and then its answer would not follow the header.
_DAY = datetime(2024, 7, 26)
_FIXED = {
    "date_string": f"{_DAY:%d %b %Y}",
    "enable_thinking": False,
    "heval_day": {"%-d": "26", "%-m": "7"} | {f"%{code}": _DAY.strftime(f"%{code}") for code in "aAbBcdHIjmMpSUwWxXyY"},
}
# In front of a template that asks for the date itself; a template can be given data, but no function.
_TODAY = (
    "{%- macro strftime_now(format) -%}{%- set day = namespace(text=format) -%}{%- for code, said in heval_day.items() -%}"
    "{%- set day.text = day.text.replace(code, said) -%}{%- endfor -%}{{ day.text }}{%- endmacro %}\n"
)
DATED = (
    f"This model's chat template writes the date of today; it was told {_DAY:%d %b %Y} instead, so that answers stay the same."
)


def has_template(tokenizer: Any) -> bool:
    """Return whether the tokenizer has a chat template."""
    return bool(getattr(tokenizer, "chat_template", None))


def require_template(tokenizer: Any) -> None:
    """Raise HEvalError, naming the model, for a tokenizer without a chat template."""
    if not has_template(tokenizer):
        raise HEvalError(
            f"{_name_of(tokenizer)} has no chat template, so it cannot be asked through one; leave out --template chat, "
            "or use the version of the model that follows instructions."
        )


def user_turn(tokenizer: Any, words: str) -> str:
    """Render what a user says as the model reads it, up to the header of the assistant's turn.

    Raises HEvalError for a tokenizer without a chat template, or whose template refuses these words.
    """
    require_template(tokenizer)
    return _rendered(tokenizer, {"user": words})


def is_dated(tokenizer: Any) -> bool:
    """Return whether the chat template writes today's date."""
    return any(name in str(tokenizer.chat_template) for name in ("strftime_now", "date_string"))


def turn_end(tokenizer: Any) -> int | None:
    """Return the control token that the chat template puts behind what the assistant says; None where there is none."""
    try:
        behind = _rendered(tokenizer, {"user": "Hello", "assistant": _WORDS}).rpartition(_WORDS)[2]
    except HEvalError:  # told where the model is asked through it; or there is none
        return None
    ends = control_tokens_in(behind, tokenizer)
    return int(tokenizer.convert_tokens_to_ids(ends[0])) if ends else None


def _rendered(tokenizer: Any, turns: dict[str, str]) -> str:
    messages = [{"role": role, "content": words} for role, words in turns.items()]
    try:
        template = tokenizer.get_chat_template()
        how = {"chat_template": (_TODAY if "strftime_now" in template else "") + template, "tokenize": False, **_FIXED}
        return str(tokenizer.apply_chat_template(messages, add_generation_prompt="assistant" not in turns, **how))
    except Exception as error:  # a template may raise anything
        raise HEvalError(
            f"The chat template of {_name_of(tokenizer)} does not take these messages: {first_line(error)}"
        ) from error


def in_chat(prompt: Prompt, tokenizer: Any) -> Prompt:
    """Put a prompt into the user's turn of a conversation: the template around its text, its spans moved along.

    A template may strip white space from the user's words; spans are cut accordingly.
    Raises HEvalError as `user_turn` does, and for a template that writes something else instead of these words.
    """
    head, _, tail = user_turn(tokenizer, _WORDS).partition(_WORDS)
    text = user_turn(tokenizer, prompt.text)
    start, end = len(head), len(text) - len(tail)
    words = text[start:end]
    if not (text.startswith(head) and text.endswith(tail) and words.strip() == prompt.text.strip() and words in prompt.text):
        raise HEvalError(
            f"The chat template of {_name_of(tokenizer)} changes what the user says, so documents cannot be found in it; "
            "leave out --template chat."
        )
    shift = start - prompt.text.index(words)

    def moved(span: Span) -> Span:
        first = min(max(span.start + shift, start), end)
        return Span(first, max(first, min(span.end + shift, end)))

    template = Span(0, start), Span(end, len(text))
    return prompt.moved(moved, text=text + prompt.beginning, chat=False, ranked=Span(start, end), template=template)


def answers_bare(tokenizer: Any, before: str | None = None) -> bool:
    """Return whether an answer begins bare: after white space or a special token.

    before: by default the assistant's header.
    """
    before = user_turn(tokenizer, _WORDS).partition(_WORDS)[2] if before is None else before
    return before[-1:].isspace() or any(before.endswith(token) for token in tokenizer.all_special_tokens)


def _name_of(tokenizer: Any) -> str:
    name = str(getattr(tokenizer, "name_or_path", "") or "The model")
    return Path(name).name if Path(name).is_dir() else name
