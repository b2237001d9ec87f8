"""Do the paper's findings hold here?"""

from functools import partial

import streamlit as st

from heval_core.report.drawing import DARK, LIGHT, as_svg
from heval_core.report.forest import AXIS
from heval_core.report.html import VERDICTS, answer, citation_answer, forest_table, technique_answer
from heval_core.report.latex import latex_of
from heval_core.report.plans import section_titles
from heval_core.report.section import Section
from heval_core.report.sections import section, studied
from heval_core.report.write import method_titles, report_of
from heval_core.store.reader import Reader
from heval_core.ui import address
from heval_core.ui.exports import download, table_exports
from heval_core.ui.frame import results_page
from heval_core.ui.published_results import query
from heval_core.ui.text import plain

TITLE = "Do the paper's findings hold here?"
ABOUT = "What Sun et al. (2025) say of which explainer is right, as tests on these results. Click a row for its details."


def downloads(results: Reader) -> None:
    """The whole as files, made when they are asked for: it takes some seconds."""
    stem = f"heval-report-{results.snapshot_id[:8]}"
    left, right, _ = st.columns([2, 2, 3])
    with left:
        download("The whole report as HTML", lambda: report_of(results).as_html(), f"{stem}.html", "report_html")
    with right:
        download("All its numbers as JSON", lambda: report_of(results).as_json(), f"{stem}.json", "report_json")


def is_dark() -> bool:
    return st.context.theme.type == "dark"


def draw_section(results: Reader, drawn: Section) -> None:
    """Draw one of the paper's tables or figures: the figures, how to read them, and the table they are made of."""
    for gap in drawn.gaps:
        st.info(plain(gap), icon=":material/info:")
    for number, (caption, drawing) in enumerate(drawn.figures, start=1):
        name = f"heval-{drawn.key}-{number}-{results.snapshot_id[:8]}.svg"
        with st.container(horizontal=True, vertical_alignment="center"):
            st.markdown(f"**{plain(caption)}**", width="content")
            download("SVG", partial(as_svg, drawing), name, f"svg_{drawn.key}_{number}")
        st.image(as_svg(drawing, DARK if is_dark() else LIGHT), width=int(drawing.width))
    st.caption(plain(drawn.text))
    if len(drawn.shown):
        with st.expander("The numbers"):
            st.dataframe(drawn.shown, hide_index=True)
        table_exports(results, drawn.table, drawn.key, latex=lambda: latex_of(results, drawn), pictures=False)


with results_page(TITLE, ABOUT, demo_note=True) as results:
    findings = query(results, Reader.findings)
    if len(findings):
        st.markdown(answer(findings))
        st.html(forest_table(findings, query(results, method_titles), is_dark()))
    st.caption(f"{plain(AXIS)} {plain(VERDICTS)}")
    downloads(results)
    about_techniques = query(results, Reader.technique_findings)
    if len(about_techniques):
        st.subheader("Techniques: what makes a model use its context")
        st.markdown(technique_answer(about_techniques))
        st.html(forest_table(about_techniques, {}, is_dark()))
    about_citations = query(results, Reader.citation_findings)
    if len(about_citations):
        st.subheader("Citations: does an explanation rest on what it cites?")
        st.markdown(citation_answer(about_citations))
        st.html(forest_table(about_citations, {}, is_dark()))
    st.subheader("The paper's tables and figures")
    # The link carries an option as it is shown.
    keys = {title: key for key, title in section_titles(**query(results, studied)).items()}
    title = address.one_of("Table or figure", list(keys), "section", menu=True)
    draw_section(results, query(results, section, keys[title]))
