"""A measure as the table of a paper: explainers by regimes, each mean with its interval, in LaTeX with booktabs.

All text is escaped, so that nothing from the data is a command.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from typing import Any

import pandas as pd

from heval_core.figures.comparable import goodness, named, shared
from heval_core.figures.palette import in_order
from heval_core.metrics import part_title
from heval_core.metrics.shared.measure import Measure
from heval_core.present.names import regime_title

NOT_THERE = "--"
# Columns of values with their intervals beside them that a page has room for.
BESIDE = 3
_ESCAPED = {
    "\\": r"\textbackslash{}", "~": r"\textasciitilde{}", "^": r"\textasciicircum{}",
    "<": r"\textless{}", ">": r"\textgreater{}",
    **{character: f"\\{character}" for character in "&%$#_{}"},
}  # fmt: skip
_DIRECTION = {"high": "higher is better", "low": "lower is better", "zero": "closer to chance is better"}
_BOUND = "Intervals are the means of the cells' intervals, which is 95\\,\\% or more."


def paper_table(
    means: pd.DataFrame,
    measure: Measure,
    titles: Mapping[str, str],
    controls: Collection[str],
    snapshot_id: str,
    shown: str = "",
    k: int = 0,
    *,
    order: Sequence[str] = (),
    cells: pd.DataFrame | None = None,
) -> str:
    """The table with caption and label. means: what `regime_means` gives, by regime, or by regime and part; with an empty
    regime over all cells, which stand in a last column if there are several others.

    The best method of each column is bold, over the cells that all of the column's methods have; controls stand below a rule
    and never are. titles: explainer ▶ what it is called. shown: the filter in words; empty for everything. k: 0 where the
    measure has none. order: of the rows, by default the explainers' own. cells: behind the means, in their unit; without
    them, nothing is bold where numbers of cells differ.
    """
    placed = _placed(means)
    places = list(dict.fromkeys(placed["place"]))
    methods = placed[~placed["explainer"].isin(list(controls))]
    digits = _digits(methods)
    of_methods = None if cells is None else cells[~cells["explainer"].isin(list(controls))]
    leaders = {place: _leaders(own, of_methods, measure) for place, own in methods.groupby("place", sort=False)}
    blocks: list[list[str]] = [[], []]
    there = list(placed["explainer"].unique())
    for explainer in [*(key for key in order if key in there), *(key for key in in_order(there) if key not in order)]:
        for technique, row in placed[placed["explainer"] == explainer].groupby("technique"):
            own = {cell["place"]: cell for cell in row.to_dict("records")}
            best = [(technique, explainer) in leaders.get(place, ()) for place in places]
            written = [_cell(own.get(place), bold, digits) for place, bold in zip(places, best, strict=True)]
            name = titles.get(explainer, explainer).removesuffix(" (control)")
            name += f" ({technique})" if placed["technique"].nunique() > 1 else ""
            blocks[explainer in controls].append(_row(escaped(name), written))
    label = re.sub(r"[^a-z0-9]+", "-", f"{measure.key} k{k}" if k else measure.key)
    caption = _caption(methods, of_methods, measure, snapshot_id, shown, k)
    return booktabs(
        ["Explainer", *map(stacked, places)], ["".join(block) for block in blocks if block], caption, label, snapshot_id
    )


def booktabs(heads: Sequence[str], blocks: Sequence[str], caption: str, label: str, snapshot_id: str, star: str = "") -> str:
    """The table of a paper: heads over blocks of rows, with a rule between two blocks.

    heads, blocks, caption: in LaTeX. star: `*` for a table as wide as both columns of a page.
    """
    return (
        f"% HEval, snapshot {escaped(snapshot_id)}; needs \\usepackage{{booktabs}}\n\\begin{{table{star}}}\n\\centering\n"
        f"\\caption{{{caption}}}\n\\label{{tab:heval-{label}}}\n\\begin{{tabular}}{{l{'c' * (len(heads) - 1)}}}\n\\toprule\n"
        f"{' & '.join(heads)} \\\\\n\\midrule\n"
        + "\\midrule\n".join(blocks)
        + f"\\bottomrule\n\\end{{tabular}}\n\\end{{table{star}}}\n"
    )


def escaped(text: object) -> str:
    """Text without a command, on one line."""
    return "".join(_ESCAPED.get(character, character) for character in " ".join(str(text).split()))


def _placed(means: pd.DataFrame) -> pd.DataFrame:
    """The same with `place`, the title of a column: the regime, and the part where a regime has several."""
    parts = means["part"] if "part" in means else pd.Series("", index=means.index)
    several = parts.groupby(means["regime"]).transform("nunique") > 1
    places = [
        (regime_title(regime) if regime else "All cells") + (f", {part_title(part) or part}" if more else "")
        for regime, part, more in zip(means["regime"], parts, several, strict=True)
    ]
    whole = means["regime"] == ""
    placed = means.assign(place=places)
    return placed if placed[~whole]["place"].nunique() > 1 else placed[~whole]


def _digits(methods: pd.DataFrame) -> int:
    """Decimals of the whole table: three significant digits of its largest value, at least one decimal."""
    largest = float(methods["value"].abs().max()) if len(methods) else 0.0
    return 3 if largest < 2 else 2 if largest < 10 else 1


def _number(value: float, digits: int) -> str:
    """With a minus sign, and never as -0."""
    text = f"{value:.{digits}f}"
    return text.lstrip("-") if not text.strip("-0.") else f"$-${text[1:]}" if text.startswith("-") else text


def stacked(place: str) -> str:
    """In a line for each of its words behind a comma."""
    lines = [escaped(part) for part in place.split(", ")]
    lines_below = r", \\ ".join(lines)
    return f"\\shortstack{{{lines_below}}}" if len(lines) > 1 else lines_below


def _row(name: str, cells: Sequence[tuple[str, str]]) -> str:
    """Values with their intervals: beside them, or on a line below where there are many columns."""
    if len(cells) <= BESIDE:
        return f"{name} & {' & '.join(f'{value} {interval}'.strip() for value, interval in cells)} \\\\\n"
    values, intervals = (" & ".join(own) for own in zip(*cells, strict=True))
    return f"{name} & {values} \\\\\n & {intervals} \\\\\n"


def _cell(cell: Mapping[str, Any] | None, bold: bool, digits: int) -> tuple[str, str]:
    """A value, and its interval."""
    if cell is None:
        return NOT_THERE, ""
    value, low, high = (_number(cell[name], digits) for name in ("value", "low", "high"))
    shown = f"\\textbf{{{value}}}" if bold else value
    return shown, f"{{\\footnotesize [{low}, {high}]}}"


def _leaders(rivals: pd.DataFrame, cells: pd.DataFrame | None, measure: Measure) -> set[tuple[str, str]]:
    """(technique, explainer) of the best methods of a column; none where there is only one, or they share no cell."""
    found = _behind(rivals, cells)
    if len(rivals) < 2 or found is None or found.empty:
        return set()
    good = goodness(found, measure.best)
    return set(good.index[good >= good.max()])


def _behind(rivals: pd.DataFrame, cells: pd.DataFrame | None) -> pd.DataFrame | None:
    """What decides a column: its means where all are over as many cells, else the cells that all have; None if unknown."""
    if rivals["cells"].nunique() < 2:
        return rivals
    if cells is None:
        return None
    for name in ("regime", "part"):
        there = set(rivals[name].dropna()) - {""} if name in rivals else set()
        cells = cells[cells[name].isin(there)] if there else cells
    return shared(cells)


def _over(methods: pd.DataFrame, cells: pd.DataFrame | None) -> str:
    """Which cells decide, in the columns whose methods cover different ones."""
    said: dict[str, list[str]] = {}
    for place, rivals in methods.groupby("place", sort=False):
        found = _behind(rivals, cells)
        if found is not rivals and len(rivals) > 1:
            over = "none, for no cell has all of them" if found is None or found.empty else named(found)
            said.setdefault(over, []).append(str(place))
    told = "; ".join(f"{escaped(over)} ({escaped(', '.join(places))})" for over, places in said.items())
    return f", where methods cover different cells over those that all have: {told}" if told else ""


def _caption(methods: pd.DataFrame, cells: pd.DataFrame | None, measure: Measure, snapshot_id: str, shown: str, k: int) -> str:
    least, most = (int(end) for end in (methods["cells"].min(), methods["cells"].max())) if len(methods) else (0, 0)
    count = f"{least} to {most}" if least < most else f"{most}"
    of_k = f", $k = {k}$" if k else ""
    levels = [
        f"{_chance(own)} ({escaped(str(place))})"
        for place, own in methods.groupby("place", sort=False)
        if own["chance"].notna().any()
    ]
    interval = _BOUND if (methods["interval"] == "bound").any() else ""
    sentences = [
        f"{escaped(measure.title)} ({escaped(measure.unit)}{of_k}; {_DIRECTION[measure.best]}): means over {count} cells of "
        "a model and a dataset, with 95\\,\\% intervals over questions.",
        interval,
        f"Chance: {'; '.join(levels)}." if levels else "",
        f"Bold: best method{_over(methods, cells)}. Below the rule: controls."
        if (methods.groupby("place").size() > 1).any()
        else "",
        f"Filter: {escaped(shown)}." if shown else "All models and datasets.",
        f"HEval snapshot {escaped(snapshot_id)}.",
    ]
    return " ".join(sentence for sentence in sentences if sentence)


def _chance(own: pd.DataFrame) -> str:
    """The level of a column, or the least and the most, where it is measured for each method."""
    digits = 3 if own["chance"].abs().max() < 2 else 2
    ends = [_number(float(end), digits) for end in (own["chance"].min(), own["chance"].max())]
    return ends[0] if ends[0] == ends[1] else f"{ends[0]} to {ends[1]}"
