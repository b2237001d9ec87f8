"""What the report says of techniques: only where these were compared, and every number that of the page Techniques."""

import json
import re

import pytest

from heval_core.figures.technique_front import front_figure
from heval_core.figures.techniques import searches, technique_table
from heval_core.present.names import names_of
from heval_core.present.numbers import EXACT
from heval_core.records import CONTEXT_KINDS, TECHNIQUE
from heval_core.report.findings import studies_of
from heval_core.report.sections import section
from heval_core.report.write import write
from heval_core.store.filters import Filter
from tests.report.conftest import rows_of
from tests.techniques.planted import MEMORY, Answer, blind, perfect, plant, published

pytestmark = pytest.mark.slow

HOSTILE = "<script>window.__pwn=1</script><img src=x>$\\input{x}"
MODELS, DATASETS = ("one", "two"), ("counterfact", "nq")


def regular(case):
    return Answer(
        case.follows if case.number % 2 else MEMORY, p_alone=0.2 + 0.05 * (case.number % 10), knew=case.number % 4 == 0
    )


def trial(setting, chosen, bcu, **more):
    row = {"technique": "coiecd", "setting": json.dumps(setting), "regime": "gold", "bcu": bcu, "n": 10, "chosen": chosen}
    return row | {"tied": True, "unavailable": None} | more


@pytest.fixture(scope="module")
def store(tmp_path_factory):
    none = dict.fromkeys(("setting", "regime", "bcu", "n", "chosen", "tied"))
    trials = [
        trial({"lam": 0.5, "alpha": 1.0}, True, 0.8),
        trial({"lam": 1.0, "alpha": 1.0}, False, 0.8),
        {"technique": "multi_agent", "unavailable": HOSTILE, **none},
    ]
    folder = tmp_path_factory.mktemp("techniques")
    techniques = {TECHNIQUE: regular, "acd": blind(0.2), "coiecd": perfect}
    return published(plant(folder, techniques, models=MODELS, datasets=DATASETS, trials=trials))


def of_page(store, model, dataset):
    return store.technique_cells(Filter(model=(model,), dataset=(dataset,)))


@pytest.mark.parametrize("measure", ["bcu", "ccu"])
def test_every_number_is_that_of_the_page(store, told, measure):
    """Unrounded in the file; and the tables are the page's own, with a digit more."""
    rows, gains = rows_of(told, f"techniques_{measure}"), rows_of(told, f"techniques_{measure}_gain")
    names = names_of(store)
    shown = section(store, f"techniques_{measure}").shown
    for place, (model, dataset) in enumerate((model, dataset) for model in MODELS for dataset in DATASETS):
        page = of_page(store, model, dataset).set_index(["technique", "regime", "measure"])
        for frame, columns in ((rows, ("value", "low", "high", "n")), (gains, ("delta", "delta_low", "delta_high"))):
            own = frame[(frame["model"] == model) & (frame["dataset"] == dataset)]
            own = own.set_index(["technique", "regime", "measure"])
            assert len(own)
            for column in columns:
                assert own[column].tolist() == pytest.approx(page.loc[own.index][column].tolist(), nan_ok=True)
        table = technique_table(of_page(store, model, dataset), measure, names)
        assert shown[place].title.endswith(f"{model} on {names.dataset(dataset)}")
        assert [row.cells for row in shown[place].rows] == [row.cells for row in table.exact(EXACT).rows]


def test_both_discriminations_memory_and_neither_stand_beside_bcu(store):
    shown = section(store, "techniques_bcu").shown[1].frame().set_index("Technique")
    assert {"Gold, %", "Total, %", "Memory kept, %", "Neither, %", "J", "J, off topic"} <= set(shown.columns)
    assert shown.loc["COIECD", "J"] == shown.loc["COIECD", "J, off topic"] == "1.000 [0.803, 1.000]"
    assert shown.loc["ACD", "J"].startswith("0.000 [")


