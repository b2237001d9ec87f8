"""What the data on the page Techniques say, in a sentence or two. Titles are data: none is read as markup."""

from __future__ import annotations

from typing import Any

import pandas as pd

from heval_core.figures.technique_features import feature_title, significant
from heval_core.present.names import Names, regime_title, value_unit
from heval_core.present.numbers import POINTS, brackets, change, number
from heval_core.records import FOLLOWED, TECHNIQUE
from heval_core.ui.text import plain
from heval_core.words import REGIMES, counted, listed

_IGNORED = "irrelevant"
# Kind ▶ what a technique that gains on it does, and the kind that may pay for it.
_COUNTS = (("conflicting", "follows conflicting", _IGNORED), (_IGNORED, "ignores irrelevant", "conflicting"))
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
        parts = [f"{_bold(names.technique(key))} ({_deltas(key, by_place, ('conflicting', _IGNORED))})" for key in both[:2]]
        more = f" and {len(both) - 2} more" if len(both) > 2 else ""
        said.append(f"{listed(parts)}{more} {'beats' if len(both) == 1 else 'beat'} **Regular** on both counts.")
    else:
        said.append("No technique beats **Regular** on both counts.")
        said += _trade(by_place, names)
    return " ".join([*said, *_discrimination(points, names), *_off_topic(cells, points, names)])


def beats_regular(key: str, by_place: ByPlace) -> bool:
    """Whether a technique surely ignores irrelevant documents more than Regular, and surely follows some kind of relevant
    ones more and none less. Surely: the 95 % interval of the paired difference leaves out 0.
    """
    ignored = by_place.get((key, _IGNORED))
    followed = [by_place[key, kind] for kind in FOLLOWED if (key, kind) in by_place]
    if ignored is None or not followed or not ignored["delta_low"] > 0:
        return False
    return any(row["delta_low"] > 0 for row in followed) and not any(row["delta_high"] < 0 for row in followed)


def _trade(by_place: ByPlace, names: Names) -> list[str]:
    """Who gains most on conflicting and who on irrelevant documents, and what the other count pays."""
    said = []
    for kind, words, other in _COUNTS:
        own = [row for (_, regime), row in by_place.items() if regime == kind]
        gains = [row for row in own if row["delta_low"] > 0]
        if gains:
            best = max(gains, key=lambda row: row["delta"])
            cost = by_place.get((str(best["technique"]), other))
            against = f", at {_delta(cost)} on {REGIMES[other].title.lower()} ones" if cost is not None else ""
            said.append(f"{_bold(names.technique(str(best['technique'])))} {words} documents most ({_delta(best)}{against}).")
        elif own:
            said.append(f"No technique surely {words} documents more.")
    return said


def _discrimination(points: pd.DataFrame, names: Names) -> list[str]:
    known = points.dropna(subset=["discrimination", "discrimination_low"]) if len(points) else points
    if known.empty:
        return []
    above = known[known["discrimination_low"] > 0].sort_values("discrimination", ascending=False)
    if len(above):
        best = above.iloc[0]
        interval = brackets(best["discrimination_low"], best["discrimination_high"], value_unit("discrimination"))
        value = number(best["discrimination"], value_unit("discrimination"))
        name = _bold(names.technique(str(best["technique"])))
        return [
            f"{name} tells relevant documents from irrelevant ones best: J {value} {interval}, where 0 is blind and 1 perfect."
        ]
    if bool((known["discrimination_high"] >= 0).all()):
        return ["J is 0 within its interval for every technique: none can tell irrelevant documents from relevant ones."]
    return ["J is above 0 for no technique: none can tell irrelevant documents from relevant ones."]


def _off_topic(cells: pd.DataFrame, points: pd.DataFrame, names: Names) -> list[str]:
    """Said only where it differs: documents about something else are told apart, those about another subject are not."""
    if len(points) and (points["discrimination_low"] > 0).any():
        return []
    measure = "discrimination_off_topic"
    above = cells[(cells["measure"] == measure) & (cells["low"] > 0)].sort_values("value", ascending=False)
    if above.empty:
        return []
    best = above.iloc[0]
    interval = f"{number(best['value'], value_unit(measure))} {brackets(best['low'], best['high'], value_unit(measure))}"
    return [f"{_bold(names.technique(str(best['technique'])))} tells off-topic ones best: J {interval}."]


def of_features(correlations: pd.DataFrame, technique: str) -> str:
    """Which features BCU surely goes with within models and datasets, and which only look so when all are pooled.

    correlations: rows of `feature_correlation` of one dataset and technique. technique: its title.
    """
    rows = [row for row in correlations.to_dict("records") if not pd.isna(row["rho_stratified"])]
    within = sorted((row for row in rows if significant(row, "_stratified")), key=lambda row: -abs(row["rho_stratified"]))
    if within:
        best = [f"{_bold(feature_title(row['feature']))} ({_where(row)}, rho {_rho(row)})" for row in within[:3]]
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


def _rho(row: dict[str, Any]) -> str:
    return change(row["rho_stratified"])


def _where(row: dict[str, Any]) -> str:
    return regime_title(row["regime"]).lower()


def _bold(title: str) -> str:
    return f"**{plain(title)}**"


def _delta(row: dict[str, Any]) -> str:
    return f"{change(row['delta'], POINTS)} points {brackets(row['delta_low'], row['delta_high'], POINTS)}".replace(
        "[", r"\["
    ).replace("]", r"\]")


def _deltas(key: str, by_place: ByPlace, kinds: tuple[str, ...]) -> str:
    return ", ".join(
        f"{REGIMES[kind].title.lower()} {_delta(by_place[key, kind])}" for kind in kinds if (key, kind) in by_place
    )
