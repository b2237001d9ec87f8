"""The hard board on rows made by hand: means of halves and of models, who compares, and who is ranked."""

import numpy as np
import pandas as pd
import pytest

from heval_core.evaluation.board.hard import ALL, COLUMNS, HardBoard, hard_rows
from heval_core.evaluation.ranking import Ranking, clauses, sentences

# Explainer ▶ right answers of 20 questions in either half, by model. `always` is a rule, `text` a control.
RIGHT = {
    "good": {"one": (19, 17), "two": (20, 18)}, "half": {"one": (12, 16), "two": (10, 12)},
    "always": {"one": (20, 0), "two": (20, 0)}, "text": {"one": (20, 20), "two": (20, 20)},
}  # fmt: skip


def stored(column, right=RIGHT, questions=20, regime="mixed"):
    """One answer to each question and half, of which the first ones are right."""
    return pd.DataFrame(
        [
            {
                "model": model, "dataset": "made", "regime": regime, "explainer": explainer,
                "metric": column.metric, "part": part,
                "question": f"{part} {number}", "total": float(number < count), "chance": 0.5, "n": 1.0,
            }
            for explainer, of_models in right.items()
            for model, counts in of_models.items()
            for part, count in zip(column.halves, counts, strict=True)
            for number in range(questions)
        ]
    )  # fmt: skip


def board_of(*frames):
    return HardBoard(hard_rows(pd.concat(frames), ("text",)), ("text",))


@pytest.mark.parametrize("column", COLUMNS.values(), ids=COLUMNS)
def test_a_model_has_the_mean_of_its_halves_and_all_models_their_mean(column):
    rows = board_of(stored(column)).rows
    assert set(rows["column"]) == {column.key}
    found = rows.set_index(["model", "explainer"])
    expected = {
        ("one", "good"): 0.9, ("two", "good"): 0.95, (ALL, "good"): 0.925, ("one", "half"): 0.7, (ALL, "half"): 0.625,
        (ALL, "always"): 0.5, (ALL, "text"): 1.0,
    }  # fmt: skip
    for key, value in expected.items():
        assert found.loc[key, "value"] == pytest.approx(value), key
    assert set(found["chance"]) == {0.5}
    assert set(found.loc["one", "n"]) == {40}
    assert set(found.loc[ALL, "n"]) == {80}
    # Both models are asked the same.
    assert set(found["questions"]) == {40}
    assert (found["low"] <= found["value"]).all()
    assert (found["value"] <= found["high"] + 1e-12).all()
    assert (found["high"] <= 1 + 1e-9).all()
    # Where both models answer alike, the second adds nothing to how sure the mean is.
    ends = [found.loc[(model, "always"), ["low", "high"]].tolist() for model in (ALL, "one")]
    assert ends[0] == pytest.approx(ends[1], abs=1e-9)


def test_who_is_best_is_the_relation_s_and_controls_are_never_best():
    ranking = board_of(stored(COLUMNS["worded"])).ranking("worded")
    assert ranking.bands == (("good",), ("half", "always")) or ranking.bands == (("good",), ("half",), ("always",))
    assert (ranking.best, ranking.bold, ranking.controls) == (("good",), ("good",), ("text",))
    assert sentences(clauses({"naming the source": ranking}, str.upper)).startswith("GOOD is best at naming the source.")
    assert board_of(stored(COLUMNS["worded"])).ranking("route") == Ranking()


def test_prompts_with_options_are_hard_ones_and_never_the_plain_column():
    frames = [stored(column, regime="mixed.d1") for column in COLUMNS.values()]
    assert set(board_of(*frames).rows["column"]) == {"worded", "unworded", "route"}


