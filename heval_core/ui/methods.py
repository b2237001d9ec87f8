"""How are these numbers made, and who may use them?"""

from __future__ import annotations

from pathlib import Path

import pandas as pd
import streamlit as st

from heval_core.figures.definitions import Definition, as_html, definition
from heval_core.figures.palette import colour, in_order
from heval_core.protocols import TECHNIQUE_FAMILIES
from heval_core.store.reader import Reader
from heval_core.ui.published_results import query
from heval_core.words import short_name

_STYLE = Path(__file__).parent / "components" / "definitions.css"
CITE = """@misc{sun2025highlight,
  title  = {Evaluation Framework for Highlight Explanations of Context Utilisation in Language Models},
  author = {Sun and Atanasova and Ray Choudhury and Islam and Augenstein},
  year   = {2025}, eprint = {2510.02629}, archivePrefix = {arXiv}
}"""


def draw(results: Reader) -> None:
    """Every explainer, metric, technique and dataset with its formula and reference; how to cite, licences, promises."""
    st.html(_STYLE)
    st.markdown(
        "A batch job asks each model every question with documents whose answers are known, and runs every explainer on "
        "it. The answer itself shows where it came from: it is the document's answer, or the memory answer. Every "
        "metric asks whether the explainer's ranking of tokens shows that origin. It is shown beside what random scores "
        "get and its 95 % interval."
    )
    kinds = [("Explainers", explainers(results)), ("Metrics", metrics(results)), ("Techniques", techniques(results))]
    st.html(as_html([*kinds, ("Datasets", datasets(results))]))
    _terms()


def explainers(results: Reader) -> list[Definition]:
    known = query(results, Reader.catalogue, "explainer").set_index("key")
    found = []
    for key in in_order(list(known.index)):
        row = known.loc[key]
        mark = "control" if row["control"] else ""
        found.append(_of(row, short_name(str(row["title"])), mark, colour(key)))
    return found


def metrics(results: Reader) -> list[Definition]:
    return [_of(row, str(row["title"])) for _, row in query(results, Reader.catalogue, "metric").iterrows()]


def techniques(results: Reader) -> list[Definition]:
    """In their order, each with its family."""
    rows = [row for _, row in query(results, Reader.techniques).iterrows()]
    return [_of(row, str(row["title"]), _family(str(row["family"]))) for row in rows]


def _family(key: str) -> str:
    """Regular is of none."""
    return "" if key == "none" else TECHNIQUE_FAMILIES.get(key, key)


def datasets(results: Reader) -> list[Definition]:
    """Those that these results have first."""
    asked = {str(name).partition("/")[0] for name in query(results, Reader.choices)["dataset"]}
    known = query(results, Reader.catalogue, "dataset")
    rows = [row for _, row in known.iterrows()]
    found = [_of(row, str(row["title"]), "" if row["key"] in asked else "not in these results") for row in rows]
    return sorted(found, key=lambda one: one.mark)


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
