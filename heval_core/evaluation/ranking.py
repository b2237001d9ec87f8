"""Who is ahead of whom, who is therefore best, and the only sentences that say so.

One relation, `ahead`: a is ahead of b if the difference of their numbers is not chance, over the same questions. p: of the
normal distribution, with the standard error of the difference's replicates, in which both have the same resamples of the
questions (or the same splits into halves, for values that are learned). Where one of the two has no replicates (means whose
ends are averaged, tables without them), the error is that of two independent numbers, from the ends of their intervals that
face each other (MOVER: Zou & Donner 2008), which is too large rather than too small. Holm corrects over the pairs of a
ranking: all but those of two controls.

The relation is not transitive, and ranks are. Methods stand in bands: the first holds the highest number, all that it is not
ahead of, and whose number is the very same as one of theirs; but who does no better than guessing shares no rank with one who
does. Then the next band, of the others. So a method in between may be beaten where a lower one is too unsure to be, and bands
come before numbers where methods are listed. The first band's methods are best: they share rank, bracket and bold, and
sentences call them level. Only rows over the same cells belong in a ranking. Controls are never best; those that no method is
ahead of are named beside them.
Whatever names a winner, or sets one in bold, asks a `Ranking`, so that pages, tables and the report agree.
"""

from collections.abc import Callable, Collection, Mapping, Sequence
from itertools import combinations
from math import erfc, sqrt
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from heval_core.records.vocabulary import counted, listed
from heval_core.statistics.correlation import holm

LEVEL = 0.05
# Columns of tables: those whose numbers a row's own exceeds, and is level with.
COMPARED = ("exceeds", "within")
# Within which numbers from chance (0) to best (1) are equal.
MARGIN = 0.05
ROUNDING = 1e-9
# Standard errors from a number to the end of its 95 % interval.
_REACH = 1.959964
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
NameOf = Callable[[str], str]


def ahead(rows: pd.DataFrame, replicates: Mapping[str, np.ndarray], controls: Collection[str] = ()) -> dict[str, list[str]]:
    """Return key ▶ those whose numbers its own exceeds, whichever end is good.

    rows: value, low, high by key. replicates: (resamples,) paired ones of those that have any.
    """
    known = rows.dropna(subset="value")
    values = dict(zip(known.index, known[["value", "low", "high"]].to_numpy(dtype=float), strict=True))
    pairs = [pair for pair in combinations(values, 2) if not {*pair} <= {*controls}]
    above: dict[str, list[str]] = {key: [] for key in values}
    for (first, second), p in zip(pairs, holm(np.array([_p(pair, values, replicates) for pair in pairs])), strict=True):
        if p < LEVEL:
            higher, lower = (first, second) if values[first][0] > values[second][0] else (second, first)
            above[higher].append(lower)
    return above


def within(rows: pd.DataFrame, replicates: Mapping[str, np.ndarray]) -> dict[str, list[str]]:
    """Return key ▶ those that its number is level with: the interval of the difference lies inside MARGIN on both sides.

    rows, replicates: see `ahead`. Replicates that do not differ at all say nothing of the error; intervals then do.
    """
    known = rows.dropna(subset="value")
    values = dict(zip(known.index, known[["value", "low", "high"]].to_numpy(dtype=float), strict=True))
    level: dict[str, list[str]] = {key: [] for key in values}
    for pair in combinations(values, 2):
        higher, lower = sorted((values[key] for key in pair), key=lambda ends: -ends[0])
        paired = _error(replicates[pair[0]] - replicates[pair[1]]) if {*pair} <= replicates.keys() else np.nan
        alone = float(np.hypot(higher[2] - higher[0], lower[0] - lower[1]))
        if higher[0] - lower[0] + (_REACH * paired if paired > ROUNDING else alone) < MARGIN:
            for key, other in (pair, pair[::-1]):
                level[key].append(other)
    return level


def _p(pair: tuple[str, str], values: Mapping[str, np.ndarray], replicates: Mapping[str, np.ndarray]) -> float:
    if {*pair} <= replicates.keys():
        return p_of(values[pair[0]][0] - values[pair[1]][0], replicates[pair[0]] - replicates[pair[1]])
    higher, lower = sorted((values[key] for key in pair), key=lambda ends: -ends[0])
    return _normal(higher[0] - lower[0], float(np.hypot(higher[0] - higher[1], lower[2] - lower[0])) / _REACH)


