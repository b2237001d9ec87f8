"""A measure: its means by regime with intervals, each model and dataset, in either unit, as a figure and as tables."""

import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import pandas as pd

from heval_core.evaluation.means import ABOVE, WantedParts
from heval_core.evaluation.ranking import Ranking, ranking
from heval_core.figures.dots import BOLD, Dot, DotFigure, DotRow, Panel, Slot, axis_over
from heval_core.figures.outcomes import in_regime_order
from heval_core.figures.palette import colour, in_order
from heval_core.metrics.shared.measure import QUESTIONS, Measure
from heval_core.plugins.measures import part_title
from heval_core.present.html import render
from heval_core.present.names import ALL, Names, part_words, regime_meaning, regime_title
from heval_core.present.numbers import COUNT, EXACT, VALUE, interval_of, number, so_many, span
from heval_core.present.table import IN_BOLD, Fields, Head, Row, Table, TableCell, counted, crossed, number_cell
from heval_core.records import CELL, REGIMES
from heval_core.records.regime_keys import ordered_regimes
from heval_core.statistics.values import normalised

_AT = ("at", "at_low", "at_high")
# Of a number that is right by construction, and said of it.
GIVEN, NOT_RANKED = "†", "right by construction, not ranked"
SCALED = "of 1 (0 = guessing)"
_OVERALL = "mean of the"
_WRONG = "Numbers whose whole interval lies on the wrong side of chance"
_DIRECTION = {"high": "higher is better", "low": "lower is better", "zero": "closer to chance is better"}
# Behind a head whose column runs otherwise than others of its table.
ARROWS = {"high": " ↑", "low": " ↓", "zero": ""}
_BOUND = "Some intervals are the means of the cells' intervals, which is 95 % or more."


def wanted_of(measure: Measure) -> tuple[WantedParts, ...]:
    """Return the means that a measure's figure and table are made of: `Measured.parts`, `.regimes` and `.overall`."""
    return (measure.parts, ("regime", "part")), (measure.together, ("regime",)), (measure.together, ())


def of_measure(cells: pd.DataFrame, measure: Measure) -> pd.DataFrame:
    """Return the rows of a metric that a measure reads: its parts, in its regimes."""
    cells = cells[cells["part"].isin(measure.parts)]
    return cells[cells["regime"].map(measure.asks).astype(bool)]  # a bare list would name columns where no cell is left


def as_normalised(cells: pd.DataFrame) -> pd.DataFrame:
    """Normalise cells to 0 for chance and 1 for the best possible value; intervals are moved with their values."""
    chance, best = (cells[name].astype(float).to_numpy() for name in ("chance", "best"))
    value, low, high = (
        pd.Series(normalised(cells[name].astype(float).to_numpy(), chance, best), index=cells.index)
        for name in ("value", "low", "high")
    )
    turned = best < chance
    return cells.assign(value=value, low=low.where(~turned, high), high=high.where(~turned, low), chance=0.0 * chance)


