"""Passages that make a prompt longer: of the same dataset, about other subjects, naming nothing that the instance is about.

How many of them a prompt takes depends on a model's tokens, which an instance does not know: `heval_core.lengths` decides it.
The order depends on the seed and the fact alone, so that a longer prompt has the passages of a shorter one and more.
"""

from __future__ import annotations

import random
from collections.abc import Sequence

from heval_core.prompts import mentions
from heval_core.records import Document, Fact
from heval_core.regimes.pool import Pool
from heval_core.regimes.styles import PromptStyle

# More than any tokenizer's mean in running text; so many characters are gathered for each token that is wanted.
CHARACTERS = 10


def padding_of(
    fact: Fact, documents: Sequence[Document], length: int, pool: Pool, style: PromptStyle, key: str
) -> tuple[str, ...]:
    """Texts in the order in which they are taken, about twice what a prompt of `length` tokens can hold, or all there are.

    A passage that is one of the documents is none: where a dataset names no subjects, its names do not tell.
    """
    of_documents = (name for document in documents for name in (document.subject, document.answer, document.alias))
    ours = {fact.subject, fact.answer, *fact.accepted, *of_documents} - {""}
    passages = list(pool.every)
    random.Random(f"{key}|padding").shuffle(passages)
    taken: list[str] = []
    characters = 0
    for passage in passages:
        if characters >= CHARACTERS * length:
            break
        text = style.padding(passage, f"{key}|padding {len(taken)}")
        among = any(passage.text in document.text for document in documents)
        if text.strip() and not among and not any(mentions(name, text) for name in ours):
            taken.append(text)
            characters += len(text)
    return tuple(taken)
