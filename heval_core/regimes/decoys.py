"""Two documents ▶ the same two, changed so that whoever only compares strings is misled.

d0  each document ends with a neutral sentence: the twin of d1, because a prompt's shape alone changes results
d1  the neutral sentence has the other document's answer in place of its neutral word
d2  each document ends with two such sentences; its own answer stands in them until it stands in the document three times
d3  each document gives its answer under another name, so that no string matches; the expected answer stays the answer
trust  d1, and one document is attributed to a source to be trusted, the other to one not to be (`PromptStyle.contrasted`)
loud   d1, and one document gives its statement three times, with growing emphasis (`louder`)
twice  of one document, of a data set whose passages give two answers twice each: it stays as it is

Which document is trusted, or louder, takes turns over the questions. What a model makes of it is not assumed: its answer's
source is found by intervention. Under d0 to d3 both documents are changed alike, so that a decoy depends on no model and no
rule. A swap is the exact mirror in all of them. Neither document may mention the other's answer; then d0 and d1 are of the
same questions, and a mention in d1 is the only one. What a model's tokens make of it (an answer that its subject names too)
is left out for that model: `behaviour.check_names`.
Source: methods of this project. Departure: there the used document alone is changed, which only a model knows.
The sentences hold a place, a person, a currency or a date alike, because they speak of the words and not of the thing.
"""

import random
from collections.abc import Sequence
from dataclasses import replace

from heval_core.prompting.prompts import mentions
from heval_core.prompting.styles import statement
from heval_core.records import Document, Dropped, Fact, Passage
from heval_core.regimes.documents import substituted
from heval_core.regimes.sampling import Pool

FRAMES = (
    "The word {x} is kept in a public archive.",
    "Visitors find the word {x} in the museums.",
    "An old map has the word {x} on it.",
    "The newspapers printed the word {x} in a joke.",
    "Many shops have the word {x} in the window.",
    "The team has the word {x} on its flag.",
)
# In place of an answer: things that no question asks for.
NEUTRAL = (
    *("teapot", "umbrella", "sandal", "pillow", "ladder", "button"),
    *("kettle", "basket", "candle", "spoon", "blanket", "broom"),
)
MENTIONS = 3
# What is said of a statement after it.
EMPHASIS = ("Once more: {x}.", "Beyond all doubt: {x}!")


def decoyed(documents: tuple[Document, ...], decoy: str, fact: Fact, pool: Pool, key: str) -> tuple[Document, ...]:
    """Put the two documents under a decoy.

    key: seeds the choice of sentences. Raises Dropped where they allow no such decoy.
    """
    first, second = documents
    for document, other in ((first, second), (second, first)):
        apart = not mentions(other.answer, f"{document.text} {document.answer}")
        if not (document.answer and document.stated and mentions(document.answer, document.text) and apart):
            raise Dropped("no decoy")
    if decoy == "d3":
        return tuple(_renamed(document, other, fact, pool) for document, other in ((first, second), (second, first)))
    rng = random.Random(f"{key}|decoy")
    frames, words = rng.sample(FRAMES, 4), rng.sample(_neutral(documents, fact), 4)
    changed = []
    for document, other, start in ((first, second, 0), (second, first, 2)):
        neutral = {"d0": words[start : start + 1], "d2": []}.get(decoy, [other.answer])
        inserted = neutral or _repeated(document, words[start:])
        sentences = [frame.format(x=word) for frame, word in zip(frames[start:], inserted, strict=False)]
        changed.append(replace(document, text=" ".join([document.text, *sentences])))
    return tuple(changed)


def check_twice(documents: tuple[Document, ...]) -> None:
    """Raise Dropped where a document, which stays as it is, does not give its answer more than once."""
    if any(len(mentions(document.answer, document.text)) < 2 for document in documents):
        raise Dropped("answer once")


def louder(documents: tuple[Document, ...], index: int) -> tuple[Document, ...]:
    """Say the statement of one of two documents again, twice and with growing emphasis; of the first if `index` is even.

    Raises Dropped where one of them gives its answer more than once already.
    """
    if any(len(mentions(document.answer, document.text)) > 1 for document in documents):
        raise Dropped("answer too often")
    document = documents[index % 2]
    sentence = statement(document)
    again = " ".join(frame.format(x=document.text[sentence.start : sentence.end]) for frame in EMPHASIS)
    end = sentence.end + len(".")
    loud = replace(document, text=f"{document.text[:end]} {again}{document.text[end:]}")
    return (loud, documents[1]) if index % 2 == 0 else (documents[0], loud)


def _repeated(document: Document, words: Sequence[str]) -> list[str]:
    """Write two sentences, so that the answer stands in the document three times: the answer, or a neutral word."""
    missing = MENTIONS - len(mentions(document.answer, document.text))
    if missing < 0:
        raise Dropped("answer too often")
    return [document.answer] * missing + list(words[: MENTIONS - 1 - missing])


def _neutral(documents: Sequence[Document], fact: Fact) -> list[str]:
    taken = " ".join((fact.question, fact.answer, *fact.accepted, *(text for d in documents for text in (d.answer, d.text))))
    return [word for word in NEUTRAL if word not in taken.casefold()]


def _renamed(document: Document, other: Document, fact: Fact, pool: Pool) -> Document:
    """Write another name of the document's answer wherever that stood."""
    aliases = [name for answer, name in fact.aliases if answer == document.answer]
    accepted = fact.accepted if document.answer == fact.answer else ()
    for name in (*aliases, *accepted, *pool.aliases.get(fact.relation, {}).get(document.answer, ())):
        alike = any(
            mentions(sought, text) for sought, text in ((document.answer, name), (name, document.answer), (other.answer, name))
        )
        if not alike and not any(mentions(name, text) for text in (document.text, other.text, other.answer)):
            text = substituted(Passage(document.subject, document.answer, document.text), name)
            return replace(document, text=text, alias=name, origin="substituted")
    raise Dropped("no other name")
