"""A section of a report: sentences, drawings and tables, and the numbers that these are made of."""

from __future__ import annotations

from dataclasses import dataclass

import pandas as pd

from heval_core.present.drawing import Drawing
from heval_core.present.numbers import EXACT
from heval_core.present.table import Table
from heval_core.report.plans import Plan

Figure = tuple[str, Drawing]


@dataclass(frozen=True, eq=False)
class Section:
    """text: how to read it. figures: (caption, drawing). tables: as in a paper too; behind: those that only a screen has room
    for. rows: all its numbers, for `results.json` and exports. gaps: what it needs and the store does not have.
    """

    plan: Plan
    text: str
    tables: tuple[Table, ...]
    rows: pd.DataFrame
    figures: tuple[Figure, ...] = ()
    gaps: tuple[str, ...] = ()
    behind: tuple[Table, ...] = ()

    @property
    def shown(self) -> tuple[Table, ...]:
        """The tables that have rows, with three decimals."""
        return tuple(table.exact(EXACT) for table in (*self.tables, *self.behind) if table.rows)

    @property
    def for_a_paper(self) -> tuple[Table, ...]:
        return tuple(table.exact() for table in self.tables if table.rows)

    def latex(self, snapshot_id: str) -> str:
        """Its tables for a paper, its gaps as comments; empty where it has no numbers."""
        tables, notes = self.for_a_paper, (f"{self.plan.title} ({self.plan.paper})", *self.gaps)
        comments = "".join(f"% {' '.join(note.split())}\n" for note in notes)
        return comments + "\n".join(table.latex(snapshot_id) for table in tables) if tables else ""
