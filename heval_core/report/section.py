"""A section of a report: sentences, drawings and tables, and the numbers that these are made of."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import pandas as pd

from heval_core.present.drawing import Drawing
from heval_core.present.numbers import EXACT
from heval_core.present.table import Table
from heval_core.report.plans import Plan
from heval_core.store.reader import Reader


@dataclass(frozen=True, eq=False)
class Section:
    """text: how to read it. figures: (caption, drawing). rows: all its numbers, for `results.json` and exports. gaps: what it
    needs and the store does not have. papers: makes the tables of a paper, where these are others than those shown.
    """

    plan: Plan
    text: str
    tables: tuple[Table, ...]
    rows: pd.DataFrame
    figures: tuple[tuple[str, Drawing], ...] = ()
    gaps: tuple[str, ...] = ()
    papers: Callable[[Plan, Reader], tuple[Table, ...]] | None = None

    @property
    def shown(self) -> tuple[Table, ...]:
        """The tables that have rows, with three decimals."""
        return tuple(table.exact(EXACT) for table in self.tables if table.rows)

    def for_a_paper(self, results: Reader) -> tuple[Table, ...]:
        return tuple(own.exact() for own in (self.papers(self.plan, results) if self.papers else self.tables) if own.rows)

    def latex(self, results: Reader) -> str:
        """Its tables for a paper, its gaps as comments; empty where it has no numbers."""
        tables = self.for_a_paper(results)
        notes = (f"{self.plan.title} ({self.plan.paper})", *self.gaps)
        comments = "".join(f"% {' '.join(note.split())}\n" for note in notes)
        return comments + "\n".join(table.latex(results.snapshot_id) for table in tables) if tables else ""
