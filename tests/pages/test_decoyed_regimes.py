"""Regimes with options, from the command line to a page: computed, published, and shown only where they are asked for."""

from __future__ import annotations

import pytest

from heval_core.figures.cells import of_measure
from heval_core.metrics import measures
from heval_core.store.filters import Filter
from heval_core.store.published import current_file
from heval_core.store.reader import Reader
from precompute.cli import main
from tests.conftest import DEMO_MODELS
from tests.pages.opening import open_page

DECOYED, MIRROR = "mixed.d1.256-first", "mixed_swap.d1.256-first"


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    store = tmp_path_factory.mktemp("decoys")
    grid = ["run", "--models", str(DEMO_MODELS / "demo-qwen2"), "--datasets", "world_capital", "--limit", "5"]
    grid += ["--store", str(store), "--explainers", "attn"]
    assert main([*grid, "--regimes", "mixed"]) == 0
    assert main([*grid, "--regimes", "mixed", "mixed_swap", "conflicting", "--decoy", "d1", "--length", "256"]) == 0
    assert main([*grid, "--regimes", "mixed", "--length", "8192"]) == 0
    assert main(["publish", "--store", str(store)]) == 0
    return store


@pytest.fixture(scope="module")
def results(folder):
    return Reader(current_file(folder))


def test_a_run_says_what_it_leaves_out(tmp_path, capsys):
    grid = [
        "plan",
        "--models",
        str(DEMO_MODELS / "demo-qwen2"),
        "--datasets",
        "world_capital",
        "--limit",
        "2",
        "--no-calibrate",
    ]
    grid += ["--store", str(tmp_path), "--explainers", "attn"]
    assert main([*grid, "--regimes", "mixed,conflicting", "--decoy", "d0", "d1"]) == 0
    said = capsys.readouterr()
    assert "left out, because decoys need two documents: conflicting" in said.err
    assert [line.split()[2] for line in said.out.splitlines()[1:3]] == ["mixed.d0", "mixed.d1"]
    assert main([*grid, "--regimes", "mixed", "--length", "256", "8192"]) == 0
    said = capsys.readouterr()
    assert "demo-qwen2 reads 512 tokens at most; left out: mixed.8192-first" in said.err
    assert "mixed.256-first" in said.out
    assert "8192" not in said.out
    assert main([*grid, "--regimes", "gold", "--decoy", "d1"]) == 2
    assert "No regime is left" in capsys.readouterr().err


def test_a_filter_takes_regimes_with_options_only_if_they_are_named(results):
    assert set(results.choices()["regime"]) == {"mixed", DECOYED, MIRROR}
    for measure in measures().values():
        rows = results.cells(Filter(), measure.metric, measure.at(5))
        assert set(rows["regime"]) <= {"mixed"}
    named = results.cells(Filter(regime=(DECOYED,)), "mrr", 0)
    assert set(named["regime"]) == {DECOYED}
    assert results.ranges(Filter())["instances"].item() == 5
    lengths = results.ranges(Filter(regime=(DECOYED, MIRROR)))
    assert 240 < lengths["shortest"].item() <= lengths["longest"].item() <= 256


def test_the_gold_tokens_of_a_decoyed_document_are_those_of_its_own_answer(results):
    for instance_id in results.instance_ids(Filter(regime=(DECOYED,))):
        instance = results.instance(instance_id)
        first, second = instance.documents
        for one, other in ((first, second), (second, first)):
            said = "".join(instance.tokens[one.start : one.end])
            assert one.answer in "".join(instance.tokens[index] for index in one.answer_tokens)
            assert said.count(other.answer) == 1
            assert all(one.start <= index < one.end for index in one.answer_tokens)


def test_a_measure_of_two_documents_asks_of_decoys_as_well(results):
    asked = [one for one in measures().values() if one.regimes and one.question == "RQ2"]
    assert asked
    assert all(one.asks(DECOYED) and not one.asks("conflicting.256-first") for one in asked)
    measure = next(one for one in measures().values() if one.key == "instance_margin")
    rows = results.cells(Filter(regime=("mixed", DECOYED)), measure.metric, 5)
    assert set(of_measure(rows, measure)["regime"]) <= {"mixed", DECOYED}


@pytest.mark.parametrize("page", ["accuracy", "instances"])
def test_a_page_shows_a_decoyed_regime_that_is_chosen(folder, page, monkeypatch):
    monkeypatch.setenv("HEVAL_STORE", str(folder))
    app = open_page(page, regime=DECOYED)
    assert not app.exception
    text = " ".join(str(element) for element in app.main)
    assert "decoy d1 · 256 tokens, first" in text
