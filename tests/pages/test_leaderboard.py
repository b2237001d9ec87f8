"""The page Leaderboard on the demo results: its sentence, filters, marks, exports, and what it says where there is nothing."""

from __future__ import annotations

import io

import pandas as pd
import pytest

from heval_core.evaluation.board.conclusion import conclusion
from heval_core.evaluation.board.making import board
from heval_core.evaluation.board.pairs import counted_pairs
from heval_core.figures.board_dots import EVERY_MODEL, by_model, by_question
from heval_core.store.filters import Filter
from heval_core.ui.board_page import PARAMETER, behind
from heval_core.ui.tabs.board_whole import exported
from heval_core.ui.text import plain
from tests.pages.opening import open_page
from tests.planted import noise, plant, published

REGULAR = Filter(technique=("regular",), explained=True)


def text_of(app):
    return " ".join(one.value for one in (*app.markdown, *app.caption, *app.subheader, *app.info))


def test_the_sentence_is_the_conclusion_of_the_board(demo):
    told = conclusion(board(demo, REGULAR), lambda name: f"**{plain(name)}**")
    said = text_of(open_page("leaderboard"))
    assert told.said in said
    assert told.harder in said
    assert all(sentence in said for sentence in told.open)


def test_a_mark_in_the_link_opens_its_bar_with_ways_on(demo):
    app = open_page("leaderboard", **{PARAMETER: ["fa", "RQ3", "demo-qwen2"]})
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
    drawn = [by_question(made, {}), *(by_model(made, column, {}) for column in made.questions)]
    marks = {tuple(mark["id"]) for figure in drawn for mark in marks_in(figure)}
    titles = {column.key: column for column in made.columns}
    assert {model for _, _, model in marks} == {EVERY_MODEL, *made.models}
    for key, name, model in marks:
        values = made.values if model == EVERY_MODEL else made.by_model[made.by_model["model"] == model]
        (row,) = values[(values["column"] == name) & (values["explainer"] == key)].to_dict("records")
        own = behind(made, Filter(), titles[name], key, model)
        assert (0 if own is None else len(reader.instance_ids(own))) == row["n"], (key, name, model)
        counts.add((key, name, row["n"]))
    assert len(counts) > len(made.rows) * len(made.questions)
    # The figure of quality against cost has no counts: its list is of all three questions.
    every = behind(made, Filter(), None, "fa", EVERY_MODEL)
    assert (every.model, every.dataset, every.regime) == (made.models, ("data-0", "data-1"), regimes)


def marks_in(drawn):
    """Whatever in a drawing has the id of a mark."""
    if isinstance(drawn, dict):
        return ([drawn] if isinstance(drawn.get("id"), list) else []) + [
            one for own in drawn.values() for one in marks_in(own)
        ]
    return [one for own in drawn for one in marks_in(own)] if isinstance(drawn, (list, tuple)) else []


@pytest.mark.parametrize("mark", [["fa"], ["gone", "RQ3", "*"], ["fa", "RQ9", "*"], ["fa", "RQ1", "gone"]])
def test_a_mark_that_is_none_is_refused_in_a_sentence(demo, mark):
    app = open_page("leaderboard", **{PARAMETER: mark})
    assert not app.exception
    assert "should be a mark of the figures: explainer, column and model" in app.error[0].value


def test_the_export_has_every_number_with_its_costs(demo):
    made = board(demo, REGULAR)
    frame = exported(made)
    assert len(frame) == len(made.columns) * len(made.rows)
    assert set(frame[frame["control"]]["explainer"]) == set(made.controls)
    front = frame[frame["column"] == "RQ1"].set_index("explainer")["on_front"]
    assert set(front.index[front.astype(bool)]) == {"origin", "cgim", "cdla"}
    again = pd.read_csv(io.StringIO(frame.to_csv(index=False)))
    assert again["value"].tolist() == pytest.approx(frame["value"].tolist())


def test_the_pairs_say_who_wins_most(demo):
    made = board(demo, REGULAR)
    counts = counted_pairs(made.pairs)
    methods = counts[counts["first"].isin(made.methods) & counts["second"].isin(made.methods)]
    wins = methods[methods["first"] == "origin"]["wins"].sum() + methods[methods["second"] == "origin"]["losses"].sum()
    compared = methods[(methods["first"] == "origin") | (methods["second"] == "origin")]["compared"].sum()
    said = text_of(open_page("leaderboard", tab="pairs"))
    losses = methods[methods["first"] == "origin"]["losses"].sum() + methods[methods["second"] == "origin"]["wins"].sum()
    assert (wins > 0.9 * compared, losses) == (True, 0)
    assert "**Origin** loses no comparison with another method." in said


def test_one_model_is_named_and_not_counted(demo):
    app = open_page("leaderboard", model="demo-gpt2", question="RQ2", tab="models")
    assert not app.error
    assert f"**Origin** is the best method at telling documents apart on {plain('demo-gpt2')}." in text_of(app)


def test_models_without_a_number_are_not_counted_and_other_prompts_can_be_asked_for(demo):
    """Context or memory is not asked under decoys, which alone were run with the long models."""
    said = text_of(open_page("leaderboard", tab="models"))
    assert "**Origin** is the best method at telling context from memory on all two models." in said
    app = open_page("leaderboard", tab="models", question="RQ2.d1")
    assert not app.error
    said = text_of(app)
    assert "**Origin** is the best method at telling documents apart, decoy d1, on all two models." in said