def p_of(difference: float, replicates: np.ndarray) -> float:
    """Compute the two-sided p of a difference with (resamples,) replicates; 1 where these are not known."""
    return _normal(difference, _error(replicates))


def _error(replicates: np.ndarray) -> float:
    known = replicates[np.isfinite(replicates)]
    return float(np.std(known, ddof=1)) if len(known) > 1 else np.nan


def _normal(difference: float, error: float) -> float:
    # What differs by rounding only is equal, however small the error.
    if abs(difference) < ROUNDING or np.isnan(error):
        return 1.0
    return erfc(abs(difference) / error / sqrt(2)) if error > 0 else 0.0


def with_exceeds(rows: Sequence[dict[str, Any]], key: str, by: Sequence[str]) -> list[dict[str, Any]]:
    """Return rows of a table with `exceeds` in place of their replicates, `drawn`. by: the columns that make a ranking."""
    for _, group in pd.DataFrame(rows, columns=[key, *by, "value", "low", "high"]).groupby(list(by) or (lambda _: 0)):
        replicates = {
            rows[index][key]: resampled for index in group.index if (resampled := rows[index].pop("drawn", None)) is not None
        }
        for name, lower in ahead(group.set_index(key), replicates).items():
            rows[group.index[group[key] == name][0]]["exceeds"] = lower
    return list(rows)


class Ranking(NamedTuple):
    """bands: of the methods with a number, the best first. controls: those that no method is ahead of, the highest first.
    better: those of them that are ahead of the best. below: methods whose whole interval lies on the wrong side of chance.
    level: whether the best are all level, see `within`.
    """

    bands: tuple[tuple[str, ...], ...] = ()
    controls: tuple[str, ...] = ()
    better: tuple[str, ...] = ()
    below: tuple[str, ...] = ()
    level: bool = False

    @property
    def methods(self) -> tuple[str, ...]:
        return tuple(key for band in self.bands for key in band)

    @property
    def best(self) -> tuple[str, ...]:
        return self.bands[0] if self.bands else ()

    def ranks(self) -> dict[str, str]:
        """Return method ▶ `1`, or `2–4` for those of a band."""
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

    @property
    def alike(self) -> str:
        """What sentences say of several that are best."""
        return f"level within {MARGIN}" if self.level else "not told apart"

    def alike_with(self, others: str) -> str:
        """Say the same of one of the best. others: the others, named."""
        return f"{self.alike} {'with' if self.level else 'from'} {others}"


def ranking(
    rows: pd.DataFrame,
    controls: Collection[str] = (),
    best: str = "high",
    of: Sequence[str] = ("value", "low", "high"),
    key: str = "explainer",
    chance: str = "chance",
) -> Ranking:
    """Rank methods. rows: one a method, over the same cells.

    exceeds: whose numbers its own exceeds (see `ahead`), by default by intervals; within: see there. best: `high`, `low`, or
    `zero`, of which a mean near chance may hide two of opposite sign, so that nobody is best. of: the columns of a number and
    its ends.
    """
    if best == "zero":
        return Ranking()
    sign, ends = (-1.0, (of[0], of[2], of[1])) if best == "low" else (1.0, of)
    numbers = pd.DataFrame({"key": rows[key].astype(str), "value": sign * rows[ends[0]].astype(float).round(9)})
    for name, column in zip(("low", "high", "chance"), (*ends[1:], chance), strict=True):
        numbers[name] = sign * rows[column].astype(float) if column in rows else np.nan
    ranked = numbers.dropna(subset="value").sort_values("value", ascending=False, kind="stable").set_index("key")
    stored = "exceeds" in rows and rows["exceeds"].notna().any()
    above = rows.set_index(key)["exceeds"].loc[ranked.index].to_dict() if stored else ahead(ranked, {}, controls)
    if stored and best == "low":  # of each, then, those whose numbers its own is below
        above = {key: [other for other, lower in above.items() if key in lower] for key in above}
    methods = [key for key in ranked.index if key not in controls]
    bands, rest = list[tuple[str, ...]](), methods
    while rest:
        first, guessing = rest[0], ranked["chance"][rest[0]] + ROUNDING
        known = [key for key in rest if key not in above[first]]
        level = {
            ranked["value"][key] for key in known if ranked["value"][key] > guessing or not ranked["value"][first] > guessing
        }
        bands.append(tuple(key for key in rest if key == first or ranked["value"][key] in level))
        rest = [key for key in rest if key not in bands[-1]]
    reach = [key for key in ranked.index if key in controls and methods and not any(key in above[name] for name in methods)]
    below = [key for key in methods if ranked["high"][key] < ranked["chance"][key]]
    better = [key for key in reach if methods[0] in above[key]]
    within = rows.set_index(key)["within"] if bands and "within" in rows else None
    equal = within is not None and all(other in within[first] for first, other in combinations(bands[0], 2))
    return Ranking(tuple(bands), tuple(reach), tuple(better), tuple(below), equal)


