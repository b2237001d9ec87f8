"""Do the paper's findings hold here?"""

from typing import Any

import streamlit as st

from heval_core.evaluation.findings import CONTRADICTED, SUPPORTED
from heval_core.report.html import RULE, VERDICTS, effects_of, levels_of, told
from heval_core.report.plans import section_titles
from heval_core.report.sections import Section, section
from heval_core.report.write import report_of
from heval_core.store.filters import Filter
from heval_core.store.reader import Reader
from heval_core.ui import instance_links, page_run, provenance
from heval_core.ui.demo_banner import banner
from heval_core.ui.exports import figure_config, link_button, table_exports
from heval_core.ui.filters import refuse_value
from heval_core.ui.published_results import reader
from heval_core.ui.text import plain

BADGES = {SUPPORTED: ("green", "check"), CONTRADICTED: ("orange", "close")}


def page() -> None:
    st.title("Do the paper's findings hold here?")
    st.caption(
        "Every sentence of the paper about which explainer is right, as a test on these results; below it, the "
        "paper's tables and figures as these results have them. All of it can be taken away as one file."
    )
    results = reader()
    banner(results)
    downloads(results)
    findings = results.findings()
    st.subheader("The paper's findings")
    st.markdown(f"{told(findings)} {plain(VERDICTS)}")
    for finding in findings.to_dict("records"):
        verdict(finding)
    st.subheader("The paper's tables and figures")
    # The link carries an option as it is shown.
    keys = {title: key for key, title in section_titles().items()}
    refuse_value("section", list(keys), "section")
    title = st.selectbox("Table or figure", list(keys), key="section", bind="query-params")
    draw_section(results, section(results, keys[title]))
    provenance.draw(results)
    link_button(results)


def downloads(results: Reader) -> None:
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


def verdict(finding: dict[str, Any]) -> None:
    """Draw one of the paper's sentences with its verdict and what it rests on."""
    colour, icon = BADGES.get(finding["verdict"], ("gray", "question_mark"))
    with st.container(border=True):
        st.badge(finding["verdict"], icon=f":material/{icon}:", color=colour)
        st.markdown(f"**{plain(finding['sentence'])}**")
        effects = effects_of(finding)
        levels = levels_of(finding)
        if len(effects):
            st.table(effects.set_index("effect"))
        if len(levels):
            st.table(levels.set_index("explainer"))
        st.caption(f"{plain(finding['reason'])} Published: {plain(finding['published'])}.")
        if isinstance(finding["by_construction"], str):
            st.caption(f"{RULE}: {plain(finding['by_construction'])}")


def draw_section(results: Reader, found: Section) -> None:
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
            instance_links.offer_cell(event, Filter(), found.measures[number])
    if len(found.shown):
        st.dataframe(found.shown, hide_index=True)
        table_exports(results, found.table, found.key)


page_run.through_app()
page()