@dataclass(frozen=True)
class Measured:
    """A measure under a filter. cells: of its parts, those too that are not available. parts, regimes, overall: means over the
    cells that count (`means_of`), by regime and part, by regime, and over everything. scaled: from 0, chance, to 1, best.
    """

    measure: Measure
    cells: pd.DataFrame
    parts: pd.DataFrame
    regimes: pd.DataFrame
    overall: pd.DataFrame
    scaled: bool = False

    @property
    def unit(self) -> str:
        return SCALED if self.scaled else self.measure.shown_unit

    def in_unit(self, rows: pd.DataFrame, scaled: bool | None = None) -> pd.DataFrame:
        """Add `at`, `at_low`, `at_high` and `at_chance` to means or cells: what is drawn. scaled: if not as `scaled` says."""
        scaled = self.scaled if scaled is None else scaled
        names, source = VALUE, rows
        if scaled and "normalised_low" in rows:
            names = ("normalised", "normalised_low", "normalised_high")
        elif scaled:
            source = as_normalised(rows)
        elif self.measure.paired:
            names, source = ABOVE, rows.assign(above=rows["value"] - rows["chance"])
        chance = rows["chance"].astype(float) * 0 if scaled or self.measure.paired else rows["chance"]
        return rows.assign(**{at: source[name] for at, name in zip(_AT, names, strict=True)}, at_chance=chance)

    @cached_property
    def in_parts(self) -> bool:
        """Whether a cell has two parts, which are drawn side by side."""
        return bool(self.parts.groupby("regime")["part"].nunique().max() > 1) if len(self.parts) else False

    @property
    def can_be_scaled(self) -> bool:
        """Whether there is a best possible value, so that it can be shown from chance to best."""
        return self.measure.best != "zero" and bool(pd.notna(self.overall["normalised"]).any())

    def ranking(self, means: pd.DataFrame, controls: Collection[str]) -> Ranking:
        """Rank those means that are over all cells that count, of explainers that are not right by construction.

        In whatever unit they are shown, it is that from chance to best, where there is one, as on the board.
        """
        compare = means["whole"].astype(bool) & ~means["explainer"].map(self.measure.given).astype(bool)
        whole = self.in_unit(means[compare], self.can_be_scaled)
        return ranking(whole, controls, "high" if self.can_be_scaled else self.measure.best, _AT, chance="at_chance")

    def ranked(self, explainers: Sequence[str]) -> list[str]:
        """Return those with a mean over all cells that count, the best first, and of those that are printed alike who ran in
        most cells; then those that lack some; then the others.
        """
        means = self.in_unit(self.overall, self.can_be_scaled).set_index("explainer")
        good = -self.away if self.measure.best == "zero" else means["at"]
        good = -good if self.measure.best == "low" and not self.can_be_scaled else good
        ran = self.cells.dropna(subset=["value"])["explainer"].value_counts()
        with_means = sorted(means.index, key=lambda key: (key in self.few, -round(good[key], 2), -ran[key], -good[key]))
        return [key for key in dict.fromkeys([*with_means, *in_order(list(explainers))]) if key in explainers]

    def explainers(self, controls: Collection[str]) -> list[str]:
        """Return all that are there: methods best first, then controls."""
        keys = list(self.cells["explainer"].unique())
        methods = self.ranked([key for key in keys if key not in controls])
        return [*methods, *in_order([key for key in keys if key in controls])]

    @cached_property
    def few(self) -> set[str]:
        """Explainers with values that lack some of the cells that count."""
        whole = self.overall[self.overall["whole"].astype(bool)]["explainer"]
        return set(self.cells.dropna(subset=["value"])["explainer"]) - set(whole)

    @cached_property
    def away(self) -> pd.Series:
        """Per explainer the mean distance from chance: biases of opposite sign do not add up to a small one."""
        known = self.cells.dropna(subset=["value"])
        return (known["value"] - known["chance"]).abs().groupby(known["explainer"]).mean()

    @cached_property
    def wrong_side(self) -> pd.DataFrame:
        """Per explainer how many numbers there are (`numbers`), and how many intervals are worse than chance (`wrong`)."""
        known = self.cells.dropna(subset=["value"])
        wrong = known["above_low"] > 0 if self.measure.best == "low" else known["above_high"] < 0
        return wrong.groupby(known["explainer"]).agg(wrong="sum", numbers="size")

    def mark(self, explainer: str) -> str:
        """Return what stands behind an explainer's numbers."""
        return GIVEN if self.measure.given(explainer) else ""

    def in_words(self, row: Fields) -> str:
        """Say `0.38 [0.37, 0.39] of 1 (0 = guessing)`, or with its unit and chance. row: see `in_unit`."""
        words = f"{interval_of(row, of=_AT)} {self.unit}"
        return words if self.scaled or self.measure.paired else f"{words} (chance {number(row['at_chance'])})"


def given_sentence(measure: Measure) -> str:
    """Say what the mark of numbers that are right by construction means."""
    return f"{GIVEN} {NOT_RANKED}: {QUESTIONS[measure.question].why}."


def row_of(key: str, names: Names) -> DotRow:
    return DotRow(key, names.explainer(key), key in names.controls, names.meaning("explainer", key), colour(key))


def picked_html(explainer: str, title: str, text: str) -> str:
    """Return what the bar under the figure says of a mark."""
    return render("picked.html", colour=colour(explainer), title=title, said=text)


def figure_of(measured: Measured, explainers: Sequence[str], names: Names) -> DotFigure:
    """Draw a measure. explainers: in the order of the rows; controls last."""
    rows, panels = [row_of(key, names) for key in explainers], []
    # A single cell's tick would be the mean once more.
    several = len(measured.cells.drop_duplicates(["model", "dataset"])) > 1
    parts, cells = (by_place(measured.in_unit(frame)) for frame in (measured.parts, measured.cells))
    for regime in ordered_regimes(set(measured.cells["regime"]), REGIMES):
        of_regime = measured.in_unit(measured.regimes[measured.regimes["regime"] == regime]).set_index("explainer")
        if of_regime.empty:
            continue
        chances = [mean["at_chance"] for (panel, _), rows_of in parts.items() if panel == regime for mean in rows_of]
        chance = sum(chances) / len(chances) if chances else 0.0
        best, slots = measured.ranking(of_regime.reset_index(), names.controls).bold, []
        for row in rows:
            means, every = parts.get((regime, row.key), []), cells.get((regime, row.key), [])
            dots = tuple(_dot(mean, measured, names) for mean in means)
            single = tuple(_dot(cell, measured, names) for cell in every if several and not pd.isna(cell["at"]))
            text = number(float(of_regime["at"][row.key])) + measured.mark(row.key) if row.key in of_regime.index else ""
            slots.append(Slot(dots, single, text, row.key in best, None if dots else _missing(row, regime, every, chance)))
        note = f"{so_many(of_regime['questions'].max(), 'question')}, {so_many(of_regime['cells'].max(), 'cell')}"
        panels.append(Panel(regime_title(regime), slots, note, regime_meaning(regime), chance))
    words = ((0.0, "guessing"), (1.0, "best")) if measured.scaled else ((0.0, "random"),) * measured.measure.paired
    axis = axis_over(rows, panels, measured.measure.best, words, scaled=measured.scaled)
    return DotFigure(measured.measure.title, rows, panels, axis, _legend(measured, several))


