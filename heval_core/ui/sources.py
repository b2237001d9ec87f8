"""The Leaderboard's first tab: on which place an answer depends, where results have sources; and decoys and length."""

from __future__ import annotations

from dataclasses import replace

import pandas as pd
import streamlit as st

from heval_core.evaluation.board.exported import exported_hard
from heval_core.evaluation.board.hard import ALL, COLUMNS, HardBoard, hard_board, of_regular
from heval_core.evaluation.board.hard_conclusion import NOTHING, hard_conclusion, hard_rest
from heval_core.evaluation.board.records import Board
from heval_core.evaluation.orders import order_of
from heval_core.figures.dots_drawn import as_drawing
from heval_core.figures.hard_board import EVERY, VERDICT_TITLES, in_words, rows_of, source_figure, source_table, verdict_table
from heval_core.figures.measures import picked_html
from heval_core.plugins.measures import measures
from heval_core.present.html import plain
from heval_core.present.names import Names, model_title
from heval_core.records.vocabulary import listed
from heval_core.store.filters import Filter
from heval_core.store.reader import Reader
from heval_core.ui import board, links
from heval_core.ui.exports import draw_table, picture
from heval_core.ui.published_results import names_of, query


def with_decoys(results: Reader, chosen: Filter) -> Filter:
    """Return the filter of what the hard board is over."""
    return query(results, of_regular, chosen)


def verdicts(results: Reader, chosen: Filter) -> pd.DataFrame:
    """Count what the answers under a filter depend on; without rows where it was not measured."""
    return query(results, Reader.source_verdicts, with_decoys(results, chosen))


def sources_of(results: Reader, chosen: Filter) -> HardBoard | None:
    """Return the hard board; None where no answer's source was measured."""
    return query(results, hard_board, chosen) if len(verdicts(results, chosen)) else None


def sentence(hard: HardBoard, names: Names) -> str:
    """Return what the board says, in brief and in Markdown."""
    bold, model = (lambda key: f"**{plain(names.explainer(key))}**"), (lambda key: plain(model_title(key)))
    return hard_conclusion(hard, bold, model, brief=True)


def draw(results: Reader, chosen: Filter, leaderboard: Board) -> None:
    """Draw who names the source, and below it whether decoys and length change the order."""
    hard, names = sources_of(results, chosen), names_of(results)
    if "prompts" in st.query_params.get_all("tab"):  # a released link, see `address.MOVED`
        st.caption("“Decoys and length” is a section of this tab now, [below](#decoys).")
    with st.container(key="answer"):
        st.markdown(sentence(hard, names) if hard else NOTHING)
    if hard:
        counts = verdicts(results, chosen)
        _selection(hard, replace(chosen, regime=tuple(counts["regime"].unique())), names)
        board.MARK.draw("sources", source_figure(hard, names))
        st.caption(f"{_counted(counts)} {hard_rest(hard, lambda key: plain(names.explainer(key)))}")
        with st.expander("The numbers · halves, table, CSV, Parquet, LaTeX", key="source_numbers", on_change="rerun") as box:
            if box.open:
                draw_table(results, source_table(hard, names), exported_hard(hard), "source", {"filter": str(chosen)})
                models = [key for key in hard.rows["model"].unique() if key != ALL]
                picture(results, lambda: as_drawing(source_figure(hard, names)), "source", chosen, models)
                draw_table(results, verdict_table(counts, names), counts, "source-verdicts", {"filter": str(chosen)})
    st.subheader("Decoys and length", anchor="decoys")
    board.draw_prompts(results, chosen, leaderboard, marked=not hard or bool(board.MARK.id) and not _is_picked())


def _counted(counts: pd.DataFrame) -> str:
    """Return what the answers depend on: `Of 144 answers … 96 depend on one place, 16 on either …`."""
    by_kind = counts.groupby("source")["n"].sum()
    kinds = [f"{by_kind[kind]:,} {title}" for kind, title in VERDICT_TITLES.items() if kind in by_kind]
    return f"Of {int(by_kind.sum()):,} answers that stand in several places {listed(kinds)}. Only those of one place count."


def _is_picked() -> bool:
    """Return whether the picked mark is one of this figure's."""
    return board.MARK.id[1:2] in [(name,) for name in (*COLUMNS, EVERY)]


def _selection(hard: HardBoard, chosen: Filter, names: Names) -> None:
    """Draw the bar above the figure: what the clicked mark is, and a way to its instances. chosen: those with sources."""
    if board.MARK.id and not _is_picked():  # one of the figure below
        return
    keys = set(hard.rows["explainer"])
    hint = "Click a row or a mark: its numbers stand here, with both halves, and a way to its instances."
    if not board.MARK.is_one(lambda key, name, model: key in keys and model == ALL, hint):
        return
    key, name, _ = board.MARK.id
    columns = [column for column in COLUMNS.values() if name in (column.key, EVERY)]
    texts = [f"{column.title}: {'; '.join(in_words(rows_of(hard, column.key).get(key))[:2])}" for column in columns]
    measure = measures()[columns[-1].metric if len(columns) == 1 else "which_mention"]
    with board.MARK.bar():
        st.html(picked_html(key, names.explainer(key), " · ".join(texts)))
        links.link_to("Open instances, those it gets wrong first", replace(chosen, explained_by=key), order_of(measure, key))
