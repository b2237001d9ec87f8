"""What a board says in words, for each thing that it can have to say, on planted boards."""

from __future__ import annotations

from dataclasses import replace

import pandas as pd
import pytest

from heval_core.evaluation.board.conclusion import conclusion
from heval_core.evaluation.ranking import Ranking, clauses, ranking, sentences
from tests.board.planted import level, planted

BEST, MIDDLE, WORST = level(0.9, 0.8, 0.7), level(0.5, 0.5, 0.5), level(0.1, 0.1, 0.1)


def said(made, **how) -> str:
    return conclusion(made, **how).said


def harder(made) -> str:
    return conclusion(made).harder


def test_a_method_that_is_best_at_everything_everywhere():
    told = conclusion(planted({"a": BEST, "b": MIDDLE, "c": WORST}))
    assert told[:2] == ("A is best at all three questions.", "")


def test_names_are_written_as_asked_for():
    assert said(planted({"a": BEST, "b": MIDDLE}), written="<{}>".format).startswith("<A> is best")


def test_different_methods_are_best_at_different_questions_and_one_is_cheaper():
    table = {"fa": level(0.9, 0.9, 0.3), "lrp": level(0.2, 0.3, 0.9)}
    text = said(planted(table, passes={"fa": 500.0, "lrp": 20.0}))
    assert text == (
        "FA is best at telling context from memory and telling documents apart. LRP is best at finding the token. LRP takes "
        "1/25 of the passes of FA."
    )
    # About equally cheap is not worth a word.
    assert "passes" not in said(planted(table, passes={"fa": 50.0, "lrp": 20.0}))


def test_what_is_cheap_and_not_beaten_stands_next_to_the_best():
    table = {"fa": BEST, "ig": MIDDLE, "lrp": MIDDLE, "attn": WORST}
    text = said(planted(table, passes={"fa": 500.0, "ig": 400.0, "lrp": 20.0, "attn": 1.0}))
    assert text.endswith("On the front of quality and cost, LRP takes 1/25 and ATTN takes 1/500 of the passes of FA.")


def test_overlapping_intervals_have_no_winner():
    table = {"a": level(0.9, 0.50, 0.8), "b": level(0.5, 0.51, 0.3), "c": level(0.1, 0.1, 0.1)}
    text = said(planted(table))
    assert "A is best at telling context from memory and finding the token." in text
    assert "B and A are level at telling documents apart." in text


def test_many_whose_intervals_overlap_are_counted_and_not_listed():
    table = {name: level(0.5 + place / 1000, 0.9 - place / 10, 0.9 - place / 10) for place, name in enumerate("abcde")}
    assert "Five methods are level at telling context from memory." in said(planted(table))


def test_the_only_method_is_not_called_the_best():
    text = said(planted({"a": BEST, "random": level(0.0, 0.0, 0.0)}, controls=("random",)))
    assert "best" not in text
    assert "A is the only method at all three questions" in text


def test_a_control_that_no_method_beats_is_named():
    table = {"a": BEST, "b": WORST, "lexical": level(0.2, 0.1, 1.0), "random": level(0, 0, 0)}
    text = said(planted(table, controls=("lexical", "random")))
    assert "No method beats the control LEXICAL at finding the token." in text
    assert "RANDOM" not in text


def test_a_control_whose_interval_reaches_the_best_is_not_beaten():
    text = said(planted({"a": BEST, "b": WORST, "document": level(0.89, 0.1, 0.1)}, controls=("document",)))
    assert "No method beats the control DOCUMENT at telling context from memory." in text


def by_model(explainer, question, model, dataset, regime):
    """On average a is best, on model-b alone b."""
    own = {"a": {"model-a": 0.9, "model-b": 0.5}, "b": {"model-a": 0.1, "model-b": 0.7}}
    return own[explainer][model] if question == "RQ3" else {"a": 0.9, "b": 0.2}[explainer]


def test_a_model_that_alone_would_name_another_is_named():
    text = said(planted(truth=by_model, explainers=("a", "b")))
    assert text == "A is best at all three questions. On model-b alone B is best at finding the token."


def test_with_one_model_nothing_contradicts_and_that_is_said_as_of_the_only_dataset():
    made = planted({"a": BEST, "b": WORST}, models=("model-a",))
    assert "alone" not in said(made)
    assert "All numbers are from one model, model-a; another may say otherwise." in conclusion(made).open
    assert not any("one dataset" in sentence for sentence in conclusion(made).open)
    made = planted({"a": BEST, "b": WORST}, datasets=("some_data",))
    assert "All numbers are from one dataset, some_data; another may say otherwise." in conclusion(made).open


DECOYED = ("conflicting", "mixed", "mixed.d1", "mixed.d2", "mixed.1024-first")


def test_decoys_and_length_that_change_nothing():
    text = harder(planted({"a": BEST, "b": WORST}, regimes=DECOYED))
    assert text == "Under decoys d1 and d2 and at 1,024 tokens the same ones are best."


def test_the_same_ones_in_another_order_are_the_same():
    def truth(explainer, question, model, dataset, regime):
        return {"a": 0.5, "b": 0.501 if "." in regime else 0.499, "c": 0.1}[explainer]

    made = planted(truth=truth, explainers=("a", "b", "c"), regimes=DECOYED)
    assert "A and B are level at all three questions." in said(made)
    assert harder(made) == "Under decoys d1 and d2 and at 1,024 tokens the same ones are best."


