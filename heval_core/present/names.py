"""What pages, figures and tables call things: regimes, measures of behaviour, and all that the catalogue has."""

from __future__ import annotations

from heval_core.present.numbers import POINTS, SCORE, SHARE, Unit
from heval_core.records import HEvalError
from heval_core.regime_keys import read_key
from heval_core.words import BEHAVIOURS, DECOYS, PLACES, REGIMES

# Measures of behaviour from -1 to 1, which are written as they are; all others are shares.
SIGNED = ("ccu", "discrimination", "discrimination_off_topic")


def regime_title(key: str) -> str:
    """`Mixed`, or with its options: `Mixed · decoy d1 · 1,024 tokens, first`. What is no regime stays as it is."""
    try:
        one = read_key(key)
    except HEvalError:
        return key
    options = [f"decoy {one.decoy}"] if one.decoy else []
    options += [f"{one.length:,} tokens, {one.place}"] if one.length else []
    return " · ".join([REGIMES[one.base].title, *options])


def regime_meaning(key: str) -> str:
    """What the documents of a regime say, and what its options do; empty for what is no regime."""
    try:
        one = read_key(key)
    except HEvalError:
        return ""
    added = [DECOYS[one.decoy].meaning] if one.decoy else []
    if one.place:
        added.append(f"other passages make the prompt {one.length:,} tokens long; {PLACES[one.place].meaning}")
    return "; ".join([REGIMES[one.base].meaning, *added])


def measure_name(measure: str) -> str:
    """A measure of behaviour where there is little room: `BCU`."""
    return BEHAVIOURS[measure].short if measure in BEHAVIOURS else measure


def value_unit(measure: str) -> Unit:
    """Of a measure of behaviour."""
    return SCORE if measure in SIGNED else SHARE


def change_unit(measure: str) -> Unit:
    """Of the difference of two of its values."""
    return SCORE if measure in SIGNED else POINTS
