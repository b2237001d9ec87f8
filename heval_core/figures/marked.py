"""Answers that people wrote, or marked, as tables and a figure: which explainer finds what people found, beside a text search.

Each kind of gold has a table; the figure has a panel for each model and data set.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import NamedTuple

import pandas as pd

from heval_core.evaluation.quoted import CONTROLS, DIFFER, MEASURES, OF_CLAIMS, OF_WORDS
from heval_core.figures.citations import with_chance
from heval_core.figures.dots import Axis, Dot, DotFigure, DotRow, Panel, Slot
from heval_core.figures.palette import colour
from heval_core.present.drawing import Scale
from heval_core.present.names import Names, model_title
from heval_core.present.numbers import interval_of, number, so_many
from heval_core.present.table import Fields, Head, Row, Table, TableCell, counted, number_cell
from heval_core.records import TEXT_CONTROLS

_TITLES = {
    "document": "Leaving out documents",
    "document(unit=sentence)": "Leaving out sentences",
    "trace": "The trace: memory or unclear",
    "surprise": "How improbable a word is",
    "nowhere": "Number or name in no document",
}
_SOURCE, _RANK = MEASURES["sentence"], MEASURES["span"]
_FIRST, _PRECISION, _RECALL = OF_CLAIMS
_AUROC, _OF_FLAGGED, _OF_MARKED = OF_WORDS
FIGURE_TITLE = "Explainers against a text search, on what people marked"
# What lacks a few answers, which were too long for it, is still compared; of what was run on fewer there is a table alone.
NEARLY = 0.9
_DIFFERENCES = "Differences are to the control that does best there, on the same answers. Intervals are 95 %"


class _MarkedColumn(NamedTuple):
    """A column of a table. less: whether it is the difference to the best control."""

    title: str
    measure: str
    less: bool = False
    copied: str = "all"


@dataclass(frozen=True)
class Kind:
    """A kind of gold. main: the measure that orders it. counts: (measure, column of `cell_quoted`, `copied`, title)."""

    key: str
    title: str
    main: str
    columns: tuple[_MarkedColumn, ...]
    counts: tuple[tuple[str, str, str, str], ...]
    note: str

    def rows(self, cells: pd.DataFrame) -> pd.DataFrame:
        """Return those of the cells that it is about, of data sets that have its main measure."""
        of_kind = cells[cells["measure"].isin([column.measure for column in self.columns])]
        return of_kind[of_kind["dataset"].isin(cells["dataset"][cells["measure"] == self.main])]


KINDS = (
    Kind(
        "quoted",
        "Answers that people wrote: who finds the document?",
        _SOURCE,
        (
            _MarkedColumn("source", _SOURCE),
            _MarkedColumn("source, less the best control", _SOURCE, less=True),
            _MarkedColumn("of words that differ", _SOURCE, copied="below .85"),
            _MarkedColumn("span's rank", _RANK),
            _MarkedColumn("span's rank, less the best control", _RANK, less=True),
        ),
        ((_SOURCE, "n", "all", "sentences"), (_RANK, "n", "all", "spans"), (_SOURCE, "questions", "all", "questions")),
        "Source: whether a sentence's first choice is a document that it is from; ties are broken at random. Span's rank: "
        "1 / rank of the first sentence that a copied span is from. Rows over fewer answers stand apart, below the others. "
        f"{_DIFFERENCES}, over questions.",
    ),
    Kind(
        "claims",
        "In other words: who finds the sentences that people marked?",
        _PRECISION,
        (
            _MarkedColumn("first", _FIRST),
            _MarkedColumn("first, less the best control", _FIRST, less=True),
            _MarkedColumn("precision", _PRECISION),
            _MarkedColumn("precision, less the best control", _PRECISION, less=True),
            _MarkedColumn("of words that differ", _PRECISION, copied=DIFFER),
            _MarkedColumn("of these, less the best control", _PRECISION, less=True, copied=DIFFER),
            _MarkedColumn("recall", _RECALL),
        ),
        (
            (_PRECISION, "n", "all", "claims, statements"),
            (_PRECISION, "n", DIFFER, "whose words differ"),
            (_PRECISION, "questions", "all", "articles, questions"),
        ),
        "First: whether the first choice among all sentences is one that supports the claim, or statement. Precision: average "
        "precision; recall: of as many first ones as were marked; both of the set of sentences that gives most. Words differ "
        "where fewer than .7 of a claim's stand in its pages. A part of each page was read. "
        f"{_DIFFERENCES}, over articles or questions.",
    ),
    Kind(
        "words",
        "Unsupported words: who finds those that people marked?",
        _AUROC,
        (
            _MarkedColumn("AUROC", _AUROC),
            _MarkedColumn("AUROC, less the best control", _AUROC, less=True),
            _MarkedColumn("precision", _OF_FLAGGED),
            _MarkedColumn("recall", _OF_MARKED),
        ),
        ((_AUROC, "n", "all", "claims"), (_AUROC, "questions", "all", "articles")),
        "AUROC: how often a word that nothing supports, by people, is said to be supported less than one of the same claim "
        "that something does. Precision and recall: of what says yes or no, over all words; chance is the share of words "
        f"marked, and of words named. {_DIFFERENCES}, over articles.",
    ),
)


def kinds_of(cells: pd.DataFrame) -> list[Kind]:
    """List the kinds of gold that results have. cells: `Reader.quoted()`."""
    return [kind for kind in KINDS if (cells["measure"] == kind.main).any()]


def title_of(key: str, names: Names) -> str:
    """Name an explainer, a control, or what a reader says of words."""
    return _TITLES.get(key) or (names.annotator(key) if key in TEXT_CONTROLS else names.explainer(key))


def marked_table(kind: Kind, cells: pd.DataFrame, names: Names) -> Table:
    """Make a table of a kind of gold, the best first; below, those over fewer answers and controls. cells: of `kinds_of`."""
    rows = []
    for (model, dataset), group in kind.rows(cells).groupby(["model", "dataset"]):
        records = {(row["explainer"], row["measure"], row["copied"]): row for row in group.to_dict("records")}
        main = group[(group["measure"] == kind.main) & (group["copied"] == "all")]
        for key, n in _ordered(main):
            numbers = [_cell(records.get((key, column.measure, column.copied)), column, names) for column in kind.columns]
            numbers += [counted(records.get((key, measure, copied), {}).get(of)) for measure, of, copied, _ in kind.counts]
            fewer = "fewer answers" if n < main["n"].max() else ""
            where = (str(model), names.dataset(str(dataset)), title_of(key, names))
            rows.append(Row(where, tuple(numbers), key in CONTROLS, fewer))
    heads = (*(column.title for column in kind.columns), *(title for *_, title in kind.counts))
    return Table(kind.title, ("model", "dataset", "explainer"), tuple(map(Head, heads)), tuple(rows), kind.note, kind.key)


def _ordered(rows: pd.DataFrame) -> Iterator[tuple[str, int]]:
    """Yield (explainer, over how many), those over the same answers together."""
    ordered = rows.sort_values(["n", "value"], ascending=False)
    for key, n in sorted(zip(ordered["explainer"], ordered["n"], strict=True), key=lambda pair: pair[0] in CONTROLS):
        yield str(key), int(n)


def _cell(row: Fields | None, column: _MarkedColumn, names: Names) -> TableCell:
    if not column.less:
        return with_chance(row)
    why = f"less {title_of(str(row['against']), names)}" if row is not None and pd.notna(row["against"]) else ""
    return number_cell(row, of=("delta", "delta_low", "delta_high"), why=why)


def panels_of(cells: pd.DataFrame) -> Iterator[tuple[Kind, str, str, pd.DataFrame]]:
    """Yield (kind, model, data set, rows over nearly all answers), a panel each: of span's rank where there are spans."""
    for kind in kinds_of(cells):
        measure = _RANK if kind.main == _SOURCE else kind.main
        rows = cells[(cells["measure"] == measure) & (cells["copied"] == "all")]
        for (dataset, model), group in rows.groupby(["dataset", "model"]):
            yield kind, str(model), str(dataset), group[group["n"] >= NEARLY * group["n"].max()]


