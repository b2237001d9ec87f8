"""The results that a page reads: opened read-only, and cached by snapshot. Errors are one sentence on the page."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Concatenate, ParamSpec, TypeVar

import streamlit as st

from heval_core.evaluation import evaluator
from heval_core.evaluation.renew import is_outdated, obstacle, renew, told
from heval_core.records import HEvalError
from heval_core.store.published import current_file
from heval_core.store.reader import Reader
from heval_core.ui.text import plain

ROOT = Path(__file__).resolve().parent.parent.parent
DEMO_SHARDS = ROOT / "cache" / "demo"
DEMO_RESULTS = ROOT / "cache" / "demo-results"
RESULTS = ROOT / "cache" / "results"

P = ParamSpec("P")
T = TypeVar("T")


def results_folder() -> Path:
    """`HEVAL_STORE` if it is set, else the batch job's own store if it has published, else the demo results."""
    chosen = os.environ.get("HEVAL_STORE")
    if chosen:
        return Path(chosen)
    return RESULTS if current_file(RESULTS) else DEMO_RESULTS


def ensure_published() -> str:
    """Publish the bundled demo results if nothing is published, and any results again that other code has evaluated.

    Returns a sentence if that is not possible and older results stay, else an empty text. Raises HEvalError if the demo
    results cannot be published, and nothing is there.
    """
    target = results_folder()
    bundled = target == DEMO_RESULTS
    source = DEMO_SHARDS if bundled else target
    manifest = source / "manifest.jsonl"
    outdated = is_outdated(target)
    if not outdated and not (bundled and manifest.is_file()):
        return ""
    # These obstacles may go away, so they are checked every time.
    why = obstacle(source, target)
    if why is None:
        why = _publish(str(source), str(target), bundled, manifest.stat().st_mtime, evaluator.evaluator_id())
    if why and bundled and current_file(target) is None:
        raise HEvalError(f"The bundled demo results cannot be published: {why}.")
    return told(target, why) if why and is_outdated(target) else ""


@st.cache_resource(show_spinner="Publishing these results: once, in a few seconds (of a large store, minutes) …")
def _publish(source: str, target: str, bundled: bool, modified: float, evaluated_by: str) -> str | None:
    """Once per server; a file that is published already is only pointed to. Returns as `renew` does."""
    return renew(Path(source), Path(target), bundled)


@st.cache_resource(max_entries=4, show_spinner=False)
def _open(path: str, modified: float) -> Reader:
    return Reader(Path(path))


SNAPSHOT = "snapshot"
_PINNED = "pinned_results"


def reader() -> Reader:
    """The results of this tab: those that its link names, else those that were current when it was opened.

    Says so if there are newer ones, or if the link's are gone. Stops the page with one sentence if there are no results, or
    if they cannot be read.
    """
    try:
        remark = ensure_published()
        folder = results_folder()
        current = current_file(folder)
        if current is None:
            raise HEvalError(
                f"Nothing is published in {folder} yet. Run: python -m precompute run --store {folder} …, "
                f"then: python -m precompute publish --store {folder}"
            )
        path, modified = _pinned(folder, current)
        if remark and path == str(current):
            st.warning(plain(remark), icon=":material/update_disabled:")
        return _open(path, modified)
    except HEvalError as error:
        st.error(plain(str(error)), icon=":material/database_off:")
        st.stop()
        raise  # st.stop has left the page; this only tells the type checker so


def _pinned(folder: Path, current: Path) -> tuple[str, float]:
    """Path and time of the file that this tab shows until its reader asks for newer results."""
    named = st.query_params.get(SNAPSHOT)
    pinned: tuple[str, float] | None = st.session_state.get(_PINNED)
    if named is not None and (pinned is None or named != snapshot_of(Path(pinned[0]))):
        # Compared with what is there: a value from a link never becomes a path.
        there = {snapshot_of(path): path for path in folder.glob("results-*.duckdb")}
        if named in there:
            pinned = (str(there[named]), there[named].stat().st_mtime)
        else:
            st.warning(
                f"The link is to the results {plain(named[:40])}, which no longer exist; these are the current ones.",
                icon=":material/history:",
            )
            del st.query_params[SNAPSHOT]
    if pinned is None or Path(pinned[0]).parent != folder:
        pinned = (str(current), current.stat().st_mtime)
    st.session_state[_PINNED] = pinned
    if Path(pinned[0]) != current:
        _offer_newer(current)
    return pinned


def snapshot_of(path: Path) -> str:
    """The id in a results file's name."""
    return path.stem.removeprefix("results-")


def _offer_newer(current: Path) -> None:
    text, button = st.columns([5, 1], vertical_alignment="center")
    text.info("Newer results have been published; this tab still shows the earlier ones.", icon=":material/update:")

    def reload() -> None:
        st.session_state[_PINNED] = (str(current), current.stat().st_mtime)
        st.query_params.pop(SNAPSHOT, None)

    button.button("Show them", key="reload_results", on_click=reload, width="stretch")


@st.cache_data(max_entries=256, show_spinner=False)
def _cached(snapshot_id: str, name: str, arguments: tuple[str, ...], _call: Callable[[], T]) -> T:
    return _call()


def query(results: Reader, asked: Callable[Concatenate[Reader, P], T], *arguments: P.args, **named: P.kwargs) -> T:
    """A query of the results, such as `Reader.cells`, or another function of them: cached by snapshot and arguments.

    Arguments are small and told apart by their `repr`.
    """
    told_apart = (*map(repr, arguments), *(f"{name}={value!r}" for name, value in sorted(named.items())))
    name = f"{asked.__module__}.{asked.__qualname__}"
    return _cached(results.snapshot_id, name, told_apart, lambda: asked(results, *arguments, **named))
