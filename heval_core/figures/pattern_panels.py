"""Patterns of failure as the question tabs draw a measure: a panel for each kind of best token, explainers as rows.

So no colour has to tell the kinds apart. A share is the mean over datasets; its interval the mean of theirs: 95 % or more.
"""

from collections import Counter
from collections.abc import Sequence

import numpy as np
import pandas as pd

from heval_core.evaluation.ranking import ranking, who
from heval_core.figures import dots
from heval_core.figures.dots import Axis, Dot, DotFigure, Panel, Slot
from heval_core.figures.measures import by_place, row_of
from heval_core.present.drawing import Scale
from heval_core.present.html import plain
from heval_core.present.names import ALL, Names
from heval_core.present.numbers import SHARE, interval, interval_of, percent
from heval_core.present.table import Fields, Head, Row, Table, TableCell, counted, crossed, number_cell
from heval_core.records.vocabulary import PATTERNS

# An instance in ten may be missing, such as where a run failed in part.
NEARLY_ALL = 0.9
_SHARE = ("share", "low", "high")
_NOTE = (
    "Shares of the instances answered from a document, in %, by the first kind that holds, from left to right. "
    + " ".join(f"{pattern.title}: {pattern.meaning}" for pattern in PATTERNS.values())
)


def shares_of(counts: pd.DataFrame) -> pd.DataFrame:
    """Average over an explainer's datasets, per explainer and pattern.

    counts: what `patterns_under` gives. A dataset in which a pattern never occurs has no row for it: its share there is 0.
    """
    totals = counts.groupby(["explainer", "pattern"], sort=False)[["share", "low", "high", "chance", "instances"]].sum()
    instances = counts.drop_duplicates(["explainer", "dataset", "technique"]).groupby("explainer")["n"]
    sizes = pd.DataFrame({"datasets": instances.size(), "n": instances.sum()}).loc[totals.index.get_level_values("explainer")]
    shares = ["share", "low", "high", "chance"]
    means = totals[shares].div(sizes["datasets"].to_numpy(), axis=0)
    return totals.assign(**means, **{name: sizes[name].to_numpy() for name in sizes}).reset_index()


def side_by_side(shares: pd.DataFrame) -> pd.DataFrame:
    """Return the rows of explainers that ran on nearly all of the instances: shares of others would compare instances."""
    return shares[shares["n"] >= NEARLY_ALL * shares["n"].max()]


def pattern_figure(counts: pd.DataFrame, explainers: Sequence[str], names: Names) -> DotFigure:
    """Draw patterns.

    explainers: in the order of the rows; controls last. Ids of marks: explainer, pattern and dataset.
    """
    rows = [row_of(key, names) for key in explainers]
    shares = shares_of(counts)
    means, cells = (by_place(frame, "pattern") for frame in (shares, counts))
    most = float(np.nanmax([*shares["high"], *counts["share"]]))
    axis, panels = Axis(Scale(-0.04, min(1.04, most + 0.04)), text=lambda share: f"{100 * share:g} %"), []
    for pattern in [key for key in PATTERNS if key in set(counts["pattern"])]:
        chance = float(side_by_side(shares).query("pattern == @pattern")["chance"].mean())
        slots = tuple(_slot(row, means.get((pattern, row.key), []), cells.get((pattern, row.key), []), names) for row in rows)
        note = f"chance {100 * chance:.0f} %"
        panels.append(Panel(PATTERNS[pattern].title, slots, note, PATTERNS[pattern].meaning, chance))
    legend = [("dot", "mean over datasets with its 95 % interval")]
    legend += [("cell", "one dataset")] if counts["dataset"].nunique() > 1 else []
    return DotFigure("What ranks first, by kind", rows, panels, axis, legend, "click a mark for its instances below")


def _slot(row: dots.DotRow, means: Sequence[Fields], single: Sequence[Fields], names: Names) -> Slot:
    dots = tuple(_dot(mean, ALL, row, names) for mean in means)
    # One dataset's tick would be the mean once more.
    cells = () if len(single) < 2 else tuple(_dot(cell, cell["dataset"], row, names) for cell in single)
    return Slot(dots, cells, f"{100 * means[0]['share']:.0f} %" if means else "")


