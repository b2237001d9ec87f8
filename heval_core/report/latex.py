"""A section of the report as LaTeX: a table of explainers by regimes for each of its measures, or the section's own table."""

from __future__ import annotations

from functools import partial

from heval_core.evaluation.regime_means import cells_and_means
from heval_core.figures.cells import of_measure
from heval_core.figures.paper_table import paper_table
from heval_core.report.board_section import BOARD, board_paper
from heval_core.report.figures import Named
from heval_core.report.plans import plans
from heval_core.report.section import Section
from heval_core.report.technique_sections import technique_latex
from heval_core.store.export import as_latex
from heval_core.store.filters import Filter
from heval_core.store.reader import Reader


def latex_of(results: Reader, section: Section) -> str:
    """With the section's gaps as comments; empty where it has nothing."""
    notes = (f"{section.title} ({section.paper})", *section.gaps)
    plan = plans().get(section.key)
    comments = "".join(f"% {' '.join(note.split())}\n" for note in notes)
    if plan is None:
        if section.key == BOARD:
            return comments + board_paper(results)
        if of_techniques := technique_latex(results, section):
            return comments + of_techniques
        return as_latex(section.shown, results.snapshot_id, notes) if len(section.shown) else ""
    named = Named.of(results)
    tables = []
    for measure in plan.measures:
        for k in plan.ks if measure.uses_k else (0,):
            wanted = ((measure.parts, ("regime", "part")),)
            cells, (means,) = cells_and_means(results, Filter(), measure.metric, k, wanted)
            means = means[means["regime"].map(measure.asks).astype(bool)]
            if len(means):
                table = partial(paper_table, means, measure, named.titles, named.controls, results.snapshot_id, k=k)
                tables.append(table(cells=of_measure(cells, measure)))
    return comments + "\n".join(tables) if tables else ""
