"""Which measure is shown, and its cells and means: published values where these are of all instances, else computed now."""

from __future__ import annotations

import contextlib
from dataclasses import replace

import pandas as pd
import streamlit as st

from heval_core import catalogue
from heval_core.evaluation import live
from heval_core.evaluation.means import cells_and_means, means_of
from heval_core.figures.measure_table import wanted_of
from heval_core.figures.measured_panels import Measured, of_measure
from heval_core.metrics import measures_of
from heval_core.metrics._features import LearnedMetric
from heval_core.metrics.shared.measure import QUESTIONS, Measure
from heval_core.records import CELL
from heval_core.store.filters import Filter
from heval_core.store.reader import Reader
from heval_core.ui import address
from heval_core.ui.filters import in_regimes
from heval_core.ui.names import names_of
from heval_core.ui.published_results import query
from heval_core.ui.text import plain


def choose_measure(question: str) -> Measure:
    """The measure of a question that is asked for, kept in the link."""
    by_title = measures_of(question)
    names = [name for name, measure in by_title.items() if not measure.variant_of]
    link = QUESTIONS[question].link
    if len(names) == 1:
        address.known(link, names, "measure")
        return by_title[names[0]]
    measure = by_title[address.one_of("Measure", names, link, what="measure", hidden=True)]
    variant = next((other for other in by_title.values() if other.variant_of == measure.title), None)
    if variant is None or variant.switch is None:
        return measure
    return variant if address.switch(variant.switch.title, variant.switch.link, help=variant.switch.about) else measure


def define(measure: Measure) -> None:
    """The measure's definition, in a sentence."""
    st.caption(f"**{plain(measure.title)}.** {plain(measure.meaning)}")


WHY = "This measure is computed again on a hundred halves of the questions, which takes some seconds for each cell"


def takes_long(metric: str) -> bool:
    """Whether a metric's errors are made on halves."""
    return isinstance(catalogue.find("metric", metric), LearnedMetric)


def live_cells(results: Reader, chosen: Filter, metric: str, k: int) -> pd.DataFrame:
    """`live.cells_of`; if it takes long, with a bar, regime by regime, each cached by itself."""
    if not takes_long(metric):
        return query(results, live.cells_of, chosen, metric, k)
    whole = Filter(chosen.model, chosen.dataset, chosen.regime, technique=chosen.technique)
    there = query(results, Reader.cells, whole, metric.partition("(")[0], k)
    cells = there.drop_duplicates(list(CELL))[list(CELL)].itertuples(index=False)
    pieces = [replace(chosen, model=(p.model,), dataset=(p.dataset,), regime=(p.regime,)) for p in cells]
    bar = st.progress(0.0, WHY)
    computed = []
    for number, piece in enumerate(pieces, start=1):
        computed.append(query(results, live.cells_of, piece, metric, k))
        bar.progress(number / len(pieces), f"{WHY}: {number} of {len(pieces)}")
    bar.empty()
    return pd.concat(computed, ignore_index=True) if computed else there.iloc[:0]


def waiting(metric: str, what: str) -> contextlib.AbstractContextManager[None]:
    """A clock while something is computed. what: it, in words, where the metric itself does not take long."""
    return st.spinner(f"{WHY if takes_long(metric) else what} …", show_time=True)


def measured(results: Reader, chosen: Filter, measure: Measure, metric: str, k: int) -> Measured | None:
    """In its own unit. metric: the measure's, or a variant of it. None where the chosen regimes do not ask its question."""
    limited = in_regimes(chosen, measure)
    if limited is None:
        return None
    wanted = wanted_of(measure)
    if (limited.cuts_cells or metric != measure.metric) and takes_long(metric):
        cells = live_cells(results, limited, metric, k)
        means = [means_of(cells, *own, names_of(results).controls) for own in wanted]
    else:
        cells, means = query(results, cells_and_means, limited, metric, k, wanted)
    parts, regimes, overall = means
    return Measured(measure, of_measure(cells, measure), parts, regimes, overall, scaled=False)
