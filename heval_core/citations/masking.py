"""Masks the citation of one passage in an explanation.

Formula: masking e_k deletes the number k from the markers of every sentence that cites it; gold is the set of those
sentences. The other markers stay.
Reference: Xing, Baldwin and Lau (arXiv 2406.12645). Departure: none; what a marker is, `markers` says.
Cost: linear in the length of the text.
"""

from __future__ import annotations

from collections.abc import Sequence

from heval_core.citations import markers


def mask(sentences: Sequence[str], passage: int) -> tuple[list[str], set[int]]:
    """(the sentences without the markers of a passage, the places from 0 of those that cited it).

    passage: its number as the markers name it. Sentences that do not cite it come back as they were.
    """
    gold = {place for place, sentence in enumerate(sentences) if _cites(sentence, passage)}
    masked = [
        markers.without(sentence, lambda number: number == passage) if place in gold else sentence
        for place, sentence in enumerate(sentences)
    ]
    return masked, gold


def _cites(sentence: str, passage: int) -> bool:
    return any(number == passage for marker in markers.markers(sentence) for number in markers.numbers(marker))
