"""A board's numbers: over the cells that count, by option, and never one thing twice."""

from __future__ import annotations

from dataclasses import fields
from functools import partial
from operator import eq

import numpy as np
import pandas as pd
import pytest

from heval_core.evaluation.board import making
from heval_core.evaluation.board.making import NO_DECOYS, NO_LENGTHS, NOT_ASKED, board, board_of, measures_of_boards
from heval_core.evaluation.board.records import COSTS, FRAMES, BoardRow
from heval_core.evaluation.means import cells_and_means
from heval_core.plugins import catalogue
from heval_core.store.filters import Filter
from tests.board.planted import BEST, CHANCE, asked_of, cells_of, level, planted, truth_of

REGULAR = Filter(technique=("regular",))
KEY = ["column", "explainer"]


@pytest.fixture(scope="module")
def demo(few):
    return board(few)


def value(made, column: str, explainer: str) -> pd.Series:
    return made.values.set_index(KEY).loc[(column, explainer)]


def test_the_questions_have_the_numbers_of_the_published_headline(few, demo):
    headline = few.headline(REGULAR).set_index(["question", "explainer"])
    for column in demo.questions:
        for key in headline.loc[column.question].index:
            own, there = value(demo, column.key, key), headline.loc[(column.question, key)]
            assert own[["value", "low", "high"]].tolist() == pytest.approx(
                there[["normalised", "normalised_low", "normalised_high"]].tolist(), abs=1e-12, nan_ok=True
            )
            assert own["native"] == pytest.approx(there["value"])
            assert (own["cells"], own["reason"]) == (own["of"], "")


def test_the_board_stored_at_publishing_is_the_one_made_of_the_published_cells(few, demo, monkeypatch):
    anew = board(few, Filter(model=demo.models))
    monkeypatch.setattr(making, "values_of", None)
    pd.testing.assert_frame_equal(board(few, Filter(explained=True)).values, anew.values)
    assert demo.models
    assert len(few.rows("board"))
    for field in fields(anew):
        same = partial(pd.testing.assert_frame_equal, rtol=1e-9) if field.name in FRAMES else eq
        assert same(getattr(demo, field.name), getattr(anew, field.name)) is not False, field.name


def test_faithfulness_is_what_is_above_the_random_control_with_the_interval_of_the_difference(demo):
    for column in [column for column in demo.columns if not column.scaled]:
        rows = demo.values[demo.values["column"] == column.key].dropna(subset=["value"])
        assert rows["value"].to_numpy() == pytest.approx((rows["native"] - rows["native_chance"]).to_numpy())
        assert ((rows["high"] - rows["low"]) < (rows["native_high"] - rows["native_low"])).any()


def test_both_documents_group_margins_are_the_balanced_instance_margin(few):
    """Over the same instances of both groups, a document's rank where it was used counts once in each."""
    whole = few.cells(REGULAR, "instance_rank_margin", 5)
    groups = few.cells(REGULAR, "group_rank_margin", 5)
    names = ["model", "dataset", "regime", "explainer"]
    balanced = whole[whole["part"] == "balanced"].set_index(names)["value"].dropna()
    both = groups[groups["part"].isin(["c1", "c2"])].groupby(names)["value"].agg(["mean", "size"])
    assert len(balanced) > 80
    assert both.loc[balanced.index, "mean"].to_numpy() == pytest.approx(balanced.to_numpy(), abs=1e-9)


def test_each_question_counts_once_by_its_headline(demo):
    assert [(column.measure.metric, column.measure.together) for column in demo.questions] == [
        ("auroc", ("c",)),
        ("forced_choice", ("balanced",)),
        ("mrr", ("C", "balanced")),
    ]


def test_n_counts_a_question_once_whatever_the_model_the_regime_and_the_false_answer(few, demo):
    """Against instances one by one; there are several of a question."""
    one_by_one = few.query("SELECT * FROM instance WHERE dropped_because IS NULL AND technique = 'regular'")
    for column, groups in zip(demo.questions, ("C M", "C1 C2", "C C1 C2"), strict=True):
        places = {*demo.places[demo.places["column"] == column.key][["model", "dataset", "regime"]].itertuples(index=False)}
        own = [row for row in one_by_one.itertuples() if (row.model, row.dataset, row.regime) in places]
        own = [row for row in own if row.group in groups.split()]
        distinct = {(row.dataset, row.subject, row.question) for row in own}
        assert demo.questions_of[column.key] == len(distinct) < len(own), column.key
    (regimes,) = cells_and_means(few, REGULAR, "mrr", 0, [(("C", "balanced"), ("regime",))], "RQ3")[1]
    assert (regimes["questions"] <= regimes["n"]).all()
    assert (regimes["questions"] < regimes["n"]).any()