def test_the_front_is_that_of_the_page(store, told):
    rows, names = rows_of(told, "techniques_front"), names_of(store)
    figures = section(store, "techniques_front").figures
    assert len(figures) == len(MODELS) * len(DATASETS)
    for model, dataset in ((model, dataset) for model in MODELS for dataset in DATASETS):
        points = store.rows("pareto", Filter(model=(model,), dataset=(dataset,)))
        page = {point.id[0]: point for point in front_figure(points, names).points}
        own = rows[(rows["model"] == model) & (rows["dataset"] == dataset)].set_index("technique")
        assert set(own.index) == set(page)
        for key, point in page.items():
            assert (own.loc[key, "context_faithfulness"], own.loc[key, "robustness"]) == (point.x, point.y)
            assert own.loc[key, "on_front"] == point.on_front
    said = " ".join("; ".join(spot.title) for _, drawing in figures for spot in drawing.spots)
    assert "COIECD; follows 100 % [90, 100], ignores 100 % [86, 100]; J 1.00 [" in said
    assert "on the front in 100 % of the resamples" in said


def test_a_dot_for_every_difference(store):
    figures = section(store, "techniques_bcu_gain").figures
    assert len(figures) == len(MODELS) * len(DATASETS)
    for _, drawing in figures:
        dots = [spot for spot in drawing.spots if spot.id and spot.marks[0].shape == "circle"]
        assert len(dots) == 2 * len(CONTEXT_KINDS)
        assert sum(spot.title[0].startswith("ACD, ") for spot in dots) == len(CONTEXT_KINDS)


def test_the_features_and_the_search_are_those_of_the_page(store, told):
    rows, page = rows_of(told, "techniques_features"), store.rows("feature_correlation", Filter())
    assert rows["rho"].astype(float).tolist() == pytest.approx(page["rho"].tolist(), nan_ok=True)
    assert rows["p_stratified_holm"].astype(float).tolist() == pytest.approx(page["p_stratified_holm"].tolist(), nan_ok=True)
    shown = section(store, "techniques_search").shown[0].frame()
    (search,) = searches(store.rows("technique_trial", Filter(model=("one",), dataset=("nq",))))
    assert shown["as good as the chosen one"].tolist() == [search.ties] * 4 == [2] * 4
    assert set(shown["chosen"]) == {search.chosen}
    costs = section(store, "techniques_costs").shown[0].frame().set_index("technique")
    assert [*map(str, costs.loc["COIECD"])] == ["2", "tuned", "2"]
    assert [*map(str, costs.loc["Regular"])] == ["1", "nothing", "–"]


def test_a_folder_has_tables_figures_and_sentences_and_what_is_not_available_stays_text(store, told, tmp_path):
    gaps = section(store, "techniques_bcu").gaps
    assert any(gap.startswith("Agents is not available with one on counterfact, one on nq") for gap in gaps)
    write(store.path.parent, tmp_path)
    names = {str(path.relative_to(tmp_path)) for path in tmp_path.rglob("*.*")}
    assert {f"tables/techniques_{name}.tex" for name in ("front", "bcu", "bcu_gain", "costs", "features", "search")} <= names
    assert {"figures/techniques_front-2.svg", "figures/techniques_ccu_gain-1.svg"} <= names
    table = (tmp_path / "tables" / "techniques_bcu.tex").read_text(encoding="utf-8")
    assert table.count("\\begin{table}") == 4
    assert len(set(re.findall(r"\\label\{[^}]*\}", table))) == 4
    assert "\\input" not in "".join(line for line in table.splitlines() if not line.startswith("%"))
    page = (tmp_path / "report.html").read_text(encoding="utf-8")
    assert "<img src=x" not in page
    assert page.count("<script") == 1
    assert studies_of(store)[1].answer in page
    assert page.count('<span class="verdict') == len(told["findings"]) + len(told["technique_findings"]) == 17
