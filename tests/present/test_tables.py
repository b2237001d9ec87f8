"""One table in every form: what is bold and small, controls below a rule, and nothing from the data markup or a command."""

import math
import pickle
import re
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from heval_core.evaluation.means import cells_and_means
from heval_core.figures.measures import Measured, measure_table, wanted_of
from heval_core.plugins import catalogue
from heval_core.plugins.measures import measures
from heval_core.present.numbers import EXACT, SHARE
from heval_core.present.table import Head, Row, Table, TableCell, counted, crossed, number_cell
from heval_core.store.filters import Filter
from tests.pages.opening import named

NUMBER = {"value": 0.6521, "low": 0.6, "high": 0.7049, "unavailable": None}
TABLE = Table(
    "MRR", ("Explainer",), (Head("Mixed, swapped", "two documents"), Head("n"), Head("share")),
    (
        Row(("Feature ablation",), (number_cell(NUMBER, best=True), counted(7545), number_cell(NUMBER, SHARE))),
        Row(("Attention",), (TableCell(why="too few"), counted(3), TableCell()), note="in 1 of 2 cells"),
        Row(("Lexical match",), (number_cell({**NUMBER, "value": -0.1}, chance=0.25), counted(None), TableCell("a_b")), True),
    ),
    "Best method in bold.", "mrr",
)  # fmt: skip
# A page reads a table that it has kept as a copy: its scores are no percents then, and its counts are numbers.
MADE_OR_KEPT = pytest.mark.parametrize("table", [TABLE, pickle.loads(pickle.dumps(TABLE))], ids=["made", "kept"])


@MADE_OR_KEPT
def test_a_frame_holds_what_is_written_and_counts_as_numbers(table):
    frame = table.frame()
    assert frame["Explainer"].tolist() == ["Feature ablation", "Attention", "Lexical match (control)"]
    assert frame["Mixed, swapped"].tolist() == ["0.65 [0.60, 0.70]", "–", "−0.10 [0.60, 0.70] chance 0.25"]
    assert frame["n"].tolist() == [7545, 3, "–"]
    exact = table.exact(EXACT).frame()
    assert exact["Mixed, swapped"][0] == "0.652 [0.600, 0.705]"
    assert exact["share"][0] == "65.2 [60.0, 70.5]"


def test_as_text_every_line_has_one_length_and_controls_stand_below_a_rule():
    lines = TABLE.text().splitlines()
    first = [line.split("  ")[0] for line in lines]
    assert first == ["Explainer", lines[1], "Feature ablation", "Attention", lines[1], "Lexical match"]
    assert "0.65 [0.60, 0.70]" in lines[2]


def test_in_html_the_best_is_bold_and_why_there_is_no_number_is_said():
    page = TABLE.html()
    assert "<b>0.65</b> <small>[0.60, 0.70]</small>" in page
    assert '<td title="too few">–</td>' in page
    assert "Attention <small>in 1 of 2 cells</small>" in page
    assert '<tr class="control"><th scope="row">Lexical match <small>control</small>' in page
    assert page.count("<style>") == 1
    assert "<style>" not in TABLE.html(style=False)


@MADE_OR_KEPT
def test_a_whole_table_of_a_paper(table):
    assert table.exact().latex("abcd", "Filter: gpt_2.").splitlines() == [
        r"% HEval, snapshot abcd; needs \usepackage{booktabs}", r"\begin{table}", r"\centering",
        r"\caption{MRR. Best method in bold. Filter: gpt\_2. HEval snapshot abcd.}", r"\label{tab:heval-mrr}",
        r"\begin{tabular}{lccc}", r"\toprule", r"Explainer & \shortstack{Mixed, \\ swapped} & n & share \\", r"\midrule",
        r"Feature ablation & \textbf{0.652} {\footnotesize [0.600, 0.705]} & 7,545 & 65.2 {\footnotesize [60.0, 70.5]} \\",
        r"Attention {\footnotesize in 1 of 2 cells} & -- & 3 & -- \\", r"\midrule",
        r"Lexical match & $-$0.100 {\footnotesize [0.600, 0.705] chance 0.250} & -- & a\_b \\", r"\bottomrule",
        r"\end{tabular}", r"\end{table}",
    ]  # fmt: skip


