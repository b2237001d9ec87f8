"""What takes seconds when it is first asked for is computed ahead, once a page has been drawn: the tabs that compare and that
follow the prompt's length, as they open by themselves."""

from __future__ import annotations

import importlib
import logging
import os
import threading
import time

import streamlit as st
from streamlit import runtime

from heval_core.evaluation.comparisons import comparisons
from heval_core.evaluation.curves import curve
from heval_core.metrics import measures_of
from heval_core.metrics.shared.cell import DEFAULT_K
from heval_core.store.reader import Reader
from heval_core.ui.filters import all_explained
from heval_core.ui.published_results import query

_log = logging.getLogger("heval")
# Above so many instances it would keep a machine busy for minutes that nobody may want.
MOST = 20_000
# Seconds that are left to the reader's first pages.
PATIENCE = 3
_LEAST_URGENT = 19


def begin(results: Reader) -> None:
    """Once for each set of results, in a thread of the least urgency. Does nothing outside of a server."""
    if not runtime.exists():
        return
    choices = query(results, Reader.choices)
    if choices[choices["explained"]]["instances"].sum() <= MOST:
        _begun(results.snapshot_id, results)


@st.cache_resource(max_entries=4, show_spinner=False)
def _begun(snapshot_id: str, _results: Reader) -> bool:
    threading.Thread(target=_carry, args=(_results,), daemon=True).start()
    return True


def _carry(results: Reader) -> None:
    time.sleep(PATIENCE)
    if hasattr(os, "setpriority"):
        os.setpriority(os.PRIO_PROCESS, threading.get_native_id(), _LEAST_URGENT)
    try:
        compute(results)
    except Exception:  # whoever opens the tab will be told
        _log.exception("computing ahead")


def compute(results: Reader) -> None:
    """What the tabs ask for when no filter is set, under the same names that they ask with."""
    # The library that draws their figures takes a good part of the first one's time.
    importlib.import_module("heval_core.figures.accuracy")
    measure = next(iter(measures_of("RQ3").values()))
    k = measure.at(DEFAULT_K)
    chosen = all_explained(results)
    query(results, comparisons, chosen, measure.metric, measure.together, k)
    query(results, curve, chosen, measure.metric, measure.together, k, "tokens")
