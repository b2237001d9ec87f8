"""The three questions on one scale from guessing to perfect, who leads, and who stays near chance."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

import pandas as pd
import streamlit as st

from heval_core.evaluation.leaderboard import leaderboard
from heval_core.evaluation.orders import SORTED_BY
from heval_core.figures import overview
from heval_core.figures.headline import headline_figure, side_by_side, standings
from heval_core.figures.measure_table import headline_table
from heval_core.figures.overview import Words
from heval_core.groups import compared_groups, context_groups
from heval_core.metrics import headlines
from heval_core.metrics.shared.measure import QUESTIONS
from heval_core.present.names import Names
from heval_core.records import DUAL_REGIMES, SINGLE_REGIMES
from heval_core.regime_keys import ordered_regimes
from heval_core.store.filters import Filter
from heval_core.store.reader import Reader
from heval_core.ui import filters, links
from heval_core.ui.exports import draw_table
from heval_core.ui.marks import draw_figures
from heval_core.ui.names import names_of
from heval_core.ui.published_results import query
from heval_core.ui.text import plain
from heval_core.words import counted, listed

# Question ▶ the regimes and groups of the instances that its measure is of.
MEASURED_ON = {
    "RQ1": (SINGLE_REGIMES, compared_groups(1)),
    "RQ2": (DUAL_REGIMES, compared_groups(2)),
    "RQ3": ((), (*context_groups(1), *context_groups(2))),
}
# Below this share of the way from chance to best an explainer is said to stay near chance.
NEAR_CHANCE = 0.15
_HOW_FAR = (
    (0.15, "close to guessing"), (0.35, "nearer to guessing than to perfect"),
    (0.65, "about half-way between guessing and perfect"), (0.9, "nearer to perfect than to guessing"), (2, "nearly perfect"),
)  # fmt: skip
_LEXICAL = (
    "Lexical match only looks for the answer’s spelling: where the answer stands once in the prompt, finding its token, and "
    "with it the document, is trivial for it, but it cannot know whether the model used it."
)


def headline_of(results: Reader, chosen: Filter) -> pd.DataFrame:
    """As published where the filter takes everything, else computed now; without explainers that ran in few of the cells."""
    return side_by_side(query(results, Reader.headline if chosen.is_all else leaderboard, chosen))


def draw(results: Reader, chosen: Filter) -> None:
    """The figure with its sentence; what is behind it is in `numbers`."""
    headline = headline_of(results, chosen)
    names = names_of(results)

    def cells(question: str) -> str:
        return links.href("accuracy", links.parameters(chosen) | {"tab": QUESTIONS[question].link})

    def instances(explainer: str, question: str) -> str:
        return links.href("instances", behind(chosen, explainer, question))

    methods = headline[~headline["explainer"].isin(names.controls)]
    foot = [in_all(results, chosen), "Whiskers: 95 % intervals. A dot opens its instances."]
    absent = [QUESTIONS[question].title for question in headlines() if question not in standings(headline)]
    if 0 < len(absent) < len(QUESTIONS):
        foot.append(f"{' '.join(absent)} Not answered: no cell has 30 instances in each group.")
    if apart := sorted(names.explainer(key) for key in partial_ones(results, chosen, headline)):
        foot.append(f"{listed(apart)} ran in fewer of these cells: see the leaderboard.")
    if "lexical" in set(headline["explainer"]):
        foot.append(_LEXICAL)
    st.html(overview.leaderboard(list(sentence(methods, names))))
    draw_figures("overview_marks", headline_figure(headline, names, cells, instances))
    st.caption(plain(" ".join(foot)))


def partial_ones(results: Reader, chosen: Filter, headline: pd.DataFrame) -> set[str]:
    """Explainers with numbers under the filter that the headline leaves out at some question."""
    every = query(results, Reader.headline if chosen.is_all else leaderboard, chosen)
    return set(every.loc[every.index.difference(headline.index), "explainer"].astype(str))


def behind(chosen: Filter, explainer: str, question: str) -> dict[str, list[str]]:
    """The parameters of a list of a mark's instances, worst first where single ones have a value."""
    regimes, groups = MEASURED_ON[question]
    regime = tuple(ordered_regimes(chosen.regime, regimes)) or regimes
    sort = headlines()[question].sort.format(explainer=explainer)
    return links.parameters(replace(chosen, regime=regime, group=groups), sort if sort in SORTED_BY else "")