def test_methods_stand_before_controls_best_first(demo):
    own = demo.quality.set_index("explainer")["value"]
    ranked = sorted((key for key in demo.methods if not demo.given(key)), key=lambda key: -own[key])
    assert list(demo.methods) == [*ranked, "origin"]
    known = catalogue.plugins("explainer")
    assert set(demo.controls) == {row.key for row in demo.rows if known[row.key].control or known[row.key].family == "control"}
    assert {"document", *catalogue.explainers(control=True)} <= set(demo.controls)
    assert list(demo.controls) == sorted(demo.controls, key=lambda key: -own[key])
    assert demo.titles["lexical"] == "Lexical match"


@pytest.mark.slow
def test_by_model_are_the_numbers_of_a_board_of_that_model(few, demo):
    one = board(few, Filter(model=("demo-qwen2",)))
    here = demo.by_model[demo.by_model["model"] == "demo-qwen2"].set_index(KEY)
    for name in ("value", "low", "high", "cells"):
        assert here.loc[one.values.set_index(KEY).index, name].tolist() == pytest.approx(
            one.values[name].tolist(), nan_ok=True
        ), name


@pytest.mark.slow
def test_a_filter_that_cuts_nothing_off_gives_the_same_numbers_computed_anew(few):
    where = {"model": ("demo-gpt2",), "dataset": ("world_capital",), "regime": ("conflicting", "mixed")}
    stored, live = board(few, Filter(**where)), board(few, Filter(**where, tokens=(0, 100_000)))
    assert [column.key for column in stored.columns] == [column.key for column in live.columns]
    both = [made.values.set_index(KEY).sort_index() for made in (stored, live)]
    for name in ("value", "low", "high"):
        assert both[0][name].tolist() == pytest.approx(both[1][name].tolist(), abs=1e-9, nan_ok=True), name
    assert both[0]["cells"].tolist() == both[1]["cells"].tolist()


def test_under_a_filter_that_leaves_nothing_a_board_has_no_rows_and_says_why(few):
    empty = board(few, Filter(relation=("none",)))
    assert (empty.rows, empty.columns, len(empty.values), len(empty.pairs)) == ((), (), 0, 0)
    assert ("Context or memory?", NOT_ASKED) in empty.absent


def test_a_question_without_numbers_says_what_its_cells_lack():
    few = "group C has 12 of the 30 instances needed"
    cells = pd.DataFrame({"unavailable": [few, None, few, "group M has 2 of the 30 instances needed"]})
    cells = cells.assign(regime="mixed")
    for lacking, told in ((cells, f"in no cell, since {few}"), (cells.iloc[[1]], NOT_ASKED)):
        assert dict(making._absent({}, dict.fromkeys(measures_of_boards(), lacking)))["Context or memory?"] == told


def test_options_have_columns_of_their_own_and_of_the_lengths_only_the_longest():
    regimes = (
        "conflicting", "mixed", "mixed.d0", "mixed.d1", "mixed.256-first", "mixed.1024-first", "mixed.1024-last",
        "mixed.d1.1024-last",
    )  # fmt: skip
    at = {"conflicting": 0.9, "mixed": 0.8, "mixed.d0": 0.7, "mixed.d1": 0.1, "mixed.256-first": 0.5}
    at |= {"mixed.1024-first": 0.4, "mixed.1024-last": 0.2, "mixed.d1.1024-last": -0.9}
    made = planted(truth=lambda e, q, m, d, regime: at[regime], explainers=("a", "b"), regimes=regimes)
    assert [column.key for column in made.columns] == [
        *("RQ1", "RQ2", "RQ2.d0", "RQ2.d1", "RQ2.1024", "RQ3", "RQ3.d0", "RQ3.d1", "RQ3.1024")
    ]
    assert [column.title for column in made.columns[3:5]] == ["Which document, decoy d1", "Which document, 1,024 tokens"]
    expected = {"RQ1": 0.9, "RQ2": 0.8, "RQ2.d0": 0.7, "RQ2.d1": 0.1, "RQ2.1024": 0.3, "RQ3": 0.85, "RQ3.1024": 0.3}
    for column, there in expected.items():
        own = value(made, column, "a")
        assert own["value"] == pytest.approx(there), column
        assert own["native"] == pytest.approx(CHANCE + there * (BEST - CHANCE)), column
    assert ("Under decoys", NO_DECOYS) not in made.absent
    assert tuple(sorted(made.places["regime"].unique())) == tuple(
        sorted(set(regimes) - {"mixed.256-first", "mixed.d1.1024-last"})
    )


def test_a_chosen_regime_brings_its_options_and_no_other_regime():
    names = ["mixed", "mixed.d1", "mixed_swap.d1", "conflicting", "conflicting.512-last"]
    explained = pd.DataFrame({"regime": names, "technique": "regular"})
    asked = {(): 5, ("mixed",): 2, ("conflicting",): 2, ("mixed.d1",): 1, ("mixed", "mixed_swap"): 3, ("gold",): 1}
    for regimes, count in asked.items():
        own = making._with_options(explained, Filter(regime=regimes, technique=("regular",)))
        assert len(own.regime) == count, regimes


