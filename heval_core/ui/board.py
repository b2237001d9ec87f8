"""The Leaderboard: the board of the chosen results, its tabs Overall, Decoys and length, and One against another."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace
from functools import partial

import pandas as pd
import streamlit as st

from heval_core.evaluation.board.conclusion import conclusion
from heval_core.evaluation.board.costs import costs_shown
from heval_core.evaluation.board.making import board
from heval_core.evaluation.board.records import ASKED, Board, BoardColumn
from heval_core.evaluation.comparisons import against, tally
from heval_core.evaluation.usable import FEWEST
from heval_core.figures import front
from heval_core.figures.board import (
    ALL_QUESTIONS,
    by_prompts,
    by_question,
    front_figure,
    harder_table,
    main_table,
    pair_figure,
    pairs_table,
)
from heval_core.figures.dots_drawn import FigurePart, as_drawing
from heval_core.figures.measures import picked_html
from heval_core.metrics.shared.measure import QUESTIONS
from heval_core.present.html import plain, render
from heval_core.present.names import ALL
from heval_core.present.numbers import COST, EXACT, interval, number, passes, so_many
from heval_core.records import TECHNIQUE
from heval_core.records.groups import compared_groups, context_groups
from heval_core.store.filters import Filter
from heval_core.store.reader import Reader
from heval_core.ui import address, links
from heval_core.ui.exports import draw_table, picture
from heval_core.ui.marks import MarkSelection, draw_instances
from heval_core.ui.published_results import names_of, query

MARK = MarkSelection("mark", ("explainer", "column", "model"))
NOTHING = (
    "No explainer ran on what these filters leave. Remove a filter above, or run the batch job with `--explainers fa,ig,attn` "
    "and publish; this page then compares them by the three questions and by cost."
)
# Question ▶ the groups of the instances that its measure is of.
MEASURED_ON = {"RQ1": compared_groups(1), "RQ2": compared_groups(2), "RQ3": (*context_groups(1), *context_groups(2))}


def board_of(results: Reader, chosen: Filter) -> Board | None:
    """Return the board; None, after saying so, where there is none."""
    made = query(results, board, chosen)
    if made.rows:
        return made
    st.info(NOTHING, icon=":material/leaderboard:")
    return None


def recommendation(made: Board) -> str:
    """Return what to use, in Markdown."""
    return conclusion(made, lambda name: f"**{plain(name)}**").said


def draw_overall(results: Reader, chosen: Filter, made: Board) -> None:
    """Draw what to use, the figures, what a click leads to, and the tables."""
    with st.container(key="recommended", horizontal=True, vertical_alignment="center"):
        st.markdown(recommendation(made))
        st.html(render("facts.html", facts=_facts(made)), width="content")
    if made.questions:
        selection(results, chosen, made)
        figure, quality = by_question(made, names_of(results)), front_figure(made)
        parts = [FigurePart(figure)]
        if quality is not None:
            note = "Line and bold: the front, where nothing is better and cheaper."
            parts.append(FigurePart(front.as_drawing(quality, 400, 430), "Quality against cost", note))
        with st.container(key="board_figures"):
            MARK.draw("board_figure", *parts)
        without_numbers(results, made)
    with _numbers("table, CSV, Parquet, LaTeX") as box:
        if box.open:
            draw_table(results, main_table(made), exported_board(made), "board", {"filter": str(chosen)})
            with st.container(horizontal=True):
                picture(results, lambda: as_drawing(by_question(made, names_of(results))), "board")
                if quality := front_figure(made):
                    picture(results, partial(front.as_drawing, quality), "front", "Quality against cost")


def _numbers(what: str) -> st.delta_generator.DeltaGenerator:
    return st.expander(f"The numbers · {what}", key="numbers", on_change="rerun")


def _facts(made: Board) -> list[tuple[str, str]]:
    """Return facts about the recommended method: its mean, what it costs beside the dearest one, and its comparisons with
    other methods.
    """
    best = conclusion(made).best
    if not best:
        return []
    mean = made.quality.set_index("explainer").loc[best]
    facts = [(number(mean["value"]), f"mean, {number(mean['low'])} to {number(mean['high'])}")]
    costs = {key: cost for key, cost in made.passes.items() if key in made.methods}
    if best in costs:
        dearest = max(costs, key=costs.__getitem__)
        beside = "" if dearest == best else f", {made.titles[dearest]} {number(costs[dearest], COST)}"
        facts.append((number(costs[best], COST), f"runs of the model{beside}"))
    if record := made.record(best):
        facts.append(("–".join(map(str, record)), "won, tied, lost"))
    return facts


def without_numbers(results: Reader, made: Board) -> None:
    """List the questions that these results cannot answer, with the reason; and those that rest on under half of what was
    asked.
    """
    titles = {question.title for question in QUESTIONS.values()}
    if sentences := [f"**{plain(title)}** No number: {plain(reason)}." for title, reason in made.absent if title in titles]:
        st.caption(" ".join(sentences))
    few = []
    for column in made.questions:
        cells = made.places[made.places["column"] == column.key][["model", "dataset", "regime"]].drop_duplicates()
        asked = int(cells.merge(query(results, Reader.outcomes, Filter(technique=(TECHNIQUE,))))["instances"].sum())
        n = int(made.values[made.values["column"] == column.key]["n"].max())
        if n < FEWEST * asked:
            few.append(
                f"**{plain(column.title)}** {n:,} of {asked:,} prompts count: the others have no answer that it is about."
            )
    if few:
        st.caption(" ".join([*few, "Another layout, or a larger model, may answer more (`python -m precompute layouts`)."]))


def what_is_open(made: Board) -> str:
    """Return what these results cannot tell, as a list in Markdown."""
    return "\n".join(f"- {plain(sentence)}" for sentence in conclusion(made).open)


def selection(results: Reader, chosen: Filter, made: Board) -> None:
    """Draw the bar above the figure: what the clicked mark is, and its instances."""
    columns = {column.key: column for column in made.columns}

    def known(key: str, name: str, model: str) -> bool:
        return key in made.titles and name in (*columns, ALL_QUESTIONS) and model in (ALL, *made.models)

    if not MARK.is_one(known, "Click a row or a mark: its numbers stand here, with a way to its instances."):
        return
    key, name, model = MARK.id
    column = columns.get(name)
    title = " · ".join([made.titles[key], *([] if model == ALL else [model])])
    with MARK.bar():
        values = [] if column is None else [_of_column(made, column, key, model)]
        st.html(picked_html(key, title, " · ".join([*values, _of_mean(made, key)])))
        if (counted := behind(made, chosen, column, key, model)) is not None:
            links.link_behind(results, counted, key, None if column is None else column.measure)


def _of_column(made: Board, column: BoardColumn, key: str, model: str) -> str:
    values = made.values if model == ALL else made.by_model[made.by_model["model"] == model]
    rows = values[(values["column"] == column.key) & (values["explainer"] == key)].to_dict("records")
    if not rows or pd.isna(rows[0]["value"]):
        return f"{column.title}: not available, {rows[0]['reason'] if rows else 'not run here'}"
    lacking = f"; {rows[0]['reason']}" if rows[0]["reason"] else ""
    return f"{column.title} {interval(rows[0]['value'], rows[0]['low'], rows[0]['high'])}{lacking}"


def _of_mean(made: Board, key: str) -> str:
    rows = made.quality[made.quality["explainer"] == key].to_dict("records")
    if not rows:
        return "no mean: it lacks cells"
    rank, row, record = made.overall.ranks().get(key), rows[0], made.record(key)
    parts = [f"rank {rank}" if rank else "control", f"mean {interval(row['value'], row['low'], row['high'])}"]
    parts += [passes(made.passes[key])] if key in made.passes else []
    parts += ["won {}, tied {}, lost {}".format(*record)] if record and rank else []
    return " · ".join(parts)


def behind(made: Board, chosen: Filter, column: BoardColumn | None, key: str, model: str) -> Filter | None:
    """Return exactly the instances that a mark counts; None where there are none. column: None for all questions."""
    columns = made.questions if column is None else (column,)
    cells = made.places[made.places["column"].isin([own.key for own in columns]) & (made.places["explainer"] == key)]
    cells = cells if model == ALL else cells[cells["model"] == model]
    if cells.empty:
        return None
    models, datasets, regimes = (tuple(map(str, cells[name].unique())) for name in ("model", "dataset", "regime"))
    groups = tuple(dict.fromkeys(group for own in columns for group in MEASURED_ON.get(own.question, ())))
    return replace(chosen, model=models, dataset=datasets, regime=regimes, group=groups, explained_by=key)


def exported_board(made: Board) -> pd.DataFrame:
    """Return a row for each column and explainer, with its costs over all prompts, its rank by the mean, and whether on the
    front.
    """
    costs = costs_shown(made).set_index("explainer")
    front = made.quality.set_index("explainer")[["value", "on_front"]].rename(columns={"value": "quality"})
    controls, ranks = made.values["explainer"].isin(list(made.controls)), made.values["explainer"].map(made.overall.ranks())
    values = made.values.assign(control=controls, rank=ranks).drop(columns="exceeds")
    return values.join(costs, on="explainer").join(front, on="explainer")


def choose_question(there: Collection[str] = ASKED) -> str:
    """Offer one of the three questions, kept in the link. there: those that have a number."""
    links = {QUESTIONS[question].link: question for question in ASKED if question in there}
    titles, default = {link: QUESTIONS[question].title for link, question in links.items()}, QUESTIONS["RQ3"].link
    default = default if default in links else next(iter(links))
    return links[address.one_of("Question", list(links), "question", default, hidden=True, titles=titles)]


def draw_prompts(results: Reader, chosen: Filter, made: Board) -> None:
    """Show whether the order holds under decoys and at length."""
    sentence = conclusion(made, lambda name: f"**{plain(name)}**").harder
    with st.container(key="answer"):
        st.markdown(sentence or "These results have no prompts with decoys, and none that were padded.")
    if not any(column.scaled for column in made.columns):
        st.info("No question has a number under these filters.", icon=":material/filter_alt_off:")
        return
    question = choose_question([column.question for column in made.columns])
    selection(results, chosen, made)
    MARK.draw("prompts", by_prompts(made, question, names_of(results)))
    harder = harder_table(made)
    if harder.heads:
        with _numbers("every question, decoy and length") as box:
            if box.open:
                draw_table(results, harder, exported_board(made), "board-harder", {"filter": str(chosen)})


PAIR = MarkSelection("pair", ("first", "second", "model", "dataset", "column"))
SHOWN = 10


def draw_pairs(results: Reader, chosen: Filter, made: Board) -> None:
    """Draw two methods against each other, and the table of all."""
    names = {row.key: row.title for row in made.rows}
    keys = [row.key for row in made.rows if len(made.pairs) and len(against(made.pairs, row.key))]
    if len(keys) < 2:
        st.info("Under these filters no two explainers have the same cells of a question.", icon=":material/balance:")
        return
    answer = st.container(key="answer")
    with st.container(key="pair", horizontal=True):
        first = address.one_of("Explainer", keys, "first", keys[0], what="explainer", titles=names, menu=True)
        second = address.one_of("against", keys, "second", keys[1], what="explainer", titles=names, menu=True)
    pairs = against(made.pairs, first, second)
    if first == second or pairs.empty:
        st.info("Choose two different explainers that have the same cells.", icon=":material/balance:")
    else:
        answer.markdown(f"{_on_the_mean(made, first, second, names)} {_of_two(pairs)}".strip())
        PAIR.draw("pairs", pair_figure(pairs, names_of(results)))
        most_different(results, chosen, made, names)
    with _numbers("every pair") as box:
        if box.open:
            about = {"filter": str(chosen)}
            draw_table(results, pairs_table(made), exported_pairs(made.pairs), "board-pairs", about)


def _on_the_mean(made: Board, first: str, second: str, names: dict[str, str]) -> str:
    """Compare two explainers by *Overall*'s mean and rank; "" where one has none."""
    means = made.quality.set_index("explainer")
    if not {first, second} <= {*means.index}:
        return ""
    apart = means["value"][first] - means["value"][second]
    ranks = [made.overall.ranks().get(key, "") for key in (first, second)]
    if all(ranks):
        holds, said = ranks[0] != ranks[1], "both rank {}" if ranks[0] == ranks[1] else "ranks {} and {}"
    else:
        holds, said = any(key in means["exceeds"][other] for key, other in ((first, second), (second, first))), "a control"
    where = f"{number(abs(apart), EXACT)} {'ahead of' if apart > 0 else 'behind'} {plain(names[second])}"
    sure = "which holds over the same questions" if holds else "which may be chance"
    return f"Over the mean **{plain(names[first])}** is {where}, {sure} ({said.format(*ranks)})."


