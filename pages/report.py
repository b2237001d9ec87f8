"""Do the paper's findings hold here?"""

from functools import partial

import streamlit as st

from heval_core.present.drawing import DARK, LIGHT, as_svg
from heval_core.report.forest import AXIS
from heval_core.report.html import VERDICTS, forest_table, studies_of
from heval_core.report.plans import section_plans
from heval_core.report.section import Section
from heval_core.report.sections import section, studied
from heval_core.report.write import report_of
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
    key = drawn.plan.key
    for gap in drawn.gaps:
        st.info(plain(gap), icon=":material/info:")
    for number, (caption, drawing) in enumerate(drawn.figures, start=1):
        name = f"heval-{key}-{number}-{results.snapshot_id[:8]}.svg"
        with st.container(horizontal=True, vertical_alignment="center"):
            st.markdown(f"**{plain(caption)}**", width="content")
            download("SVG", partial(as_svg, drawing), name, f"svg_{key}_{number}")
        st.image(as_svg(drawing, DARK if is_dark() else LIGHT), width=int(drawing.width))
    st.caption(plain(drawn.text))
    if drawn.shown:
        with st.expander("The numbers"):
            for table in drawn.shown:
                st.caption(plain(table.title))
                st.dataframe(table.frame(), hide_index=True)
        with st.container(horizontal=True):
            table_exports(results, drawn.rows, key, latex=lambda: drawn.for_a_paper)


with results_page(TITLE, ABOUT, noted=True) as results:
    about, *others = query(results, studies_of)
    if about.answer:
        st.markdown(about.answer)
        st.html(forest_table(about, is_dark()))
    st.caption(f"{plain(AXIS)} {plain(VERDICTS)}")
    downloads(results)
    for study in others:
        if study.answer:
            st.subheader(study.heading)
            st.markdown(study.answer)
            st.html(forest_table(study, is_dark()))
    st.subheader("The paper's tables and figures")
    # The link carries an option as it is shown.
    keys = {plan.heading: key for key, plan in section_plans(**query(results, studied)).items()}
    title = address.one_of("Table or figure", list(keys), "section", menu=True)
    draw_section(results, query(results, section, keys[title]))
