"""*Log*, the second tab of *Your prompt*: a file is chosen, read, traced as a job, and its rows shown, the worst first."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pandas as pd
import streamlit as st

from heval_core.lm.installed import installed_models
from heval_core.logs.fields import Log, LogFields, read_rows
from heval_core.logs.files import records
from heval_core.logs.report import between, facts, headline, surface_of
from heval_core.logs.tables import MARKERS
from heval_core.logs.traced_log import REPORT, ROWS, SENTENCES, TracedLog, as_kept
from heval_core.present.html import plain, render
from heval_core.present.numbers import percent, so_many
from heval_core.present.table import Table
from heval_core.records import HEvalError
from heval_core.ui import address, log_jobs, own_prompts, sidebar
from heval_core.ui.component import component
from heval_core.ui.exports import download
from heval_core.ui.links import href

LOG, ROW = "log", "row"
ENDINGS = ("jsonl", "ndjson", "json", "csv", "tsv", "parquet", "gz")
PER_PAGE = 50
_SHARES = {
    "": "every row",
    "none": "no sentence with a source",
    "some": "a sentence without",
    "all": "every sentence with one",
}
_MARKERS = {"": "any marker", **{name: f"a marker {name}" for name in MARKERS}}
_FIRST_ROWS, _FIRST_BAD, _LETTERS = 5, 3, 120


def draw() -> None:
    """Draw the tab: a log to choose; or one that is traced, or one of its rows."""
    name = address.value(LOG)
    if not name:
        _choose()
        return
    folder = log_jobs.folder_of(name)
    if folder is None or not folder.is_dir():
        address.refuse(LOG, name, [one for one, _ in log_jobs.traced_logs()], "log")
    elif log_jobs.running(folder):
        _watch(folder)
    else:
        if trouble := log_jobs.trouble(folder):
            st.error(plain(trouble))
        if (folder / f"{ROWS}.parquet").is_file():
            _draw_traced(name, TracedLog(folder))
        else:
            _back()


def _back() -> None:
    st.button("Another log", key="log_other", on_click=address.setter(log=None, row=None, share=None, marker=None, page=None))


def _choose() -> None:
    """Offer to drop a file, and the logs that are here."""
    dropped = st.file_uploader("A log: questions, passages, answers", list(ENDINGS), key="log_file")
    if dropped is not None:
        try:
            path = log_jobs.uploaded(dropped.name, dropped.getvalue())
            _offer(path)
        except HEvalError as error:
            st.error(plain(error))
    else:
        st.caption(
            "Of ragas, DeepEval, RAGChecker, Phoenix, OpenInference, LangChain, LlamaIndex, ALCE, MTRAG, CLAPnq, and the like."
        )
    if logs := log_jobs.traced_logs():
        st.subheader("Traced")
        lines = [
            {"name": about.name, "rows": about.rows, "reader": about.reader, "writer": about.writer or "not named"}
            | {"href": href("your_prompt", {"tab": "log", LOG: name})}
            for name, about in logs
        ]
        st.html(render("log_list.html", logs=lines))


@st.cache_data(show_spinner=False, max_entries=4)
def _read(path: str, changed: int, fields: LogFields) -> Log:
    """Read a log. changed: when its file was."""
    return read_rows(records(Path(path)), fields, Path(path).name)


def _offer(path: Path) -> None:
    """Show how a log is read, and offer to trace it."""
    with st.expander("Which fields"):
        columns = st.columns(5)
        typed = {
            name: column.text_input(name, key=f"log_{name}", placeholder="found")
            for name, column in zip(LogFields.__dataclass_fields__, columns, strict=True)
        }
    named = {name: (text if name == "delimiter" else text.strip()) or None for name, text in typed.items()}
    log = _read(str(path), path.stat().st_mtime_ns, LogFields(**named))
    st.markdown(plain(log.read_as))
    for bad in log.bad[:_FIRST_BAD]:
        st.warning(plain(bad.line))
    if len(log.bad) > _FIRST_BAD:
        st.warning(f"And {len(log.bad) - _FIRST_BAD} more.")
    first = [
        {"row": row.id, "question": row.question[:_LETTERS], "answer": row.answer[:_LETTERS], "passages": len(row.passages)}
        for row in log.rows[:_FIRST_ROWS]
    ]
    st.html(Table.of(first).html())
    models, here = sidebar.models_here(), installed_models()
    ordered = sorted(models, key=lambda key: here[key].source == "bundled")  # a taught one is no judge of anybody's answers
    reader, writer, quick = st.columns([2, 2, 1], vertical_alignment="bottom")
    model = reader.selectbox("Read by", ordered, key="log_model")
    named_writer = writer.text_input("Written by", key="log_writer", placeholder="the model that answered, if you know it")
    fast = quick.checkbox("Quick", key="log_quick", help="Nothing is compared with chance: a fifth of the time.")
    if not models:
        sidebar.how_to_add()
    if st.button(f"Trace {so_many(len(log.rows), 'row')}", type="primary", key="log_trace", disabled=not models):
        options = [f"--model={sidebar.loaded_by(model, models[model])}", f"--writer={named_writer}"]
        options += [*(["--quick"] if fast else []), *(f"--{name}={field}" for name, field in named.items() if field)]
        log_jobs.begin(path, options)
        address.put(log=log_jobs.folder_with(path).name)
        st.rerun()


def _watch(folder: Path) -> None:
    """Show how far a job is, until it is over."""

    @st.fragment(run_every=1.0)
    def growing() -> None:
        if not log_jobs.running(folder):
            st.rerun(scope="app")
        try:
            traced = TracedLog(folder)
            done, of = traced.read_already, len(traced)
        except HEvalError:
            done, of = 0, 0
        last = (log_jobs.messages(folder) or ["starting"])[-1]
        st.progress(done / of if of else 0.0, f"{done} of {of} rows. {plain(last)}" if of else "It starts …")
        st.button("Stop", key="log_stop", on_click=log_jobs.stop, args=(folder,))
        st.caption("It goes on when you leave this page.")

    growing()


@st.cache_data(show_spinner=False, max_entries=4)
def _table(path: str, changed: int) -> pd.DataFrame:
    """Read a table of a traced log, rows with the worst first. changed: when its file was."""
    frame = pd.read_parquet(path)
    if "share_with_source" not in frame:
        return frame
    return frame.assign(order_of=frame["share_with_source"].fillna(2)).sort_values(["order_of", "row"], ignore_index=True)


def _tables(folder: Path) -> tuple[pd.DataFrame, pd.DataFrame]:
    rows, sentences = (folder / f"{name}.parquet" for name in (ROWS, SENTENCES))
    return _table(str(rows), rows.stat().st_mtime_ns), _table(str(sentences), sentences.stat().st_mtime_ns)


def _draw_traced(name: str, traced: TracedLog) -> None:
    rows, sentences = _tables(traced.folder)
    number = address.value(ROW)
    if number:
        if number not in set(rows["row"].astype(str)):
            address.refuse(ROW, number, [str(one) for one in rows["row"][:8]], "row")
            return
        _draw_row(traced, rows, int(number))
        return
    with st.container(horizontal=True, key="log_bar", vertical_alignment="center"):
        st.subheader(plain(traced.about.name))
        _back()
        with st.popover("Link", icon=":material/link:"):
            component("copy_link", "link_to_this_view", {"more": {}})
        with st.popover("Save", icon=":material/download:"):
            for label, file in (
                ("Rows (CSV)", f"{ROWS}.csv"),
                ("Sentences (CSV)", f"{SENTENCES}.csv"),
                ("One page (HTML)", REPORT),
            ):
                download(label, (traced.folder / file).read_bytes, f"{name}-{file}", f"log_{file}")
    measures, notes = traced.summary()
    who = traced.about.who
    st.markdown(f"**{plain(headline(measures, rows.index))}** {plain(who[:1].upper() + who[1:])}.")
    others = [f"{one.title}: {percent(one.value)} of {so_many(one.n, one.of)} ({between(one)})." for one in measures[1:]]
    st.caption("  \n".join(map(plain, others)))
    for note in notes:
        st.warning(plain(note))
    _draw_rows(name, _filtered(rows, sentences))


def _filtered(rows: pd.DataFrame, sentences: pd.DataFrame) -> pd.DataFrame:
    """Offer filters: by share, by marker, by passage. Return the rows that they leave."""
    share, marker, passage = st.columns(3)
    with share:
        chosen = address.one_of("Rows with", list(_SHARES), "share", titles=_SHARES, menu=True)
    with marker:
        marked = address.one_of("And", list(_MARKERS), "marker", titles=_MARKERS, menu=True)
    with passage:
        text = st.text_input(
            "Resting on a passage", **address.bound("passage", address.value("passage")), placeholder="its id, or words of it"
        )
    ratio = rows["share_with_source"]
    rests = {"none": ratio == 0, "some": ratio < 1, "all": ratio == 1}
    left = rows[rests[chosen]] if chosen else rows
    left = left[left[f"markers_{marked.replace(' ', '_')}"] > 0] if marked else left
    if text.strip():
        wanted = text.strip().lower()
        ids = sentences["passage_ids"].fillna("").str.lower().str.split("; ")
        fits = ids.map(lambda known: wanted in known).astype(bool)
        fits |= sentences["passage_text"].fillna("").str.lower().str.contains(wanted, regex=False)
        left = left[left["row"].isin(sentences.loc[fits, "row"])]
    return left


def _draw_rows(name: str, rows: pd.DataFrame) -> None:
    """Draw one page of the rows."""
    pages = max(1, -(-len(rows) // PER_PAGE))
    number = int(address.value("page")) if address.value("page").isdecimal() else 1
    number = min(max(1, number), pages)
    shown = rows.iloc[(number - 1) * PER_PAGE : number * PER_PAGE]
    st.html(render("log_rows.html", rows=[_line(name, line) for line in shown.to_dict("records")]))
    with st.container(horizontal=True, key="log_pages", vertical_alignment="center"):
        st.caption(f"{so_many(len(rows), 'row')}, page {number} of {pages}", width="content")
        st.button("Before", key="log_before", disabled=number == 1, on_click=address.setter(page=number - 1))
        st.button("Next", key="log_next", disabled=number == pages, on_click=address.setter(page=number + 1))


def _line(name: str, row: dict[str, Any]) -> dict[str, Any]:
    counts = [(kind, row[f"markers_{kind.replace(' ', '_')}"]) for kind in MARKERS]
    assessed = row["problem"] is None or pd.isna(row["problem"])
    return {
        "id": row["id"],
        "question": row["question"],
        "problem": "" if assessed else row["problem"],
        "href": href("your_prompt", {"tab": "log", LOG: name, ROW: str(row["row"])}) if assessed else "",
        "with_source": row["with_source"],
        "sentences": row["sentences"],
        "weakest": row["weakest_text"] or "",
        "not_used": row["not_used"],
        "markers": ", ".join(f"{count} {kind}" for kind, count in counts if count),
    }


def _draw_row(traced: TracedLog, rows: pd.DataFrame, number: int) -> None:
    """Draw a row on the reading surface."""
    positions = sorted(rows["row"])
    row, answer = traced.traced_at(positions.index(number))
    order = list(rows["row"])
    at = order.index(number)
    with st.container(horizontal=True, key="log_row_bar", vertical_alignment="center"):
        st.button("All rows", key="log_rows", on_click=address.setter(row=None))
        _step("Worse", order, at - 1)
        _step("Better", order, at + 1)
        if answer is not None and st.button("Keep it", key="log_keep", help="Into *Kept* of *Answer*."):
            _keep(traced, positions.index(number))
    st.subheader(plain(row.row.question))
    st.caption(plain(f"row {row.row.id}; {traced.about.who}"))
    if answer is None:
        st.info(plain(row.problem))
        return
    st.markdown("  \n".join(map(plain, facts(row))))
    data: dict[str, Any] = {"status": None, "without": None, "old": None, "static": True, "view": {}, "id": f"row {number}"}
    component("answer", f"log_row_{number}", asdict(surface_of(row, answer, traced.about.explainers)) | data)


def _step(label: str, order: Sequence[int], at: int) -> None:
    there = 0 <= at < len(order)
    st.button(label, key=f"log_{label}", disabled=not there, on_click=address.setter(row=order[at] if there else None))


def _keep(traced: TracedLog, position: int) -> None:
    """Keep a row's answer beside one's own, and open it."""
    row, answer = traced.traced_at(position)
    assert answer is not None
    prompt = own_prompts.SCHEMA.validate_python(as_kept(traced.about, row.row, answer)["asked"], strict=False)
    address.put(tab=None, log=None, row=None, result=own_prompts.keep(prompt, answer))
    st.rerun()
