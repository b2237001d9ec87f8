"""What the data on the page Techniques say, in a sentence or two. Titles are data: none is read as markup."""

from __future__ import annotations

from typing import Any

import pandas as pd

from heval_core.evaluation.ranking import Written, ranking, sentences, valued
from heval_core.figures.technique_features import feature_title, significant
from heval_core.figures.technique_table import CHANGES, VALUES
from heval_core.present.names import Names, regime_title, value_unit
from heval_core.present.numbers import POINTS, brackets, change, interval, number
from heval_core.records import FOLLOWED, TECHNIQUE
from heval_core.ui.text import plain
from heval_core.words import REGIMES, counted, listed

_IGNORED = "irrelevant"
# Kind ▶ what a technique that gains on it does, and the kind that may pay for it.
_COUNTS = (
    ("conflicting", "following conflicting documents", _IGNORED),
    (_IGNORED, "ignoring irrelevant documents", "conflicting"),
)
# (technique, kind of context) ▶ its row of `cell_behaviour`.
ByPlace = dict[tuple[str, str], dict[str, Any]]


def of_techniques(cells: pd.DataFrame, points: pd.DataFrame, names: Names) -> str:
    """Who is better than Regular, in which kind of context, and whether anybody tells relevant from irrelevant documents.

    cells, points: rows of `cell_behaviour` and `pareto` of one model and dataset.
    """
    bcu = cells[(cells["measure"] == "bcu") & (cells["technique"] != TECHNIQUE)].dropna(subset=["delta"])
    if bcu.empty:
        return "Only Regular was asked here, so there is nothing to compare it with."
    by_place = {(row["technique"], row["regime"]): row for row in bcu.to_dict("records")}
    both = [key for key in names.techniques_in_order(bcu["technique"]) if beats_regular(key, by_place)]
    said: list[str] = []
    if both:
        parts = [f"{_bold(names.technique(key))} ({_deltas(key, by_place)})" for key in both[:2]]
        more = f" and {len(both) - 2} more" if len(both) > 2 else ""
        said.append(f"{listed(parts)}{more} {'beats' if len(both) == 1 else 'beat'} **Regular** on both counts")
    else:
        said.append("no technique beats **Regular** on both counts")
        said += [clause for count in _COUNTS for clause in _gain(by_place, *count, names)]
    return sentences([*said, *_discrimination(cells, points, names)])


def beats_regular(key: str, by_place: ByPlace) -> bool:
    """Whether a technique surely ignores irrelevant documents more than Regular, and surely follows some kind of relevant
    ones more and none less. Surely: the 95 % interval of the paired difference leaves out 0.
    """
    ignored = by_place.get((key, _IGNORED))
    followed = [by_place[key, kind] for kind in FOLLOWED if (key, kind) in by_place]
    if ignored is None or not followed or not ignored["delta_low"] > 0:
        return False
    return any(row["delta_low"] > 0 for row in followed) and not any(row["delta_high"] < 0 for row in followed)


def _gain(by_place: ByPlace, kind: str, gain: str, other: str, names: Names) -> list[str]:
    """Who gains most on a kind of document, and what the other kind pays."""
    rows = {key: row for (key, regime), row in by_place.items() if regime == kind}
    if not any(row["delta_low"] > 0 for row in rows.values()):
        return [f"no technique is surely better than **Regular** at {gain}"] if rows else []
    own = ranking(pd.DataFrame(rows.values()), of=CHANGES, key="technique", chance="")

    def value(key: str) -> str:
        paid = by_place.get((key, other))
        return _delta(rows[key]) + (f", at {_delta(paid)} on {REGIMES[other].title.lower()} ones" if paid is not None else "")

    return valued(own, gain, _written(names), value, lambda key: _points(rows[key]), "technique")


def _telling(rows: pd.DataFrame, what: str, names: Names, of: tuple[str, str, str]) -> list[str]:
    """Who tells documents apart best; nothing where nobody surely does. of: the columns of J and its ends."""
    if rows.empty or not (rows[of[1]] > 0).any():
        return []
    unit, by_key = value_unit("discrimination"), rows.set_index("technique")
    own = ranking(rows, of=of, key="technique", chance="")

    def value(key: str) -> str:
        mean, low, high = by_key.loc[key, list(of)]
        return f"J\u00a0{number(mean, unit)} {brackets(low, high, unit)}, where 0 is blind and 1 perfect"

    return valued(own, what, _written(names), value, lambda key: number(by_key.loc[key, of[0]], unit), "technique")


def _discrimination(cells: pd.DataFrame, points: pd.DataFrame, names: Names) -> list[str]:
    """Of documents about another subject; of those about something else only where nobody tells these apart."""
    of = ("discrimination", "discrimination_low", "discrimination_high")
    known = points.dropna(subset=list(of[:2])) if len(points) else points
    subject = "telling relevant documents from irrelevant ones"
    if said := _telling(known, subject, names, of):
        return said
    off_topic = cells[cells["measure"] == "discrimination_off_topic"].dropna(subset=["value"])
    none = [f"no technique is surely better than guessing at {subject}"] if len(known) else []
    return none + _telling(off_topic, "telling off-topic documents apart", names, VALUES)


def _written(names: Names) -> Written:
    return lambda key: _bold(names.technique(key))


def of_features(correlations: pd.DataFrame, technique: str) -> str:
    """Which features BCU surely goes with within models and datasets, and which only look so when all are pooled.

    correlations: rows of `feature_correlation` of one dataset and technique. technique: its title.
    """
    rows = [row for row in correlations.to_dict("records") if not pd.isna(row["rho_stratified"])]
    within = sorted((row for row in rows if significant(row, "_stratified")), key=lambda row: -abs(row["rho_stratified"]))
    if within:
        best = [f"{_bold(feature_title(row['feature']))} ({_where(row)})" for row in within[:3]]
        more = f"; so it does in {counted(len(within) - 3, 'more place')}" if len(within) > 3 else ""
        said = f"Under {_bold(technique)}, BCU goes with {listed(best)} within models and datasets{more}."
    else:
        said = f"Under {_bold(technique)}, BCU surely goes with no feature within models and datasets."
    looks = [feature_title(row["feature"]) for row in rows if significant(row, "") and not significant(row, "_stratified")]
    names = [_bold(name) for name in dict.fromkeys(looks)]
    if names:
        verb, are = ("looks", "it is") if len(names) == 1 else ("look", "they are")
        said += f" {listed(names[:3])} {verb} guilty somewhere when all are pooled, but {are} not within them."
    return said


def _where(row: dict[str, Any]) -> str:
    return f"{regime_title(row['regime']).lower()}, rho {change(row['rho_stratified'])}"


def _bold(title: str) -> str:
    return f"**{plain(title)}**"


def _delta(row: dict[str, Any]) -> str:
    said = interval(row["delta"], row["delta_low"], row["delta_high"], POINTS, signed=True)
    return said.replace("[", r"\[").replace("]", r"\]")


def _points(row: dict[str, Any]) -> str:
    return f"{change(row['delta'], POINTS)} points"


def _deltas(key: str, by_place: ByPlace) -> str:
    there = [kind for kind, *_ in _COUNTS if (key, kind) in by_place]
    return ", ".join(f"{REGIMES[kind].title.lower()} {_delta(by_place[key, kind])}" for kind in there)
