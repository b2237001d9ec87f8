"""The forest table: which effect decides, where it stands, and what the paper's own value is."""

import json

import pandas as pd
import pytest

from heval_core.evaluation.findings.paper import CLAIMS
from heval_core.present.drawing import Mark, Scale, Spot
from heval_core.report.findings import WIDTH, StudyFindings, claimed, deciding, paper_value, spelled, toward

ABOVE, BELOW = {"least": 0.0, "most": None}, {"least": None, "most": 0.1}
METHODS = {"fa": "Feature ablation", "ig": "Integrated gradients", "mechlight": "MechLight", "attn": "Attention"}


def effect(value, low, high, side=None, label="fa − ig, MRR"):
    own = {"label": label, "value": value, "low": low, "high": high, "strict_low": low - 0.01, "strict_high": high + 0.01}
    return own | (side or ABOVE) | {"agree": 1, "places": 2, "cells": 2, "n": 10}


def record(effects, verdict="contradicted", levels=(), published="MRR: fa .3, ig .1"):
    return {
        "key": "k", "sentence": "FA is above IG.", "published": published, "verdict": verdict, "reason": "Against it: fa.",
        "by_construction": None, "unit": "MRR", "effects": json.dumps(list(effects)), "levels": json.dumps(list(levels)),
    }  # fmt: skip


def level(name, published):
    return {"label": f"{name}, MRR", "value": 0.2, "low": 0.1, "high": 0.3, "chance": 0.1, "published": published}


def test_the_effect_that_contradicts_decides_even_if_another_is_further_away_but_open():
    sure, unsure = effect(-0.1, -0.15, -0.05), effect(-0.3, -0.9, 0.4, label="fa − attn, MRR")
    assert deciding([unsure, sure, effect(0.5, 0.4, 0.6)]) is sure
    assert deciding([unsure, effect(0.5, 0.4, 0.6)]) is unsure
    weakest = effect(0.2, 0.1, 0.3)
    assert deciding([effect(0.5, 0.4, 0.6), weakest]) is weakest
    assert deciding([]) is None


def test_below_its_limit_is_where_a_sentence_that_claims_little_holds():
    assert toward(BELOW, 0.04) == pytest.approx(0.06)
    assert toward(ABOVE, 0.04) == pytest.approx(0.04)
    low = effect(0.3, 0.25, 0.35, BELOW)
    assert deciding([effect(0.05, 0.04, 0.06, BELOW), low]) is low
    assert claimed(low) == ", claimed below 0.1"
    assert claimed(effect(1, 0, 2)) == ""


def test_marks_stand_on_one_axis():
    """By hand: from −.4 to .2, with 5 % room, over 340 pixels less 6 on both sides."""
    first = record(
        [effect(-0.3, -0.4, -0.2), effect(0.2, 0.1, 0.3, label="fa − attn, MRR")], levels=[level("fa", 0.3), level("ig", 0.2)]
    )
    second = record([effect(0.2, 0.15, 0.2, BELOW, "ig, slope")], verdict="not enough data")
    study = StudyFindings("", "", pd.DataFrame([first, second]), METHODS)
    rows = study.rows
    scale = Scale(-0.4 - 0.03, 0.2 + 0.03, 6, WIDTH - 6)

    def marks(drawing, kind):
        return [own for own in drawing.marks if (own.marks[0] if isinstance(own, Spot) else own).kind == kind]

    (dot,) = marks(rows[0].drawing, "bad")
    (whisker,) = marks(rows[0].drawing, "whisker")
    (other,) = marks(rows[0].drawing, "tick")
    (paper,) = marks(rows[0].drawing, "ring")
    assert dot.x == pytest.approx(scale.at(-0.3))
    assert (whisker.x, whisker.x2) == pytest.approx((scale.at(-0.4), scale.at(-0.2)))
    assert other.x == pytest.approx(scale.at(0.2))
    assert paper.x == pytest.approx(scale.at(0.1))
    (open_dot,) = marks(rows[1].drawing, "open")
    assert open_dot.x == pytest.approx(scale.at(-0.1))
    limits = {own.x for drawing in (rows[0].drawing, rows[1].drawing, study.axis) for own in marks(drawing, "limit")}
    assert [round(place, 6) for place in limits] == [round(scale.at(0), 6)]
    assert rows[0].number == "−0.300 [−0.400, −0.200]"
    assert rows[0].effect == "Feature ablation − Integrated gradients, MRR"
    assert rows[0].reported == "0.100"
    assert rows[1].reported == "–"


def test_the_papers_value_is_a_difference_of_values_that_it_reports_and_none_of_those_in_brackets():
    def told(own, levels, published="MRR: fa .3, ig .1"):
        return paper_value({"levels": levels, "published": published}, own)

    own, levels = effect(1, 0, 2), [level("fa", 0.3), level("ig", 0.1)]
    assert told(own, levels) == pytest.approx(0.2)
    assert told(own, levels[:1]) is None
    assert told(own, levels, "median: fa .3 (ig: mean .1)") is None
    assert told(effect(1, 0, 2, label="fa, slope of MRR"), levels) is None
    (mixed,) = [claim for claim in CLAIMS if claim.key == "mrr_conflicting"]
    against = effect(1, 0, 2, label="mechlight − attn, MRR")
    assert told(against, [level("mechlight", 0.345), level("attn", 0.147)], mixed.published) is None


def test_a_sentence_without_any_cell_is_a_row_too():
    (row,) = StudyFindings("", "", pd.DataFrame([record([], verdict="not enough data")]), METHODS).rows
    assert (row.style, row.number) == ("open", "–")
    assert any(isinstance(own, Mark) and own.text == "no cell has this effect" for own in row.drawing.marks)


def test_words_are_those_of_readers():
    assert spelled("mechlight − fa from -0.84 to 0.56", METHODS) == "MechLight − Feature ablation from −0.84 to 0.56"
    assert spelled("attn, position bias; big figures", METHODS) == "Attention, position bias; big figures"


def test_the_answer_counts_the_verdicts():
    def told(*verdicts):
        return StudyFindings("", "", pd.DataFrame({"verdict": verdicts}), {}).answer.partition("(2025), ")[2]

    assert told(*["supported"] * 3) == "3 hold in these results, none is contradicted, and none stays open."
    each = told("supported", "contradicted", "not enough data")
    assert each == "1 holds in these results, 1 is contradicted, and 1 stays open."
