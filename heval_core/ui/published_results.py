"""The results that a page reads: opened read-only, cached by snapshot, and published first where they are not there."""

from __future__ import annotations

import os
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Concatenate, ParamSpec, TypeVar

import streamlit as st

from heval_core.evaluation import evaluator
from heval_core.evaluation.publishing import is_outdated, not_renewed, obstacle
from heval_core.evaluation.publishing_thread import Publishing, in_words
from heval_core.folders import BUNDLED, RESULTS, program
from heval_core.present import names
from heval_core.present.html import plain
from heval_core.present.names import Names
from heval_core.records import HEvalError
from heval_core.store import shipped
from heval_core.store.published import KEPT_FILES, current_file
from heval_core.store.reader import Reader
from heval_core.store.shards import POINTER

WHICH_RESULTS = "results"
# What the folders of results are called.
RESULTS_TITLES = {"own": "Your results", "real": "Real models", "demo": "Models with a taught rule"}

P = ParamSpec("P")
T = TypeVar("T")


def offered() -> dict[str, Path]:
    """Return the folders of results that the address may ask for, the default first: `HEVAL_STORE` alone if it is set, else
    the batch job's own store if it has published, and the bundled ones.
    """
    if chosen := os.environ.get("HEVAL_STORE"):
        return {"": Path(chosen)}
    own_store = {"own": RESULTS} if current_file(RESULTS) else {}
    return own_store | {name: target for name, (target, source) in BUNDLED.items() if (source / "manifest.jsonl").is_file()}


def results_folder() -> Path:
    """Return the folder that the address asks for of what is `offered`, else the first."""
    folders = offered()
    return folders.get(st.query_params.get(WHICH_RESULTS, ""), next(iter(folders.values()), BUNDLED["demo"][0]))


def ensure_published() -> str:
    """Publish bundled results where they are not, and any results again that other code has evaluated.

    While that takes, the page shows how far it is. Returns a sentence if it is not possible and older results stay, else an
    empty text. Raises HEvalError if bundled results cannot be published, and nothing is there.
    """
    target = results_folder()
    shards = _shards_of(target)
    job, why = _needed(target, shards)
    if job is not None:
        wait(job)
        why = job.why
    if why and shards and current_file(target) is None:
        raise HEvalError(f"The bundled results cannot be published: {why}.")
    return not_renewed(target, why) if why and is_outdated(target) else ""


def _shards_of(target: Path) -> Path | None:
    """Return the shards of results that come with the program."""
    return next((source for folder, source in BUNDLED.values() if folder == target), None)


def _needed(target: Path, shards: Path | None) -> tuple[Publishing | None, str | None]:
    """Return the publishing that a folder needs, which has begun; or why it is not possible; or neither, if none is needed."""
    source, bundled = shards or target, shards is not None
    manifest = source / "manifest.jsonl"
    if not is_outdated(target) and not (bundled and manifest.is_file() and not _newer(target, manifest)):
        return None, None
    # These obstacles may go away, so they are checked every time.
    if why := obstacle(source, target):
        return None, why
    return _publishing(str(source), str(target), bundled, manifest.stat().st_mtime, evaluator.evaluator_id()), None


def shipped_of(folder: Path) -> Path | None:
    """Return what was shipped of the results of a folder, where they are still to be computed."""
    shards = _shards_of(folder)
    cut = shards / shipped.NAME if shards else None
    try:
        there = current_file(folder) is not None and not is_outdated(folder)
    except HEvalError:  # damaged, and published again
        there = False
    return cut if cut and cut.is_file() and not there else None


def _newer(target: Path, manifest: Path) -> bool:
    """Return whether what is published is whole, and newer than the shards."""
    try:
        file = current_file(target)
    except HEvalError:
        return False
    return file is not None and (target / POINTER).stat().st_mtime >= manifest.stat().st_mtime


@st.cache_resource(show_spinner=False)
def _publishing(source: str, target: str, bundled: bool, modified: float, evaluated_by: str) -> Publishing:
    """Publish, once per server, for all its tabs."""
    return Publishing(Path(source), Path(target), bundled)


# As many as are kept on disk: each may take the database's limit of memory.
@st.cache_resource(max_entries=KEPT_FILES, show_spinner=False)
def _open(path: str, modified: float) -> Reader:
    return Reader(Path(path))


def _stamped(path: Path) -> tuple[str, float]:
    """Return a file as `_open` takes it."""
    return str(path), path.stat().st_mtime


SNAPSHOT = "snapshot"
_PINNED = "pinned_results"


def reader(*, at_once: bool = False) -> Reader:
    """Return the results of this tab: those that its link names, else those that were current when it was opened.

    Says so if there are newer ones, or if the link's are gone. Stops the page with one sentence if there are no results, or
    if they cannot be read. at_once: return what was shipped of them while they are computed, if the link asks for no part.
    """
    try:
        if at_once and set(st.query_params) <= {WHICH_RESULTS} and (cut := shipped_of(results_folder())):
            return _open(*_stamped(cut))
        remark = ensure_published()
        folder = results_folder()
        current = current_file(folder)
        if current is None:
            raise HEvalError(
                f"Nothing is published in {folder} yet. Run: {program()} run --store {folder} …, "
                f"then: {program()} publish --store {folder}"
            )
        path, modified = _pinned(folder, current)
        if remark and path == str(current):
            st.warning(plain(remark), icon=":material/update_disabled:")
        return _open(path, modified)
    except HEvalError as error:
        st.error(plain(str(error)), icon=":material/database_off:")
        st.stop()
        raise  # st.stop has left the page; this only tells the type checker so


