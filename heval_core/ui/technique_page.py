"""What the tabs of the page Techniques share: which model, dataset and techniques are shown, and by which measure."""

from __future__ import annotations

from dataclasses import dataclass

import pandas as pd
import streamlit as st

from heval_core.figures.technique_names import TechniqueNames, measure_name
from heval_core.figures.technique_table import shown_cells
from heval_core.records import TECHNIQUE
from heval_core.store.filters import Filter
from heval_core.store.reader import Reader
from heval_core.ui import address
from heval_core.ui.names import titles_of
from heval_core.ui.published_results import query
from heval_core.ui.text import plain
from heval_core.wording import BEHAVIOUR_MEANINGS, BEHAVIOUR_TITLES

# Measures of one answer each, so that they exist for each kind of context.
BY_KIND = ("bcu", "ccu", "accuracy", "memory_kept", "neither", "bcu_unknown")
# What `feature_correlation` calls all datasets together.
EVERY_DATASET = "all"


@dataclass(frozen=True)
class Shown:
    """What a tab shows. cells, points: of one model and dataset, and of the chosen techniques. every, every_point: of all."""

    model: str
    dataset: str
    dataset_title: str
    measure: str
    names: TechniqueNames
    cells: pd.DataFrame
    points: pd.DataFrame
    trials: pd.DataFrame
    every: pd.DataFrame
    every_point: pd.DataFrame

    @property
    def front(self) -> list[str]:
        """The techniques on the Pareto front."""
        return [str(key) for key in self.points[self.points["on_front"].astype(bool)]["technique"]] if len(self.points) else []

    def filter(self, **more: object) -> Filter:
        return Filter(model=(self.model,), dataset=(self.dataset,), **more)  # type: ignore[arg-type]


def names_of(results: Reader) -> TechniqueNames:
    return TechniqueNames.of(query(results, Reader.techniques))


def has_techniques(results: Reader) -> bool:
    """Whether these results compare techniques at all."""
    return len(query(results, Reader.technique_cells, Filter())) > 0


def choose(results: Reader, *, compare: bool) -> Shown:
    """Draw the chips. compare: with techniques and measure."""
    cells = query(results, Reader.technique_cells, Filter())
    names, datasets = names_of(results), titles_of(results, "dataset")
    model = _one("Model", "model", _most_compared(cells, "model"))
    own = cells[cells["model"] == model]
    dataset = _one("Dataset", "dataset", _most_compared(own, "dataset"), datasets)
    own = own[own["dataset"] == dataset]
    chosen = Filter(model=(model,), dataset=(dataset,))
    points, trials = query(results, Reader.technique_points, chosen), query(results, Reader.technique_trials, chosen)
    measure, shown = "bcu", names.in_order(own.dropna(subset=["value"])["technique"])
    if compare:
        shown = _techniques(shown, names)
        measure = _measure(own)
    kept, drawn = shown_cells(own, shown), points[points["technique"].isin([TECHNIQUE, *shown])]
    return Shown(model, dataset, datasets.get(dataset, dataset), measure, names, kept, drawn, trials, own, points)


def _most_compared(cells: pd.DataFrame, column: str) -> list[str]:
    """The values of a column, first the one with the most techniques on a dataset: that is what a reader sees first."""
    counts = cells.dropna(subset=["value"]).groupby(["model", "dataset"])["technique"].nunique().groupby(column).max()
    return sorted(cells[column].unique(), key=lambda one: (-counts.get(one, 0), one))


def choose_dataset(results: Reader, correlations: pd.DataFrame) -> str:
    """The chip of the tab whose numbers pool all models: a dataset, or all of them."""
    datasets = titles_of(results, "dataset") | {EVERY_DATASET: "all together"}
    there = sorted(correlations["dataset"].unique(), key=lambda name: (name != EVERY_DATASET, name))
    return _one("Dataset", "dataset", there, datasets)


def choose_technique(keys: list[str], names: TechniqueNames) -> str:
    return _one("Technique", "under", keys, {key: names.title(key) for key in keys})


def _one(label: str, name: str, options: list[str], titles: dict[str, str] | None = None) -> str:
    """A chip with a menu of which one is chosen, the first by default."""
    named = {option: (titles or {}).get(option, option) for option in options}
    held = address.value(name) if address.value(name) in options else options[0]
    with st.popover(f"{label} **{plain(named[held])}**"):
        return address.one_of(label, options, name, what=label.lower(), titles=named, menu=True)


def _techniques(there: list[str], names: TechniqueNames) -> list[str]:
    others = [key for key in there if key != TECHNIQUE]
    asked = [key for key in others if key in address.values("techniques")] or others
    with st.popover(f"Techniques **{len(asked)} of {len(others)}**"):
        titles = {key: names.title(key) for key in others}
        about = "All are compared with Regular, which is always shown. The Pareto front is that of all techniques."
        chosen = address.some_of("Techniques", others, "techniques", what="technique", titles=titles, help=about)
    return [key for key in others if key in chosen] or others


def _measure(own: pd.DataFrame) -> str:
    known = set(own.dropna(subset=["value"])["measure"])
    there = [measure for measure in BY_KIND if measure in known] or ["bcu"]
    held = address.value("measure") if address.value("measure") in there else there[0]
    with st.popover(f"Measure **{measure_name(held)}**"):
        chosen = address.one_of("Measure", there, "measure", titles=BEHAVIOUR_TITLES, menu=True)
        for measure in there:
            meaning = BEHAVIOUR_MEANINGS.get(measure, "")
            st.caption(f"**{plain(measure_name(measure))}**: {plain(meaning)}.")
    return chosen
