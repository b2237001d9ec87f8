"""A grid that is planned, run and published, for tests of stages behind attributions."""

from pathlib import Path
from types import SimpleNamespace

from heval_core.evaluation.publishing import publish
from heval_core.store.reader import Reader
from precompute.grid import Grid
from precompute.plan import plan
from precompute.run import run
from precompute.worker import Local


def measured_by(grid: Grid, folder: Path) -> SimpleNamespace:
    """The plan, the outcome of the run, and what is published; nothing may have failed."""
    planned = plan(grid, folder, calibrated=False)
    outcome = run(grid, folder, Local)
    assert outcome.failed == 0
    return SimpleNamespace(folder=folder, planned=planned, outcome=outcome, reader=Reader(publish(folder)))
