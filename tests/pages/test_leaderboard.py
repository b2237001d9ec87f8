"""The page Leaderboard: what it recommends, one truth everywhere, marks, exports, and what a first sight holds."""

from __future__ import annotations

import io
import re
from dataclasses import replace

import pandas as pd
import pytest

from heval_core.evaluation.board.exported import exported_board
from heval_core.figures.board import by_prompts, by_question, pair_figure
from heval_core.present.names import ALL, Names
from heval_core.store.filters import Filter
from heval_core.ui import board as page
from heval_core.ui import filters
from heval_core.ui.board import MARK, behind
from tests.pages.opening import board, links_of, open_page, open_well, text_of
from tests.planted import noise, plant, published

REGULAR = Filter(technique=("regular",), explained=True)


def test_a_mark_in_the_link_opens_its_bar_with_as_many_instances_as_it_counts(demo):
    app = open_well("leaderboard", **{MARK.parameter: ["fa", "RQ3", "demo-qwen2"]})
    made = board(demo, REGULAR)
    own = made.by_model.set_index(["column", "explainer", "model"]).loc[("RQ3", "fa", "demo-qwen2")]
    assert f"Open its {own['n']} instances" in links_of(app)


@pytest.mark.slow
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
    drawn = [by_question(made, Names()), *(by_prompts(made, question, Names()) for question in ("RQ2", "RQ3"))]
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
    # The name of a row, and the figure of quality against cost, are of all three questions.
    every = behind(made, Filter(), None, "fa", ALL)
    assert (every.model, every.dataset, every.regime) == (made.models, ("data-0", "data-1"), regimes)


def test_the_export_has_every_number_with_its_costs_and_its_rank(demo):
    made = board(demo, REGULAR)
    frame = exported_board(made)
    assert len(frame) == len(made.columns) * len(made.rows)
    assert set(frame[frame["control"]]["explainer"]) == set(made.controls)
    assert frame.dropna(subset=["rank"]).set_index("explainer")["rank"].to_dict() == made.overall.ranks()
    own = made.quality[made.quality["explainer"].isin(made.methods) & made.quality["whole_passes"].notna()]
    front = {
        row.explainer
        for row in own.itertuples()
        if not ((own["value"] > row.value) & (own["whole_passes"] <= row.whole_passes)).any()
        and not ((own["value"] >= row.value) & (own["whole_passes"] < row.whole_passes)).any()
    }
    assert set(frame[frame["on_front"].astype(bool)]["explainer"]) == front
    again = pd.read_csv(io.StringIO(frame.to_csv(index=False)))
    assert again["value"].tolist() == pytest.approx(frame["value"].tolist(), nan_ok=True)


@pytest.mark.slow
def test_two_explainers_are_compared_by_the_boards_own_differences(demo):
    app = open_page("leaderboard", tab="against", first="mechlight", second="fa")
    pairs = page.against(board(demo, REGULAR).pairs, "mechlight", "fa")
    won, lost = ((pairs["better"] == key).sum() for key in ("mechlight", "fa"))
    said = f"Counted one by one, in each question, model and data set, it wins {won} of {len(pairs)} comparisons, ties"
    assert f"{said} {len(pairs) - won - lost} and loses {lost}." in text_of(app)
    figure = pair_figure(pairs, Names())
    dots = {dot.id: dot for panel in figure.panels for slot in panel.slots for dot in slot.dots}
    assert len(dots) == len(pairs)
    for row in pairs.itertuples():
        dot = dots["mechlight", "fa", row.model, row.dataset, row.column]
        assert (dot.value, dot.hollow) == (row.difference, not row.better)
    assert "two different explainers" in text_of(open_page("leaderboard", tab="against", first="fa", second="fa"))


@pytest.mark.slow
def test_a_picked_difference_lists_the_instances_behind_it(demo):
    app = open_page("leaderboard", tab="against", pair=["fa", "mechlight", "demo-qwen2", "world_capital", "RQ3"])
    shown = [one.value for one in app.dataframe if {"difference", "instance id"} <= set(one.value.columns)]
    assert [0 < len(table) <= 10 for table in shown] == [True, True]
    made = board(demo, REGULAR)
    own = behind(made, REGULAR, next(c for c in made.questions if c.key == "RQ3"), "fa", "demo-qwen2")
    assert all(set(table["instance id"]) <= set(demo.instance_ids(own)) for table in shown)


