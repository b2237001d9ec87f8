"""What the data on a page say, in a sentence or two: what stands above its figure."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any

import pandas as pd

from heval_core.evaluation.comparisons import tally
from heval_core.evaluation.ranking import AT, Written, sentences, valued
from heval_core.figures.measures import Measured
from heval_core.html import plain
from heval_core.present.names import Names
from heval_core.present.numbers import SHARE, change, interval, number, percent, so_many
from heval_core.records import CELL
from heval_core.statistics.correlation import clustered_spearman
from heval_core.words import PATTERNS

_NAMED = 3
_NOTHING = "Nothing is available under these filters; the table below says why."


def of_measure(found: Measured, names: Names) -> str:
    """Who is best, by how much, and who is below chance: from the numbers on screen."""
    ranking = found.ranking(found.overall, names.controls)
    means = found.in_unit(found.overall).set_index("explainer")
    if found.measure.best == "zero":
        nearest = next((key for key in found.ranked(list(means.index)) if key not in names.controls), "")
        return _of_bias(found, nearest, means.loc[nearest].to_dict(), names) if nearest else _NOTHING
    if not ranking.methods:
        return _NOTHING

    def short(key: str) -> str:
        return f"{number(means.loc[key, 'at'])}{f' {found.unit}' if key == ranking.best[0] else ''}"

    ranking, below = ranking._replace(below=()), _wrong_side(found, ranking.methods, names)
    clauses = valued(ranking, AT[found.measure.question], bold(names), lambda key: found.told(means.loc[key].to_dict()), short)
    return f"{sentences(clauses)} {below}".strip()


def bold(names: Names) -> Written:
    """Key ▶ an explainer's name in bold."""
    return lambda key: f"**{plain(names.explainer(key))}**"


def _of_bias(measured: Measured, nearest: str, mean: dict[str, Any], names: Names) -> str:
    distance = f"{number(measured.away[nearest])} {measured.measure.unit} away on average over {int(mean['cells'])} cells"
    return f"{bold(names)(nearest)} stays nearest to chance: {distance}. Its mean is {measured.told(mean)}."


def _wrong_side(measured: Measured, methods: Sequence[str], names: Names) -> str:
    """Which methods' whole intervals lie on the wrong side of chance, in how many cells."""
    counts = measured.wrong_side.loc[list(methods)].query("wrong > 0").sort_values("wrong", ascending=False, kind="stable")
    if counts.empty:
        return ""
    phrases = [f"{bold(names)(str(key))} in {row['wrong']} of {row['numbers']}" for key, row in counts.head(_NAMED).iterrows()]
    return f"Worse than guessing: {', '.join(phrases)} comparisons."


def of_two(pairs: pd.DataFrame, first: str, second: str) -> str:
    """Two explainers compared. pairs: rows of `Board.pairs`, first minus second."""
    record = tally(pairs)
    won = f"**{plain(first)}** wins {record['wins']} of {len(pairs)} comparisons against {plain(second)}"
    mean = f"the mean difference of these is {change(record['mean difference'])} of 1"
    return f"{won}, ties {record['ties']} and loses {record['losses']}; {mean}. *Overall* counts each question once."


def of_patterns(shares: pd.DataFrame, ranked: Sequence[str], names: Names) -> str:
    """What the best and the last method of the board put first. shares: of `shares_of`. ranked: methods, best first."""
    right = shares[shares["pattern"] == "answer"].set_index("explainer")
    methods = [key for key in ranked if key in right.index]
    if not methods:
        return "No method with a rank is left under these filters."
    first, last = methods[0], methods[-1]
    sentence = f"{bold(names)(first)} puts the answer first in {_share(right.loc[first])}"
    sentence += f" (guessing: {percent(right.loc[first, 'chance'])})."
    wrong = shares[(shares["explainer"] == last) & (shares["pattern"] != "answer")]
    if last == first or wrong.empty:
        return sentence
    instead = wrong.loc[wrong["share"].idxmax()]
    kind = PATTERNS[instead["pattern"]].title.lower()
    return f"{sentence} {bold(names)(last)} does so in {_share(right.loc[last])}; most often first: *{kind}*."


def _share(row: Any) -> str:
    """`72 % [66, 78]`, in Markdown."""
    return interval(row["share"], row["low"], row["high"], SHARE).replace("[", r"\[").replace("]", r"\]")


def of_outcomes(outcomes: pd.DataFrame) -> str:
    """How many questions were usable, and how many answers came from memory."""
    asked = int(outcomes["instances"].sum())
    groups = outcomes[~outcomes["dropped"]].groupby("outcome")["instances"].sum()
    kept = int(groups.sum())
    from_memory = int(groups.get("M", 0)) / max(kept, 1)
    usable = f"{percent(kept / asked)} of {asked:,} questions were usable."
    return f"{usable} {percent(from_memory)} of their answers came from memory."


def of_faithfulness(points: pd.DataFrame, controls: Collection[str]) -> str:
    """The rank correlation of faithfulness and accuracy. points: what `faithful_and_right` gives."""
    methods = points[~points["explainer"].isin(controls)]
    cells = list(methods[list(CELL)].itertuples(index=False, name=None))
    rho, (low, high) = clustered_spearman(methods["x"].to_numpy(), methods["y"].to_numpy(), cells)
    brackets = f" [{number(low)}, {number(high)}] (0: none; 95 %, whole cells resampled, since their dots share instances)"
    return (
        f"Over {len(methods)} dots of methods in {so_many(len(set(cells)), 'cell')}, faithfulness and accuracy have a rank "
        f"correlation of **{number(rho)}**{brackets if low == low else ' (0: none; an interval needs several cells)'}."
    )