def verdict(cells: pd.DataFrame, names: Names, bold: Callable[[str], str], written: Callable[[str], str] = str) -> list[str]:
    """Say in how many places an explainer is ahead of every control, and of each place which one does best, by how much.

    bold, written: how names are to be written, such as in Markdown.
    """
    lines, ahead = [], 0
    for _, model, dataset, rows in panels_of(cells):
        methods = rows[~rows["explainer"].isin(CONTROLS)].dropna(subset=["delta"]).sort_values("value", ascending=False)
        if methods.empty:
            continue
        best = methods.iloc[0]
        ahead += best["delta_low"] > 0
        word = "ahead of" if best["delta_low"] > 0 else "behind" if best["delta_high"] < 0 else "not told apart from"
        difference = f"{number(best['delta'])} [{number(best['delta_low'])}, {number(best['delta_high'])}]"
        against, panel = title_of(str(best["against"]), names), f"{names.dataset(dataset)}, {model_title(model)}"
        lines.append(
            f"{written(panel)}: {bold(title_of(str(best['explainer']), names))} "
            f"({number(best['value'])}) is {word} the best control, {written(against)}: {difference}."
        )
    if not lines:
        return []
    return [f"In {bold(f'{ahead} of {len(lines)}')} places the best explainer is ahead of the best control.", *lines]


def marked_figure(cells: pd.DataFrame, names: Names) -> DotFigure:
    """Draw a panel for each model and data set; rows over fewer answers than others are left out."""
    panels, groups = [], list(panels_of(cells))
    every = pd.concat([rows for *_, rows in groups]) if groups else cells.iloc[:0]
    means = every.assign(delta=every["delta"].fillna(0.0)).groupby("explainer")["delta"].mean()
    keys = sorted(means.index, key=lambda key: (key in CONTROLS, -means[key]))
    rows = [DotRow(key, title_of(key, names), key in CONTROLS, hue=colour(key)) for key in keys]
    for kind, model, dataset, of_place in groups:
        records = {str(row["explainer"]): row for row in of_place.to_dict("records")}
        title = f"{names.dataset(dataset)}, {model_title(model)}"
        slots = [_slot(title_of(key, names), title, records.get(key)) for key in keys]
        note = f"{_SHORT[kind.key]}, n = {of_place['n'].max():,}"
        panels.append(Panel(title, slots, note, kind.note, float(of_place["chance"].median())))
    axis = Axis(Scale(0.0, 1.0), "high", most=4, words=((1.0, "always"),))
    return DotFigure(FIGURE_TITLE, rows, panels, axis, [("dot", "mean, 95 % interval"), ("chance", "chance")])


_SHORT = {"quoted": "span's rank", "claims": "average precision", "words": "AUROC"}


def _slot(title: str, panel: str, row: Fields | None) -> Slot:
    if row is None:
        return Slot(missing=Dot(0.5, (f"{title} · {panel}", "no number over these answers")))
    about = (
        f"{interval_of(row)} (chance {number(row['chance'])})",
        f"n = {row['n']:,}, over {so_many(row['questions'], 'question')}",
    )
    return Slot((Dot(row["value"], (f"{title} · {panel}", *about), (), row["low"], row["high"]),), text=number(row["value"]))