@pytest.mark.slow
def test_what_there_is_none_of_is_absent_with_its_reason(few, demo):
    assert demo.absent == ()
    plain = board(few, Filter(model=("demo-gpt2",)))
    assert plain.absent == (("Under decoys", NO_DECOYS), ("At length", NO_LENGTHS))
    protected = ["comprehensiveness_protected", "sufficiency_protected"]
    assert [column.key for column in plain.columns] == ["RQ1", "RQ2", "RQ3", *protected]


def test_only_cells_that_most_methods_have_enter_and_a_row_says_what_it_lacks():
    def truth(explainer, question, model, dataset, regime):
        if explainer == "partial" and model == "model-b":
            return None
        if model == "model-c":  # where only one of three ran, and it is easy
            return 1.0 if explainer == "a" else None
        return {"a": 0.5, "b": 0.4, "partial": 0.9}[explainer] if model == "model-a" else 0.2

    made = planted(truth=truth, explainers=("a", "b", "partial"), models=("model-a", "model-b", "model-c"))
    own = made.values.set_index(KEY)
    assert own.loc[("RQ1", "a"), "value"] == pytest.approx((0.5 + 0.2) / 2)
    assert own.loc[("RQ1", "a"), ["cells", "of"]].tolist() == [4, 4]
    lacking = own.loc[("RQ1", "partial")]
    assert (lacking["value"], lacking["cells"], lacking["of"]) == (pytest.approx(0.9), 2, 4)
    assert lacking["reason"] == "lacks 2 of 4 cells"
    assert list(made.quality["explainer"]) == ["a", "b"]
    assert made.methods == ("a", "b", "partial")
    by_model = made.by_model.set_index(["model", *KEY])
    assert by_model.loc[("model-b", "RQ1", "partial"), "reason"] == "group M has 3 of the 30 instances needed"
    assert np.isnan(by_model.loc[("model-b", "RQ1", "partial"), "value"])


def test_quality_is_the_mean_of_the_three_questions_and_the_front_is_not_dominated():
    table = {
        "slow": level(0.9, 0.8, 0.7), "good": level(0.6, 0.6, 0.6), "bad": level(0.5, 0.6, 0.6), "fast": level(0.1, 0.1, 0.1),
    }  # fmt: skip
    table["lexical"] = level(0.9, 0.9, 0.9)
    passes = {"slow": 100.0, "good": 10.0, "bad": 20.0, "fast": 1.0}
    own = planted(table, passes=passes, controls=("lexical",), noise=0.01).quality.set_index("explainer")
    assert own.loc["slow", "value"] == pytest.approx(0.8)
    assert own.loc["slow", "low"] < 0.8 < own.loc["slow", "high"]
    assert own["on_front"].to_dict() == {"slow": True, "good": True, "bad": False, "fast": True, "lexical": False}


def test_the_interval_of_quality_is_that_of_paired_replicates():
    made = planted({"a": level(0.5, 0.5, 0.5), "b": level(0.2, 0.2, 0.2)}, noise=0.05)
    half = (made.quality["high"] - made.quality["low"]).iloc[0] / 2
    # Independent cells: four of RQ1, four of RQ2 and eight of RQ3, each question a third.
    error = 0.05 * np.sqrt(1 / 4 + 1 / 4 + 1 / 8) / 3
    assert half == pytest.approx(1.96 * error, rel=0.15)


def test_where_most_methods_lack_every_cell_there_is_no_column_and_a_reason():
    def apart(explainer, question, model, dataset, regime):
        return 0.5 if (dataset == "data-1") == (explainer == "a") else None

    made = planted(truth=apart, explainers=("a", "b"))
    assert (made.columns, len(made.values), len(made.pairs)) == ((), 0, 0)
    assert ("Which document", making.NOT_SHARED) in [(title.rstrip("?"), reason) for title, reason in made.absent]


def test_a_number_over_other_instances_than_those_of_most_methods_is_not_compared():
    def uneven(measured):
        for own in measured.values():
            few = (own["explainer"] == "c") & (own["model"] == "model-b")
            own.loc[few, "n"] = 40
        return measured

    table = {"a": level(0.5, 0.5, 0.5), "b": level(0.4, 0.4, 0.4), "c": level(0.9, 0.9, 0.9)}
    rows = [BoardRow(key, key, False) for key in table]
    cells = cells_of(truth_of(table), list(table))
    made = board_of(uneven(cells), rows, pd.DataFrame(columns=COSTS), asked_of(cells))
    assert value(made, "RQ2", "c")["reason"] == "lacks 2 of 4 cells"
    by_model = made.by_model.set_index(["model", *KEY])
    assert by_model.loc[("model-b", "RQ2", "c"), "reason"] == making.OTHER_INSTANCES
    assert set(made.pairs[made.pairs["second"] == "c"]["model"]) == {"model-a"}
    assert list(made.quality["explainer"]) == ["a", "b"]
