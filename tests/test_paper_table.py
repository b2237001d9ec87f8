"""The table of a paper: every value with its interval, the best method bold, and nothing from the data a command."""

from __future__ import annotations

from dataclasses import replace

import pandas as pd
import pytest

from heval_core.evaluation.regime_means import regime_means
from heval_core.figures.paper_table import paper_table
from heval_core.metrics import measures
from heval_core.store.filters import Filter

TITLES = {"fa": "Feature ablation", "ig": "Integrated gradients", "lexical": "Lexical match (control)"}
MRR, BIAS = measures()["mrr"], measures()["position_bias"]


def mean(explainer, regime, value, part="C", technique="regular", interval="resampled"):
    return {
        "technique": technique, "regime": regime, "part": part, "explainer": explainer, "value": value, "low": value - 0.05,
        "high": value + 0.05, "chance": 0.0909, "cells": 6, "n": 100, "interval": interval,
    }  # fmt: skip


MEANS = pd.DataFrame(
    [
        mean("fa", "conflicting", 0.652),
        mean("ig", "conflicting", 0.586),
        mean("lexical", "conflicting", 0.998),
        mean("fa", "irrelevant", -0.1),
        mean("ig", "irrelevant", 0.2),
        mean("lexical", "irrelevant", 1.0),
    ]
)


def test_what_rounds_to_nothing_has_no_sign():
    shown = paper_table(pd.DataFrame([mean("fa", "conflicting", -0.0001)]), MRR, TITLES, {"lexical"}, "abc")
    assert "& 0.000 {\\footnotesize [$-$0.050, 0.050]}" in shown


def test_a_whole_table():
    assert paper_table(MEANS, MRR, TITLES, {"lexical"}, "abcd", "model: gpt_2", 5).splitlines() == [
        r"% HEval, snapshot abcd; needs \usepackage{booktabs}",
        r"\begin{table}",
        r"\centering",
        r"\caption{MRR (mean reciprocal rank, $k = 5$; higher is better): means over 6 cells of a model and a dataset, with "
        r"95\,\% intervals over questions. Chance: 0.091 (Conflicting); 0.091 (Irrelevant). Bold: best method. Below the "
        r"rule: controls. Filter: model: gpt\_2. HEval snapshot abcd.}",
        r"\label{tab:heval-mrr-k5}",
        r"\begin{tabular}{lcc}",
        r"\toprule",
        r"Explainer & Conflicting & Irrelevant \\",
        r"\midrule",
        r"Feature ablation & \textbf{0.652} {\footnotesize [0.602, 0.702]} & $-$0.100 {\footnotesize [$-$0.150, $-$0.050]} \\",
        r"Integrated gradients & 0.586 {\footnotesize [0.536, 0.636]} & \textbf{0.200} {\footnotesize [0.150, 0.250]} \\",
        r"\midrule",
        r"Lexical match & 0.998 {\footnotesize [0.948, 1.048]} & 1.000 {\footnotesize [0.950, 1.050]} \\",
        r"\bottomrule",
        r"\end{tabular}",
        r"\end{table}",
    ]


@pytest.mark.parametrize(("measure", "bold"), [(MRR, "0.652"), (replace(MRR, best="low"), "0.586"), (BIAS, "0.586")])
def test_the_best_is_the_highest_the_lowest_or_the_one_closest_to_chance(measure, bold):
    table = paper_table(MEANS[MEANS["regime"] == "conflicting"], measure, TITLES, {"lexical"}, "s")
    assert [own.split("}")[0] for own in table.split(r"\textbf{")[1:]] == [bold]


def test_a_single_method_is_not_bold_and_a_missing_value_a_dash():
    table = paper_table(
        MEANS[~((MEANS["explainer"] == "ig") & (MEANS["regime"] == "irrelevant"))], MRR, TITLES, {"lexical"}, "s"
    )
    assert r"Integrated gradients & 0.586 {\footnotesize [0.536, 0.636]} & -- \\" in table
    assert r"\textbf{$-$0.100}" not in table


