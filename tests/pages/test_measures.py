"""Every measure on its pages: what it leads to, what it can leave out, and what is said of it."""

from dataclasses import replace

import pytest

from heval_core.evaluation.cells import cells_of
from heval_core.figures.measures import of_measure
from heval_core.plugins.measures import measures
from heval_core.store.filters import Filter
from heval_core.store.published import current_file
from heval_core.store.reader import Reader
from heval_core.ui.links import groups_of
from precompute.cli import main
from tests.conftest import DEMO_MODELS
from tests.pages.opening import open_page

# The demo results have no sources.
MEASURES = [own for own in measures().values() if own.question and own.needs != "--sources"]


@pytest.mark.parametrize("measure", MEASURES, ids=lambda own: own.key)
def test_a_bar_leads_to_as_many_instances_as_it_is_of(demo, measure):
    cells = of_measure(demo.cells(Filter(("demo-qwen2",)), measure.metric, measure.at(5)), measure)
    cells = cells[(cells["explainer"] == "fa") & cells["value"].notna()]
    assert len(cells) or measure.key == "length"
    # Faithfulness is measured of the first questions only, where the batch job was asked so.
    asked = [measure.metric, measure.parts[0]]
    measured = set(demo.query("SELECT DISTINCT instance_id FROM score WHERE metric = ? AND part = ?", asked)["instance_id"])
    for row in cells.itertuples():
        groups = groups_of(measure, row.part, row.regime)
        chosen = Filter((row.model,), (row.dataset,), (row.regime,), groups, explained=True)
        left = demo.instance_ids(chosen)
        left = [one for one in left if one in measured] if measure.parts[0].startswith("all") else left
        if row.part == "swap":  # of these, the ones that were kept both ways round
            both = set(questions_of(demo, left))
            turned = replace(chosen, regime=(f"{row.regime}_swap",))
            assert row.n == len(both & set(questions_of(demo, demo.instance_ids(turned))))
        else:
            assert row.n == len(left), (row.regime, row.part)


def questions_of(demo, ids):
    return list(demo.query("SELECT fact_id FROM instance WHERE instance_id IN (SELECT unnest(?))", [ids])["fact_id"])


@pytest.mark.slow
@pytest.mark.parametrize("measure", [own for own in MEASURES if own.ranked])
def test_what_is_made_of_ranks_can_leave_the_first_token_out(demo, measure):
    chosen = Filter(("demo-qwen2",), ("world_capital",), measure.regimes[:1] or ("mixed",))
    whole, without = (
        cells_of(demo, chosen, key, measure.at(5)) for key in (measure.metric, f"{measure.metric}(drop_first=1)")
    )
    assert len(whole) == len(without) > 0
    assert without["value"].notna().any()


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


def test_a_run_says_what_it_leaves_out(tmp_path, prints):
    grid = f"plan --models {DEMO_MODELS / 'demo-qwen2'} --datasets world_capital --limit 2 --no-calibrate".split()
    grid += ["--store", str(tmp_path), "--explainers", "attn"]
    said = prints(*grid, "--regimes", "mixed,conflicting", "--decoy", "d0", "d1")
    assert "left out, because they cannot have these decoys: conflicting" in said.err
    assert [word for word in said.out.split() if word.startswith("mixed.")] == ["mixed.d0", "mixed.d1"]
    said = prints(*grid, "--regimes", "mixed", "--length", "256", "8192")
    assert "demo-qwen2 reads 512 tokens at most; left out: mixed.8192-first" in said.err
    assert "mixed.256-first" in said.out
    assert "8192" not in said.out
    assert "No regime is left" in prints(*grid, "--regimes", "gold", "--decoy", "d1", ends=2).err


@pytest.mark.slow
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


@pytest.mark.slow
def test_the_gold_tokens_of_a_decoyed_document_are_those_of_its_own_answer(results):
    for instance_id in results.instance_ids(Filter(regime=(DECOYED,))):
        instance = results.instance(instance_id)
        first, second = instance.documents
        for one, other in ((first, second), (second, first)):
            said = "".join(instance.tokens[one.start : one.end])
            assert one.answer in "".join(instance.tokens[index] for index in one.answer_tokens)
            assert said.count(other.answer) == 1
            assert all(one.start <= index < one.end for index in one.answer_tokens)


@pytest.mark.slow
def test_a_measure_of_two_documents_asks_of_decoys_as_well(results):
    asked = [one for one in measures().values() if one.regimes and one.question == "RQ2"]
    assert asked
    assert all(one.asks(DECOYED) and not one.asks("conflicting.256-first") for one in asked)
    measure = next(one for one in measures().values() if one.key == "instance_margin")
    rows = results.cells(Filter(regime=("mixed", DECOYED)), measure.metric, 5)
    assert set(of_measure(rows, measure)["regime"]) <= {"mixed", DECOYED}


@pytest.mark.slow
@pytest.mark.parametrize("page", ["leaderboard", "instances"])
def test_a_page_shows_a_decoyed_regime_that_is_chosen(folder, page, monkeypatch):
    monkeypatch.setenv("HEVAL_STORE", str(folder))
    app = open_page(page, regime=DECOYED, **({"tab": "regime"} if page == "leaderboard" else {}))
    text = " ".join(str(element) for element in app.main)
    assert "decoy d1 · 256 tokens, first" in text
