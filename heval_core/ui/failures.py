"""When an explainer does not point at the answer, what does it point at?"""

from collections.abc import Sequence
from dataclasses import replace

import pandas as pd
import streamlit as st

from heval_core.evaluation.board.conclusion import conclusion
from heval_core.evaluation.board.records import Board
from heval_core.evaluation.patterns import patterns_under
from heval_core.figures.pattern_panels import (
    commonest_failure,
    pattern_figure,
    pattern_table,
    patterns_verdict,
    shares_of,
    side_by_side,
)
from heval_core.present.drawing import id_of
from heval_core.present.html import plain
from heval_core.present.names import ALL, Names
from heval_core.records import vocabulary
from heval_core.records.vocabulary import PATTERNS, listed
from heval_core.store.filters import BestToken, Filter
from heval_core.store.reader import Reader
from heval_core.ui import address, links
from heval_core.ui.exports import draw_table
from heval_core.ui.marks import draw_figures, draw_instances
from heval_core.ui.published_results import names_of, query

SHOWN = 25


def draw(results: Reader, chosen: Filter, board: Board) -> None:
    """Draw the figure, in the board's order, and below it the instances of the clicked mark, or of what is chosen there."""
    counts = query(results, patterns_under, chosen)
    if counts.empty:
        st.info(
            "No instance under these filters was answered from a document; remove a filter above.",
            icon=":material/filter_alt_off:",
        )
        return
    names, shares = names_of(results), shares_of(counts)
    compared, explainers = side_by_side(shares), set(counts["explainer"])
    ran_on_all = set(compared["explainer"])
    methods = sorted(
        (key for key in board.overall.methods if key in ran_on_all), key=lambda key: key != conclusion(board).best
    )
    ranked = [row.key for row in board.rows if row.key in explainers and (row.key in ran_on_all or not row.control)]
    with st.container(key="answer"):
        st.markdown(patterns_verdict(compared, methods, names))
    if few := sorted(map(names.explainer, set(shares["explainer"]) - ran_on_all)):
        ran = f"{listed(few)} ran on fewer of these instances and {'is' if len(few) == 1 else 'are'} not compared: "
        st.caption(f"{plain(ran)}choose the datasets and regimes that all have.")
    figure = st.container()
    mark = _examples(results, chosen, ranked, (methods or ranked)[-1], counts, names)
    with figure:
        draw_figures("failures", pattern_figure(counts, ranked, names), on_pick=_pick, picked=id_of(mark))
    _behind(results, chosen, counts, names)


def _pick(id: Sequence[str]) -> None:
    explainer, pattern, dataset = id
    address.put(explainer=explainer, pattern=pattern, in_dataset=None if dataset == ALL else dataset)


def _examples(
    results: Reader, chosen: Filter, explainers: list[str], worst: str, counts: pd.DataFrame, names: Names
) -> tuple[str, str, str]:
    """Offer which instances, and draw these; at first those of the worst explainer's commonest failure.

    Return the id of their mark.
    """
    titles = {key: names.explainer(key) for key in explainers}
    patterns = list(PATTERNS)
    everywhere = {ALL: "all datasets"} | {key: names.dataset(key) for key in counts["dataset"].unique()}
    first, second, third, fourth = st.columns(4)
    with first:
        label = "Instances in which"
        explainer = address.one_of(label, explainers, "explainer", worst, what="explainer", titles=titles, menu=True)
    with second:
        usual = commonest_failure(side_by_side(shares_of(counts)), explainer) or patterns[1]
        pattern = address.one_of("points at", patterns, "pattern", usual, titles=vocabulary.titles(PATTERNS), menu=True)
    with third:
        dataset = address.one_of("in", list(everywhere), "in_dataset", what="dataset", titles=everywhere, menu=True)
    with fourth:
        label, none = "while the answer is first for", "any explainer"
        others = address.some_of(label, explainers, "while_right", what="explainer", titles=titles, placeholder=none)
    matching = replace(chosen, best=(BestToken(explainer, pattern), *(BestToken(key, "answer") for key in others)))
    matching = matching if dataset == ALL else replace(matching, dataset=(dataset,))
    count = len(query(results, Reader.instance_ids, matching))
    table = query(results, Reader.pattern_examples, matching, explainer, pattern, SHOWN)
    if table.empty:
        st.caption("There is none under these filters.")
    else:
        links.link_to(f"Open all {count:,} of them", matching)
        about = f"{len(table)} of {count:,}; tick one to get a link to it."
        draw_instances(names.readable(table), table["instance_id"], "pattern_rows", about)
    return explainer, pattern, dataset


def _behind(results: Reader, chosen: Filter, counts: pd.DataFrame, names: Names) -> None:
    with st.expander("The numbers · what each kind is, table, CSV, Parquet, LaTeX"):
        draw_table(results, pattern_table(counts, names), counts, "patterns", {"filter": str(chosen)})
