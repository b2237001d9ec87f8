"""The report page: verdicts on the paper's sentences, one section at a time, and the whole report as a file."""

from __future__ import annotations

import streamlit as st

from heval_core.evaluation.findings import CONTRADICTED, SUPPORTED
from heval_core.report.html import RULE, VERDICTS, effects_of, levels_of, told
from heval_core.report.plans import section_titles
from heval_core.report.sections import Section, section
from heval_core.report.write import report_of
from heval_core.store.filters import Filter
from heval_core.store.reader import Reader
from heval_core.ui import behind
from heval_core.ui.exports import figure_config, table_exports
from heval_core.ui.filters import refuse_value
from heval_core.ui.text import plain

_BADGES = {SUPPORTED: ("green", "check"), CONTRADICTED: ("orange", "close")}


def draw(results: Reader) -> None:
    _downloads(results)
    findings = results.findings()
    st.subheader("The paper's findings")
    st.markdown(f"{told(findings)} {plain(VERDICTS)}")
    for row in findings.to_dict("records"):
        colour, icon = _BADGES.get(row["verdict"], ("gray", "question_mark"))
        with st.container(border=True):
            st.badge(row["verdict"], icon=f":material/{icon}:", color=colour)
            st.markdown(f"**{plain(row['sentence'])}**")
            effects = effects_of(row)
            levels = levels_of(row)
            if len(effects):
                st.table(effects.set_index("effect"))
            if len(levels):
                st.table(levels.set_index("explainer"))
            st.caption(f"{plain(row['reason'])} Published: {plain(row['published'])}.")
            if isinstance(row["by_construction"], str):
                st.caption(f"{RULE}: {plain(row['by_construction'])}")
    st.subheader("The paper's tables and figures")
    # The link carries an option as it is shown.
    keys = {title: key for key, title in section_titles().items()}
    refuse_value("section", list(keys), "section")
    title = st.selectbox("Table or figure", list(keys), key="section", bind="query-params")
    _section(results, section(results, keys[title]))


def _section(results: Reader, found: Section) -> None:
    st.caption(plain(found.text))
    for gap in found.gaps:
        st.info(plain(gap), icon=":material/info:")
    for number, (caption, figure) in enumerate(found.figures):
        st.markdown(f"**{plain(caption)}**")
        event = st.plotly_chart(
            figure, width="stretch", key=f"report_{found.key}_{number}", on_select="rerun", selection_mode="points",
            config=figure_config(),
        )  # fmt: skip
        if found.measures:
            behind.offer_cell(event, Filter(), found.measures[number])
    if len(found.shown):
        st.dataframe(found.shown, hide_index=True)
        table_exports(results, found.table, found.key)


def _downloads(results: Reader) -> None:
    """The whole as files, made when they are asked for: it takes some seconds."""
    stem = f"heval-report-{results.snapshot_id[:8]}"
    left, right, _ = st.columns([2, 2, 3])
    left.download_button(
        "The whole report as HTML", lambda: report_of(results).as_html(), f"{stem}.html", "text/html", key="report_html",
        icon=":material/download:", on_click="ignore", width="stretch",
    )  # fmt: skip
    right.download_button(
        "All its numbers as JSON", lambda: report_of(results).as_json(), f"{stem}.json", "application/json",
        key="report_json", icon=":material/data_object:", on_click="ignore", width="stretch",
    )  # fmt: skip
