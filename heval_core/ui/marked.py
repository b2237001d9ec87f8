"""The Leaderboard's tab of answers that people wrote, or marked: does an explainer find what they found?"""

import streamlit as st

from heval_core.figures.dots_drawn import as_drawing
from heval_core.figures.marked import kinds_of, marked_figure, marked_table, title_of, verdict
from heval_core.folders import program
from heval_core.present.html import plain
from heval_core.store.filters import Filter
from heval_core.store.reader import Reader
from heval_core.ui import board
from heval_core.ui.exports import draw_table, picture
from heval_core.ui.published_results import names_of, query


def draw(results: Reader, chosen: Filter) -> None:
    """Draw who is ahead of a text search where, the figure, and a table of each kind of gold."""
    chosen = Filter(model=chosen.model)  # such answers are of data sets of their own, and in no regime
    cells, names = query(results, Reader.quoted, chosen), names_of(results)
    kinds = kinds_of(cells)
    if not kinds:
        how = f"`{program()} run --answers --datasets wice=PATH` reads some; so do `wice_words`, `lfqa` and `quotesum`."
        st.info(f"Here are no answers that people wrote. {how}", icon=":material/group:")
        return
    first, *others = verdict(cells, names, lambda text: f"**{plain(text)}**", plain) or ["No explainer was measured here."]
    with st.container(key="answer"):
        st.markdown(first)
    board.MARK.draw("marked", marked_figure(cells, names))
    st.markdown("\n".join(f"- {line}" for line in others))
    st.caption(
        "A model reads an answer that somebody else gave, after its documents. The best of several explainers is compared "
        "with the best of several controls; both are favoured by that."
    )
    with st.expander("The numbers · tables, CSV, Parquet, LaTeX", key="marked_numbers", on_change="rerun") as box:
        if box.open:
            for kind in kinds:
                st.subheader(kind.title)
                rows = kind.rows(cells)
                rows = rows.assign(explainer_title=[title_of(str(key), names) for key in rows["explainer"]])
                draw_table(results, marked_table(kind, cells, names), rows, kind.key, {"filter": str(chosen)})
            picture(results, lambda: as_drawing(marked_figure(cells, names)), "marked", chosen, cells["model"])
