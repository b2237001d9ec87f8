"""Passages that make a prompt longer: of the same dataset, about other subjects, naming nothing that the instance is about.

How many of them a prompt takes depends on a model's tokens. The most are taken with which the prompt has at most `length`
tokens, so that it lacks less than a passage. They stand after the documents (`first`), around them (`middle`) or before them
(`last`); the documents stay next to each other. The order depends on the seed and the fact alone, so that a longer prompt has
the passages of a shorter one and more.
"""

import random
from bisect import bisect_right
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace

from heval_core.prompting.prompts import mentions
from heval_core.prompting.styles import PromptStyle
from heval_core.records import Document, Dropped, Fact, Instance
from heval_core.records.regime_keys import read_key
from heval_core.regimes.sampling import Pool

# More than any tokenizer's mean in running text; so many characters are gathered for each token that is wanted.
CHARACTERS = 10


def padding_of(
    fact: Fact, documents: Sequence[Document], length: int, pool: Pool, style: PromptStyle, key: str
) -> tuple[str, ...]:
    """Return texts in the order in which they are taken, about twice what a prompt of `length` tokens can hold, or all there
    are.
    """
    taken: list[str] = []
    characters = 0
    for text in unrelated_texts(fact, documents, pool, style, key):
        if characters >= CHARACTERS * length:
            break
        taken.append(text)
        characters += len(text)
    return tuple(taken)


def unrelated_texts(fact: Fact, documents: Sequence[Document], pool: Pool, style: PromptStyle, key: str) -> Iterator[str]:
    """Yield passages of the dataset, as the model reads them, that name no subject and no answer of the question or its
    documents; `key` decides their order. One that is a document is none: where a dataset names no subjects, its names do not
    tell.
    """
    of_documents = (name for document in documents for name in (document.subject, document.answer, document.alias))
    ours = {fact.subject, fact.answer, *fact.accepted, *of_documents} - {""}
    passages = list(pool.every)
    random.Random(f"{key}|padding").shuffle(passages)
    count = 0
    for passage in passages:
        text = style.padding(passage, f"{key}|padding {count}")
        among = any(passage.text in document.text for document in documents)
        if text.strip() and not among and not any(mentions(name, text) for name in ours):
            count += 1
            yield text


def fitted(instance: Instance, memory_answer: str, count: Callable[[Instance], int]) -> Instance:
    """Add the padding that fits to an instance; unchanged where its regime has no length.

    memory_answer: passages that mention it are left out, as those that mention another answer are already. count: the tokens
    of an instance's prompt, asked for about log2(passages) times. Raises Dropped where documents and question alone are too
    long, or padding runs out.
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