@pytest.mark.slow
@pytest.mark.parametrize("asked", [{}, {"model": "demo-gpt2"}, {"dataset": "country_profiles"}], ids=str)
def test_a_filter_leaves_the_same_number_on_every_page_and_its_list_has_it(demo, asked):
    chosen = Filter(**{name: (value,) for name, value in asked.items()}, technique=("regular",))
    kept = demo.instance_ids(replace(chosen, explained=True))
    told = filters.counts(demo, chosen)
    models = demo.query("SELECT count(DISTINCT model) FROM instance WHERE instance_id IN (SELECT unnest(?))", [kept]).iat[0, 0]
    # Of the cells that an explainer ran on: others are of techniques only.
    ran = "SELECT DISTINCT model, dataset, regime FROM attribution JOIN instance USING (instance_id)"
    where = [f"(model, dataset, regime) IN ({ran})", "technique = 'regular'", "NOT contains(regime, '.')"]
    where += [f"{name} = '{value}'" for name, value in asked.items()]
    counts = "count(*), count(*) FILTER (dropped_because IS NULL)"
    every, usable = demo.query(f"SELECT {counts} FROM instance WHERE {' AND '.join(where)}").iloc[0]
    beside = "" if usable == len(kept) else f", {len(kept):,} explained"
    assert told.endswith(f" · {every:,} asked, {usable:,} usable{beside}")
    assert told.startswith(f"{models} model{'s' if models > 1 else ''} · ")
    text = text_of(open_page("leaderboard", tab="regime", **asked))
    assert told.replace("·", r"·") in text.replace("\\", "")


def visible(app) -> tuple[int, int]:
    """(words, controls) that a page shows before anything is opened, without navigation and foot."""
    words, controls = [], 0
    waiting = list(app.main.children.values())
    while waiting:
        node = waiting.pop(0)
        label = str(getattr(node, "label", "") or "")
        if node.type in ("popover", "expander"):
            words, controls = [*words, *label.split()], controls + (node.type == "popover")
            continue
        if hasattr(node, "children"):
            waiting = [*node.children.values(), *waiting]
            continue
        if node.type in ("markdown", "caption", "subheader", "title", "header"):
            words += node.value.split()
        elif node.type == "html":
            body = re.sub(r"<(style|script|svg).*?</\1>", " ", node.proto.body, flags=re.DOTALL)
            words += re.sub(r"<[^>]*>", " ", body).split()
        elif hasattr(node, "options"):
            words += " ".join(map(str, node.options)).split()
            controls += 1
        elif node.type in ("button", "toggle", "text_input", "download_button"):
            controls += 1
    return len(words), controls


@pytest.mark.parametrize(
    ("place", "asked"),
    [("overview", {}), *(("leaderboard", {"tab": tab}) for tab in ("source", "overall", "regime", "against"))],
)
def test_a_first_sight_has_few_words_and_controls(demo, place, asked):
    words, controls = visible(open_page(place, **asked))
    assert words <= 200
    assert controls <= 10


@pytest.mark.parametrize("times", [1, 40])
def test_a_number_that_rests_on_under_half_of_what_was_asked_says_so(demo, monkeypatch, times):
    """Where `times` as many prompts were asked as in these results."""
    made, said = board(demo, REGULAR), []
    monkeypatch.setattr(page.st, "caption", said.append)
    monkeypatch.setattr(
        page, "query", lambda reader, ask, chosen: ask(reader, chosen).assign(instances=lambda own: own["instances"] * times)
    )
    page.without_numbers(demo, made)
    if times == 1:
        assert said == []
        return
    asked = demo.outcomes(REGULAR)
    cells = made.places[made.places["column"] == "RQ1"][["model", "dataset", "regime"]].drop_duplicates()
    place = cells.merge(asked)["instances"].sum()
    n = made.values[made.values["column"] == "RQ1"]["n"].max()
    assert f"{n:,} of {40 * place:,} prompts count" in said[0]
    assert "Another layout, or a larger model" in said[0]
