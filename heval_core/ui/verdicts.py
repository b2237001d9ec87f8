"""What the data on a page say, in a sentence or two: what stands above its figure."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

import pandas as pd

from heval_core.figures.measured_panels import Measured, in_unit, told
from heval_core.figures.replacements import Advantage
from heval_core.metrics.shared.measure import Measure
from heval_core.present.names import Names, regime_title
from heval_core.present.numbers import SHARE, change, interval, number, percent
from heval_core.records import CELL
from heval_core.statistics.correlation import clustered_spearman
from heval_core.ui.text import plain
from heval_core.words import DROP_REASONS, PATTERNS

# What the best explainer at a question does better than the others.
_DOES_BEST = {
    "RQ1": "tells context from memory best",
    "RQ2": "tells the used document from the other best",
    "RQ3": "finds the answer's token best",
    "faithfulness": "is the most faithful",
}
_NAMED = 3


def of_measure(found: Measured, names: Names) -> str:
    """Who leads, by how much, and who is below chance: from the numbers on screen."""
    there = found.ranked(list(found.overall["explainer"]))
    methods = [key for key in there if key not in names.controls]
    if not methods:
        return "Nothing is available under these filters; the table below says why."
    best, means = methods[0], in_unit(found.overall, found.scaled).set_index("explainer")
    title = f"**{plain(names.explainer(best))}**"
    if found.measure.best == "zero":
        away = f"{number(found.away[best])} {found.measure.unit} away on average over {int(means.loc[best, 'cells'])} cells"
        return f"{title} stays nearest to chance: {away}. Its mean is {told(means.loc[best].to_dict(), found)}."
    does = _DOES_BEST.get(found.measure.question, "is best")
    said = [f"{title} {does}: {told(means.loc[best].to_dict(), found)}."]
    controls = [key for key in there if key in names.controls and key != "random"]
    if controls:
        rival = controls[0]
        said.append(f"The best control, {plain(names.explainer(rival))}, gets {number(float(means.loc[rival, 'at']))}.")
    return " ".join([*said, _wrong_side(found, methods, names)])


def _wrong_side(found: Measured, methods: list[str], names: Names) -> str:
    """Which methods' whole intervals lie on the wrong side of chance, in how many cells."""
    side = "above" if found.measure.best == "low" else "below"
    counted = found.wrong_side.loc[methods].query("wrong > 0").sort_values("wrong", ascending=False, kind="stable")
    if counted.empty:
        return f"No explainer is clearly {side} chance in any cell."
    named: list[str] = []
    for key, row in counted.head(_NAMED).iterrows():
        title = f"**{plain(names.explainer(str(key)))}**"
        of = over({"comparisons": row["numbers"], "cells": row["cells"]})
        named.append(f"{title} in {row['wrong']}" if named else f"{title} is clearly {side} chance in {row['wrong']} of {of}")
    more = len(counted) - _NAMED
    return f"{', '.join(named)}{f', and {more} more in some' if more > 0 else ''}."


def over(row: Mapping[Any, Any]) -> str:
    """`12 cells`, or `24 comparisons in 12 cells` where a cell has several parts."""
    comparisons, cells = int(row["comparisons"]), int(row["cells"])
    return f"{cells} cells" if comparisons == cells else f"{comparisons} comparisons in {cells} cells"


def difference(row: Mapping[Any, Any], unit: str, sign: int = 1) -> str:
    """`mean difference 3.1 [2.9, 3.3] ranks`, from a row of `Compared.overall`. sign: -1 for second minus first."""
    mean, *ends = (sign * row[name] for name in ("mean difference", "low", "high"))
    low, high = sorted(ends)
    return f"mean difference {interval(mean, low, high)} {unit}"


def of_pairs(counted: pd.DataFrame, names: Names, measure: Measure) -> str:
    """The pair with the clearest winner. counted: rows of `Compared.overall`."""
    if measure.best == "zero":
        return "A bias has no winner; the table gives the differences."
    leads = counted.assign(lead=counted["wins"] - counted["losses"])
    clearest = leads.sort_values(["lead", "mean difference"], key=abs).iloc[-1]
    both = [names.explainer(clearest[side]) for side in ("first", "second")]
    wins, losses = int(clearest["wins"]), int(clearest["losses"])
    sign = -1 if wins < losses else 1
    if wins < losses:
        both, wins, losses = both[::-1], losses, wins
    return (
        f"Clearest: **{plain(both[0])}** over {plain(both[1])}, better in {wins} of {over(clearest)} and "
        f"worse in {losses} ({difference(clearest, measure.unit, sign)})."
    )


def of_two(row: dict[str, Any], measure: Measure, first: str, second: str) -> str:
    """Two explainers compared. row: of `Compared.overall`, signed as first minus second."""
    mean = difference(row, measure.unit)
    if measure.best == "zero":
        return f"A bias has no winner. **{plain(first)}** minus {plain(second)}: {mean} over {over(row)}."
    return (
        f"**{plain(first)}** against **{plain(second)}**: {row['wins']} wins, {row['ties']} ties, {row['losses']} losses over "
        f"{over(row)} ({mean})."
    )


