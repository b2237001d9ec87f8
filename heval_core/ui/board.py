"""The Leaderboard: the board of the chosen results, what it says, its three tabs, and the bar of a clicked mark."""

from __future__ import annotations

from dataclasses import replace

import pandas as pd
import streamlit as st

from heval_core.evaluation.board.conclusion import conclusion
from heval_core.evaluation.board.costs import costs_shown
from heval_core.evaluation.board.making import board
from heval_core.evaluation.board.records import ASKED, Board, Column
from heval_core.evaluation.comparisons import against, tally
from heval_core.evaluation.orders import SORTED_BY
from heval_core.evaluation.ranking import AT, clauses, sentences, who
from heval_core.figures import board_table, front, questions
from heval_core.figures.board_front import ALL_QUESTIONS, front_figure
from heval_core.figures.dots_drawn import Part
from heval_core.figures.measured_panels import picked_html
from heval_core.figures.questions import by_model, by_question, said
from heval_core.metrics.shared.measure import QUESTIONS
from heval_core.present.names import ALL
from heval_core.present.numbers import interval, passes
from heval_core.store.filters import Filter
from heval_core.store.reader import Reader
from heval_core.ui import address, links
from heval_core.ui.exports import draw_table, picture
from heval_core.ui.marks import draw_figures
from heval_core.ui.names import names_of
from heval_core.ui.overview_scale import MEASURED_ON
from heval_core.ui.published_results import query
from heval_core.ui.selection import Selection
from heval_core.ui.text import plain
from heval_core.words import listed

MARK = Selection("mark", ("explainer", "column", "model"))
NOTHING = (
    "No explainer ran on what these filters leave. Remove a chip above, or run the batch job with `--explainers fa,ig,attn` "
    "and publish; this page then compares them by the three questions, by faithfulness and by cost."
)


def board_of(results: Reader, chosen: Filter) -> Board | None:
    """The board; None, after saying so, where there is none."""
    made = query(results, board, chosen)
    if made.rows:
        return made
    st.info(NOTHING, icon=":material/leaderboard:")
    return None


def tell(made: Board) -> None:
    """What the board says, and what it leaves open."""
    found = conclusion(made, lambda name: f"**{plain(name)}**")
    with st.container(key="answer"):
        st.markdown(found.said)
    if found.harder:
        st.markdown(found.harder)
    if found.open:
        st.caption(f"Not answered here: {' '.join(found.open)}")


def choose_question(made: Board) -> Column | None:
    """One of the questions that have numbers, on plain or other prompts; None, after saying so, where none has."""
    known = {column.key: column for column in (*made.questions, *(c for c in made.columns if c.scaled and not c.plain))}
    if not known:
        st.info("No question has a number under these filters; remove a chip above.", icon=":material/filter_alt_off:")
        return None
    titles = {key: column.title for key, column in known.items()}
    few = len(known) <= len(QUESTIONS)
    return known[address.one_of("Question", list(known), "question", hidden=True, titles=titles, menu=not few)]


def selection(made: Board, chosen: Filter) -> None:
    """The bar under the figures: what the clicked mark is, and its instances."""
    id = MARK.id
    if not id:
        return
    columns = {column.key: column for column in made.columns}
    known = len(id) == 3 and id[0] in made.titles and (id[1] in columns or id[1] == ALL_QUESTIONS)
    if not known or id[2] not in (ALL, *made.models):
        MARK.refuse()
        return
    key, name, model = id
    column = columns.get(name)
    place = "quality" if column is None else column.title
    title = " · ".join([made.titles[key], *([] if model == ALL else [model]), place])
    with MARK.bar():
        st.html(picked_html(key, title, _of_quality(made, key) if column is None else _of_column(made, column, key, model)))
        _ways_on(made, chosen, column, key, model)


