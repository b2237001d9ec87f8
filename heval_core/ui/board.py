"""The Leaderboard: the board of the chosen results, its tabs Overall and One against another, and decoys and length."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace
from functools import partial

import pandas as pd
import streamlit as st

from heval_core.evaluation.board import making
from heval_core.evaluation.board.conclusion import conclusion
from heval_core.evaluation.board.exported import exported_board, exported_pairs
from heval_core.evaluation.board.records import SCALED, Board, BoardColumn
from heval_core.evaluation.comparisons import against, tally
from heval_core.evaluation.means import MEASURED_ON
from heval_core.evaluation.usable import FEWEST, replaced_agreement
from heval_core.figures import front
from heval_core.figures.board import (
    ALL_QUESTIONS,
    by_prompts,
    by_question,
    front_figure,
    given_sentences,
    harder_table,
    main_table,
    pair_figure,
    pairs_table,
)
from heval_core.figures.dots_drawn import FigurePart, as_drawing
from heval_core.figures.measures import NOT_RANKED, picked_html
from heval_core.figures.winners import WHERE, winners, winners_sentence, winners_table
from heval_core.folders import program
from heval_core.metrics.shared.measure import QUESTIONS
from heval_core.present.html import plain, render
from heval_core.present.names import ALL
from heval_core.present.numbers import COST, EXACT, SHARE, interval, interval_of, number, passes, so_many
from heval_core.records import TECHNIQUE
from heval_core.records.vocabulary import listed
from heval_core.store.filters import Filter
from heval_core.store.reader import Reader
from heval_core.ui import address, links
from heval_core.ui.exports import draw_table, picture
from heval_core.ui.marks import MarkSelection, draw_instances
from heval_core.ui.published_results import RESULTS_TITLES, WHICH_RESULTS, bundled, names_of, offered, query

MARK = MarkSelection("mark", ("explainer", "column", "model"))
NOTHING = (
    "No explainer ran on what these filters leave. Remove a filter above, or run the batch job with `--explainers fa,ig,attn` "
    "and publish; this page then compares them by the three questions and by cost."
)


def board_of(results: Reader, chosen: Filter) -> Board | None:
    """Return the board; None, after saying so, where there is none."""
    board = query(results, making.board, chosen)
    if board.rows:
        return board
    st.info(NOTHING, icon=":material/leaderboard:")
    return None


def recommendation(board: Board) -> str:
    """Return what to use, in Markdown."""
    return conclusion(board, lambda name: f"**{plain(name)}**").said


def draw_overall(results: Reader, chosen: Filter, board: Board) -> None:
    """Draw what to use, the figures, what a click leads to, and the tables."""
    with st.container(key="recommended", horizontal=True, vertical_alignment="center"):
        with st.container():
            st.markdown(recommendation(board))
            _why_not_the_second(chosen, board)
        st.html(render("facts.html", facts=_facts(board)), width="content")
    if board.questions:
        selection(results, chosen, board)
        figure, quality = by_question(board, names_of(results)), front_figure(board)
        parts = [FigurePart(figure)]
        if quality is not None:
            note = "Line and bold: the front, where nothing is better and cheaper."
            parts.append(FigurePart(front.as_drawing(quality, 400, 430), "Quality against cost", note))
        with st.container(key="board_figures"):
            MARK.draw("board_figure", *parts)
        right_by_construction(results, chosen, board)
        without_numbers(results, board)
    if sentence := winners_sentence(board):
        with st.expander(WHERE, key="winners", on_change="rerun") as box:
            if box.open:
                st.markdown(plain(sentence))
                about = {"filter": str(chosen)}
                draw_table(results, winners_table(board, names_of(results)), winners(board), "winners", about)
    with _numbers("table, CSV, Parquet, LaTeX") as box:
        if box.open:
            draw_table(results, main_table(board), exported_board(board), "board", {"filter": str(chosen)})
            with st.container(horizontal=True):
                picture(results, lambda: as_drawing(by_question(board, names_of(results))), "board", chosen, board.models)
                if quality := front_figure(board):
                    picture(results, partial(front.as_drawing, quality), "front", chosen, board.models, "Quality against cost")


def _why_not_the_second(chosen: Filter, board: Board) -> None:
    """Draw a link to the comparison of the recommended method with the best other one."""
    best = conclusion(board).best
    others = [key for key in board.overall.methods if key != best]
    if best and others and len(board.pairs):
        asked_for = links.parameters(chosen) | {"tab": ["against"], "first": [best], "second": others[:1]}
        label = f"Why not {board.titles[others[0]]}?"
        st.page_link("pages/leaderboard.py", label=plain(label), icon=":material/compare_arrows:", query_params=asked_for)


def _numbers(what: str) -> st.delta_generator.DeltaGenerator:
    return st.expander(f"The numbers · {what}", key="numbers", on_change="rerun")


def _facts(board: Board) -> list[tuple[str, str]]:
    """Return facts about the recommended method: its mean, what it costs beside the dearest one, and its comparisons with
    other methods.
    """
    best = conclusion(board).best
    if not best:
        return []
    mean = board.quality.set_index("explainer").loc[best]
    facts = [(number(mean["value"]), f"mean, {number(mean['low'])} to {number(mean['high'])}")]
    costs = {key: cost for key, cost in board.passes.items() if key in board.methods}
    if best in costs:
        dearest = max(costs, key=costs.__getitem__)
        beside = "" if dearest == best else f", {board.titles[dearest]} {number(costs[dearest], COST)}"
        facts.append((number(costs[best], COST), f"runs of the model{beside}"))
    if record := board.record(best):
        facts.append(("–".join(map(str, record)), "won, tied, lost"))
    return facts


# What answers of a group do that are of that group by replacement too.
_ENDS = ("share", "low", "high")
_REPLACED = {
    "C": "of the document’s {n:,} answers change ({questions:,} questions)",
    "M": "of memory’s {n:,} stay ({questions:,})",
}


def right_by_construction(results: Reader, chosen: Filter, board: Board) -> None:
    """Draw where rows are right by construction, and how often a label that does not share that says the same."""
    given = given_sentences(board)
    rows = query(results, replaced_agreement, replace(chosen, technique=(TECHNIQUE,))).to_dict("records") if given else []
    shares = [f"{interval_of(row, SHARE, _ENDS)} {_REPLACED[row['group']].format_map(row)}" for row in rows]
    given += [f"Told by another answer in its place instead of deletion: {listed(shares)}."] if shares else []
    st.caption(plain(" ".join(given)))


def without_numbers(results: Reader, board: Board) -> None:
    """List the questions that these results cannot answer, with the reason; and those that rest on under half of what was
    asked.
    """
    titles = {question.title for question in QUESTIONS.values()}
    if sentences := [f"**{plain(title)}** No number: {plain(reason)}." for title, reason in board.absent if title in titles]:
        st.caption(" ".join(sentences))
    few = []
    for column in board.questions:
        cells = board.places[board.places["column"] == column.key][["model", "dataset", "regime"]].drop_duplicates()
        prompts = int(cells.merge(query(results, Reader.outcomes, Filter(technique=(TECHNIQUE,))))["instances"].sum())
        n = int(board.values[board.values["column"] == column.key]["n"].max())
        if n < FEWEST * prompts:
            few.append(
                f"**{plain(column.title)}** {n:,} of {prompts:,} prompts count: the others have no answer that it is about."
            )
    if few:
        st.caption(" ".join([*few, f"Another layout, or a larger model, may answer more (`{program()} layouts`)."]))


def what_is_open(board: Board) -> str:
    """Return what these results cannot tell, as a list in Markdown."""
    return "\n".join(f"- {plain(sentence)}" for sentence in conclusion(board).open)


def selection(results: Reader, chosen: Filter, board: Board) -> None:
    """Draw the bar above the figure: what the clicked mark is, and its instances."""
    columns = {column.key: column for column in board.columns}

    def known(key: str, name: str, model: str) -> bool:
        return key in board.titles and name in (*columns, ALL_QUESTIONS) and model in (ALL, *board.models)

    if not MARK.is_one(known, "Click a row or a mark: its numbers stand here, with a way to its instances."):
        return
    key, name, model = MARK.id
    column = columns.get(name)
    title = " · ".join([board.titles[key], *([] if model == ALL else [model])])
    with MARK.bar():
        values = [] if column is None else [_of_column(board, column, key, model)]
        st.html(picked_html(key, title, " · ".join([*values, _of_mean(board, key)])))
        if (counted := behind(board, chosen, column, key, model)) is not None:
            links.link_behind(results, counted, key, None if column is None else column.measure)


def _of_column(board: Board, column: BoardColumn, key: str, model: str) -> str:
    values = board.values if model == ALL else board.by_model[board.by_model["model"] == model]
    rows = values[(values["column"] == column.key) & (values["explainer"] == key)].to_dict("records")
    if not rows or pd.isna(rows[0]["value"]):
        return f"{column.title}: not available, {rows[0]['reason'] if rows else 'not run here'}"
    lacking = f"; {rows[0]['reason']}" if rows[0]["reason"] else ""
    return f"{column.title} {interval_of(rows[0])}{lacking}"


def _of_mean(board: Board, key: str) -> str:
    rows = board.quality[board.quality["explainer"] == key].to_dict("records")
    if not rows:
        return "no mean: it lacks cells"
    rank, row, record = board.overall.ranks().get(key), rows[0], board.record(key)
    unranked = NOT_RANKED if board.given(key) else "control"
    parts = [f"rank {rank}" if rank else unranked, f"mean {interval(row['value'], row['low'], row['high'])}"]
    parts += [passes(board.passes[key])] if key in board.passes else []
    parts += ["won {}, tied {}, lost {}".format(*record)] if record and rank else []
    return " · ".join(parts)


def behind(board: Board, chosen: Filter, column: BoardColumn | None, key: str, model: str) -> Filter | None:
    """Return exactly the instances that a mark counts; None where there are none. column: None for all questions."""
    columns = board.questions if column is None else (column,)
    cells = board.places[board.places["column"].isin([one.key for one in columns]) & (board.places["explainer"] == key)]
    cells = cells if model == ALL else cells[cells["model"] == model]
    if cells.empty:
        return None
    models, datasets, regimes = (tuple(map(str, cells[name].unique())) for name in ("model", "dataset", "regime"))
    groups = tuple(dict.fromkeys(group for one in columns for group in MEASURED_ON.get(one.question, ())))
    return replace(chosen, model=models, dataset=datasets, regime=regimes, group=groups, explained_by=key)


def choose_question(there: Collection[str] = SCALED) -> str:
    """Offer one of the three questions, kept in the link. there: those that have a number."""
    links = {QUESTIONS[question].link: question for question in SCALED if question in there}
    titles, default = {link: QUESTIONS[question].title for link, question in links.items()}, QUESTIONS["RQ3"].link
    default = default if default in links else next(iter(links))
    return links[address.one_of("Question", list(links), "question", default, hidden=True, titles=titles)]


def draw_prompts(results: Reader, chosen: Filter, board: Board, *, marked: bool) -> None:
    """Show whether the order holds under decoys and at length. marked: whether the picked mark may be one of these."""
    harder = any(column.scaled and not column.plain for column in board.columns)
    nothing = "" if harder else "These results have no prompts with decoys, and none that were padded."
    st.markdown(conclusion(board, lambda name: f"**{plain(name)}**").harder or nothing)
    for name in () if harder or chosen != Filter(technique=chosen.technique, explained=chosen.explained) else offered():
        others = bundled(name, in_part=True)
        if others and others.snapshot_id != results.snapshot_id and len(query(others, Reader.choices).pipe(_decoys)):
            asked_for = {WHICH_RESULTS: name, "tab": "source"}
            label = f"{RESULTS_TITLES[name]} have some"
            st.page_link("pages/leaderboard.py", label=label, icon=":material/arrow_forward:", query_params=asked_for)
    if marked and (harder or MARK.id):
        selection(results, chosen, board)
    if not harder:
        return
    question = choose_question([column.question for column in board.columns])
    MARK.draw("prompts", by_prompts(board, question, names_of(results)))
    with _numbers("every question, decoy and length") as box:
        if box.open:
            draw_table(results, harder_table(board), exported_board(board), "board-harder", {"filter": str(chosen)})


def _decoys(choices: pd.DataFrame) -> pd.DataFrame:
    """Select the regimes with a decoy or a length that explainers ran on."""
    return choices[choices["regime"].str.contains(".", regex=False) & choices["explained"]]


PAIR = MarkSelection("pair", ("first", "second", "model", "dataset", "column"))
SHOWN = 10


def draw_pairs(results: Reader, chosen: Filter, board: Board) -> None:
    """Draw two methods against each other, and the table of all."""
    names = {row.key: row.title for row in board.rows}
    keys = [row.key for row in board.rows if len(board.pairs) and len(against(board.pairs, row.key))]
    if len(keys) < 2:
        st.info("Under these filters no two explainers have the same cells of a question.", icon=":material/balance:")
        return
    answer = st.container(key="answer")
    with st.container(key="pair", horizontal=True):
        first = address.one_of("Explainer", keys, "first", keys[0], what="explainer", titles=names, menu=True)
        second = address.one_of("against", keys, "second", keys[1], what="explainer", titles=names, menu=True)
    pairs = against(board.pairs, first, second)
    if first == second or pairs.empty:
        st.info("Choose two different explainers that have the same cells.", icon=":material/balance:")
    else:
        answer.markdown(f"{_on_the_mean(board, first, second, names)} {_of_two(pairs)}".strip())
        PAIR.draw("pairs", pair_figure(pairs, names_of(results)))
        most_different(results, chosen, board, names)
    with _numbers("every pair") as box:
        if box.open:
            about = {"filter": str(chosen)}
            draw_table(results, pairs_table(board), exported_pairs(board.pairs), "board-pairs", about)


def _on_the_mean(board: Board, first: str, second: str, names: dict[str, str]) -> str:
    """Compare two explainers by *Overall*'s mean and rank; "" where one has none."""
    means = board.quality.set_index("explainer")
    if not {first, second} <= {*means.index}:
        return ""
    apart = means["value"][first] - means["value"][second]
    ranks = [board.overall.ranks().get(key, "") for key in (first, second)]
    if all(ranks):
        holds, phrase = ranks[0] != ranks[1], "both rank {}" if ranks[0] == ranks[1] else "ranks {} and {}"
    else:
        holds, phrase = any(key in means["exceeds"][other] for key, other in ((first, second), (second, first))), "a control"
        phrase = NOT_RANKED if board.given(first) or board.given(second) else phrase
    where = f"{number(abs(apart), EXACT)} {'ahead of' if apart > 0 else 'behind'} {plain(names[second])}"
    sure = "which holds over the same questions" if holds else "which may be chance"
    return f"Over the mean **{plain(names[first])}** is {where}, {sure} ({phrase.format(*ranks)})."


