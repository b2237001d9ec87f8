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
        by_method, first = dict[str, str](), 1
        for band in self.bands:
            last = first + len(band) - 1
            by_method |= dict.fromkeys(band, f"{first}" if first == last else f"{first}–{last}")
            first = last + 1
        return by_method

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
    numbers = pd.DataFrame({"key": rows[key].astype(str), "value": sign * rows[ends[0]].astype(float)})
    for name, column in zip(("low", "high", "chance"), (*ends[1:], chance), strict=True):
        numbers[name] = sign * rows[column].astype(float) if column in rows else np.nan
    ranked = list(numbers.dropna(subset="value").sort_values("value", ascending=False, kind="stable").itertuples())
    methods = [row for row in ranked if row.key not in controls]
    bands, rest = list[tuple[str, ...]](), methods
    while rest:
        size = 1 + max(index for index, row in enumerate(rest) if index == 0 or not row.high < rest[0].low)
        bands.append(tuple(row.key for row in rest[:size]))
        rest = rest[size:]
    reach = [row.key for row in ranked if row.key in controls and methods and not row.high < methods[0].low]
    return Ranking(tuple(bands), tuple(reach), tuple(row.key for row in methods if row.high < row.chance))


def clauses(rankings: Mapping[str, Ranking], name: Written) -> list[str]:
    """Who is best at what, which controls no method beats, and who does worse than guessing: a clause for each band.

    rankings: by what they are of, such as `finding the token`. name: how a key is written, such as in bold.
    """
    ranked = {task: task_ranking for task, task_ranking in rankings.items() if task_ranking.methods}
    bands: dict[tuple[frozenset[str], bool], list[str]] = {}
    for task, task_ranking in ranked.items():
        bands.setdefault((frozenset(task_ranking.best), len(task_ranking.methods) == 1), []).append(task)
    texts = []
    for (band, alone), tasks in bands.items():
        verb = "is the only method" if alone else "is best" if len(band) == 1 else "are level"
        texts.append(f"{who(ranked[tasks[0]].best, name)} {verb} at {_listed(tasks)}")
    for where, controls in _by_places({task: task_ranking.controls for task, task_ranking in ranked.items()}).items():
        the = "" if len(controls) > NAMED else f"the {'control' if len(controls) == 1 else 'controls'} "
        texts.append(f"no method beats {the}{who(controls, name, 'control')} at {where}")
    for where, below in _by_places({task: task_ranking.below for task, task_ranking in ranked.items()}).items():
        texts.append(f"{who(below, name)} {'does' if len(below) == 1 else 'do'} worse than guessing at {where}")
    return texts


def _by_places(keys_by_task: Mapping[str, Sequence[str]]) -> dict[str, list[str]]:
    """The tasks of a key, in words ▶ the keys that are named in just these."""
    by_tasks: dict[str, list[str]] = {}
    for key in dict.fromkeys(key for keys in keys_by_task.values() for key in keys):
        by_tasks.setdefault(_listed([task for task, keys in keys_by_task.items() if key in keys]), []).append(key)
    return by_tasks


def _listed(tasks: Sequence[str]) -> str:
    return "all three questions" if [*tasks] == [AT[question] for question in ("RQ1", "RQ2", "RQ3")] else listed(tasks)


def who(keys: Sequence[str], name: Written, what: str = "method") -> str:
    """`A, B and C`, or `nine methods`."""
    return listed([name(key) for key in keys]) if len(keys) <= NAMED else counted(len(keys), what)


def valued(own: Ranking, at: str, name: Written, value: Written, short: Written) -> list[str]:
    """The clauses of one ranking, with the value of the best, or with the lowest and the highest of the band."""
    texts, last = clauses({at: own}, name), own.best[-1]
    texts[0] += f": {value(last) if len(own.best) == 1 else f'{short(last)} to {short(own.best[0])}'}"
    return texts


def sentences(said: Sequence[str]) -> str:
    """Each clause as a sentence."""
    return " ".join(f"{clause[:1].upper()}{clause[1:]}." for clause in said)