def _of_column(made: Board, column: Column, key: str, model: str) -> str:
    values = made.values if model == ALL else made.by_model[made.by_model["model"] == model]
    rows = values[(values["column"] == column.key) & (values["explainer"] == key)].to_dict("records")
    if not rows or pd.isna(rows[0]["value"]):
        return f"not available: {rows[0]['reason'] if rows else 'not run here'}"
    lacking = f"; {rows[0]['reason']}" if rows[0]["reason"] else ""
    return f"{said(rows[0], column.measure, scaled=column.scaled)}; {questions.counted(rows[0])}{lacking}"


def _of_quality(made: Board, key: str) -> str:
    rows = made.quality[made.quality["explainer"] == key].to_dict("records")
    if not rows:
        return "not available: it lacks cells"
    row = rows[0]
    cost = "" if pd.isna(row["whole_passes"]) else f", with {passes(row['whole_passes'])} over the prompt"
    front = "; on the front: no other method is as good and as cheap" if row["on_front"] else ""
    return f"mean of the questions {interval(row['value'], row['low'], row['high'])}{cost}{front}"


def behind(made: Board, chosen: Filter, column: Column | None, key: str, model: str) -> Filter | None:
    """Exactly the instances that a mark counts; None where there are none. column: None for all three questions."""
    columns = [own.key for own in (made.questions if column is None else (column,))]
    own = made.places[made.places["column"].isin(columns) & (made.places["explainer"] == key)]
    own = own if model == ALL else own[own["model"] == model]
    if own.empty:
        return None
    models, datasets, regimes = (tuple(map(str, own[name].unique())) for name in ("model", "dataset", "regime"))
    groups = () if column is None else MEASURED_ON[column.question]
    return replace(chosen, model=models, dataset=datasets, regime=regimes, group=groups, explained_by=key)


def _ways_on(made: Board, chosen: Filter, column: Column | None, key: str, model: str) -> None:
    own, sort = behind(made, chosen, column, key, model), ""
    if own is None:
        return
    if column is not None:
        order = column.measure.sort.format(explainer=key) if column.measure.sort else ""
        sort = order if order in SORTED_BY and key in made.methods else ""
    links.link_to(f"Open its instances{', worst first' if sort else ''}", own, sort)
    if column is not None:
        cells = replace(own, group=(), explained_by="")
        asked = links.parameters(cells) | {"tab": [QUESTIONS[column.question].link]}
        st.page_link("pages/accuracy.py", label="Its cells", icon=":material/scatter_plot:", query_params=asked)


def draw_whole(results: Reader, chosen: Filter, made: Board) -> None:
    """The sentence, both figures, what a click leads to, and the tables."""
    tell(made)
    if made.questions:
        _figures(results, made)
    selection(made, chosen)
    st.subheader("The numbers")
    about = {"filter": str(chosen)}
    draw_table(results, board_table.main_table(made), exported_board(made), "board", about)
    harder = board_table.harder_table(made)
    if harder.heads:
        st.subheader("Under decoys and at length")
        st.html(harder.html())
        st.caption(harder.note)
    quality = front_figure(made)
    if quality is not None:
        picture(results, front.as_drawing(quality), "front", "Quality against cost")


def _figures(results: Reader, made: Board) -> None:
    quality = front_figure(made)
    with st.container(key="board_figures"):
        with st.container(key="board_dots"):
            figure = by_question(made, names_of(results))
            draw_figures("board_figure", figure, on_pick=MARK.pick, picked=MARK.drawn)
        if quality is not None:
            with st.container(key="board_front"):
                part = Part(front.as_drawing(quality, 400, 340), "Quality against cost")
                draw_figures("front_figure", part, on_pick=MARK.pick, picked=MARK.drawn)


def exported_board(made: Board) -> pd.DataFrame:
    """A row for each column and explainer, with its costs over all sizes of prompts, and whether it is on the front."""
    costs = costs_shown(made).set_index("explainer")
    front = made.quality.set_index("explainer")[["value", "on_front"]].rename(columns={"value": "quality"})
    controls = made.values["explainer"].isin(list(made.controls))
    return made.values.assign(control=controls).join(costs, on="explainer").join(front, on="explainer")