def clauses(rankings: Mapping[str, Ranking], name: NameOf) -> list[str]:
    """Say who is best at what, which controls no method beats, and who does worse than guessing: a clause for each band.

    rankings: by what they are of, such as `finding the token`. name: how a key is written, such as in bold.
    """
    ranked = {task: at_task for task, at_task in rankings.items() if at_task.methods}
    bands: dict[tuple[frozenset[str], bool, bool], list[str]] = {}
    for task, at_task in ranked.items():
        bands.setdefault((frozenset(at_task.best), len(at_task.methods) == 1, at_task.level), []).append(task)
    texts = []
    for (band, alone, _), tasks in bands.items():
        tied = f"are {ranked[tasks[0]].alike}"
        verb = "is the only method" if alone else "is best" if len(band) == 1 else tied
        texts.append(f"{who(ranked[tasks[0]].best, name)} {verb} at {_listed(tasks)}")
    for where, controls in _by_tasks({task: at_task.better for task, at_task in ranked.items()}).items():
        texts.append(f"{_controls(controls, name)} {'is' if len(controls) == 1 else 'are'} better than the best at {where}")
    level = {task: [key for key in at_task.controls if key not in at_task.better] for task, at_task in ranked.items()}
    texts += [f"no method beats {_controls(controls, name)} at {where}" for where, controls in _by_tasks(level).items()]
    for where, below in _by_tasks({task: at_task.below for task, at_task in ranked.items()}).items():
        texts.append(f"{who(below, name)} {'does' if len(below) == 1 else 'do'} worse than guessing at {where}")
    return texts


def _by_tasks(keys_by_task: Mapping[str, Sequence[str]]) -> dict[str, list[str]]:
    """Return the tasks of a key, in words ▶ the keys that are named in just these."""
    by_tasks: dict[str, list[str]] = {}
    for key in dict.fromkeys(key for keys in keys_by_task.values() for key in keys):
        by_tasks.setdefault(_listed([task for task, keys in keys_by_task.items() if key in keys]), []).append(key)
    return by_tasks


def _controls(keys: Sequence[str], name: NameOf) -> str:
    the = "" if len(keys) > NAMED else f"the {'control' if len(keys) == 1 else 'controls'} "
    return the + who(keys, name, "control")


def _listed(tasks: Sequence[str]) -> str:
    return "all three questions" if [*tasks] == [AT[question] for question in ("RQ1", "RQ2", "RQ3")] else listed(tasks)


def who(keys: Sequence[str], name: NameOf, what: str = "method") -> str:
    """Name `A, B and C`, or `nine methods`."""
    return listed([name(key) for key in keys]) if len(keys) <= NAMED else counted(len(keys), what)


def valued(task_ranking: Ranking, at: str, name: NameOf, value: NameOf, short: NameOf) -> list[str]:
    """Return the clauses of one ranking, with the value of the best, or with the lowest and the highest of the band."""
    texts, last = clauses({at: task_ranking}, name), task_ranking.best[-1]
    texts[0] += f": {value(last) if len(task_ranking.best) == 1 else f'{short(last)} to {short(task_ranking.best[0])}'}"
    return texts


def sentences(texts: Sequence[str]) -> str:
    """Return each clause as a sentence."""
    return " ".join(f"{clause[:1].upper()}{clause[1:]}." for clause in texts)
