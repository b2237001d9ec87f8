"""Who is best at something, and the only sentences that say so.

Methods stand in bands, in which nobody is ahead: the method with the best number, and all down to the last whose 95 %
interval reaches its own; then the next band. Those of the first one are best. Only rows over the same cells belong in a
ranking. Controls are never best; those whose interval reaches that of the best are named beside them, for then no method
beats them. Whatever names a winner, or sets one in bold, asks a `Ranking`, so that pages, tables and the report agree.
"""

from collections.abc import Callable, Collection, Mapping, Sequence
from typing import NamedTuple

import numpy as np
import pandas as pd

from heval_core.words import counted, listed

# What a method that is best at a question is best at.
AT = {
    "RQ1": "telling context from memory",
    "RQ2": "telling documents apart",
    "RQ3": "finding the token",
    "faithfulness": "faithfulness",
}
# Of a band with more members than these it is said how many they are.
NAMED = 4
# Key ▶ a name as it is written.
Written = Callable[[str], str]


class Ranking(NamedTuple):
    """bands: of the methods with a number, the best first. controls: those whose intervals reach that of the best, or lie
    beyond it, the highest first. below: methods whose whole interval lies on the wrong side of chance.
    """

    bands: tuple[tuple[str, ...], ...] = ()
    controls: tuple[str, ...] = ()
    below: tuple[str, ...] = ()

    @property
    def methods(self) -> tuple[str, ...]:
        return tuple(key for band in self.bands for key in band)

    @property
    def best(self) -> tuple[str, ...]:
        return self.bands[0] if self.bands else ()

    def ranks(self) -> dict[str, str]:
        """Method ▶ `1`, or `2–4` for those of a band."""
        found, first = dict[str, str](), 1
        for band in self.bands:
            last = first + len(band) - 1
            found |= dict.fromkeys(band, f"{first}" if first == last else f"{first}–{last}")
            first = last + 1
        return found

    @property
    def bold(self) -> tuple[str, ...]:
        """The best, where there is anybody that they could be better than."""
        return self.best if len(self.methods) > 1 else ()


def ranking(
    rows: pd.DataFrame,
    controls: Collection[str] = (),
    best: str = "high",
    of: Sequence[str] = ("value", "low", "high"),
    key: str = "explainer",
    chance: str = "chance",
) -> Ranking:
    """rows: one a method, over the same cells. best: `high`, `low`, or `zero`, of which a mean near chance may hide two of
    opposite sign, so that nobody is best. of: the columns of a number and its ends. An end that is not known reaches anywhere.
    """
    if best == "zero":
        return Ranking()
    sign, ends = (-1.0, (of[0], of[2], of[1])) if best == "low" else (1.0, of)
    unknown = np.full(len(rows), np.nan)
    numbers = [sign * rows[name].to_numpy(dtype=float) if name in rows else unknown for name in (*ends, chance)]
    each = (_One(*one) for one in zip(rows[key].astype(str), *numbers, strict=True))
    own = sorted((one for one in each if not np.isnan(one.value)), key=lambda one: -one.value)
    methods = [one for one in own if one.key not in controls]
    bands, rest = list[tuple[str, ...]](), methods
    while rest:
        size = 1 + max(place for place, one in enumerate(rest) if place == 0 or not one.high < rest[0].low)
        bands.append(tuple(one.key for one in rest[:size]))
        rest = rest[size:]
    reach = [one.key for one in own if one.key in controls and methods and not one.high < methods[0].low]
    return Ranking(tuple(bands), tuple(reach), tuple(one.key for one in methods if one.high < one.chance))


class _One(NamedTuple):
    key: str
    value: float
    low: float
    high: float
    chance: float


def clauses(rankings: Mapping[str, Ranking], name: Written) -> list[str]:
    """Who is best at what, which controls no method beats, and who does worse than guessing: a clause for each band.

    rankings: by what they are of, such as `finding the token`. name: how a key is written, such as in bold.
    """
    ranked = {place: own for place, own in rankings.items() if own.methods}
    bands: dict[tuple[frozenset[str], bool], list[str]] = {}
    for place, own in ranked.items():
        bands.setdefault((frozenset(own.best), len(own.methods) == 1), []).append(place)
    found = []
    for (band, alone), places in bands.items():
        verb = "is the only method" if alone else "is best" if len(band) == 1 else "are level"
        found.append(f"{who(ranked[places[0]].best, name)} {verb} at {_listed(places)}")
    for where, controls in _by_places({place: own.controls for place, own in ranked.items()}).items():
        the = "" if len(controls) > NAMED else f"the {'control' if len(controls) == 1 else 'controls'} "
        found.append(f"no method beats {the}{who(controls, name, 'control')} at {where}")
    for where, below in _by_places({place: own.below for place, own in ranked.items()}).items():
        found.append(f"{who(below, name)} {'does' if len(below) == 1 else 'do'} worse than guessing at {where}")
    return found


def _by_places(named: Mapping[str, Sequence[str]]) -> dict[str, list[str]]:
    """The places of a key, in words ▶ the keys that are named in just these."""
    found: dict[str, list[str]] = {}
    for key in dict.fromkeys(key for keys in named.values() for key in keys):
        found.setdefault(_listed([place for place, keys in named.items() if key in keys]), []).append(key)
    return found


def _listed(places: Sequence[str]) -> str:
    return "all three questions" if [*places] == [AT[question] for question in ("RQ1", "RQ2", "RQ3")] else listed(places)


def who(keys: Sequence[str], name: Written, what: str = "method") -> str:
    """`A, B and C`, or `nine methods`."""
    return listed([name(key) for key in keys]) if len(keys) <= NAMED else counted(len(keys), what)


def valued(own: Ranking, at: str, name: Written, value: Written, short: Written) -> list[str]:
    """The clauses of one ranking, with the value of the best, or with the lowest and the highest of the band."""
    said, last = clauses({at: own}, name), own.best[-1]
    said[0] += f": {value(last) if len(own.best) == 1 else f'{short(last)} to {short(own.best[0])}'}"
    return said


def sentences(said: Sequence[str]) -> str:
    """Each clause as a sentence."""
    return " ".join(f"{clause[:1].upper()}{clause[1:]}." for clause in said)
