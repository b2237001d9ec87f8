"""What a board says in words, for each thing that it can have to say, on planted boards."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from heval_core.evaluation.board import records
from heval_core.evaluation.board.conclusion import NOTHING, conclusion
from heval_core.evaluation.board.making import _verified, measures_of_boards
from heval_core.evaluation.board.records import Board
from heval_core.evaluation.ranking import Ranking, ahead, clauses, ranking, sentences, within
from tests.board.planted import lacking, level, planted

BEST, MIDDLE, WORST = level(0.9, 0.8, 0.7), level(0.5, 0.5, 0.5), level(0.1, 0.1, 0.1)


def said(made, **how) -> str:
    return conclusion(made, **how).said


def harder(made) -> str:
    return conclusion(made).harder


LEVEL, BEST_AT_MEMORY = level(0.9, 0.9, 0.9), level(0.6, 0.9, 0.9)


@pytest.mark.parametrize(("table", "how", "text"), [
    ({"a": BEST, "b": MIDDLE, "c": WORST}, {}, "Use A. It is best at all three questions."),
    ({"a": BEST, "b": MIDDLE}, {"passes": {"a": 4.3, "b": 1.0}},
     "Use A. It is best at all three questions, and costs about 4 passes."),
    ({"a": level(0.9, 0.9, 0.8), "b": level(0.2, 0.2, 0.79)}, {},
     "Use A. It is ahead on the mean: best at two questions and level within 0.05 with B at the third."),
    ({"a": level(0.9, 0.9, 0.5), "b": level(0.2, 0.2, 0.8)}, {}, 
     "Use A. It is ahead on the mean: best at two questions and behind B at the third."),
    ({"a": level(0.9, 0.8, 0.8), "b": level(0.2, 0.8, 0.8)}, {},
     "Use A. It is ahead on the mean: best at telling context from memory, level within 0.05 with B at telling documents "
     "apart and level within 0.05 with B at finding the token."),
    # Of equals the cheapest.
    ({"a": LEVEL, "b": LEVEL, "c": WORST}, {"passes": {"a": 22.0, "b": 1.0, "c": 1.0}},
     "Use B. It is level within 0.05 with A on the mean, and the cheapest of them: about 1 pass."),
    ({"a": LEVEL, "b": LEVEL, "c": LEVEL}, {}, "Use A. It is level within 0.05 with B and C on the mean."),
    ({"a": BEST, "random": level(0, 0, 0)}, {"controls": ("random",)}, "Use A. It is the only method here."),
    # Ours are named so, and the best that is published beside them.
    ({"ours": BEST, "b": level(0.6, 0.6, 0.6), "c": level(0.6, 0.6, 0.59), "d": WORST}, {},
     "Use Own (ours). It is best at all three questions. Of the published methods B and C are not told apart (0.60, 0.60)."),
    ({"ours": level(0.9, 0.9, 0.9), "b": WORST}, {}, 
     "Use Own (ours). It is best at all three questions. Of the published methods B is best (0.10)."),
    # Controls that no method beats: on the mean, else at the most questions; level and better are the relation's.
    ({"a": BEST, "b": WORST, "lexical": level(0.9, 0.8, 0.7)}, {"controls": ("lexical",)},
     "Use A. It is best at all three questions. But on plain prompts a text search (LEXICAL, a control) is not told apart "
     "from it on the mean: 0.80 against 0.80, and of 12 comparisons it wins 0 and loses 0."),
    ({"a": BEST, "b": WORST, "lexical": level(0.9, 0.95, 0.95)}, {"controls": ("lexical",)},
     "Use A. It is best at all three questions. But on plain prompts a text search (LEXICAL, a control) is better on the "
     "mean: 0.93 against 0.80, and of 12 comparisons it wins 8 and loses 0."),
    ({"a": BEST, "b": WORST, "blocks": level(0.9, 0.8, 0.1)}, {"controls": ("blocks",)},
     "Use A. It is best at all three questions. But Contrastive GIM (ours) summed over documents (BLOCKS, a control) is not "
     "told apart from the best on two of the three."),
    # Who deletes documents is right by construction where answers without documents define the groups.
    ({"a": BEST, "b": WORST, "document": level(1, 0.8, 0.1)}, {"controls": ("document",)},
     "Use A. It is best at all three questions. Without “Context or memory?”, where DOCUMENT is right by construction, it is "
     "best. But deleting whole documents (DOCUMENT, a control) is not told apart from the best at telling documents apart."),
    ({"origin": level(1, 0.7, 0.7), "a": BEST_AT_MEMORY, "b": level(0.5, 0.9, 0.9)},
     {"passes": {"origin": 4.0, "a": 12.0, "b": 1.0}},
     "Use A. It is ahead on the mean: best at telling context from memory, level within 0.05 with B at telling documents "
     "apart and level within 0.05 with B at finding the token, and costs about 12 passes. Without “Context or memory?”, where "
     "ORIGIN is right by construction, B is level within 0.05 with A, and the cheapest of them: about 1 pass."),
    ({"a": BEST, "b": WORST, "own": level(0.99, 0.1, 0.1)}, {"controls": ("own",)},
     "Use A. It is best at all three questions. But the control OWN is better at telling context from memory."),
    ({"random": WORST}, {"controls": ("random",)}, NOTHING), ({"a": {}}, {}, NOTHING),
])  # fmt: skip
def test_what_to_use_in_two_sentences(table, how, text):
    assert said(planted(table, **how)) == text


def test_each_column_and_mean_is_ranked_once_however_often_a_page_concludes(monkeypatch):
    board, rankings = planted({"a": BEST, "b": MIDDLE}), []
    monkeypatch.setattr(records, "ranking", lambda *of: rankings.append(of) or ranking(*of))
    assert conclusion(board) == conclusion(board)
    assert len(rankings) == len(board.columns) + 2


def rows_of(half=0.05, **values) -> pd.DataFrame:
    rows = pd.DataFrame({"explainer": list(values), "value": list(values.values()), "chance": 0.0})
    return rows.assign(low=rows["value"] - half, high=rows["value"] + half)


def drawn_of(rows, *, shared=0.1, own=0.001, **alone) -> dict[str, np.ndarray]:
    """Replicates that move together; those of `alone` by as much as it says, by themselves."""
    draw = np.random.default_rng(0).normal(0, 1, (len(rows) + 1, 2000))
    return {
        row.explainer: row.value + (alone[row.explainer] * noise if row.explainer in alone else shared * draw[0] + own * noise)
        for row, noise in zip(rows.itertuples(), draw[1:], strict=True)
    }


def ranked(rows, drawn, controls=(), best="high") -> Ranking:
    above = ahead(rows.set_index("explainer"), drawn, controls)
    return ranking(rows.assign(exceeds=[above[key] for key in rows["explainer"]]), controls, best)


def test_who_is_beaten_over_the_same_questions_shares_no_rank_though_the_intervals_overlap():
    rows = rows_of(a=0.9, b=0.85, c=0.85)
    assert ranking(rows).bands == (("a", "b", "c"),)
    assert ranked(rows, drawn_of(rows)).bands == (("a",), ("b", "c"))
    # Whose number has an error of its own is not beaten, and who has the very same number is not either.
    assert ranked(rows, drawn_of(rows, c=0.1)).bands == (("a", "b", "c"),)


def test_a_band_holds_all_that_its_first_is_not_ahead_of_and_nobody_else():
    """a beats b and d, and not c, whose replicates vary: c is level with a, and b, though higher, is not."""
    rows = rows_of(a=0.9, b=0.85, c=0.8, d=0.6, e=0.59)
    own = ranked(rows, drawn_of(rows, c=0.1))
    assert own.bands == (("a", "c"), ("b",), ("d",), ("e",))
    assert own.ranks() == {"a": "1–2", "c": "1–2", "b": "3", "d": "4", "e": "5"}
    assert (own.bold, ranked(rows, drawn_of(rows), best="low").bands[0]) == (("a", "c"), ("e",))


def test_who_does_no_better_than_guessing_shares_no_rank_with_one_who_does():
    """J of .17 and of -.17, of which 0 is blind: neither is ahead of the other, and they are not both best."""
    assert ranking(rows_of(0.3, a=0.17, b=0.1, c=-0.05, d=-0.17)).bands == (("a", "b"), ("c", "d"))
    assert ranking(rows_of(0.3, c=-0.05, d=-0.17)).bands == (("c", "d"),)


def test_without_replicates_intervals_decide_as_if_they_were_independent_and_holm_counts_the_pairs():
    """By hand: .05 apart with errors of .015 each is 2.36 errors of the difference, p .018; of ten pairs with Holm .18."""
    half = 0.015 * 1.959964
    assert ranking(rows_of(half, a=0.55, b=0.5)).bands == (("a",), ("b",))
    others = dict.fromkeys("cde", 0.5)
    assert ranking(rows_of(half, a=0.55, b=0.5, **others)).bands == (("a", "b", "c", "d", "e"),)
    assert ranking(rows_of(np.nan, a=0.9, b=0.1)).bands == (("a", "b"),)


def test_a_control_is_level_with_the_best_or_better_than_it():
    rows = rows_of(a=0.9, b=0.5, text=0.95, late=0.9, none=0.0)
    own = ranked(rows, drawn_of(rows), ("text", "late", "none"))
    assert (own.best, own.controls, own.better) == (("a",), ("text", "late"), ("text",))
    assert sentences(clauses({"it": own}, str.upper)) == (
        "A is best at it. The control TEXT is better than the best at it. No method beats the control LATE at it."
    )


def test_who_is_right_by_construction_has_no_rank_there_and_none_on_a_mean_of_it():
    """Origin deletes documents, and so does its variant: neither is in a rank, a pair or on the front; both have numbers."""
    passes = {"origin": 1.0, "origin(tokens=cgim)": 1.0, "a": 2.0, "b": 3.0, "document": 1.0}
    table = {"origin": LEVEL, "origin(tokens=cgim)": LEVEL, "a": BEST, "b": WORST, "document": LEVEL}
    made = planted(table, controls=("document",), passes=passes)
    memory, which, token = made.questions
    assert [made.ranking(column).methods[0] for column in (which, token)] == ["origin", "origin"]
    assert (made.ranking(memory).ranks(), made.ranking(memory).controls) == ({"a": "1", "b": "2"}, ())
    assert (made.overall.ranks(), made.overall_beside.best) == ({"a": "1", "b": "2"}, ("origin", "origin(tokens=cgim)"))
    assert [row.key for row in made.rows] == ["a", "b", "origin", "origin(tokens=cgim)", "document"]
    assert not {"origin", "document"} & {*made.pairs[made.pairs["column"] == "RQ1"][["first", "second"]].to_numpy().ravel()}
    assert {*made.quality.query("on_front")["explainer"]} == {"a"}
    # Others' relation is made without them: of two methods alone Holm corrects nothing.
    assert made.values.query("column == 'RQ1'").set_index("explainer")["exceeds"].to_dict() == {
        "origin": [], "origin(tokens=cgim)": [], "document": [], "a": ["b"], "b": [],
    }  # fmt: skip
    assert planted({"a": BEST, "b": WORST}).beside.empty


@pytest.mark.parametrize(("half", "drawn", "told"), [
    # By hand: .02 + 1.96 errors of .0014, of .1, and none known. Equal replicates have no error: then intervals tell,
    # .02 + sqrt(2) .01 and .02 + sqrt(2) .05.
    (0.05, {}, "A and B are level within 0.05 at it."), (0.05, {"b": 0.1}, "A and B are not told apart at it."),
    (0.01, None, "A and B are level within 0.05 at it."), (0.05, None, "A and B are not told apart at it."),
])  # fmt: skip
def test_level_is_what_differs_by_less_than_the_margin_and_all_else_is_not_told_apart(half, drawn, told):
    rows = rows_of(half, a=0.9, b=0.88)
    replicates = {"a": np.full(9, 0.9), "b": np.full(9, 0.88)} if drawn is None else drawn_of(rows, **drawn)
    level = within(rows.set_index("explainer"), replicates)
    own = ranking(rows.assign(exceeds=[[], []], within=[level[key] for key in rows["explainer"]]))
    assert sentences(clauses({"it": own}, str.upper)) == told
    assert own.alike_with("B") == ("level within 0.05 with B" if own.level else "not told apart from B")


def test_names_are_written_as_asked_for():
    assert said(planted({"a": BEST, "b": MIDDLE}), written="<{}>".format).startswith("Use <A>. It is best")


def test_ranks_are_shared_by_those_whose_intervals_reach_the_bands_first():
    rows = pd.DataFrame({"explainer": list("abcde"), "value": [0.9, 0.8, 0.78, 0.5, 0.2]})
    rows = rows.assign(low=rows["value"] - 0.03, high=rows["value"] + 0.03, chance=0.0)
    assert ranking(rows).ranks() == {"a": "1", "b": "2–3", "c": "2–3", "d": "4", "e": "5"}
    wide = rows.assign(high=[0.93, 0.83, 0.9, 0.53, 0.23])
    assert ranking(wide).bands == (("a", "c"), ("b",), ("d",), ("e",))


ABSENT = (
    "Comprehensiveness: the batch job measures it with --faithfulness.",
    "Sufficiency: the batch job measures it with --faithfulness.",
    "Under decoys: these results have no prompts with decoys.",
    "At length: these results have no padded prompts.",
)


@pytest.mark.parametrize(("where", "more"), [
    ({}, ()), ({"models": ("model-a",)}, ("All numbers are from one model, model-a; another may say otherwise.",)),
    ({"datasets": ("some_data",)}, ("All numbers are from one dataset, some_data; another may say otherwise.",)),
])  # fmt: skip
def test_what_is_absent_is_open_and_where_there_is_one_model_or_dataset_nothing_contradicts(where, more):
    assert conclusion(planted({"a": BEST, "b": WORST}, **where)).open == (*ABSENT, *more)


DECOYED = ("conflicting", "mixed", "mixed.d0", "mixed.d3", "mixed.1024-first")


def test_decoys_and_length_that_change_nothing():
    made = planted({"a": BEST, "b": WORST}, regimes=DECOYED)
    assert harder(made) == "A stays among the best under every decoy and at 1,024 tokens."


def changing(explainer, question, model, dataset, regime):
    plain, decoyed = {"a": 0.8, "b": 0.3}, {"a": 0.3, "b": 0.6}
    return {"mixed.d0": decoyed, "mixed.d2": decoyed}.get(regime, plain)[explainer]


def test_decoys_that_change_who_is_best():
    text = harder(planted(truth=changing, explainers=("a", "b"), regimes=DECOYED))
    assert text == (
        "A stays among the best under 1 of 2 decoys and at 1,024 tokens. Where each document ends with a neutral "
        "sentence, B is ahead at telling documents apart and finding the token."
    )


def test_where_the_source_is_assumed_nobody_is_ranked_and_it_is_said_how_often_that_was_true():
    made = planted(truth=changing, explainers=("a", "b"), regimes=(*DECOYED, "mixed.d2"))
    assert harder(made).startswith("A stays among the best under 1 of 2 decoys with ranks and at 1,024 tokens.")
    column = next(own for own in made.columns if own.key == "RQ3.d2")
    assert (column.ranked, made.ranking(column), made.questions[0].ranked) == (False, Ranking(), True)
    why = "nobody is ranked, since the answer stands in several places, and from which of them it comes is assumed"
    assert f"Under decoy d2 {why}: not measured (--sources)." in conclusion(made).open
    sources = pd.DataFrame({"regime": ["mixed.d2", "mixed.d1", "mixed"], "n": [40, 9, 9], "verified": [23, 9, 9]})
    proved = replace(made, verified=_verified(made, sources))
    assert proved.verified.to_dict("list") == {"column": ["RQ2.d2", "RQ3.d2"], "verified": [23, 23], "n": [40, 40]}
    assert f"Under decoy d2 {why}: true in 23 of 40 answers." in conclusion(proved).open
    again = Board.of_json(proved.to_json(), measures_of_boards())
    pd.testing.assert_frame_equal(again.verified, proved.verified)


def test_a_row_that_lacks_cells_is_not_the_best_and_named():
    made = planted(truth=lacking, explainers=("a", "b", "partial"))
    assert said(made) == "Use A. It is best at all three questions."
    assert "PARTIAL lacks 8 of 16 cells and is not compared there (RQ1, RQ2, RQ3)." in conclusion(made).open


@pytest.mark.parametrize(("noise", "best"), [(0.01, ("a",)), (0.5, ("a", "b"))])
def test_one_is_best_where_intervals_are_apart(noise, best):
    made = planted({"a": level(0.6, 0.6, 0.6), "b": level(0.4, 0.4, 0.4)}, noise=noise)
    own = made.ranking(made.questions[0])
    assert (own.methods, own.best, own.bold) == (("a", "b"), best, best)


def test_one_question_of_fewer_models_is_named_by_its_title():
    def truth(explainer, question, model, dataset, regime):
        return None if model == "model-b" and question == "RQ3" else {"a": 0.9, "b": 0.2}[explainer]

    told = conclusion(planted(truth=truth, explainers=("a", "b"))).open
    assert "Which token? Numbers are from model-a alone." in told
    assert sum("alone" in one for one in told) == 1


def test_low_numbers_can_be_best_and_a_bias_has_none():
    rows = pd.DataFrame({"explainer": ["a", "b", "c", "ctrl"], "value": [1.0, 2.0, 6.0, 0.5], "low": [0.5, 0.9, 5.5, 0.4],
                         "high": [1.3, 2.5, 6.5, 0.6], "chance": 5.0})  # fmt: skip
    own = ranking(rows, ("ctrl",), "low")
    assert own == ((("a", "b"), ("c",)), ("ctrl",), (), ("c",), False)
    assert ranking(rows, (), "zero") == ranking(rows.iloc[:0]) == Ranking()
    assert sentences(clauses({"it": own}, str.upper)) == (
        "A and B are not told apart at it. No method beats the control CTRL at it. C does worse than guessing at it."
    )
    alone = ranking(rows.iloc[:1])
    assert (alone.best, alone.bold) == (("a",), ())
