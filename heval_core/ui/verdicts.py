"""What the data on a page say, in a sentence or two: what stands above its figure."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd

from heval_core.figures.replacements import Advantage
from heval_core.metrics import headlines
from heval_core.metrics.shared.measure import QUESTIONS, Measure
from heval_core.records import CELL, DROP_REASONS
from heval_core.statistics.correlation import clustered_spearman
from heval_core.ui.text import plain
from heval_core.wording import number, percent


def of_bars(cells: pd.DataFrame, measure: Measure, unit: str, controls: set[str]) -> str:
    """One sentence from the data on screen: the best method beside chance and the best control, and how clear it is."""
    found = cells.dropna(subset=["value"])
    methods = found[~found["explainer"].isin(controls)]
    if methods.empty:
        return "Nothing is available under these filters; the table below says why."
    # Cells of opposite sign are no small bias: of a measure that is best at none, the distance counts.
    away = (found["value"] - found["chance"]).abs()
    found = found.assign(order={"high": found["value"], "low": -found["value"], "zero": -away}[measure.best])
    means = found.groupby(["title", "explainer"]).agg(
        value=("value", "mean"), chance=("chance", "mean"), order=("order", "mean")
    ).reset_index()  # fmt: skip
    best = _first(means[~means["explainer"].isin(controls)])
    count = len(found[found["title"] == best["title"]].drop_duplicates(list(CELL)))
    if measure.best == "zero":
        far = f"{number(-best['order'])} {unit} from chance"
        return f"Closest to none: **{plain(best['title'])}**, {far} on average over {count} cells. {_clear(methods, measure)}"
    beside = [f"chance {number(best['chance'])}"]
    rivals = means[means["explainer"].isin(controls - {"random"})]
    if len(rivals):
        rival = _first(rivals)
        beside.append(f"best control: {plain(rival['title'].removesuffix(' (control)'))} {number(rival['value'])}")
    return (
        f"{'Highest' if measure.best == 'high' else 'Lowest'} on average: **{plain(best['title'])}** with "
        f"{number(best['value'])} {unit} over {count} cells ({', '.join(beside)}). {_clear(methods, measure)}"
    )


def _first(means: pd.DataFrame) -> dict[str, Any]:
    return {str(key): value for key, value in means.loc[means["order"].idxmax()].items()}


def _clear(found: pd.DataFrame, measure: Measure) -> str:
    """The share of the methods' bars that are clear of chance, and the methods that are on the wrong side of it."""
    above, below = found["above_low"] > 0, found["above_high"] < 0
    if measure.best == "zero":
        return (
            f"Of the methods' bars {percent(above.mean())} lie above chance with their whole interval, "
            f"{percent(below.mean())} below it."
        )
    right, wrong, side, other = above, below, "above", "below"
    if measure.best == "low":
        right, wrong, side, other = below, above, "below", "above"
    told = f"{percent(right.mean())} of the methods' bars lie {side} chance with their whole interval"
    names = found[wrong].groupby("title").size().sort_values(ascending=False)
    if names.empty:
        return f"{told}."
    each = ", ".join(f"{plain(str(title))} in {count}" for title, count in names.items())
    return f"{told}; wholly {other} it: {each}."


def over(row: Mapping[Any, Any]) -> str:
    """`12 cells`, or `24 comparisons in 12 cells` where a cell has several parts."""
    comparisons, cells = int(row["comparisons"]), int(row["cells"])
    return f"{cells} cells" if comparisons == cells else f"{comparisons} comparisons in {cells} cells"


def difference(row: Mapping[Any, Any], unit: str, sign: int = 1) -> str:
    """`mean difference 3.1 [2.9, 3.3] ranks` of a row of `Compared.overall`; sign -1 turns it round."""
    mean, *ends = (sign * row[name] for name in ("mean difference", "low", "high"))
    low, high = sorted(ends)
    return f"mean difference {number(mean)} [{number(low)}, {number(high)}] {unit}"


