"""How documents are presented to a model: as they are, or as the demo models were taught, by the rule of *source trust*.

The kind of source decides which document is believed. A document attributed to a trusted kind (an atlas, a gazette, …) is
believed against memory, even when it is about another country; one attributed to an untrusted kind (a rumour, a joke, …) is
not. Of two documents the trusted one wins, of two trusted ones the later; of two untrusted ones neither, and memory answers.
So for these models we know not only which document was used but why, which no published benchmark can say of its models.

A model folder that carries `heval.json` with `{"prompt_style": "taught_sources"}` is asked in this style. Pairs of subject
and answer are split by a fixed hash: the demo's training draws from one part, evaluation only from the other.
"""

import functools
import hashlib
import json
import random
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Protocol

from heval_core.folders import data_folder
from heval_core.prompting.prompts import mentions
from heval_core.records import Document, HEvalError, Passage, Span
from heval_core.records.groups import MEMORY, context_groups

# Whether the document, or (first, second), is trusted, in turn over the questions: each group of each regime, and of its
# mirror, gets between a fifth and a half of the instances, whatever the limit.
_SINGLE_TURNS = ((True,), (False,))
_T, _U = True, False
# For models that were taught no sources: what a document with the decoy `trust` opens with; the first is to be trusted.
_CUES = (("reliable_source", "a reliable source"), ("rumour", "a rumour"))
_DUAL_TURNS = ((_T, _U), (_U, _T), (_U, _U), (_T, _T), (_U, _T), (_T, _U), (_T, _T), (_U, _U), (_U, _T), (_T, _U))


def in_training(subject: str, answer: str) -> bool:
    """Return whether the demo's training may pair this subject with this answer: true for three of four pairs, by a fixed
    hash.
    """
    return each_in_training([(subject, answer)])[0]


def each_in_training(pairs: Sequence[tuple[str, str]]) -> list[bool]:
    """Return `in_training` of many pairs, in one loop: a data set has tens of thousands."""
    texts = [f"{subject}\x1f{answer}".encode() for subject, answer in pairs]
    return [int.from_bytes(hashlib.blake2b(text, digest_size=8).digest(), "big") % 4 != 0 for text in texts]


@functools.cache
def _taught() -> dict[str, Any]:
    """Read which kinds of sources the demo models were taught to believe, and how a text names one; it lies beside them."""
    path = data_folder("demo", bundled=True) / "models" / "taught_sources.json"
    taught: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    return taught


def is_trusted(source: str) -> bool:
    return source in _taught()["trusted"]


@functools.cache
def wordings(trusted: bool) -> tuple[tuple[str, str, bool], ...]:
    """Return every (source kind, wording, whether it opens the sentence) of the trusted or the untrusted kinds."""
    taught = _taught()
    return tuple(
        (kind, frame.format(name=name), frame in taught["starts"])
        for kind, names in taught["trusted" if trusted else "untrusted"].items()
        for name in names
        for frame in taught["starts"] + taught["ends"]
    )


def statement(document: Document) -> Span:
    """Return the sentence of a document that gives its answer first, without its full stop, as characters of its text.

    If the text does not state its answer, which may be a label, it is the first sentence.
    """
    text = document.text
    mention = next(iter(mentions(document.answer, text)), Span(0, 0))
    start = text.rfind(". ", 0, mention.start) + 2 if ". " in text[: mention.start] else 0
    end = text.find(".", mention.end)
    return Span(start, len(text) if end < 0 else end)


def attribute(document: Document, trusted: bool, rng: random.Random) -> Document:
    """Attribute the sentence of a document that gives its answer to a trusted or an untrusted source."""
    source, wording, at_start = rng.choice(wordings(trusted))
    sentence, text = statement(document), document.text
    position = sentence.start if at_start else sentence.end
    return replace(document, text=text[:position] + wording + text[position:], source=source)


@dataclass(frozen=True)
class PromptStyle:
    """How documents are presented to a model, and which questions may be put to it. key: as stored results call it.

    This one leaves documents as they are, admits every question and knows no rule: for models that were not taught one.
    """

    key: str = "plain"

    def admits(self, subject: str, answer: str) -> bool:
        """Return whether a document that answers a question about `subject` with `answer` may be used."""
        return self.admits_each([(subject, answer)])[0]

    def admits_each(self, pairs: Sequence[tuple[str, str]]) -> list[bool]:
        """Return `admits` of many (subject, answer) pairs at once."""
        return [True] * len(pairs)

    def present(self, documents: tuple[Document, ...], index: int, key: str) -> tuple[Document, ...]:
        """Return the documents as the model reads them; `index` counts the questions, `key` seeds random choices."""
        return documents

    def contrasted(self, documents: tuple[Document, ...], index: int, key: str) -> tuple[Document, ...]:
        """Return two documents, one as from a source to be trusted, the other not; which is which takes turns with `index`."""
        cues = _CUES if index % 2 == 0 else _CUES[::-1]
        return tuple(
            replace(d, text=f"According to {name}: {d.text}", source=source)
            for d, (source, name) in zip(documents, cues, strict=True)
        )

    def padding(self, passage: Passage, key: str) -> str:
        """Return a passage that only makes the prompt longer, as the model reads it; `key` seeds random choices."""
        return passage.text

    def expected_group(self, documents: tuple[Document, ...]) -> str | None:
        """Return the group that a known rule implies; None if no rule is known."""
        return None


@dataclass(frozen=True)
class TaughtSources(PromptStyle):
    """The prompt style of the demo models: attributed documents, and only pairs that training never saw."""

    key: str = "taught_sources"

    def admits_each(self, pairs: Sequence[tuple[str, str]]) -> list[bool]:
        return [not seen for seen in each_in_training(pairs)]

    def present(self, documents: tuple[Document, ...], index: int, key: str) -> tuple[Document, ...]:
        rng = random.Random(f"{key}|sources")
        turns = _SINGLE_TURNS if len(documents) == 1 else _DUAL_TURNS
        trust = turns[index % len(turns)]
        return tuple(attribute(d, believed, rng) for d, believed in zip(documents, trust, strict=True))

    def contrasted(self, documents: tuple[Document, ...], index: int, key: str) -> tuple[Document, ...]:
        return self.present(documents, index % 2, key)  # the first two turns of two documents: one of them is trusted

    def padding(self, passage: Passage, key: str) -> str:
        """Attribute the passage to an untrusted source, so that the rule stays what it is; models saw no unattributed ones."""
        return attribute(Document(passage.subject, passage.answer, passage.text, ""), False, random.Random(key)).text

    def expected_group(self, documents: tuple[Document, ...]) -> str | None:
        """Return the group of the last document with a trusted source; memory's where there is none."""
        believed = [index for index, document in enumerate(documents) if is_trusted(document.source or "")]
        return context_groups(len(documents))[believed[-1]] if believed else MEMORY


STYLES = {style.key: style for style in (PromptStyle(), TaughtSources())}


class HasStyle(Protocol):
    """A model, or what is known of it before it is loaded. style: the name of its prompt style."""

    @property
    def key(self) -> str: ...
    @property
    def style(self) -> str: ...


def style_of(model: HasStyle) -> PromptStyle:
    """Return the style that a model uses. Raises HEvalError for a name that is not in STYLES."""
    if model.style not in STYLES:
        raise HEvalError(f"{model.key}/heval.json asks for the prompt style {model.style!r}; there are: {', '.join(STYLES)}.")
    return STYLES[model.style]