def _of_two(pairs: pd.DataFrame) -> str:
    """Return how often the first wins. pairs: rows of `Board.pairs` of two explainers."""
    record = tally(pairs)
    won = f"it wins {record['wins']} of {so_many(len(pairs), 'comparison')}, ties {record['ties']}"
    return f"Counted one by one, in each question, model and data set, {won} and loses {record['losses']}."


def most_different(results: Reader, chosen: Filter, board: Board, names: dict[str, str]) -> None:
    """List the instances behind the picked difference in which one explainer's value is furthest above the other's."""
    columns = {column.key: column for column in board.questions}
    if not PAIR.is_one(lambda first, second, model, dataset, column: column in columns and {first, second} <= set(names)):
        return
    first, second, model, dataset, name = PAIR.id
    measure, behind_mark = columns[name].measure, behind(board, chosen, columns[name], first, model)
    st.subheader(f"Where they differ most · {plain(model)}")
    if behind_mark is None or not measure.instance_parts:
        st.caption("This question has no value for a single instance.")
        return
    behind_mark = replace(behind_mark, dataset=(dataset,))
    for higher, lower in ((first, second), (second, first)):
        arguments = (behind_mark, measure.metric, measure.instance_parts, measure.at(5), higher, lower, SHOWN)
        differences = query(results, Reader.differences, *arguments)
        st.markdown(f"**{plain(names[higher])} higher than {plain(names[lower])}**")
        if differences.empty:
            st.caption("In no instance.")
            continue
        titled = differences.rename(columns={"first": names[higher], "second": names[lower]}).round(3)
        about = f"The {len(differences)} instances with the largest difference. Tick one to get a link to it."
        draw_instances(names_of(results).readable(titled), differences["instance_id"], f"higher_{higher}", about)
