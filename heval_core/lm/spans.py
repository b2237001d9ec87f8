"""Character spans ▶ token spans. This is the only place that counts tokens."""

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import groupby, islice
from typing import Any

from heval_core.lm.chat import DATED, in_chat, is_dated
from heval_core.lm.control import Encoded, control_tokens_in, encode_literally, notes
from heval_core.records import HEvalError, Prompt, Span, TokenisedPrompt


def tokenise(prompt: Prompt, tokenizer: Any) -> TokenisedPrompt:
    """Tokenise one prompt; see `tokenise_all`."""
    return next(tokenise_all((prompt,), tokenizer))


def tokenise_all(prompts: Iterable[Prompt], tokenizer: Any, batch: int = 512) -> Iterator[TokenisedPrompt]:
    """Tokenise prompts and convert their spans to tokens, one batch at a time, as a stream.

    Special tokens that the tokenizer puts in front stay (they are never ranked). Special tokens at the end are dropped,
    because the model must answer at the last prompt position. A chat template is put around what a user says; it writes its
    special tokens itself, so none are added and none dropped, and only the user's words are ranked. What a text spells like a
    control token is text (`heval_core.lm.control`).
    Raises HEvalError for a tokenizer without offsets, or without the chat template that a prompt asks for.
    """
    if not getattr(tokenizer, "is_fast", False):
        raise HEvalError(f"The tokenizer {type(tokenizer).__name__} gives no character offsets; a fast tokenizer is needed.")
    waiting = iter(prompts)
    while chunk := tuple(islice(waiting, batch)):
        whole = (in_chat(prompt, tokenizer) if prompt.chat else prompt for prompt in chunk)
        for adds, alike in groupby(whole, lambda prompt: not prompt.template):
            yield from _encoded(list(alike), tokenizer, adds)


def _encoded(prompts: list[Prompt], tokenizer: Any, add_special_tokens: bool) -> Iterator[TokenisedPrompt]:
    encoded = tokenizer(
        [prompt.text for prompt in prompts],
        add_special_tokens=add_special_tokens,
        return_offsets_mapping=True,
        return_special_tokens_mask=True,
        return_attention_mask=False,
        verbose=False,
    )
    columns = (encoded["input_ids"], encoded["offset_mapping"], encoded["special_tokens_mask"])
    for prompt, ids, offsets, special in zip(prompts, *columns, strict=True):
        ours = (*prompt.template, *prompt.layout)
        spelt = control_tokens_in(prompt.text, tokenizer, ours)
        encoding = encode_literally(prompt.text, tokenizer, ours, add_special_tokens) if spelt else (ids, offsets, special)
        dated = (DATED,) if prompt.template and is_dated(tokenizer) else ()
        yield replace(_tokenised(prompt, encoding, tokenizer), notes=(*notes(spelt), *dated))


def _tokenised(prompt: Prompt, encoding: Encoded, tokenizer: Any) -> TokenisedPrompt:
    ids, offsets, special = encoding
    while ids and special[-1] and not prompt.template:
        ids, offsets, special = ids[:-1], offsets[:-1], special[:-1]
    leading = next((i for i, (start, end) in enumerate(offsets) if end > start), len(ids))
    ranked = None if prompt.ranked is None else _token_span(offsets, prompt.ranked)
    gold = [[overlapping(offsets, mention) for mention in mentions] for mentions in prompt.answers]
    return TokenisedPrompt(
        text=prompt.text,
        ids=tuple(ids),
        tokens=_texts(prompt.text, ids, offsets, leading, tokenizer),
        documents=tuple(_token_span(offsets, span) for span in prompt.documents),
        padding=tuple(_token_span(offsets, span) for span in prompt.padding),
        question=_token_span(offsets, prompt.question),
        answer_tokens=tuple(tuple(sorted({i for mention in document for i in mention})) for document in gold),
        first_mention=tuple(document[0] if document else () for document in gold),
        first_ranked=leading if ranked is None else ranked.start,
        ranked_end=None if ranked is None or ranked.end == len(ids) else ranked.end,
        template=(*prompt.template, *prompt.layout),
    )


def overlapping(offsets: Sequence[tuple[int, int]], span: Span) -> tuple[int, ...]:
    """Return the tokens that share at least one character with the span. Offsets must be in the order of the text."""
    first = bisect_right(offsets, span.start, key=lambda offset: offset[1])
    after = bisect_left(offsets, span.end, lo=first, key=lambda offset: offset[0])
    return tuple(i for i in range(first, after) if offsets[i][0] < offsets[i][1])


def _token_span(offsets: Sequence[tuple[int, int]], span: Span) -> Span:
    inside = overlapping(offsets, span)
    return Span(inside[0], inside[-1] + 1) if inside else Span(0, 0)


def _texts(text: str, ids: Sequence[int], offsets: Sequence[tuple[int, int]], leading: int, tokenizer: Any) -> tuple[str, ...]:
    """Return the text of each token: together the prompt, whether or not the offsets include the space before a word."""
    texts = list(tokenizer.convert_ids_to_tokens(ids[:leading]))
    end = 0
    for _, stop in offsets[leading:]:
        texts.append(text[end : max(end, stop)])
        end = max(end, stop)
    return tuple(texts)
