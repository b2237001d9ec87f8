"""What a report's sections are: sentences, drawings and tables, and the numbers that these are made of."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import NamedTuple

import pandas as pd

from heval_core.metrics.shared.cell import DEFAULT_K
from heval_core.metrics.shared.measure import Measure
from heval_core.plugins.measures import measures
from heval_core.present.drawing import Drawing
from heval_core.present.numbers import EXACT
from heval_core.present.table import Table
from heval_core.store.reader import Reader

Figure = tuple[str, Drawing]


@dataclass(frozen=True)
class Plan:
    """A section of the report, before it is made.

    chapter: the heading it stands under. paper: what it is in the paper. build: makes the section. Where it is of measures
    (`Measure.sections`), its regimes, and the ks of those that have one.
    """

    key: str
    chapter: str
    title: str
    paper: str
    build: Callable[[Reader, Plan], Section] = field(compare=False)
    regimes: tuple[str, ...] = ()
    ks: tuple[int, ...] = (DEFAULT_K,)

    @property
    def heading(self) -> str:
        return f"{self.title} ({self.paper})"

    @property
    def measures(self) -> tuple[Measure, ...]:
        """In order; each in the regimes of the section, if it has any."""
        of_section = (m for m in measures().values() if self.key in (m.sections or (m.key,)) and m.question)
        return tuple(replace(measure, regimes=self.regimes) if self.regimes else measure for measure in of_section)

    def section(
        self,
        text: str,
        tables: Iterable[Table],
        rows: pd.DataFrame,
        figures: Iterable[Figure] = (),
        gaps: Iterable[str] = (),
        behind: Iterable[Table] = (),
    ) -> Section:
        """Make the section that `build` returns. gaps: by default it is said where there are no rows."""
        exhibits = Exhibits(tuple(tables), tuple(figures), tuple(behind))
        return self.made_later(text, lambda: exhibits, rows, gaps)

    def made_later(self, text: str, make: Callable[[], Exhibits], rows: pd.DataFrame, gaps: Iterable[str] = ()) -> Section:
        """Make a section of which tables and figures are only made where they are asked for: its numbers need none."""
        return Section(self, text, rows, make, tuple(gaps) or (() if len(rows) else ("Not in these results.",)))


class Exhibits(NamedTuple):
    """figures: (caption, drawing). tables: as in a paper too; behind: those that only a screen has room for."""

    tables: tuple[Table, ...]
    figures: tuple[Figure, ...] = ()
    behind: tuple[Table, ...] = ()


@dataclass(frozen=True, eq=False)
class Section:
    """A section of the report.

    text: how to read it. rows: all its numbers, for `results.json` and exports. make: makes its tables and figures. gaps:
    what it needs and the store does not have.
    """

    plan: Plan
    text: str
    rows: pd.DataFrame
    make: Callable[[], Exhibits]
    gaps: tuple[str, ...] = ()

    @cached_property
    def exhibits(self) -> Exhibits:
        return self.make()

    @property
    def figures(self) -> tuple[Figure, ...]:
        return self.exhibits.figures

    @property
    def shown(self) -> tuple[Table, ...]:
        """The tables that have rows, with three decimals."""
        return tuple(table.exact(EXACT) for table in (*self.exhibits.tables, *self.exhibits.behind) if table.rows)

    @property
    def for_a_paper(self) -> tuple[Table, ...]:
        return tuple(table.exact() for table in self.exhibits.tables if table.rows)

    def latex(self, snapshot_id: str) -> str:
        """Write its tables for a paper, its gaps as comments; empty where it has no numbers."""
        tables, notes = self.for_a_paper, (self.plan.heading, *self.gaps)
        comments = "".join(f"% {' '.join(note.split())}\n" for note in notes)
        return comments + "\n".join(table.latex(snapshot_id) for table in tables) if tables else ""