def _dot(record: Fields, dataset: str, row: dots.DotRow, names: Names) -> Dot:
    where = f"mean over {record['datasets']} datasets" if dataset == ALL else names.dataset(dataset)
    about = (
        f"{row.title} · {PATTERNS[record['pattern']].title} · {where}",
        f"{interval_of(record, SHARE, _SHARE)}, chance {100 * record['chance']:.0f} %",
        f"{record['instances']:,} of {record['n']:,} instances",
    )
    return Dot(record["share"], about, (row.key, record["pattern"], dataset), record["low"], record["high"])


def pattern_table(counts: pd.DataFrame, names: Names) -> Table:
    """Return a row for each explainer of a dataset and technique, after them one for chance where most instances are."""
    present = [pattern for pattern in PATTERNS if pattern in set(counts["pattern"])]
    keys = ["dataset", *(["technique"] if counts["technique"].nunique() > 1 else [])]
    rows = []
    for (dataset, *technique), of_dataset in counts.groupby(keys, sort=True):
        where = (names.dataset(dataset), *technique)
        for (explainer,), per_pattern in crossed(of_dataset, ["explainer"], "pattern").items():
            shares = (number_cell(per_pattern.get(pattern), SHARE, _SHARE) for pattern in present)
            rows.append(Row((*where, names.explainer(explainer)), (counted(next(iter(per_pattern.values()))["n"]), *shares)))
        # Explainers that ran on fewer instances have another chance level.
        chance = of_dataset[of_dataset["n"] == of_dataset["n"].max()].groupby("pattern")["chance"].mean()
        levels = (TableCell(value=float(chance[name]), unit=SHARE) if name in chance else TableCell() for name in present)
        rows.append(Row((*where, "chance"), (TableCell(), *levels)))
    heads = [Head("n"), *(Head(PATTERNS[name].title, PATTERNS[name].meaning) for name in present)]
    return Table("What ranks first", (*keys, "explainer"), tuple(heads), tuple(rows), _NOTE, "patterns")


def patterns_verdict(shares: pd.DataFrame, ranked: Sequence[str], names: Names) -> str:
    """Say what is first most often where methods fail; who puts the answer first most often, and how often the recommended and
    the last method of the board do.

    shares: of `shares_of`. ranked: methods, the recommended one first.
    """
    right = shares[shares["pattern"] == "answer"].set_index("explainer")
    if not ranked or right.empty:
        return "No method with a rank is left under these filters."
    best = ranking(right.loc[list(ranked)].reset_index(), of=("share", "low", "high")).best

    def bold(key: str) -> str:
        return f"**{plain(names.explainer(key))}**"

    often = (
        _share(right.loc[best[0]])
        if len(best) == 1
        else " to ".join(percent(end) for end in (right["share"][best[-1]], right["share"][best[0]]))
    )
    guessing = percent(right["chance"][best[0]])
    (kind, times), *_ = Counter(filter(None, (commonest_failure(shares, key) for key in ranked))).most_common(1) or [("", 0)]
    commonest = (
        f"Where they are wrong, {times} of {len(ranked)} ranked methods most often put *{PATTERNS[kind].title.lower()}* first."
    )
    sentences = [
        *([commonest] if 2 * times > len(ranked) > 1 else []),
        f"{who(best, bold)} {'puts' if len(best) == 1 else 'put'} the answer first in {often} (guessing: {guessing}).",
    ]
    if ranked[0] not in best:
        sentences.append(f"{bold(ranked[0])}, which *Overall* recommends, does so in {_share(right.loc[ranked[0]])}.")
    if ranked[-1] not in (ranked[0], *best) and (kind := commonest_failure(shares, ranked[-1])):
        first = PATTERNS[kind].title.lower()
        sentences.append(f"{bold(ranked[-1])} does so in {_share(right.loc[ranked[-1]])}; most often first: *{first}*.")
    return " ".join(sentences)


def commonest_failure(shares: pd.DataFrame, explainer: str) -> str:
    """Return the pattern of what it puts first most often where that is not the answer; "" if nothing is known of it."""
    wrong = shares[(shares["explainer"] == explainer) & (shares["pattern"] != "answer") & (shares["share"] > 0)]
    return "" if wrong.empty else str(wrong.loc[wrong["share"].idxmax(), "pattern"])


def _share(row: pd.Series) -> str:
    """Write a share in Markdown: `72 % [66, 78]`."""
    return interval(row["share"], row["low"], row["high"], SHARE).replace("[", r"\[").replace("]", r"\]")