def test_data_sets_and_regimes_of_a_model_are_one_pool():
    """Of 30 answers of one kind and 10 of another, each answer counts once."""
    column = COLUMNS["unworded"]
    many, few = stored(column, {"a": {"one": (15, 15)}}, 15), stored(column, {"a": {"one": (0, 0)}}, 5, "conflicting")
    few = few.assign(question=few["question"] + " other")
    rows = board_of(many, few).rows.set_index("model")
    assert rows.loc["one", "value"] == pytest.approx(0.75)
    assert rows.loc["one", "n"] == rows.loc["one", "questions"] == 40


def test_several_answers_to_a_question_widen_the_interval():
    """Four answers to each of ten questions a half, all alike, are ten answers."""
    column = COLUMNS["route"]
    alone = stored(column, {"a": {"one": (6, 6)}, "b": {"one": (5, 5)}}, 10)
    often = alone.assign(total=alone["total"] * 4, chance=2.0, n=4.0)
    assert set(board_of(alone).rows.query("model == 'one'")["reason"]) == {
        "too few answers (10 first, 10 last; 10 each and 30 in all are needed)"
    }
    once, four = (board_of(frame).rows.set_index(["model", "explainer"]) for frame in (stored(column), often))
    assert four.loc[("one", "a"), "value"] == pytest.approx(0.6)
    assert four.loc[("one", "a"), "questions"] == 20
    widths = [rows.loc[key, "high"] - rows.loc[key, "low"] for rows, key in ((once, ("one", "half")), (four, ("one", "a")))]
    assert widths[1] > widths[0]


def test_a_number_over_other_answers_than_most_methods_is_none():
    column = COLUMNS["worded"]
    rows = stored(column)
    lacking = rows[~((rows["explainer"] == "half") & (rows["model"] == "two") & rows["question"].str.endswith(" 19"))]
    board = board_of(lacking)
    found = board.rows.set_index(["model", "explainer"])
    for model in ("two", ALL):
        assert np.isnan(found.loc[(model, "half"), "value"])
        assert found.loc[(model, "half"), "reason"] == "over other instances than most"
    assert "half" not in board.ranking("worded").methods
    assert "half" in board.ranking("worded", "one").methods


def test_what_few_methods_were_run_on_does_not_count():
    """Two of four rows ran on a further regime, with wrong answers alone: one of them is a control."""
    column = COLUMNS["worded"]
    further = stored(column, {key: {"one": (0, 0)} for key in ("good", "text")}, regime="mixed.d1")
    found = board_of(stored(column), further.assign(question=further["question"] + " more")).rows
    pd.testing.assert_frame_equal(found, board_of(stored(column)).rows)


def test_where_no_cell_is_shared_every_row_says_so():
    """One method a regime: a control in both has no number either. A model of controls alone has theirs."""
    column, regimes = COLUMNS["worded"], {"good": "mixed.d1", "half": "mixed.d2"}
    apart = [
        stored(column, {key: {"one": (20, 9)}, "text": {"one": (20, 20)}}, regime=regime) for key, regime in regimes.items()
    ]
    found = board_of(*apart).rows
    assert set(found["reason"]) == {"no cell has a number of more than half of the methods, so nothing compares"}
    assert len(found) == 2 * 3
    alone = stored(column, {"text": {"two": (20, 20)}})
    found = board_of(stored(column, {"good": {"one": (20, 9)}}), alone).rows.set_index(["model", "explainer"])
    assert found.loc[("two", "text"), "value"] == 1


def test_a_model_with_too_few_answers_is_not_in_the_mean():
    column = COLUMNS["worded"]
    small = stored(column, {"good": {"three": (1, 1)}, "half": {"three": (0, 0)}}, 5)
    found = board_of(stored(column), small).rows.set_index(["model", "explainer"])
    assert found.loc[("three", "good"), "reason"] == "too few answers (5 first, 5 last; 10 each and 30 in all are needed)"
    assert found.loc[(ALL, "good"), "value"] == pytest.approx(0.925)


def test_nothing_measured_is_no_rows():
    assert board_of(stored(COLUMNS["once"])[:0]).rows.empty
