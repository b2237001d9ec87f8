"""Answers that people wrote, with what each part of them is from: what data sets of such answers share."""

from dataclasses import dataclass

from heval_core.records import Fact

# Where results name a regime: of documents that people answered from.
PEOPLE = "people"


@dataclass(frozen=True, slots=True)
class Quoted(Fact):
    """An answer that a person wrote, as `answer`. documents: the texts it was written from. spans: (start, end, document) of
    the answer's letters that were copied; documents are counted from 0."""

    documents: tuple[str, ...] = ()
    spans: tuple[tuple[int, int, int], ...] = ()
