"""The page Techniques: what a reader's documents are like and what they can pay, who is best then, and the evidence."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import pandas as pd
import streamlit as st

from heval_core.evaluation.board.making import board
from heval_core.evaluation.techniques.front import Expected, Point, expected, leaders, points
from heval_core.figures.dots_drawn import FigurePart
from heval_core.figures.front import as_drawing
from heval_core.figures.technique_front import cards, equal_line, front_figure, leads, techniques_verdict, told_apart
from heval_core.figures.techniques import cell_in_words, differences_figure, guided_table, technique_table, unavailable
from heval_core.present.html import plain
from heval_core.present.names import ALL, Names, change_unit, measure_name
from heval_core.present.numbers import SHARE, interval, with_unit
from heval_core.records import CONTEXT_KINDS, FOLLOWED, TECHNIQUE
from heval_core.records.vocabulary import BEHAVIOURS, REGIMES, titles
from heval_core.store.filters import COUNTED, Filter
from heval_core.store.reader import Reader
from heval_core.ui import address, links
from heval_core.ui.exports import draw_table, link_button
from heval_core.ui.filters import row
from heval_core.ui.marks import MarkSelection
from heval_core.ui.published_results import names_of, query

TITLE = "Which technique fits my documents?"
# Measures of one answer each, so that they exist for each kind of context.
BY_KIND = ("bcu", "ccu", "accuracy", "memory_kept", "neither", "bcu_unknown")
# The most passes for an answer, and whether weights may be trained.
BUDGETS = {"1": (1.0, False), "2": (2.0, False), "4": (4.0, False), "training": (float("inf"), True)}
_PAY = {"1": "1 ×", "2": "up to 2 ×", "4": "up to 4 ×", "training": "training too"}
_USUAL, _USUAL_PAY = 75, "2"
MARK = MarkSelection("point", ("technique", "kind of context"))


@dataclass(frozen=True)
class Compared:
    """All techniques on one model and data set: rows of `cell_behaviour`, `pareto` and `technique_trial`."""

    model: str
    dataset: str
    names: Names
    cells: pd.DataFrame
    front: pd.DataFrame
    trials: pd.DataFrame

    @property
    def on_front(self) -> list[str]:
        """The techniques on the Pareto front."""
        return self.front[self.front["on_front"].astype(bool)]["technique"].tolist() if len(self.front) else []

    def affordable(self, technique: str, pay: str) -> bool:
        passes, training = BUDGETS[pay]
        price = self.names.price(technique)
        return not price.passes > passes and (training or price.preparation != "trained")

    def answers(self, technique: str, kind: str, change: str = COUNTED) -> Filter:
        """Return the answers behind a mark: of a card and a point those to documents to follow and to irrelevant ones."""
        known = set(self.cells.dropna(subset=["value"])["regime"])
        kinds = tuple(name for name in (*FOLLOWED, "irrelevant") if name in known) if kind == ALL else (kind,)
        return Filter((self.model,), (self.dataset,), kinds, technique=(technique,), changed=change)


def head(results: Reader) -> Compared:
    """Draw the title, and in a line with it the chips of model and data set."""
    cells, names = query(results, Reader.technique_cells, Filter()), names_of(results)
    with st.container(key="techniques_top", horizontal=True, vertical_alignment="center"):
        st.title(TITLE, width="content")
        with row():
            models = _most_compared(cells, "model")
            model = address.chip("Model", models, "model", names.titles("model", models))
            of_model = cells[cells["model"] == model]
            datasets = _most_compared(of_model, "dataset")
            dataset = address.chip("Dataset", datasets, "dataset", names.titles("dataset", datasets))
            link_button(results)
    chosen = Filter((model,), (dataset,))
    front, trials = (query(results, Reader.rows, table, chosen) for table in ("pareto", "technique_trial"))
    return Compared(model, dataset, names, of_model[of_model["dataset"] == dataset], front, trials)


def _most_compared(cells: pd.DataFrame, column: str) -> list[str]:
    """Return the values of a column, first the one with the most techniques on a dataset: that is what a reader sees first."""
    counts = cells.dropna(subset=["value"]).groupby(["model", "dataset"])["technique"].nunique().groupby(column).max()
    return sorted(cells[column].unique(), key=lambda value: (-counts.get(value, 0), value))


@st.fragment
def advise(results: Reader, compared: Compared) -> None:
    """Draw the chooser, the cards and the front beside them; all of it is drawn again when the slider moves, and
    nothing else.
    """
    by_key = {point.technique: point for point in query(results, points, compared.model, compared.dataset)}
    candidates = [by_key[key] for key in compared.names.techniques_in_order(by_key)]
    if not candidates:
        st.info("No technique was asked with relevant and with irrelevant documents here.", icon=":material/tune:")
        return
    good, pay = _choose(compared, candidates)
    payable = [point for point in candidates if compared.affordable(point.technique, pay)]
    ranked = expected(payable, good / 100)
    unaffordable = expected([point for point in candidates if point not in payable], good / 100)
    with st.container(key="answer"):
        st.markdown(techniques_verdict(ranked, compared.names))
    _bar(results, compared, [*ranked, *unaffordable])
    best = max((card.value.value for card in ranked), default=0.0)
    line_label = f"{with_unit(best, SHARE)} good" if ranked else ""
    line = equal_line(best, good / 100) if ranked else []
    front = as_drawing(front_figure(compared.front, compared.names, line, line_label))
    good_answers = cards(ranked, unaffordable, compared.names, compared.on_front)
    title = f"Good answers to expect, of 100 · n = {compared.front['n'].max():,} questions"
    MARK.draw("technique_marks", FigurePart(good_answers, title), FigurePart(front, "Following against ignoring"))
    st.caption(
        "A good answer follows a document about the question, true or not, and ignores an irrelevant one, which is about "
        "something else, for what the model remembers. "
        f"{told_apart(compared.cells, compared.names)} Brackets: 95 % intervals over questions. Who "
        "shares a rank, the first of them is not ahead of (paired, Holm). Filled: no other is better at both. Dashed: as good "
        "as the best card."
    )


def _choose(compared: Compared, candidates: Sequence[Point]) -> tuple[int, str]:
    """Choose good documents of 100, and a key of BUDGETS."""
    held = address.whole("right", 0, 100, _USUAL, "the good documents")
    bound = address.bound("right", held, lambda new: None if new == _USUAL else new)
    with st.container(border=True, key="chooser"):
        left, right = st.columns([1.3, 1], gap="large")
        with right:
            pay = address.one_of("I can pay", list(BUDGETS), "pay", _USUAL_PAY, titles=_PAY)
            st.caption("1 × is one answer of the model as it is.")
        with left:
            label = f"My documents are relevant for {held} of 100 questions"
            st.slider(label, 0, 100, **bound)
            lead = leaders([point for point in candidates if compared.affordable(point.technique, pay)])
            st.caption(f"Left: often irrelevant. Right: usually relevant. Highest: {leads(lead, compared.names)}.")
    return held, pay


def _bar(results: Reader, compared: Compared, expectations: Sequence[Expected]) -> None:
    """Draw what the clicked mark is, and the way to its answers."""
    card = {expectation.point.technique: expectation for expectation in expectations}
    if not MARK.is_one(lambda key, kind: key in {*compared.cells["technique"]} and kind in (ALL, *CONTEXT_KINDS)):
        return
    key, kind = MARK.id
    with MARK.bar():
        where = "" if kind == ALL else f" · {REGIMES[kind].title}"
        text = _of_kind(compared, key, kind) if kind != ALL else _of_card(card[key]) if key in card else "not available"
        answers = compared.answers(key, kind)
        count = len(query(results, Reader.instance_ids, answers))
        counted = compared.cells.query("technique == @key and measure == 'bcu' and regime in @answers.regime")
        more = int(counted["n"].sum()) - count
        text += f"; {more:,} more answers are counted and not listed, for they were not sampled" if more > 0 else ""
        meaning = plain(compared.names.meaning("technique", key))
        st.markdown(f"**{plain(compared.names.technique(key) + where)}** {plain(text)}. {meaning}", width="stretch")
        if count:
            links.link_to(f"Its {count:,} answers", answers)
        changes = query(results, Reader.changes, compared.answers(key, kind, "")) if key != TECHNIQUE else pd.DataFrame()
        for change, words in (("gained", "gained over Regular"), ("lost", "lost")):
            if count := int(changes[change].sum()) if change in changes else 0:
                links.link_to(f"{count:,} {words}", compared.answers(key, kind, change))


def _of_card(card: Expected) -> str:
    follows, ignores = (with_unit(share.value, SHARE) for share in (card.point.faithfulness, card.point.robustness))
    return f"{interval(card.value.value, *card.value.interval(), SHARE)} good answers; follows {follows}, ignores {ignores}"


def _of_kind(compared: Compared, key: str, kind: str) -> str:
    measure = address.requested("measure", _measures(compared))
    cells = compared.cells[(compared.cells["measure"] == measure) & (compared.cells["regime"] == kind)]
    rows = cells[cells["technique"] == key].dropna(subset=["value"]).to_dict("records")
    return f"{measure_name(measure)} {cell_in_words(rows[0], measure)}" if rows else "not available"


def _measures(compared: Compared) -> list[str]:
    known = set(compared.cells.dropna(subset=["value"])["measure"])
    return [measure for measure in BY_KIND if measure in known] or ["bcu"]


def evidence(results: Reader, compared: Compared) -> None:
    """Draw what stands below: who is not available, and folded the differences by kind of context and the numbers."""
    if missing := unavailable(pd.concat([compared.cells, compared.trials]), compared.names):
        reasons = "; ".join(f"**{plain(title)}** ({plain(why.rstrip('.'))})" for title, why in missing)
        st.caption(f"Not available: {reasons}.")
    label = "Differences to Regular by kind of context, and the numbers"
    fold = st.expander(label, key="technique_numbers", on_change="rerun", expanded=bool(address.value("measure")))
    if not fold.open:
        return
    with fold:
        measure = address.one_of("Measure", _measures(compared), "measure", titles=titles(BEHAVIOURS), hidden=True)
        names = compared.names
        if figure := differences_figure(compared.cells, measure, names, compared.on_front):
            unit = change_unit(measure).sign.strip()
            title = f"{measure_name(measure)}: difference to Regular" + (f", in {unit}" if unit else "")
            note = "Filled: the 95 % interval leaves out 0. Bold: on the front. Click a mark for its answers."
            MARK.draw("technique_differences", FigurePart(figure, title, note))
        table = technique_table(compared.cells, measure, names, compared.on_front)
        about = {"model": compared.model, "dataset": names.dataset(compared.dataset), "shown": measure}
        joined = compared.cells.join(compared.front.set_index("technique")[["on_front", "share_on_front"]], on="technique")
        draw_table(results, table, joined, "techniques", about)
        if guided := guided_table(compared.cells, measure, names, lambda: query(results, board).quality):
            st.subheader(guided.title)
            st.html(guided.html())