def _legend(measured: Measured, several: bool) -> list[tuple[str, str]]:
    legend = [("dot", "mean with its 95 % interval")]
    if measured.in_parts:
        first, second = (part_words(part) for part in measured.measure.parts[:2])
        legend = [("pair", f"{first}, {second.removeprefix('used document ')}, with 95 % intervals; number: mean")]
    legend += [BOLD] if measured.measure.best != "zero" else []
    legend += [("cell", "one cell: a model on a dataset")] if several else []
    side = {"high": "below chance", "low": "above chance, worse than it"}.get(measured.measure.best)
    return legend + ([("below", side)] if side else [])


def by_place(frame: pd.DataFrame, panel: str = "regime") -> dict[tuple[str, str], list[Fields]]:
    """Group rows of a table by panel and explainer.

    panel: the column that is a panel's. Plain records: a figure has hundreds, and frames of one row each would take most of a
    page's time.
    """
    records: dict[tuple[str, str], list[Fields]] = {}
    for record in frame.drop(columns=["details", "group_sizes"], errors="ignore").to_dict("records"):
        records.setdefault((record[panel], record["explainer"]), []).append(record)
    return records


def _dot(row: Fields, measured: Measured, names: Names) -> Dot:
    """Draw the dot of a mean, or of a single cell, which has no interval."""
    mean = "model" not in row
    id = (row["explainer"], *((ALL, ALL) if mean else (row["model"], row["dataset"])), row["regime"], row["part"])
    count = f"{int(row['n']):,} instances"
    given = (NOT_RANKED,) if measured.measure.given(id[0]) else ()
    about = (
        f"{names.explainer(id[0])} · {names.location(*id[1:])}",
        measured.in_words(row),
        f"mean over {row['cells']} cells, {count}" if mean else count,
        *given,
    )
    second = measured.in_parts and row["part"] != measured.measure.parts[0]
    if not mean:
        return Dot(row["at"], about, id, hollow=second)
    sign = str(1 + measured.measure.parts.index(row["part"])) if measured.in_parts else ""
    return Dot(row["at"], about, id, row["at_low"], row["at_high"], row["at_chance"], second, sign)


def _missing(row: DotRow, regime: str, cells: Sequence[Fields], chance: float) -> Dot:
    reasons = dict.fromkeys(str(cell["unavailable"]) for cell in cells if not pd.isna(cell["unavailable"]))
    about = (f"{row.title} · {regime_title(regime)}", "not available", *(reasons or ["it was not measured here"]))
    return Dot(chance, about, (row.key, ALL, ALL, regime, ALL))


class _Column(NamedTuple):
    """means: of the explainers, by key. best: what is bold."""

    head: Head
    means: pd.DataFrame
    best: tuple[str, ...]


def measure_table(measured: Measured, names: Names, k: int = 0, *, parts: bool = False) -> Table:
    """Return methods best first, then controls.

    parts: a column for each part of a regime, in place of the mean over all regimes.
    """
    columns, biased = _columns(measured, names, parts), measured.measure.best == "zero"
    reasons = measured.cells.dropna(subset=["unavailable"]).groupby("explainer")["unavailable"].first()
    cells = measured.overall.set_index("explainer")["cells"]
    rows = []
    for key in measured.explainers(names.controls):
        nothing = {"at": None, "unavailable": reasons.get(key)}
        of_columns = (column.means.loc[key].to_dict() if key in column.means.index else nothing for column in columns)
        cells_of = zip(columns, of_columns, strict=True)
        row = [number_cell(mean, of=_AT, mark=measured.mark(key), best=key in column.best) for column, mean in cells_of]
        ran = f"in {int(cells[key])} of {int(cells.max())} cells" if key in cells.index and key in measured.few else ""
        if not biased:
            known = key in measured.wrong_side.index
            row.append(TableCell("{wrong} of {numbers}".format(**measured.wrong_side.loc[key])) if known else TableCell())
        rows.append(Row((names.explainer(key),), tuple(row), key in names.controls, ran))
    heads = [column.head for column in columns]
    side = "above" if measured.measure.best == "low" else "below"
    heads += [] if biased else [Head(f"{side} chance", _WRONG)]
    label = re.sub(r"[^a-z0-9]+", "-", f"{measured.measure.key} k{k}" if k else measured.measure.key)
    title = f"{measured.measure.title}, k = {k}" if k else measured.measure.title
    return Table(title, ("Explainer",), tuple(heads), tuple(rows), _note(measured, columns, names), label)