def bundled(name: str, *, in_part: bool = False) -> Reader | None:
    """Return bundled results beside those of the page; None where they are not offered, or nobody has looked at them yet.

    in_part: then what was shipped of them.
    """
    folder = offered().get(name)
    with suppress(HEvalError):  # damaged, or of another version: they are published again when somebody looks at them
        current = current_file(folder) if folder else None
        current = current or (shipped_of(folder) if folder and in_part else None)
        return _open(*_stamped(current)) if current else None
    return None


def _pinned(folder: Path, current: Path) -> tuple[str, float]:
    """Return path and time of the file that this tab shows until its reader asks for newer results."""
    snapshot = st.query_params.get(SNAPSHOT)
    pinned: tuple[str, float] | None = st.session_state.get(_PINNED)
    if snapshot is not None and (pinned is None or snapshot != snapshot_of(Path(pinned[0]))):
        # Compared with what is there: a value from a link never becomes a path.
        by_snapshot = {snapshot_of(path): path for path in folder.glob("results-*.duckdb")}
        if snapshot in by_snapshot:
            pinned = _stamped(by_snapshot[snapshot])
        else:
            st.warning(
                f"The link is to the results {plain(snapshot[:40])}, which no longer exist; these are the current ones.",
                icon=":material/history:",
            )
            del st.query_params[SNAPSHOT]
    if pinned is None or Path(pinned[0]).parent != folder:
        pinned = _stamped(current)
    st.session_state[_PINNED] = pinned
    if Path(pinned[0]) != current:
        _offer_newer(current)
    return pinned


def snapshot_of(path: Path) -> str:
    """Return the id in a results file's name."""
    return path.stem.removeprefix("results-")


def _offer_newer(current: Path) -> None:
    text, button = st.columns([5, 1], vertical_alignment="center")
    text.info("Newer results have been published; this tab still shows the earlier ones.", icon=":material/update:")

    def reload() -> None:
        st.session_state[_PINNED] = _stamped(current)
        st.query_params.pop(SNAPSHOT, None)

    button.button("Show them", key="reload_results", on_click=reload, width="stretch")


@st.cache_data(max_entries=256, show_spinner=False)
def _cached(snapshot_id: str, name: str, arguments: tuple[str, ...], _call: Callable[[], T]) -> T:
    return _call()


@st.cache_data(max_entries=12, show_spinner=False)
def _cached_list(snapshot_id: str, name: str, arguments: tuple[str, ...], _call: Callable[[], T]) -> T:
    return _call()


# Answers with a line for every instance: 4 MB each for 180,000 of them, so few are kept.
_LONG = (Reader.instance_ids,)


def query(results: Reader, function: Callable[Concatenate[Reader, P], T], *arguments: P.args, **named: P.kwargs) -> T:
    """Query the results, by `Reader.cells` for instance, or another function of them: cached by snapshot and arguments.

    Arguments are small and told apart by their `repr`.
    """
    told_apart = (*map(repr, arguments), *(f"{name}={value!r}" for name, value in sorted(named.items())))
    name = f"{function.__module__}.{function.__qualname__}"
    cached = _cached_list if function in _LONG else _cached
    # What was shipped of results has their snapshot's id, and not all that they have.
    return cached(
        f"{results.snapshot_id} {results.path.name}", name, told_apart, lambda: function(results, *arguments, **named)
    )


def names_of(results: Reader) -> Names:
    """Return what these results call what they hold."""
    return query(results, names.names_of)


# Seconds between two looks: often enough for a bar that moves.
LOOK = 0.25


def wait(job: Publishing) -> None:
    """Draw how far a publishing is until it is over, and then take it away again."""
    if job.over.is_set():
        return
    slot = st.empty()
    with slot.container():
        st.markdown(_REASON[job.bundled])
        bar = st.empty()
    furthest = 0.0
    while not job.over.wait(LOOK):
        progress = job.now()
        furthest = max(furthest, progress.share)
        bar.progress(furthest, f"{progress.phase} · {in_words(progress.seconds_left)}")
    slot.empty()


def is_shipped(results: Reader) -> bool:
    """Return whether this is what was shipped of results that are still to be computed: only the whole can be filtered."""
    return results.path.name == shipped.NAME


@st.fragment(run_every=1.0)
def draw_computing() -> None:
    """Draw how far the publishing of shipped results is, which begins once the page stands: beside it the page would take
    twice as long. The page is drawn again when it is over.
    """
    target, left, share = results_folder(), None, 0.0
    if st.session_state.setdefault(_STANDS, False):
        job, why = _needed(target, _shards_of(target))
        if job is not None and not job.over.is_set():
            share, left = job.now().share, job.now().seconds_left
        elif reason := why or (job and job.why):
            sentence = f"These numbers came with HEval, and cannot be computed here: {reason}."
            st.error(plain(sentence), icon=":material/database_off:")
            return
        elif shipped_of(target) is None:
            st.rerun()
        else:  # somebody else has removed or renewed them since
            st.error(
                "These results are no longer what this explorer computed; start it again.", icon=":material/database_off:"
            )
            return
    st.session_state[_STANDS] = True
    st.progress(share, f"{_SHIPPED} · {in_words(left)}")


_STANDS = "overview_stands"
_SHIPPED = "These numbers came with HEval. They are computed again here; then all pages and filters are open"
_REASON = {
    True: "HEval is computing the numbers of its own results from the stored scores. It does this once, and again after an "
    "update. This page goes on by itself; *Overview* and *Your prompt* are open.",
    False: "Another version of HEval computed the numbers of these results, so they are computed again from the stored "
    "scores. This page goes on by itself.",
}
