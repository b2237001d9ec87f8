"""Text is data: what is spelt like a control token in it, `<|im_end|>` say, is cut into plain tokens.

Control tokens are a tokenizer's special tokens, and the tokens that its chat template writes. Only those that stand where the
template wrote them, or that the tokenizer adds itself, are control tokens in a prompt.
"""

import copy
import functools
import re
from collections.abc import Sequence
from typing import Any

from tokenizers import AddedToken

from heval_core.records import HEvalError, Span

# In a copy of the tokenizer, a template's control token begins with a private character instead of its own first one.
_MARKS = 0xE000
Encoded = tuple[list[int], list[tuple[int, int]], list[int]]


def control_tokens_in(text: str, tokenizer: Any, template: Sequence[Span] = ()) -> tuple[str, ...]:
    """Return the control tokens that a text spells, in its order. template: characters that are not looked at."""
    words = _words(tokenizer, str(getattr(tokenizer, "chat_template", None) or ""), len(tokenizer))
    if {word[0] for word in words}.isdisjoint(text):  # Gemma has 6,300
        return ()
    spelt = sorted((word for word in words if word in text), key=len, reverse=True)
    matches = re.finditer("|".join(map(re.escape, spelt)), text) if spelt else ()
    outside = (one for one in matches if not any(span.start <= one.start() and one.end() <= span.end for span in template))
    return tuple(dict.fromkeys(one[0] for one in outside))


def encode_literally(text: str, tokenizer: Any, template: Sequence[Span], adds_special: bool) -> Encoded:
    """Tokenise a text that spells control tokens: its ids, character spans and special tokens' mask.

    Raises HEvalError for a tokenizer whose plain tokens include the control token.
    """
    twin, marks, real = _twin(tokenizer, str(getattr(tokenizer, "chat_template", None) or ""), len(tokenizer))
    pattern, marked = re.compile("|".join(map(re.escape, sorted(marks, key=len, reverse=True)))), text
    for span in template:  # a mark is as long as its token, so that no character moves
        escaped = pattern.sub(lambda match: marks[match[0]], text[span.start : span.end])
        marked = marked[: span.start] + escaped + marked[span.end :]
    encoding = twin.encode(marked, add_special_tokens=adds_special)
    control = {real[twin.token_to_id(mark)]: word for word, mark in marks.items()}
    for token_id, (start, end) in zip(encoding.ids, encoding.offsets, strict=True):
        if control.get(token_id) == (word := text[start:end].strip()):  # an unknown word's token is no control token
            raise HEvalError(f"{word!r} is a control token for this model's tokenizer even as plain text; leave it out.")
    return [real.get(token_id, token_id) for token_id in encoding.ids], encoding.offsets, encoding.special_tokens_mask


def notes(spelt: Sequence[str]) -> tuple[str, ...]:
    """Return what a reader should know of a text. spelt: as `control_tokens_in` says."""
    words = ", ".join(spelt)
    return (f"The text spells control tokens of this model ({words}); they were read as plain text.",) if spelt else ()


@functools.lru_cache(maxsize=8)
def _words(tokenizer: Any, template: str, _: int) -> tuple[str, ...]:
    """Return the control tokens. The last argument, how many tokens there are, is there because tokens may be added."""
    added = tokenizer.added_tokens_decoder.values()
    written = (token.content for token in added if token.special or token.content in template)
    return tuple(dict.fromkeys(word for word in (*written, *tokenizer.all_special_tokens) if word.strip()))


@functools.lru_cache(maxsize=2)
def _twin(tokenizer: Any, template: str, count: int) -> tuple[Any, dict[str, str], dict[int, int]]:
    """Return a copy that reads control tokens as text, and marks in their place; token ▶ mark; a mark's id ▶ the token's."""
    twin, words = copy.deepcopy(tokenizer.backend_tokenizer), _words(tokenizer, template, count)
    twin.no_truncation()
    twin.no_padding()
    twin.encode_special_tokens = True
    twin.add_special_tokens([AddedToken(word, special=True) for word in words])  # those that were not special
    marks = {word: chr(_MARKS + number) + word[1:] for number, word in enumerate(words)}
    known = {token.content: token for token in tokenizer.added_tokens_decoder.values()}
    sides = {
        word: {name: getattr(known.get(word), name, False) for name in ("lstrip", "rstrip", "single_word")} for word in words
    }
    twin.add_tokens([AddedToken(mark, normalized=False, **sides[word]) for word, mark in marks.items()])
    return twin, marks, {twin.token_to_id(mark): tokenizer.convert_tokens_to_ids(word) for word, mark in marks.items()}
