"""The data behind findings about techniques: of each model and dataset, numbers with their replicates."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import NamedTuple

import numpy as np

from heval_core import catalogue
from heval_core.evaluation.techniques.resampled import Spread
from heval_core.records import CONTEXT_KINDS, FOLLOWED, TECHNIQUE

FEWEST = 2
# (kind of context or total, measure), as in `heval_core.evaluation.techniques.cells`.
Measured = tuple[str, str]
WANTED: frozenset[Measured] = frozenset({(kind, "bcu") for kind in (*CONTEXT_KINDS, "total")} | {("total", "discrimination")})
IGNORED: Measured = ("irrelevant", "bcu")


class Cell(NamedTuple):
    """What techniques came to with one model on one dataset.

    values: technique ▶ its measures. gains: technique ▶ the same less Regular's, over the instances that both answered; of
    Regular nothing. memory: Spearman's correlation of memory strength with BCU on conflicting documents, under Regular; None
    where it is not defined.
    """

    model: str
    dataset: str
    values: Mapping[str, Mapping[Measured, Spread]]
    gains: Mapping[str, Mapping[Measured, Spread]]
    memory: Spread | None

    def value(self, technique: str, measured: Measured) -> Spread | None:
        return self.values.get(technique, {}).get(measured)

    def gain(self, technique: str, measured: Measured) -> Spread | None:
        """Of Regular to itself: nothing, wherever it was asked."""
        if technique != TECHNIQUE:
            return self.gains.get(technique, {}).get(measured)
        own = self.value(TECHNIQUE, measured)
        return None if own is None else Spread(np.zeros_like(own.values), own.n)

    def faithfulness(self, technique: str) -> Spread | None:
        """The gain in context faithfulness: the mean over gold and conflicting documents, or over those that there are."""
        found = [own for kind in FOLLOWED if (own := self.gain(technique, (kind, "bcu"))) is not None]
        return Spread(np.mean([own.values for own in found], axis=0), sum(own.n for own in found)) if found else None

    def behind(self, technique: str, other: str, kind: str) -> Spread | None:
        """How far a technique is behind another with one kind of context: the difference of both gains."""
        own, ahead = self.gain(technique, (kind, "bcu")), self.gain(other, (kind, "bcu"))
        return None if own is None or ahead is None else Spread(ahead.values - own.values, min(own.n, ahead.n))


class Mean(NamedTuple):
    """A number over cells. values: (1 + R, cells), the numbers themselves first. n: instances."""

    label: str
    models: tuple[str, ...]
    datasets: tuple[str, ...]
    values: np.ndarray
    n: int

    @property
    def value(self) -> float:
        return float(self.values[0].mean())

    @property
    def drawn(self) -> np.ndarray:
        """(R,) the mean in each resample."""
        return np.asarray(self.values[1:].mean(axis=1))


class TechniqueEvidence:
    """All cells of a store in which techniques were compared."""

    def __init__(self, cells: Sequence[Cell]):
        self.cells = tuple(cells)
        asked = {technique for cell in cells for technique in cell.values}
        self._known = catalogue.variants(asked, "technique")

    def title(self, technique: str) -> str:
        plugin = self._known.get(technique)
        return str(plugin.title) if plugin else technique

    def is_decoding(self, technique: str) -> bool:
        """Whether it sees no more than the model's probabilities with the document and without."""
        plugin = self._known.get(technique)
        return plugin is not None and plugin.family == "decoding"

    def techniques(self) -> list[str]:
        """Those beside Regular, in the catalogue's order, that are compared with it.

        Where some were asked of FEWEST models on as many datasets, only these: of the others nothing could be said anyway.
        """
        asked = {name: [cell for cell in self.cells if name in cell.gains] for cell in self.cells for name in cell.gains}
        enough = {name for name, cells in asked.items() if all(_several(cells))}
        kept = enough or set(asked)
        return sorted(kept, key=lambda name: (getattr(self._known.get(name), "order", 1000), name))

    def mean(self, label: str, of: Callable[[Cell], Spread | None]) -> Mean | None:
        """Over the cells in which the number is defined; None without any."""
        found = [(cell, own) for cell in self.cells if (own := of(cell)) is not None and np.isfinite(own.value)]
        return mean_of(label, [((cell.model,), (cell.dataset,), own) for cell, own in found])


def mean_of(label: str, found: Iterable[tuple[tuple[str, ...], tuple[str, ...], Spread]]) -> Mean | None:
    """found: models, datasets and the number of each cell."""
    found = list(found)
    if not found:
        return None
    models = tuple(sorted({name for names, _, _ in found for name in names}))
    datasets = tuple(sorted({name for _, names, _ in found for name in names}))
    values = np.stack([own.values for _, _, own in found], axis=1)
    return Mean(label, models, datasets, values, sum(own.n for _, _, own in found))


def _several(cells: Sequence[Cell]) -> tuple[bool, bool]:
    return len({cell.model for cell in cells}) >= FEWEST, len({cell.dataset for cell in cells}) >= FEWEST
