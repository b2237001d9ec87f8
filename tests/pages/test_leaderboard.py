"""The page Leaderboard on the demo results: its sentence, filters, marks, exports, and what it says where there is nothing."""

from __future__ import annotations

import io
import re
from dataclasses import replace

import pandas as pd
import pytest

from heval_core.evaluation.board.making import board
from heval_core.figures import board_table
from heval_core.figures.measure_table import measure_table
from heval_core.figures.questions import by_model, by_question
from heval_core.metrics.shared.measure import QUESTIONS
from heval_core.present.names import ALL, Names
from heval_core.present.table import Table
from heval_core.report.sections import section
from heval_core.store.filters import Filter
from heval_core.ui import measured_cells, overview_scale
from heval_core.ui.board import MARK, behind, exported_board, unbeaten
from heval_core.words import counted
from tests.board.planted import level, planted
from tests.pages.opening import open_page, text_of
from tests.planted import noise, plant, published

REGULAR = Filter(technique=("regular",), explained=True)


def test_a_mark_in_the_link_opens_its_bar_with_ways_on(demo):
    app = open_page("leaderboard", **{MARK.parameter: ["fa", "RQ3", "demo-qwen2"]})
    assert not app.error
    links = [one.proto.label for one in app.get("page_link")]
    assert "Open its instances, worst first" in links
    assert "Its cells" in links


def test_a_marks_list_has_exactly_the_instances_that_the_mark_counts(tmp_path):
    """ig ran on one of two datasets, and with one of two models on no two documents."""

    def without(instance, explainer):
        elsewhere = instance["dataset"] == "data-1" or (
            instance["model"] == "made-up-1" and len(instance["document_starts"]) == 2
        )
        return explainer == "ig" and elsewhere

    regimes = ("conflicting", "mixed")
    how = {"explainers": ("fa", "attn", "ig", "position"), "failed": without}
    plant(tmp_path, noise, models=2, datasets=2, regimes=regimes, count=100, **how)
    reader = published(tmp_path)
    made, counts = board(reader, Filter()), set()
    drawn = [by_question(made, Names()), *(by_model(made, column, Names()) for column in made.questions)]
    slots = [slot for figure in drawn for panel in figure.panels for slot in panel.slots]
    marks = {dot.id for slot in slots for dot in (*slot.dots, *slot.cells, *([slot.missing] if slot.missing else []))}
    titles = {column.key: column for column in made.columns}
    assert {model for _, _, model in marks} == {ALL, *made.models}
    for key, name, model in marks:
        values = made.values if model == ALL else made.by_model[made.by_model["model"] == model]
        (row,) = values[(values["column"] == name) & (values["explainer"] == key)].to_dict("records")
        own = behind(made, Filter(), titles[name], key, model)
        assert (0 if own is None else len(reader.instance_ids(own))) == row["n"], (key, name, model)
        counts.add((key, name, row["n"]))
    assert len(counts) > len(made.rows) * len(made.questions)
    # The figure of quality against cost has no counts: its list is of all three questions.
    every = behind(made, Filter(), None, "fa", ALL)
    assert (every.model, every.dataset, every.regime) == (made.models, ("data-0", "data-1"), regimes)


@pytest.mark.parametrize("mark", [["fa"], ["gone", "RQ3", "*"], ["fa", "RQ9", "*"], ["fa", "RQ1", "gone"]])
def test_a_mark_that_is_none_is_refused_in_a_sentence(demo, mark):
    app = open_page("leaderboard", **{MARK.parameter: mark})
    assert not app.exception
    assert "should be a mark of the figure: explainer, column and model" in app.error[0].value