def draw_models(results: Reader, chosen: Filter, made: Board) -> None:
    """The question, who is best in which model, a panel for each model, and the numbers."""
    said = st.container(key="answer")
    column = choose_question(made)
    if column is None:
        return
    said.markdown(best_in_each(made, column))
    draw_figures("models_figure", by_model(made, column, names_of(results)), on_pick=MARK.pick, picked=MARK.drawn)
    selection(made, chosen)
    st.subheader("The numbers")
    own = made.by_model[made.by_model["column"] == column.key]
    name = f"board-{column.key.lower()}-models"
    draw_table(results, board_table.by_model_table(made, column), own, name, {"filter": str(chosen)})


def best_in_each(made: Board, column: Column) -> str:
    """Who is best at a question in which models."""
    own = {plain(model): made.ranking(column, model) for model in made.models_at(column)}
    at = AT[column.question] + (f", {column.prompts}" if column.prompts else "")
    found = clauses(own, lambda key: f"**{plain(made.titles[key])}**", "on")
    said = sentences(found) or "no method has a number under these filters."
    return f"{at[:1].upper()}{at[1:]}: {said}"


TOGETHER = "all"


def draw_pairs(results: Reader, chosen: Filter, made: Board) -> None:
    """The question, who beats all others, the table of wins, and every difference on demand."""
    if made.pairs.empty:
        st.info("Under these filters no two explainers have the same cells of a question.", icon=":material/balance:")
        return
    said = st.container(key="answer")
    there = [question for question in ASKED if question in set(made.pairs["column"])]
    titles = {TOGETHER: "All questions"} | {question: QUESTIONS[question].title for question in there}
    asked = address.one_of("Question", list(titles), "question", hidden=True, titles=titles)
    pairs = made.pairs if asked == TOGETHER else made.pairs[made.pairs["column"] == asked]
    said.markdown(unbeaten(made, pairs))
    table = board_table.pairs_table(made, None if asked == TOGETHER else asked)
    draw_table(results, table, exported_pairs(pairs), "board-pairs", {"question": titles[asked], "filter": str(chosen)})
    if address.switch("Every difference", "differences"):
        shown = names_of(results).readable(pairs.drop(columns=["cells"]))
        st.dataframe(shown.rename(columns={"column": "question"}).round(4), hide_index=True)


def unbeaten(made: Board, pairs: pd.DataFrame) -> str:
    """Which methods lose no comparison with methods, and the controls that beat a method."""

    def name(key: object) -> str:
        return f"**{plain(made.titles[str(key)])}**"

    first, second = (pairs[side].isin(list(made.methods)) for side in ("first", "second"))
    own = {key: against(pairs[first & second], key) for key in made.methods}
    never = [key for key, one in own.items() if len(one) and one["better"].isin([key, ""]).all()]
    said = f"{who(never, name)} {'loses' if len(never) == 1 else 'lose'} no comparison with another method."
    if not never:
        said = "Every method loses to another." if (first & second).any() else "There is no pair of methods to compare."
    crossed = pairs[first != second]
    wins = crossed[crossed["better"].isin(list(made.controls))]["better"].value_counts()
    if wins.empty:
        return f"{said} No control beats a method anywhere."
    often = [f"{name(key)} in {count:,} of {len(against(crossed, str(key))):,}" for key, count in wins.items()]
    return f"{said} Controls beat methods too: {listed(often)} comparisons."


def exported_pairs(pairs: pd.DataFrame) -> pd.DataFrame:
    """Every difference, with how often its pair is won, tied and lost at its question."""
    names = ["column", "first", "second"]
    counts = [dict(zip(names, key, strict=True)) | tally(own) for key, own in pairs.groupby(names, sort=False)]
    return pairs.merge(pd.DataFrame(counts).drop(columns=["mean difference"]), on=names)
