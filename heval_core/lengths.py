"""An instance with as much padding as makes its prompt as long as its regime asks for, in one model's tokens.

The most passages are taken with which the prompt has at most `length` tokens, so that it lacks less than a passage. They stand
after the documents (`first`), around them (`middle`) or before them (`last`); the documents stay next to each other.
Cost: a prompt is tokenised about log2(passages) times.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable
from dataclasses import replace

from heval_core.prompts import mentions
from heval_core.records import Dropped, Instance
from heval_core.regime_keys import read_key


def fitted(instance: Instance, memory_answer: str, count: Callable[[Instance], int]) -> Instance:
    """The instance with the padding that fits; unchanged where its regime has no length.

    memory_answer: passages that mention it are left out, as those that mention another answer are already. count: the tokens
    of an instance's prompt. Raises Dropped where documents and question alone are too long, or padding runs out.
    """
    length = read_key(instance.regime).length
    if length is None:
        return instance
    passages = tuple(text for text in instance.padding if not mentions(memory_answer, text))

    def tokens(passages_taken: int) -> int:
        return count(replace(instance, padding=passages[:passages_taken]))

    taken = bisect_right(range(len(passages) + 1), length, key=tokens) - 1
    if taken < 0:
        raise Dropped("documents too long")
    if taken == len(passages):
        raise Dropped("too little padding")
    return replace(instance, padding=passages[:taken])
