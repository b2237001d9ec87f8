"""The three questions on one scale from guessing to perfect, and who is best."""

from __future__ import annotations

from dataclasses import replace

import pandas as pd
import streamlit as st

from heval_core.evaluation.means import leaderboard, places
from heval_core.evaluation.orders import SORTED_BY
from heval_core.evaluation.ranking import AT, clauses, sentences
from heval_core.figures import cards
from heval_core.figures.questions import DRAWN, headline_figure, rankings
from heval_core.groups import compared_groups, context_groups
from heval_core.metrics import headlines
from heval_core.metrics.shared.measure import QUESTIONS
from heval_core.present.names import Names
from heval_core.regime_keys import ordered_regimes
from heval_core.store.filters import Filter
from heval_core.store.reader import Reader
from heval_core.ui import filters, links
from heval_core.ui.marks import draw_figures
from heval_core.ui.names import names_of
from heval_core.ui.published_results import query
from heval_core.ui.text import plain
from heval_core.ui.verdicts import bold
from heval_core.words import counted

# Question ▶ the groups of the instances that its measure is of.
MEASURED_ON = {"RQ1": compared_groups(1), "RQ2": compared_groups(2), "RQ3": (*context_groups(1), *context_groups(2))}
_LEXICAL = "Lexical match only looks for the answer’s spelling: it cannot know whether the model used it."


def draw(results: Reader, chosen: Filter) -> None:
    """The figure with its sentence. Numbers are as published where the filter takes everything, else computed now."""
    headline = query(results, Reader.headline if chosen.is_all else leaderboard, chosen)
    there, names = query(results, places, chosen), names_of(results)

    def cells(question: str) -> str:
        return links.href("accuracy", links.parameters(chosen) | {"tab": QUESTIONS[question].link})

    def instances(explainer: str, question: str) -> str:
        return links.href("instances", behind(there, chosen, explainer, question))

    foot = [*([in_all(results, there)] if len(there) else []), "Whiskers: 95 % intervals. A dot opens its instances."]
    absent = [QUESTIONS[question].title for question in headlines() if question not in set(headline["question"])]
    if 0 < len(absent) < len(QUESTIONS):
        foot.append(f"{' '.join(absent)} Not answered: no cell has 30 instances in each group.")
    if "lexical" in set(headline["explainer"]):
        foot.append(_LEXICAL)
    if (count := headline[~headline["explainer"].isin(names.controls)]["explainer"].nunique()) > DRAWN:
        foot.append(f"Here are the first {DRAWN} of {count} methods; the leaderboard has all.")
    with st.container(key="overview_said", gap=None):
        st.html(cards.leaderboard())
        st.markdown(sentence(headline, names))
    draw_figures("overview_marks", headline_figure(headline, names, cells, instances))
    st.caption(plain(" ".join(foot)))


def behind(there: pd.DataFrame, chosen: Filter, explainer: str, question: str) -> dict[str, list[str]]:
    """The parameters of a list of a mark's instances, worst first where single ones have a value. there: see `places`."""
    own = there[there["question"] == question]
    models, datasets = (tuple(map(str, own[name].unique())) for name in ("model", "dataset"))
    regimes = tuple(ordered_regimes(set(own["regime"])))
    sort = headlines()[question].sort.format(explainer=explainer)
    wanted = replace(chosen, model=models, dataset=datasets, regime=regimes, group=MEASURED_ON[question])
    return links.parameters(wanted, sort if sort in SORTED_BY else "")


def in_all(results: Reader, there: pd.DataFrame) -> str:
    """How many instances, models and datasets count at any question."""
    choices = filters.kept(results, explained=True).merge(there.drop(columns="question").drop_duplicates())
    models, datasets = (counted(choices[column].nunique(), column) for column in ("model", "dataset"))
    return f"{int(choices['instances'].sum()):,} instances of {models} and {datasets}."


def sentence(headline: pd.DataFrame, names: Names) -> str:
    """Who is best at which question, in Markdown."""
    own = {AT[question]: one for question, one in rankings(headline, names.controls).items()}
    said = sentences(clauses(own, bold(names)))
    return said or "No question can be answered yet: no cell has 30 instances in each group."
