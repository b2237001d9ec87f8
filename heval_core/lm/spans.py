"""Character spans ▶ token spans, in this one place; nothing else counts tokens."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from heval_core.records import HEvalError, Prompt, Span, TokenisedPrompt


def tokenise(prompt: Prompt, tokenizer: Any) -> TokenisedPrompt:
    """Tokenise a prompt and carry its spans over to tokens.

    Special tokens the tokenizer puts in front stay (they are never ranked); those it would append are left out, for
    the last prompt position must be the one that answers.
    Raises HEvalError for a tokenizer without offsets.
    """
    if not getattr(tokenizer, "is_fast", False):
        raise HEvalError(
            f"The tokenizer {type(tokenizer).__name__} gives no character offsets; a fast tokenizer is needed."
        )
    encoded = tokenizer(prompt.text, return_offsets_mapping=True, return_special_tokens_mask=True, verbose=False)
    ids, offsets, special = encoded["input_ids"], encoded["offset_mapping"], encoded["special_tokens_mask"]
    while ids and special[-1]:
        ids, offsets, special = ids[:-1], offsets[:-1], special[:-1]
    leading = next((i for i, (start, end) in enumerate(offsets) if end > start), len(ids))
    return TokenisedPrompt(
        text=prompt.text,
        ids=tuple(ids),
        tokens=_texts(prompt.text, ids, offsets, leading, tokenizer),
        documents=tuple(_token_span(offsets, span) for span in prompt.documents),
        question=_token_span(offsets, prompt.question),
        answer_tokens=tuple(
            tuple(sorted({i for mention in mentions for i in overlapping(offsets, mention)}))
            for mentions in prompt.answers
        ),
        first_mention=tuple(overlapping(offsets, mentions[0]) if mentions else () for mentions in prompt.answers),
        first_ranked=leading,
    )


def overlapping(offsets: Sequence[tuple[int, int]], span: Span) -> tuple[int, ...]:
    """The tokens that share at least one character with the span."""
    return tuple(i for i, (start, end) in enumerate(offsets) if max(start, span.start) < min(end, span.end))


def _token_span(offsets: Sequence[tuple[int, int]], span: Span) -> Span:
    inside = overlapping(offsets, span)
    return Span(inside[0], inside[-1] + 1) if inside else Span(0, 0)


def _texts(
    text: str, ids: Sequence[int], offsets: Sequence[tuple[int, int]], leading: int, tokenizer: Any
) -> tuple[str, ...]:
    """What each token shows: together the prompt, whether or not the offsets include the space before a word."""
    texts = list(tokenizer.convert_ids_to_tokens(ids[:leading]))
    end = 0
    for _, stop in offsets[leading:]:
        texts.append(text[end : max(end, stop)])
        end = max(end, stop)
    return tuple(texts)
