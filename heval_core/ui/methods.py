"""How are these numbers made, and who may use them?"""

from __future__ import annotations

import pandas as pd
import streamlit as st

from heval_core.figures.definitions import Definition, as_html, definition
from heval_core.figures.palette import colour, in_order
from heval_core.folders import explorer
from heval_core.plugins.protocols import TECHNIQUE_FAMILIES
from heval_core.present.html import COMPONENTS
from heval_core.records.vocabulary import short_name
from heval_core.store.reader import Reader
from heval_core.ui.published_results import query

CITE = """@misc{sun2025highlight,
  title  = {Evaluation Framework for Highlight Explanations of Context Utilisation in Language Models},
  author = {Sun and Atanasova and Ray Choudhury and Islam and Augenstein},
  year   = {2025}, eprint = {2510.02629}, archivePrefix = {arXiv}
}"""


def draw(results: Reader) -> None:
    """Draw every explainer, metric, technique and dataset with its formula and reference; how to cite, licences, promises."""
    st.html(COMPONENTS / "definitions.css")
    st.markdown(
        "A batch job asks each model every question with documents whose answers are known, and runs every explainer on "
        "it. The answer itself shows where it came from: it is the document's answer, or the memory answer. Every "
        "metric asks whether the explainer's ranking of tokens shows that origin. It is shown beside what random scores "
        "get and its 95 % interval."
    )
    st.html(as_html(definitions(results)))
    with st.expander("Seconds, memory, and how far from exact leave-one-out"):
        benchmarks = (explorer() / "docs" / "benchmarks.md").read_text(encoding="utf-8")
        st.markdown(benchmarks.partition("## Explainers on real models\n")[2].partition("\n## ")[0])
    _terms()


def definitions(results: Reader) -> list[tuple[str, list[Definition]]]:
    """Return explainers and techniques in their order, and datasets, those that these results have first."""

    def rows(kind: str) -> list[pd.Series]:
        return [row for _, row in query(results, Reader.catalogue, kind).iterrows()]

    explainers = {str(row["key"]): row for row in rows("explainer")}
    methods = [
        _of(row, short_name(str(row["title"])), "control" if row["control"] else "", colour(key))
        for key, row in ((key, explainers[key]) for key in in_order(list(explainers)))
    ]
    # Regular is of no family.
    families = TECHNIQUE_FAMILIES | {"none": ""}
    techniques = [
        _of(row, str(row["title"]), families.get(str(row["family"]), str(row["family"])))
        for _, row in query(results, Reader.techniques).iterrows()
    ]
    of_people = query(results, Reader.quoted)["dataset"]
    included = {str(name).partition("/")[0] for name in (*query(results, Reader.choices)["dataset"], *of_people)}
    datasets = [
        _of(row, str(row["title"]), "" if row["key"] in included else "not in these results") for row in rows("dataset")
    ]
    return [
        ("Explainers", methods),
        ("Metrics", [_of(row, str(row["title"])) for row in rows("metric")]),
        ("Techniques", techniques),
        ("Datasets", sorted(datasets, key=lambda dataset: dataset.mark)),
    ]


def _of(row: pd.Series, title: str, mark: str = "", hue: str = "") -> Definition:
    return definition(title, str(row["docstring"]), str(row["reference"]), mark, hue)


def _terms() -> None:
    left, right = st.columns([1, 1.2], gap="medium")
    with left:
        st.subheader("How to cite")
        st.markdown("The framework is the paper's. For numbers from this program, give the snapshot below as well.")
        st.code(CITE, language=None, wrap_lines=True)
    with right:
        st.subheader("Licences and promises")
        st.markdown(
            "This program, and the bundled facts, demo models and results: made by this project, Apache-2.0. Datasets that "
            "you bring keep their own licences; each names its source above.\n"
            "- The explorer listens on this machine only, unless it is started otherwise.\n"
            "- Results are opened read-only, and nothing that a page shows can write, load or fetch anything. Where the "
            "explorer was started for people to annotate, their answers go into a file of their own.\n"
            "- Text from prompts, documents and models is data: it is never run, and never read as markup.\n"
            "- No request leaves this machine: no telemetry, no fonts, no pictures from outside.\n"
            "- Models are loaded from safetensors, without code from outside; a web page cannot name one that is not "
            "installed.\n"
            "- An error shows an id; the trace is in the log."
        )