def test_many_columns_have_their_intervals_on_a_line_below_and_large_values_fewer_decimals():
    row = Row(("x",), tuple(number_cell({**NUMBER, "value": 18.2149}) for _ in range(4)))
    text = Table("", ("a",), (Head("b"),) * 4, (row,), label="x").exact().latex("s")
    assert r"x & 18.2 & 18.2 & 18.2 & 18.2 \\" in text
    assert r" & {\footnotesize [0.6, 0.7]} & {\footnotesize [0.6, 0.7]}" in text


def test_any_frame_is_a_table():
    frame = pd.DataFrame({
        "model": ["m", None], "value": [0.00012345, -12.0], "n": [3, 4], "list": [[1, 2], ["a"]], "flag": [True, np.nan],
    })  # fmt: skip
    table = Table.of(frame)
    assert table.keys == ("model",)
    assert [row.titles + tuple(cell.whole for cell in row.cells) for row in table.rows] == [
        ("m", "0.000123", "3", "1, 2", "True"), ("–", "−12.000", "4", "a", "–"),
    ]  # fmt: skip
    assert [head.left for head in table.heads] == [False, False, True, True]
    assert "\\caption" not in table.latex("s", "filter: a%b")
    assert "% filter: a%b" in table.latex("s", "filter: a%b").splitlines()
    assert Table.of(pd.DataFrame()).rows == ()


def test_what_is_missing_says_why_and_nothing_is_minus_zero():
    assert number_cell(None).why == "not measured here"
    assert number_cell({"value": math.nan, "unavailable": "too few"}).why == "too few"
    assert number_cell({**NUMBER, "value": -0.0001}).main == "0.00"


def test_rows_are_crossed_in_their_order():
    frame = pd.DataFrame([("b", "x", 1), ("a", "x", 2), ("b", "y", 3)], columns=["down", "across", "value"])
    found = crossed(frame, ["down"], "across")
    assert list(found) == [("b",), ("a",)]
    assert found["b",]["y"]["value"] == 3


HOSTILE = "</td><script>alert(1)</script>"


@pytest.mark.parametrize("character", "\\~^&%$#_{}<>")
def test_no_character_is_a_command_nor_markup_wherever_it_stands(character):
    text = f"a{character}input{character}x\n{HOSTILE}"
    row = Row((text,), (TableCell(text, beside=text, why=text, best=True),), note=text)
    table = Table(text, (text,), (Head(text, text),), (row,), text, "x")
    latex = table.latex(text, text)
    assert r"\input" not in latex.replace(r"\textbackslash{}input", "")
    for command in set(re.findall(rf"(?<!\\){re.escape(character)}input", latex)):
        assert character not in "&%$#_{}~^", command
    assert "<script" not in table.html()


MRR = measures()["mrr"]
NAMES = named({"fa": "Feature ablation"}, tuple(catalogue.explainers(control=True)))


def test_a_measures_table_may_have_its_parts_as_columns_and_one_method_is_not_best(few):
    cells, means = cells_and_means(few, Filter(dataset=("country_profiles",)), "mrr", 0, wanted_of(MRR))
    found = Measured(MRR, cells[cells["part"].isin(MRR.parts)], *means)
    table = measure_table(found, NAMES)
    assert [sum(row.cells[place].best for row in table.rows) for place in range(len(table.heads) - 1)] == [1] * 7
    assert re.match(r"In mean reciprocal rank \(higher is better\): means over .* Chance: ", table.note)
    both = means[0][means[0]["part"] == "balanced"]
    parts = replace(found, parts=pd.concat([both.assign(part=part) for part in ("C1", "C2")]))
    heads = [head.title for head in measure_table(parts, NAMES, parts=True).heads if head.title.startswith("Mixed")]
    assert heads[:2] == ["Mixed, used: 1", "Mixed, used: 2"]
    one = {name: getattr(found, name).query("explainer == 'fa'") for name in ("cells", "parts", "regimes", "overall")}
    assert not any(cell.best for row in measure_table(replace(found, **one), NAMES).rows for cell in row.cells)
