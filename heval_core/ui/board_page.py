"""What the tabs of the Leaderboard share: the board of the chosen results, what it says, and the bar of a clicked mark."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import pandas as pd
import streamlit as st

from heval_core.evaluation.board.conclusion import conclusion
from heval_core.evaluation.board.making import board
from heval_core.evaluation.board.records import Board, Column
from heval_core.evaluation.orders import SORTED_BY
from heval_core.figures.board_dots import EVERY_MODEL, counted, said
from heval_core.figures.board_front import ALL_QUESTIONS, passes_of
from heval_core.figures.measured_panels import picked_html
from heval_core.figures.panels import interval
from heval_core.metrics.shared.measure import QUESTIONS
from heval_core.store.filters import Filter
from heval_core.store.reader import Reader
from heval_core.ui import address, instance_links
from heval_core.ui.names import meanings_of
from heval_core.ui.overview_scale import MEASURED_ON
from heval_core.ui.published_results import query
from heval_core.ui.text import plain

PARAMETER = "mark"
NOTHING = (
    "No explainer ran on what these filters leave. Remove a chip above, or run the batch job with `--explainers fa,ig,attn` "
    "and publish; this page then compares them by the three questions, by faithfulness and by cost."
)


def found(results: Reader, chosen: Filter) -> Board | None:
    """The board; None, after saying so, where there is none."""
    made = query(results, board, chosen)
    if made.rows:
        return made
    st.info(NOTHING, icon=":material/leaderboard:")
    return None


def hints(results: Reader) -> dict[str, str]:
    """Explainer ▶ what it is, in a sentence."""
    return meanings_of(results)


def tell(made: Board) -> None:
    """What the board says, and what it leaves open."""
    told = conclusion(made, lambda name: f"**{plain(name)}**")
    with st.container(key="answer"):
        st.markdown(told.said)
    if told.harder:
        st.markdown(told.harder)
    if told.open:
        st.caption(f"Not answered here: {' '.join(told.open)}")


def choose_question(made: Board) -> Column | None:
    """One of the questions that have numbers, on plain or other prompts; None, after saying so, where none has."""
    known = {column.key: column for column in (*made.questions, *(c for c in made.columns if c.scaled and not c.plain))}
    if not known:
        st.info("No question has a number under these filters; remove a chip above.", icon=":material/filter_alt_off:")
        return None
    titles = {key: column.title for key, column in known.items()}
    few = len(known) <= len(QUESTIONS)
    return known[address.one_of("Question", list(known), "question", hidden=True, titles=titles, menu=not few)]


def picked_id() -> tuple[str, ...]:
    """Explainer, column and model of the mark that the address names; empty without one."""
    return tuple(address.values(PARAMETER))


def pick(id: Sequence[str]) -> None:
    """A second click on the same mark lets go of it."""
    address.put(**{PARAMETER: None if tuple(id) == picked_id() else list(id)})


def selection(made: Board, chosen: Filter) -> None:
    """The bar under the figures: what the clicked mark is, and its instances."""
    id = picked_id()
    if not id:
        return
    columns = {column.key: column for column in made.columns}
    known = len(id) == 3 and id[0] in made.titles and (id[1] in columns or id[1] == ALL_QUESTIONS)
    if not known or id[2] not in (EVERY_MODEL, *made.models):
        address.unreadable(PARAMETER, "the mark", "a mark of the figures: explainer, column and model")
        return
    key, name, model = id
    column = columns.get(name)
    place = "quality" if column is None else column.title
    title = " · ".join([made.titles[key], *([] if model == EVERY_MODEL else [model]), place])
    with st.container(key="selection", horizontal=True, vertical_alignment="center"):
        st.html(picked_html(key, title, _of_quality(made, key) if column is None else _of_column(made, column, key, model)))
        _ways_on(made, chosen, column, key, model)
        st.button("×", key="let_go", help="Let go of the mark", on_click=address.setter(**{PARAMETER: None}))


def _of_column(made: Board, column: Column, key: str, model: str) -> str:
    values = made.values if model == EVERY_MODEL else made.by_model[made.by_model["model"] == model]
    rows = values[(values["column"] == column.key) & (values["explainer"] == key)].to_dict("records")
    if not rows or pd.isna(rows[0]["value"]):
        return f"not available: {rows[0]['reason'] if rows else 'not run here'}"
    lacking = f"; {rows[0]['reason']}" if rows[0]["reason"] else ""
    return f"{said(rows[0], column)}; {counted(rows[0])}{lacking}"


def _of_quality(made: Board, key: str) -> str:
    rows = made.quality[made.quality["explainer"] == key].to_dict("records")
    if not rows:
        return "not available: it lacks cells"
    row = rows[0]
    cost = "" if pd.isna(row["whole_passes"]) else f", with {passes_of(row['whole_passes'])} over the prompt"
    front = "; on the front: no other method is as good and as cheap" if row["on_front"] else ""
    return f"mean of the questions {interval(row['value'], row['low'], row['high'])}{cost}{front}"


def behind(made: Board, chosen: Filter, column: Column | None, key: str, model: str) -> Filter | None:
    """Exactly the instances that a mark counts; None where there are none. column: None for all three questions."""
    columns = [own.key for own in (made.questions if column is None else (column,))]
    own = made.places[made.places["column"].isin(columns) & (made.places["explainer"] == key)]
    own = own if model == EVERY_MODEL else own[own["model"] == model]
    if own.empty:
        return None
    models, datasets, regimes = (tuple(map(str, own[name].unique())) for name in ("model", "dataset", "regime"))
    groups = () if column is None else MEASURED_ON[column.question][1]
    return replace(chosen, model=models, dataset=datasets, regime=regimes, group=groups, explained_by=key)


def _ways_on(made: Board, chosen: Filter, column: Column | None, key: str, model: str) -> None:
    own, sort = behind(made, chosen, column, key, model), ""
    if own is None:
        return
    if column is not None:
        order = column.measure.sort.format(explainer=key) if column.measure.sort else ""
        sort = order if order in SORTED_BY and key in made.methods else ""
    instance_links.link_to(f"Open its instances{', worst first' if sort else ''}", own, sort)
    if column is not None:
        cells = replace(own, group=(), explained_by="")
        asked = instance_links.parameters(cells) | {"tab": [QUESTIONS[column.question].link]}
        st.page_link("pages/accuracy.py", label="Its cells", icon=":material/scatter_plot:", query_params=asked)
