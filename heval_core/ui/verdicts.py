"""What the data on a page say, in a sentence or two: what stands above its figure."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any

import pandas as pd

from heval_core.evaluation.ranking import AT, Written, ranking, sentences, valued
from heval_core.figures.measured_panels import Measured, in_unit, told
from heval_core.figures.replacements import Advantage
from heval_core.metrics.shared.measure import Measure
from heval_core.present.names import Names, regime_title
from heval_core.present.numbers import SHARE, change, interval, number, percent
from heval_core.records import CELL
from heval_core.statistics.correlation import clustered_spearman
from heval_core.ui.text import plain
from heval_core.words import DROP_REASONS, PATTERNS

_NAMED = 3
_NOTHING = "Nothing is available under these filters; the table below says why."


def of_measure(found: Measured, names: Names) -> str:
    """Who is best, by how much, and who is below chance: from the numbers on screen."""
    own = found.ranking(found.overall, names.controls)
    means = in_unit(found.overall, found.scaled).set_index("explainer")
    if found.measure.best == "zero":
        nearest = next((key for key in found.ranked(list(means.index)) if key not in names.controls), "")
        return _of_bias(found, nearest, means.loc[nearest].to_dict(), names) if nearest else _NOTHING
    if not own.methods:
        return _NOTHING

    def short(key: str) -> str:
        return f"{number(means.loc[key, 'at'])}{f' {found.unit}' if key == own.best[0] else ''}"

    own, below = own._replace(below=()), _wrong_side(found, own.methods, names)
    said = valued(own, AT[found.measure.question], bold(names), lambda key: told(means.loc[key].to_dict(), found), short)
    return f"{sentences(said)} {below}".strip()


def bold(names: Names) -> Written:
    """Key ▶ an explainer's name in bold."""
    return lambda key: f"**{plain(names.explainer(key))}**"


def _of_bias(found: Measured, nearest: str, mean: dict[str, Any], names: Names) -> str:
    away = f"{number(found.away[nearest])} {found.measure.unit} away on average over {int(mean['cells'])} cells"
    return f"{bold(names)(nearest)} stays nearest to chance: {away}. Its mean is {told(mean, found)}."


def _wrong_side(found: Measured, methods: Sequence[str], names: Names) -> str:
    """Which methods' whole intervals lie on the wrong side of chance, in how many cells."""
    counted = found.wrong_side.loc[list(methods)].query("wrong > 0").sort_values("wrong", ascending=False, kind="stable")
    if counted.empty:
        return ""
    often = [f"{bold(names)(str(key))} in {row['wrong']}" for key, row in counted.head(_NAMED).iterrows()]
    first = counted.iloc[0]
    often[0] += f" of {over({'comparisons': first['numbers'], 'cells': first['cells']})}"
    return f"Worse than guessing: {', '.join(often)}."


def over(row: Mapping[Any, Any]) -> str:
    """`12 cells`, or `24 comparisons in 12 cells` where a cell has several parts."""
    comparisons, cells = int(row["comparisons"]), int(row["cells"])
    return f"{cells} cells" if comparisons == cells else f"{comparisons} comparisons in {cells} cells"


def of_two(row: dict[str, Any], measure: Measure, first: str, second: str) -> str:
    """Two explainers compared. row: of `Compared.overall`, signed as first minus second."""
    mean = f"mean difference {interval(row['mean difference'], row['low'], row['high'])} {measure.unit}"
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
        parts.append(f"{bold(names)(str(row.explainer))} {lead} [{low}, {high}]")
    return f"From the first to the last quarter the lead over chance changes by: {', '.join(parts)}."


def of_patterns(shares: pd.DataFrame, names: Names) -> str:
    """Who puts the answer first most and least often, and what is first instead. shares: what `shares_of` gives."""
    right = shares[shares["pattern"] == "answer"]
    own, by_key = ranking(right, names.controls, of=("share", "low", "high"), chance=""), right.set_index("explainer")
    if not own.methods:
        return "Only controls are left under these filters."
    own, of_best, worst = own._replace(controls=()), (lambda key: _share(by_key.loc[key])), own.methods[-1]
    chance = f" (chance {percent(by_key.loc[worst, 'chance'])})"
    said = valued(own, "putting the answer's token first", bold(names), of_best, lambda key: percent(by_key.loc[key, "share"]))
    wrong = shares[(shares["explainer"] == worst) & (shares["pattern"] != "answer")]
    if len(wrong):
        instead = wrong.loc[wrong["share"].idxmax()]
        kind = PATTERNS[instead["pattern"]].title.lower()
        said += [
            f"{bold(names)(worst)} is last, with {of_best(worst)}, and most often puts *{kind}* first ({_share(instead)})"
        ]
    return sentences([said[0] + chance, *said[1:]])


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