def in_all(results: Reader, chosen: Filter) -> str:
    """How many instances, models and datasets there are under a filter, without decoys and lengths."""
    choices = filters.plain_regimes(filters.kept(results, explained=True))
    for column in ("model", "dataset", "technique"):
        wanted = getattr(chosen, column)
        choices = choices[choices[column].isin(wanted)] if wanted else choices
    models, datasets = (counted(choices[column].nunique(), column) for column in ("model", "dataset"))
    return f"{int(choices['instances'].sum()):,} instances of {models} and {datasets}."


def sentence(methods: pd.DataFrame, names: Names) -> Iterator[Words]:
    """Who leads at which question, and who stays near chance. methods: their rows of the headline."""
    methods = methods.dropna(subset=["normalised"])
    if methods.empty:
        yield Words("No question can be answered yet: no cell has 30 instances in each group.")
        return
    values = standings(methods)
    ahead = _together({question: _level(methods[methods["question"] == question]) for question in values})
    for number_of, (keys, questions) in enumerate(ahead):
        yield from _names(keys, names)
        yield Words(f" {'leads' if len(keys) == 1 else 'are level'} at {_where(questions, len(values.columns))}")
        if len(ahead) == len(keys) == 1:
            yield Words(f", {next(words for most, words in _HOW_FAR if values.loc[keys[0]].mean() < most)}")
        yield Words(". " if number_of == len(ahead) - 1 else "; ")
    near = _together({question: list(values.index[values[question].abs() < NEAR_CHANCE]) for question in values})
    for number_of, (keys, questions) in enumerate(near):
        yield from _names(keys, names)
        verb = "" if number_of else " stays near chance" if len(keys) == 1 else " stay near chance"
        end = "." if number_of == len(near) - 1 else "; "
        yield Words(f"{verb} on {_where(questions, len(values.columns))}{end}")


def _level(rows: pd.DataFrame) -> list[str]:
    """The best explainer of one question, and those whose intervals reach into its own."""
    rows = rows.sort_values("normalised", ascending=False, kind="stable")
    return list(rows[rows["normalised_high"] >= rows["normalised_low"].iloc[0]]["explainer"])


def _together(named: Mapping[str, list[str]]) -> list[tuple[list[str], list[str]]]:
    """(explainers, the questions that they are named at), for each set of them; without the empty one."""
    found: dict[frozenset[str], tuple[list[str], list[str]]] = {}
    for question, keys in named.items():
        if keys:
            found.setdefault(frozenset(keys), (keys, []))[1].append(question)
    return list(found.values())


def _where(questions: Sequence[str], of: int) -> str:
    """`which document and which token`, or `all three questions`."""
    if len(questions) == of > 1:
        return "both questions" if of == 2 else "all three questions"
    return listed([QUESTIONS[question].title.rstrip("?").lower() for question in questions])


def _names(keys: list[str], names: Names) -> Iterator[Words]:
    for place, key in enumerate(keys):
        if place:
            yield Words(" and " if place == len(keys) - 1 else ", ")
        yield Words(names.explainer(key), True)


def numbers(results: Reader, chosen: Filter) -> None:
    """The table behind the figure, computed when it is opened."""
    box = st.expander("The numbers behind these dots", key="headline_numbers", on_change="rerun")
    if not box.open:
        return
    headline = headline_of(results, chosen)
    with box:
        draw_table(results, headline_table(headline, names_of(results)), headline, "leaderboard", {"filter": str(chosen)})
        st.caption(" ".join(f"{QUESTIONS[question].title} {own.headline}." for question, own in headlines().items()))
