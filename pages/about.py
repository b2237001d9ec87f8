"""Where the numbers come from: what was asked, how they are made, and whether the paper's findings hold."""

from functools import partial

import streamlit as st

from heval_core.present.drawing import DARK, LIGHT, as_svg
from heval_core.present.html import plain
from heval_core.present.names import short_model
from heval_core.report.findings import VERDICTS, findings_table, studies_of
from heval_core.report.section import Section
from heval_core.report.sections import plans_of, section
from heval_core.report.write import Report, report_of
from heval_core.store.reader import Reader
from heval_core.ui import address, datasets, filters, methods
from heval_core.ui.exports import download, table_exports
from heval_core.ui.frame import results_page
from heval_core.ui.published_results import bundled, query

TABS = {"findings": "The paper's findings", "data": "Data", "methods": "Methods"}
ONLY_TAUGHT = (
    "These models were taught a rule, so what they do is no evidence for or against sentences about real models. The report "
    "as a file has the numbers."
)


# What draws itself when it is asked for cannot be copied, as other answers are that are cached.
@st.cache_resource(max_entries=1, show_spinner=False)
def whole_report(snapshot_id: str, _results: Reader) -> Report:
    return report_of(_results)


@st.cache_resource(max_entries=48, show_spinner=False)
def one_section(snapshot_id: str, _results: Reader, key: str) -> Section:
    return section(_results, key)


def draw_findings(results: Reader) -> None:
    """Draw the table, the report as files, and the sections one by one."""
    models = query(results, Reader.models)
    if set(models["prompt_style"]) and "plain" not in set(models["prompt_style"]):
        st.markdown(ONLY_TAUGHT)
    else:
        taught = bundled("demo")
        taught_studies = query(taught, studies_of) if taught else ()
        model_names = ", ".join(map(short_model, models["model"]))
        st.markdown(results.note)
        for index, study in enumerate(query(results, studies_of)):
            if study.answer:
                st.markdown(f"**{study.heading}** · {study.answer}" if study.heading else study.answer)
                with st.expander("Each sentence, with what decides it", expanded=index == 0):
                    st.html(findings_table(study, taught_studies[index] if taught_studies else None, model_names).html())
        st.caption(plain(VERDICTS))
    stem = f"heval-report-{results.snapshot_id[:8]}"
    with st.container(horizontal=True):  # files are made when they are asked for: it takes some seconds
        download(
            "The whole report as HTML",
            lambda: whole_report(results.snapshot_id, results).as_html(),
            f"{stem}.html",
            "report_html",
        )
        download(
            "All its numbers as JSON",
            lambda: whole_report(results.snapshot_id, results).as_json(),
            f"{stem}.json",
            "report_json",
        )
    st.subheader("The paper's tables and figures")
    # The link carries an option as it is shown.
    keys = {plan.heading: key for key, plan in query(results, plans_of).items()}
    title = address.one_of("Table or figure", list(keys), "section", menu=True)
    draw_section(results, one_section(results.snapshot_id, results, keys[title]))


def draw_section(results: Reader, section: Section) -> None:
    """Draw one of the paper's tables or figures: the figures, how to read them, and the table they are made of."""
    key, theme = section.plan.key, DARK if st.context.theme.type == "dark" else LIGHT
    for gap in section.gaps:
        st.info(plain(gap), icon=":material/info:")
    for number, (caption, drawing) in enumerate(section.figures, start=1):
        name = f"heval-{key}-{number}-{results.snapshot_id[:8]}.svg"
        with st.container(horizontal=True, vertical_alignment="center"):
            st.markdown(f"**{plain(caption)}**", width="content")
            download("SVG", partial(as_svg, drawing), name, f"svg_{key}_{number}")
        st.image(as_svg(drawing, theme), width=int(drawing.width))
    st.caption(plain(section.text))
    if section.shown:
        with st.expander("The numbers"):
            for table in section.shown:
                st.caption(plain(table.title))
                st.dataframe(table.frame(), hide_index=True)
        with st.container(horizontal=True):
            table_exports(results, section.rows, key, latex=lambda: section.for_a_paper)


with results_page() as results:
    with filters.tabs_and_chips(results, "about", TABS) as (tab, _):
        chosen = filters.filter_bar(results, ("model", "dataset", "regime")) if tab == "data" else None
    if tab == "findings":
        st.title("Do the paper's findings hold here?")
        draw_findings(results)
    elif chosen is None:
        st.title("How are these numbers made?")
        methods.draw(results)
    else:
        st.title("What were the models asked, and what was left of it?")
        datasets.draw(results, chosen)