def _of_two(pairs: pd.DataFrame) -> str:
    """Return how often the first wins. pairs: rows of `Board.pairs` of two explainers."""
    record = tally(pairs)
    won = f"it wins {record['wins']} of {so_many(len(pairs), 'comparison')}, ties {record['ties']}"
    return f"Counted one by one, in each question, model and data set, {won} and loses {record['losses']}."


def most_different(results: Reader, chosen: Filter, made: Board, names: dict[str, str]) -> None:
    """List the instances behind the picked difference in which one explainer's value is furthest above the other's."""
    columns = {column.key: column for column in made.questions}
    if not PAIR.is_one(lambda first, second, model, dataset, column: column in columns and {first, second} <= set(names)):
        return
    first, second, model, dataset, name = PAIR.id
    measure, behind_mark = columns[name].measure, behind(made, chosen, columns[name], first, model)
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


def exported_pairs(pairs: pd.DataFrame) -> pd.DataFrame:
    """Return every difference, with how often its pair is won, tied and lost at its question."""
    names = ["column", "first", "second"]
    counts = [dict(zip(names, key, strict=True)) | tally(rows) for key, rows in pairs.groupby(names, sort=False)]
    return pairs.merge(pd.DataFrame(counts).drop(columns=["mean difference"]), on=names)