def cells_covered(points: pd.DataFrame, ends: pd.DataFrame, asked: int, axis: str, names: Names) -> str:
    """Which cells the curves show: often not all of them, because each quarter must be large enough."""
    there = ends.drop_duplicates(list(CELL))
    titled = [names.dataset(key) for key in there["dataset"].unique()]
    titled += [regime_title(key) for key in there["regime"].unique()]
    least, most = number(ends["least"].min()), number(ends["most"].max())
    rest = ""
    if asked > len(there):
        rest = f" In the other {asked - len(there)}, a quarter has too few instances of a group, or all have one length."
    n = int(points.groupby("explainer")["n"].sum().max())
    named = plain("; ".join(titled))
    return f"Of {len(there)} of {asked} cells ({named}): {n:,} instances, {least} to {most} {axis}.{rest}"


def of_curves(changes: pd.DataFrame, names: Names) -> str:
    """From the first to the last quarter: how each method's lead over chance changes."""
    methods = changes[~changes["explainer"].isin(names.controls)].sort_values("change")
    if methods.empty:
        return "No method is available here."
    parts = []
    for row in methods.itertuples():
        lead, low, high = (change(value) for value in (row.change, row.low, row.high))
        parts.append(f"**{plain(names.title('explainer', str(row.explainer)))}** {lead} [{low}, {high}]")
    return f"From the first to the last quarter the lead over chance changes by: {', '.join(parts)}."


def of_patterns(shares: pd.DataFrame, names: Names) -> str:
    """Who puts the answer first most and least often, and what it is instead. shares: what `shares_of` gives."""
    methods = shares[~shares["explainer"].isin(names.controls)]
    right = methods[methods["pattern"] == "answer"].sort_values("share", ascending=False)
    if right.empty:
        return "Only controls are left under these filters."
    best, worst = right.iloc[0], right.iloc[-1]
    wrong = methods[(methods["explainer"] == worst["explainer"]) & (methods["pattern"] != "answer")]
    said = (
        f"**{plain(names.explainer(best['explainer']))}** puts the answer's token first in {_share(best)} of its "
        f"instances, **{plain(names.explainer(worst['explainer']))}** in {_share(worst)} "
        f"(chance {percent(best['chance'])})"
    )
    if wrong.empty:
        return f"{said}."
    instead = wrong.loc[wrong["share"].idxmax()]
    kind = PATTERNS[instead["pattern"]].title.lower()
    return f"{said}; what it most often puts first instead is *{kind}* ({_share(instead)})."


def _share(row: Any) -> str:
    """`72 % [66, 78]`, in Markdown."""
    return interval(row["share"], row["low"], row["high"], SHARE).replace("[", r"\[").replace("]", r"\]")


def of_outcomes(outcomes: pd.DataFrame) -> str:
    """How many instances were kept, why others were dropped, and how many answers came from memory."""
    asked = int(outcomes["instances"].sum())
    dropped = outcomes[outcomes["dropped"]].groupby("outcome")["instances"].sum().sort_values(ascending=False)
    groups = outcomes[~outcomes["dropped"]].groupby("outcome")["instances"].sum()
    kept = int(groups.sum())
    from_memory = int(groups.get("M", 0)) / max(kept, 1)
    why = f", most often because {plain(DROP_REASONS[dropped.index[0]].meaning)}" if len(dropped) else ""
    return (
        f"Of {asked:,} instances asked, {kept:,} are kept ({percent(kept / asked)}); "
        f"{int(dropped.sum()):,} are dropped{why}. {percent(from_memory)} of the kept answers came from memory."
    )


def matching_sentence(agreement: pd.DataFrame) -> str:
    """One sentence from the rows of `text_agreement`, at least one."""
    least, kept = agreement.loc[agreement["share"].idxmin()], int(agreement["n"].sum())
    where = f"{plain(least['model'])} on {plain(least['dataset'])}"
    lowest = f", for {where} in {percent(least['share'])}" if len(agreement) > 1 else ""
    return (
        f"The answer's first token and its text lead to the same group in {percent(agreement['same'].sum() / kept)} of "
        f"{kept:,} kept instances{lowest}; the text decided."
    )


def of_replacements(advantages: dict[str, Advantage]) -> str:
    """One sentence about fa's advantage under its own baseline token. advantages: by metric."""
    parts = [
        f"{_nats(gain.own)} in {metric} (the other methods {_nats(gain.rest)}; it gains more in {gain.above} of "
        f"{gain.cells} cells)"
        for metric, gain in advantages.items()
    ]
    worth = [f"**{_nats(gain.own - gain.rest)}** in {metric}" for metric, gain in advantages.items()]
    return (
        f"Under its own baseline token feature ablation is, against the mean of the other two, {' and '.join(parts)}; beside "
        f"the other methods, that token alone would make it look {' and '.join(worth)}."
    )


def _nats(nats: float) -> str:
    return f"{number(abs(nats))} nats {'better' if nats >= 0 else 'worse'}"


def of_faithfulness(points: pd.DataFrame, controls: Collection[str]) -> str:
    """The rank correlation of faithfulness and accuracy. points: what `faithful_and_right` gives."""
    methods = points[~points["explainer"].isin(controls)]
    names = list(methods[list(CELL)].itertuples(index=False, name=None))
    rho, (low, high) = clustered_spearman(methods["x"].to_numpy(), methods["y"].to_numpy(), names)
    return (
        f"Over {len(methods)} dots of methods in {len(set(names))} cells, faithfulness and accuracy have a rank correlation "
        f"of **{number(rho)}** [{number(low)}, {number(high)}] (0: none; 95 % interval, with whole cells resampled, because "
        "the dots of a cell share their instances)."
    )