def test_bold_is_decided_over_the_cells_that_all_methods_of_a_column_have():
    """ig ran on one of fa's two datasets, where it is better than fa; fa's mean over both is above ig's."""
    means = pd.DataFrame([mean("fa", "mixed", 0.8) | {"cells": 2}, mean("ig", "mixed", 0.7) | {"cells": 1}])
    values = {("fa", "easy"): 0.98, ("fa", "hard"): 0.62, ("ig", "hard"): 0.7, ("lexical", "hard"): 0.9, ("ig", "easy"): None}
    cells = pd.DataFrame(
        [
            {"technique": "regular", "model": "m", "dataset": dataset, "regime": "mixed", "part": "C", "explainer": explainer,
             "value": value, "chance": 0.1}
            for (explainer, dataset), value in values.items()
        ]
    )  # fmt: skip
    table = paper_table(means, MRR, TITLES, {"lexical"}, "s", cells=cells)
    assert r"\textbf{0.700}" in table
    assert table.count(r"\textbf{") == 1
    assert "Bold: best method, where methods cover different cells over those that all have: m on hard (Mixed)." in table
    apart = cells[~((cells["explainer"] == "fa") & (cells["dataset"] == "hard"))]
    table = paper_table(means, MRR, TITLES, {"lexical"}, "s", cells=apart)
    assert r"\textbf{" not in table
    assert "none, for no cell has all of them (Mixed)" in table


def test_parts_are_columns_and_techniques_rows():
    both = [mean("fa", "mixed", 0.5, "C1"), mean("fa", "mixed", 0.4, "C2"), mean("fa", "mixed", 0.3, "C1", "acd")]
    table = paper_table(pd.DataFrame(both), MRR, TITLES, (), "s")
    assert r"Explainer & \shortstack{Mixed, \\ used: 1} & \shortstack{Mixed, \\ used: 2} \\" in table
    assert r"Feature ablation (acd) & 0.300 {\footnotesize [0.250, 0.350]} & -- \\" in table


def test_many_columns_have_their_intervals_on_a_line_below():
    regimes = ("conflicting", "irrelevant", "mixed", "mixed_swap")
    several = [mean("fa", regime, 0.5) for regime in regimes] + [mean("ig", "mixed", 0.25)]
    table = paper_table(pd.DataFrame(several), MRR, TITLES, (), "s")
    interval = r"{\footnotesize [0.450, 0.550]}"
    assert r"Feature ablation & 0.500 & 0.500 & \textbf{0.500} & 0.500 \\" in table
    assert f" & {interval} & {interval} & {interval} & {interval} \\\\" in table
    assert r"Integrated gradients & -- & -- & 0.250 & -- \\" in table
    assert r"\shortstack{Mixed, \\ swapped}" in table


def test_large_values_have_fewer_decimals():
    table = paper_table(pd.DataFrame([mean("fa", "mixed", 18.21), mean("ig", "mixed", 2.0)]), MRR, TITLES, (), "s")
    assert r"\textbf{18.2} {\footnotesize [18.2, 18.3]}" in table


def test_intervals_that_are_bounds_say_so():
    table = paper_table(pd.DataFrame([mean("fa", "mixed", 0.5, interval="bound")]), MRR, TITLES, (), "s")
    assert r"which is 95\,\% or more." in table


@pytest.mark.parametrize("character", "\\~^&%$#_{}<>")
def test_no_character_is_a_command(character):
    hostile = f"a{character}input{character}x\n%"
    table = paper_table(pd.DataFrame([mean("fa", hostile, 0.5)]), MRR, {"fa": hostile}, (), hostile, hostile)
    assert r"\input" not in table.replace(r"\textbackslash{}input", "")
    for line in table.splitlines():
        rest = line.removeprefix("%").replace(f"\\{character}", "")
        if character in "&%$#_" and "Explainer" not in line and r"\caption" not in line:
            assert f"a{character}input" not in rest


def test_the_values_are_those_of_the_means(few):
    # There one method has the best rounded mean in each of the six regimes.
    means = regime_means(few, Filter(dataset=("country_profiles",)), "mrr", MRR.parts, 0)
    table = paper_table(means, MRR, TITLES, {"lexical", "random", "position"}, few.snapshot_id)
    assert table.count(r"\textbf{") == 6
    for row in means.to_dict("records"):
        if row["value"] > 0 and row["low"] > 0:
            assert f"{row['value']:.3f}" in table
            assert f"[{row['low']:.3f}, {row['high']:.3f}]" in table


def test_a_column_over_all_cells_and_an_order_of_rows_are_those_of_the_page():
    overall = pd.DataFrame([mean("fa", "", 0.3), mean("ig", "", 0.4), mean("lexical", "", 0.9)])
    table = paper_table(pd.concat([MEANS, overall]), MRR, TITLES, {"lexical"}, "s", order=["ig", "fa"])
    lines = table.splitlines()
    assert any(line.startswith("Explainer & Conflicting & Irrelevant & All cells") for line in lines)
    rows = [line.split(" & ")[0] for line in lines if line.startswith(("Feature", "Integrated", "Lexical"))]
    assert rows == ["Integrated gradients", "Feature ablation", "Lexical match"]
    assert "\\textbf{0.400}" in table