def test_the_export_has_every_number_with_its_costs(demo):
    made = board(demo, REGULAR)
    frame = exported_board(made)
    assert len(frame) == len(made.columns) * len(made.rows)
    assert set(frame[frame["control"]]["explainer"]) == set(made.controls)
    own = made.quality[made.quality["explainer"].isin(made.methods) & made.quality["whole_passes"].notna()]
    front = {
        row.explainer
        for row in own.itertuples()
        if not ((own["value"] > row.value) & (own["whole_passes"] <= row.whole_passes)).any()
        and not ((own["value"] >= row.value) & (own["whole_passes"] < row.whole_passes)).any()
    }
    assert set(frame[frame["on_front"].astype(bool)]["explainer"]) == front
    again = pd.read_csv(io.StringIO(frame.to_csv(index=False)))
    assert again["value"].tolist() == pytest.approx(frame["value"].tolist())


@pytest.mark.parametrize(
    ("table", "told"),
    [
        ({"a": 0.9, "b": 0.5, "c": 0.1}, "**A** loses no comparison"),
        ({"a": 0.9, "b": 0.9, "c": 0.1}, "**A** and **B** lose no comparison"),
        ({"a": 0.7, "b": 0.4, "ctrl": 0.95}, "Controls beat methods too: **CTRL** in 24 of 24 comparisons."),
        ({"a": 0.9, "ctrl": 0.1}, "There is no pair of methods to compare. No control beats a method anywhere."),
    ],
)
def test_the_pairs_say_who_wins_most(table, told):
    made = planted({key: level(value, value, value) for key, value in table.items()}, controls=("ctrl",))
    assert told in unbeaten(made, made.pairs)


ASKED = {"RQ1": ("memory", "telling context from memory"), "RQ2": ("document", "telling documents apart"),
         "RQ3": ("token", "finding the token")}  # fmt: skip


def named_at(text: str, at: str) -> set[str]:
    """Whom a text calls best at something, or level; in the words of the text where it only counts them."""
    for sentence in re.split(r"(?<=\.) |[;:] ", re.sub(r"[*\\]", "", text)):
        who, verb, what = re.split(r" (is best|are level) at |$", sentence, maxsplit=1)[:3] if sentence else ("", "", "")
        if verb and (at in what or "all three questions" in what):
            return {name.lower() for name in re.split(r", | and ", who)}
    return set()


def bold_of(table: Table, title: str) -> set[str]:
    """The rows that are bold in a column."""
    place = [head.title for head in table.heads].index(title)
    return {row.titles[0].lower() for row in table.rows if row.cells[place].best}


@pytest.mark.parametrize(
    "asked",
    [{}, {"model": "demo-gpt2"}, {"dataset": "country_profiles"}, {"model": "demo-qwen2", "dataset": "world_capital"}],
    ids=str,
)
def test_all_pages_and_the_report_name_the_same_best(demo, asked, monkeypatch):
    """By question: in sentences and in bold on Overview, Accuracy, Leaderboard and in the report."""
    figures, tables, sizes = [], [], set()
    monkeypatch.setattr(overview_scale, "draw_figures", lambda key, figure: figures.append(figure))
    monkeypatch.setattr(measured_cells, "measure_table", lambda *of: tables.append(measure_table(*of)) or tables[-1])
    made = board(demo, replace(REGULAR, **{name: (value,) for name, value in asked.items()}))
    texts = {page: text_of(open_page(page, **asked)) for page in ("overview", "leaderboard")}
    texts |= {} if asked else {"report": section(demo, "board").text}
    panels = {panel.title: panel for panel in figures[0].panels}
    for column in made.questions:
        tab, at = ASKED[column.question]
        texts["accuracy"] = text_of(open_page("accuracy", tab=tab, **asked))
        slots = zip(figures[0].rows, panels[QUESTIONS[column.question].title].slots, strict=True)
        band = bold_of(board_table.main_table(made), column.title)
        assert band == bold_of(tables[-1], tables[-1].heads[-2].title)
        assert all((row.title.lower() in band) is slot.best for row, slot in slots if slot.dots)
        said = band if len(band) <= 4 else {counted(len(band), "method")}
        assert {page: named_at(text, at) for page, text in texts.items()} == dict.fromkeys(texts, said), at
        assert not band & {made.titles[key].lower() for key in made.controls}
        sizes.add(len(band))
    assert max(sizes) > 1  # where intervals overlap, nobody is best alone