def _columns(measured: Measured, names: Names, parts: bool) -> list[_Column]:
    means, columns = measured.parts if parts else measured.regimes, []
    for regime in ordered_regimes(set(means["regime"]), REGIMES):
        of_regime = means[means["regime"] == regime]
        several = parts and of_regime["part"].nunique() > 1
        for part, rows in of_regime.groupby("part", sort=False) if several else [("", of_regime)]:
            title = regime_title(regime) + (f", {part_title(str(part))}" if several else "")
            columns.append((Head(title, regime_meaning(regime)), rows))
    if len(columns) > 1 and not parts:
        columns.append((Head(f"{_OVERALL} {len(columns)}", "Mean over all cells"), measured.overall))
    return [
        _Column(head, measured.in_unit(rows).set_index("explainer"), measured.ranking(rows, names.controls).bold)
        for head, rows in columns
    ]


def _note(measured: Measured, columns: Sequence[_Column], names: Names) -> str:
    measure = measured.measure
    by_title = {
        column.head.title: column.means[[key not in names.controls for key in column.means.index]].dropna(subset=["at"])
        for column in columns
        if len(column.means)
    }
    if not by_title:
        return ""
    unit = f"In {measure.shown_unit} ({_DIRECTION[measure.best]})"
    unit = f"From chance (0) to the best possible (1), of {measure.unit}" if measured.scaled else unit
    count = span([cells for means in by_title.values() for cells in means["cells"]], COUNT)
    levels = {title: span(means["chance"], EXACT) for title, means in by_title.items() if not title.startswith(_OVERALL)}
    chance = "; ".join(f"{level} ({title})" for title, level in levels.items())
    chance = next(iter(levels.values())) if len(set(levels.values())) == 1 else chance
    parts = [f"{unit}: means over {count} cells of a model and a dataset, with 95 % intervals over questions."]
    parts += [_BOUND] if any((means["interval"] == "bound").any() for means in by_title.values()) else []
    parts += [] if measured.scaled else [f"{'The random control itself' if measure.paired else 'Chance'}: {chance}."]
    parts += [IN_BOLD] if any(column.best for column in columns) else []
    parts += [given_sentence(measure)] if any(measured.mark(key) for key in measured.cells["explainer"].unique()) else []
    return " ".join(parts)


def cells_table(cells: pd.DataFrame) -> Table:
    """Return every cell: one row for each with its part, measure and k; its instances, chance level(s), and a number for each
    explainer.
    """
    if cells.empty:
        return Table("", (), (), ())
    explainers, titled = in_order(list(cells["explainer"].unique())), {"regime": regime_title, "part": part_title}
    names = ("measure", "k", *CELL, "part")
    keys = [key for key in names if key not in ("measure", "k", "part", "technique") or cells[key].nunique() > 1]
    grouped = any("," in sizes for sizes in cells["group_sizes"])
    cells = in_regime_order(cells.assign(asked=cells.groupby(["measure", "k"], sort=False).ngroup()), ("asked", *CELL))
    rows = []
    for values, per_explainer in crossed(cells, names, "explainer").items():
        n = max(int(row["n"]) for row in per_explainer.values())
        sizes = next(iter(per_explainer.values()))["group_sizes"].strip("{}").replace('"', "")
        # One group has the size n.
        about = [counted(n), *([TableCell(sizes if "," in sizes else "")] if grouped else [])]
        about.append(TableCell(span([row["chance"] for row in per_explainer.values()], EXACT)))
        titles = tuple(titled.get(key, str)(value) for key, value in zip(names, values, strict=True) if key in keys)
        rows.append(Row(titles, (*about, *(_with_n(per_explainer.get(key), n) for key in explainers))))
    heads = ["instances", *(["groups"] if grouped else []), "chance", *explainers]
    return Table("Every cell", tuple(keys), tuple(Head(head, left=head == "groups") for head in heads), tuple(rows))


def _with_n(row: Fields | None, n: int) -> TableCell:
    """Write a number with its n: of the cell; an explainer with fewer instances shows its own."""
    fewer = row is not None and not pd.isna(row["value"]) and int(row["n"]) != n
    return number_cell(row, beside=f"n = {int(row['n'])}" if row is not None and fewer else "")