def changing(explainer, question, model, dataset, regime):
    plain = {"a": 0.8, "b": 0.3, "lexical": 0.1}
    decoyed = {"a": 0.3, "b": 0.6, "lexical": 0.0}
    return {"mixed.d1": decoyed, "mixed.d2": {**decoyed, "lexical": 0.9}}.get(regime, plain)[explainer]


def test_decoys_that_change_who_is_best():
    text = harder(planted(truth=changing, explainers=("a", "b", "lexical"), controls=("lexical",), regimes=DECOYED))
    assert text.startswith("At 1,024 tokens the same ones are best. ")
    assert "Under decoy d1 B is best at telling documents apart and finding the token." in text
    assert text.endswith("and no method beats the control LEXICAL at telling documents apart and finding the token.")


def test_a_row_that_lacks_cells_is_not_the_best_and_named():
    def truth(explainer, question, model, dataset, regime):
        if explainer == "partial" and model == "model-b":
            return None
        return {"a": 0.5, "b": 0.3, "partial": 1.0}[explainer]

    made = planted(truth=truth, explainers=("a", "b", "partial"))
    assert said(made).startswith("A is best at all three questions.")
    # Where it ran, it counts.
    assert said(made).endswith("On model-a alone PARTIAL is best at all three questions.")
    assert "PARTIAL lacks 8 of 16 cells and is not compared there (RQ1, RQ2, RQ3)." in conclusion(made).open


def test_a_board_of_controls_only_says_nothing_and_one_without_columns_neither():
    for made in (planted({"random": WORST}, controls=("random",)), planted({"a": {}})):
        assert said(made) == "Nothing can be said here: no method has a number for any of the three questions."


def test_a_board_without_plain_prompts_speaks_of_the_others():
    told = conclusion(planted({"a": BEST, "b": WORST}, regimes=("mixed.d0", "mixed.d1")))
    assert told.said.startswith("Of plain prompts nothing can be said: ")
    assert told.harder.startswith("Under decoy d0 A is best at telling documents apart and finding the token.")


def test_what_is_absent_is_open():
    made = planted({"a": BEST, "b": WORST})
    assert "Under decoys: these results have no prompts with decoys." in conclusion(made).open
    assert "At length: these results have no padded prompts." in conclusion(made).open


@pytest.mark.parametrize(("noise", "best"), [(0.01, ("a",)), (0.5, ("a", "b"))])
def test_one_is_best_where_intervals_are_apart(noise, best):
    made = planted({"a": level(0.6, 0.6, 0.6), "b": level(0.4, 0.4, 0.4)}, noise=noise)
    own = made.ranking(made.questions[0])
    assert (own.methods, own.best, own.bold) == (("a", "b"), best, best)


@pytest.mark.parametrize("without", ["a", "b"])
def test_where_an_interval_is_missing_nobody_is_best(without):
    made = planted({"a": BEST, "b": WORST})
    values = made.values.copy()
    values.loc[values["explainer"] == without, ["low", "high"]] = float("nan")
    assert set(replace(made, values=values).ranking(made.questions[0]).best) == {"a", "b"}


def test_a_column_of_fewer_models_says_whose_it_is():
    def truth(explainer, question, model, dataset, regime):
        return None if model == "model-b" and "1024" in regime else {"a": 0.9, "b": 0.2}[explainer]

    told = conclusion(planted(truth=truth, explainers=("a", "b"), regimes=DECOYED)).open
    assert "1,024 tokens: numbers are from model-a alone." in told
    assert sum("alone" in one for one in told) == 1


def test_plain_prompts_and_decoys_of_other_models_are_named_together():
    def truth(explainer, question, model, dataset, regime):
        plain = "." not in regime
        there = {"model-a": plain, "model-b": not plain and "d2" not in regime, "model-c": not plain}[model]
        return {"a": 0.9, "b": 0.2}[explainer] if there else None

    regimes = ("conflicting", "mixed", "mixed.d0", "mixed.d1", "mixed.d2", "mixed.256-first")
    made = planted(truth=truth, explainers=("a", "b"), regimes=regimes, models=("model-a", "model-b", "model-c"))
    assert [one for one in conclusion(made).open if "alone" in one] == [
        "Plain prompts: numbers are from model-a alone.",
        "Decoys d0 and d1; 256 tokens: numbers are from model-b and model-c alone.",
        "Decoy d2: numbers are from model-c alone.",
    ]


def test_one_question_of_fewer_models_is_named_by_its_title():
    def truth(explainer, question, model, dataset, regime):
        return None if model == "model-b" and question == "RQ3" else {"a": 0.9, "b": 0.2}[explainer]

    told = conclusion(planted(truth=truth, explainers=("a", "b"))).open
    assert "Which token: numbers are from model-a alone." in told
    assert sum("alone" in one for one in told) == 1


def test_low_numbers_can_be_best_and_a_bias_has_none():
    rows = pd.DataFrame({"explainer": ["a", "b", "c", "ctrl"], "value": [1.0, 2.0, 6.0, 0.5], "low": [0.5, 1.2, 5.5, 0.4],
                         "high": [1.3, 2.5, 6.5, 0.6], "chance": 5.0})  # fmt: skip
    own = ranking(rows, ("ctrl",), "low")
    assert own == (("a", "b", "c"), ("a", "b"), ("ctrl",), ("c",))
    assert ranking(rows, (), "zero") == ranking(rows.iloc[:0]) == Ranking()
    assert sentences(clauses({"it": own}, str.upper)) == (
        "A and B are level at it. No method beats the control CTRL at it. C does worse than guessing at it."
    )
    alone = ranking(rows.iloc[:1])
    assert (alone.best, alone.bold) == (("a",), ())