def of_pairs(counted: pd.DataFrame, titles: dict[str, str], measure: Measure) -> str:
    """The pair with the clearest winner. counted: rows of `Compared.overall`."""
    if measure.best == "zero":
        return "A bias has no winner; the table gives the differences."
    leads = counted.assign(lead=counted["wins"] - counted["losses"])
    clearest = leads.sort_values(["lead", "mean difference"], key=abs).iloc[-1]
    names = [titles.get(clearest[side], clearest[side]) for side in ("first", "second")]
    wins, losses = int(clearest["wins"]), int(clearest["losses"])
    sign = -1 if clearest["mean difference"] < 0 else 1
    if wins < losses:
        names, wins, losses = names[::-1], losses, wins
    return (
        f"Clearest: **{plain(names[0])}** over {plain(names[1])}, better in {wins} of {over(clearest)} and "
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


def cells_covered(points: pd.DataFrame, ends: pd.DataFrame, asked: int, axis: str) -> str:
    """Which cells the curve shows: often not all of them, because each quarter must be large enough."""
    there = ends.drop_duplicates(list(CELL))
    named = ", ".join(plain(str(name)) for column in ("dataset", "regime") for name in there[column].unique())
    least, most = number(ends["least"].min()), number(ends["most"].max())
    rest = ""
    if asked > len(there):
        rest = (
            f" In the other {asked - len(there)} a quarter has too few instances of a group, or all are of one length."
        )
    n = int(points.groupby("explainer")["n"].sum().max())
    return f"Of {len(there)} of {asked} cells ({named}): {n:,} instances, {least} to {most} {axis}.{rest}"


def of_curves(changes: pd.DataFrame, titles: dict[str, str], controls: set[str]) -> str:
    """From the first to the last quarter: how each method's lead over chance changes."""
    methods = changes[~changes["explainer"].isin(controls)].sort_values("change")
    if methods.empty:
        return "No method is available here."
    each = []
    for row in methods.itertuples():
        change, low, high = (_signed(value) for value in (row.change, row.low, row.high))
        each.append(f"**{plain(titles.get(row.explainer, row.explainer))}** {change} [{low}, {high}]")
    return f"From the first to the last quarter the lead over chance changes by: {', '.join(each)}."


def _signed(value: float) -> str:
    return f"{'−' if value < 0 else '+'}{number(abs(value))}"


def of_patterns(counts: pd.DataFrame, titles: dict[str, str], controls: set[str]) -> str:
    """Who puts the answer first most and least often. counts: what `patterns_under` gives."""
    own = (
        counts[~counts["explainer"].isin(controls)]
        .groupby(["explainer", "pattern"])["instances"]
        .sum()
        .unstack(fill_value=0)
    )
    if own.empty:
        return "Only controls are left under these filters."
    shares = own.div(own.sum(axis=1), axis=0)
    right = shares["answer"] if "answer" in shares else shares.iloc[:, 0] * 0
    wrong = shares.drop(columns=["answer"], errors="ignore")
    worst = right.idxmin()
    answers = counts[counts["pattern"] == "answer"]
    chance = float(np.average(answers["chance"], weights=answers["n"])) if len(answers) else 0.0
    named = titles.get(str(right.idxmax()), str(right.idxmax()))
    return (
        f"**{plain(named)}** puts the answer's token first in {percent(right.max())} of its instances, "
        f"{plain(titles.get(str(worst), str(worst)))} in {percent(right.min())} "
        f"(chance {percent(chance)}); there the commonest other thing on top is "
        f"*{str(wrong.loc[worst].idxmax()).replace('_', ' ')}* ({percent(wrong.loc[worst].max())})."
    )


def of_leaderboard(headline: pd.DataFrame, titles: dict[str, str], controls: set[str]) -> str:
    """One sentence from the data: the best method for each question, beside chance and the best control."""
    parts = []
    for question, measure in headlines().items():
        own = headline[headline["question"] == question].dropna(subset=["value"]).sort_values("value", ascending=False)
        methods, rivals = (own[own["explainer"].isin(controls) == other] for other in (False, True))
        rivals = rivals[rivals["explainer"] != "random"]
        if len(methods):
            best = methods.iloc[0]
            named = plain(titles.get(best["explainer"], best["explainer"]))
            ends = f"[{number(best['low'])}, {number(best['high'])}]"
            beside = [f"chance {number(best['chance'])}"]
            beside += [
                f"{plain(titles.get(one.explainer, one.explainer))} {number(one.value)}"
                for one in rivals[:1].itertuples()
            ]
            parts.append(
                f"*{QUESTIONS[question].title}* {named} ({number(best['value'])} {ends} {measure.unit}; {', '.join(beside)})"
            )
    if not parts:
        return "No metric is available in these results yet."
    return f"Best method at each question: {'; '.join(parts)}."


def of_outcomes(outcomes: pd.DataFrame) -> str:
    """How many instances were kept, why others were dropped, and how many answers came from memory."""
    asked = int(outcomes["instances"].sum())
    dropped = outcomes[outcomes["dropped"]].groupby("outcome")["instances"].sum().sort_values(ascending=False)
    kept = outcomes[~outcomes["dropped"]].groupby("outcome")["instances"].sum()
    from_memory = int(kept.get("M", 0)) / max(int(kept.sum()), 1)
    why = f", most often because {plain(DROP_REASONS.get(dropped.index[0], dropped.index[0]))}" if len(dropped) else ""
    return (
        f"Of {asked:,} instances asked, {int(kept.sum()):,} are kept ({percent(kept.sum() / asked)}); "
        f"{int(dropped.sum()):,} are dropped{why}. {percent(from_memory)} of the kept answers came from memory."
    )


def matching_sentence(found: pd.DataFrame) -> str:
    """One sentence from the rows of `text_agreement`, at least one."""
    least, kept = found.loc[found["share"].idxmin()], int(found["n"].sum())
    where = f"{plain(least['model'])} on {plain(least['dataset'])}"
    few = f", in {where} in {percent(least['share'])}" if len(found) > 1 else ""
    return (
        f"The answer's first token and its text lead to the same group in {percent(found['same'].sum() / kept)} of "
        f"{kept:,} kept instances{few}; the text decided."
    )


def of_replacements(found: dict[str, Advantage]) -> str:
    """One sentence with fa's advantage under its own token. found: by metric."""
    parts = [
        f"{_nats(one.own)} in {metric} (the other methods {_nats(one.rest)}; fa gains more in {one.above} of {one.cells} "
        "cells)"
        for metric, one in found.items()
    ]
    worth = [f"**{_nats(one.own - one.rest)}** in {metric}" for metric, one in found.items()]
    return (
        f"Under its own baseline token fa is, against the mean of the other two, {' and '.join(parts)}; beside the other "
        f"methods, that token alone would make it look {' and '.join(worth)}."
    )


def _nats(nats: float) -> str:
    return f"{number(abs(nats))} nats {'better' if nats >= 0 else 'worse'}"


def of_faithfulness(points: pd.DataFrame, controls: set[str]) -> str:
    """The rank correlation of faithfulness and accuracy. points: what `faithful_and_right` gives."""
    methods = points[~points["explainer"].isin(controls)]
    names = list(methods[list(CELL)].itertuples(index=False, name=None))
    rho, (low, high) = clustered_spearman(methods["x"].to_numpy(), methods["y"].to_numpy(), names)
    return (
        f"Over {len(methods)} dots of methods in {len(set(names))} cells, faithfulness and accuracy have a rank correlation "
        f"of **{number(rho)}** [{number(low)}, {number(high)}] (0: none; 95 % interval, whole cells resampled, for the dots "
        "of a cell share their instances)."
    )
