"""What docs/metrics.md says of planted explainers and of the demo results is what comes out, and what must."""

from __future__ import annotations

import re

import pytest

from heval_core.store.published import current_file
from heval_core.store.reader import Reader
from tests.metrics import tables

TEXT = tables.DOC.read_text(encoding="utf-8")


def assert_documented(name: str, values) -> None:
    rows = tables.between(TEXT, name)
    assert [row[0] for row in rows] == list(values)
    for row in rows:
        told = [[float(number) for number in re.findall(r"-?\d+\.\d+", cell)] for cell in row[1:]]
        for numbers, found in zip(told, values[row[0]].values(), strict=True):
            # Ranks of a bias have more digits than shares; nets of float32 differ a little between machines.
            assert numbers == pytest.approx(list(found), abs=0.02 + 1e-3 * abs(found[0]))


@pytest.fixture(scope="module")
def single():
    return tables.planted_values(dual=False)


@pytest.fixture(scope="module")
def dual():
    return tables.planted_values(dual=True)


def test_the_table_of_measures_is_what_metrics_declare():
    assert tables.put(TEXT, "measures", tables.measures_table()) == TEXT
    assert "Rank margin" in TEXT


@pytest.mark.slow
def test_the_tables_of_planted_explainers_are_those_of_the_docs(single, dual):
    assert_documented("planted, one document", single)
    assert_documented("planted, two documents", dual)


TOLD = ("NMutInf", "MDL, bits per label", "probe, information")


@pytest.mark.slow
def test_each_metric_says_of_each_planted_explainer_exactly_what_it_knows(single, dual):
    def holds(value) -> bool:
        return value[1] > 0

    def at_chance(value) -> bool:
        return value[1] - 0.03 <= 0 <= value[2] + 0.03

    for found in (single, dual):
        token, document, group, random, early = found.values()
        # Who knows the answer's token finds it, always; who knows less does not.
        assert token["MRR"][0] == pytest.approx(1)
        assert document["MRR"][0] < 0.2
        assert all(at_chance(own["MRR"]) for own in (group, random, early))
        # Who knows the document sets it apart by rank; who knows only the group cannot.
        for margin in (name for name in document if name.startswith("group margin")):
            assert holds(document[margin])
            assert all(at_chance(own[margin]) for own in (group, random, early))
        # Scores that tell the group tell it to whoever learns to read them, whatever their order.
        assert all(own[metric][0] > 0.8 for own in (token, document, group) for metric in TOLD)
        assert all(at_chance(own[metric]) for own in (random, early) for metric in TOLD)
        # Asked straight, whoever knows the token or the document names it; whoever knows less does not.
        (straight,) = {"AUROC", "forced choice"} & set(document)
        assert all(own[straight][0] > 0.3 for own in (token, document))
        assert all(at_chance(own[straight]) for own in (group, random, early))
    token, document, group, random, early = dual.values()
    assert document["forced choice"][0] == pytest.approx(1)
    assert document["instance margin"][0] > 0.6
    assert all(at_chance(own["instance margin"]) for own in (group, random, early))
    # Only who prefers early tokens is biased.
    assert early["position bias, ranks"][1] > 20
    assert all(own["position bias, ranks"][1] < 0 < own["position bias, ranks"][2] for own in (token, document, group, random))


@pytest.mark.slow
def test_what_the_docs_say_of_the_demo_results_is_what_they_hold(demo_results):
    results = Reader(current_file(demo_results))
    found = tables.demo_values(results, tables.demo_columns()[0])
    assert_documented("demo results", found)
    fa, ig, mechlight, attn, lexical, position, random = found.values()
    two = "two: instance margin"
    # Their rank margins are far apart, and yet all of them name the used document.
    assert all(own["two: forced choice"][0] > 0.9 for own in (fa, ig, mechlight, lexical))
    # fa is ahead of the others, interval against interval, where documents are told apart.
    assert all(fa[two][1] > own[two][2] for own in (ig, mechlight, attn, lexical, position, random))
    # Pointing at the answer's own token is worth less than any method; pointing at later tokens is no skill.
    assert all(own[two][1] > lexical[two][2] for own in (fa, ig, mechlight, attn))
    assert abs(position[two][0]) < 0.01
    for own in (fa, ig, mechlight, attn):
        assert all(value[1] > 0 for value in own.values())
    assert all(abs(value[0]) < 0.1 for value in random.values())


@pytest.mark.slow
def test_a_string_match_knows_the_group_only_by_the_token_that_it_is_given(demo_results):
    """With the answer given as its target it tells the group nearly always; with one target for both groups it cannot."""
    told = tables.demo_columns()[1]
    found = tables.demo_values(Reader(current_file(demo_results)), told)
    assert_documented("demo results, simulatability", found)
    lexical = found["Lexical match (control)"]
    for prefix in ("one document", "two"):
        for name in ("NMutInf", "probe, information"):
            assert lexical[f"{prefix}: {name}"][1] > 0.7
            assert abs(lexical[f"{prefix}: {name}, target fixed"][0]) < 0.1
