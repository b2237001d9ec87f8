"""What a person may ask a results file about techniques."""

import pytest

from heval_core.plugins import catalogue
from heval_core.records import HEvalError
from heval_core.store.filters import Filter
from tests.conftest import reader_of
from tests.techniques.planted import Answer, Case, blind, instance_id, perfect, plant, published


@pytest.fixture(scope="module")
def reader(tmp_path_factory):
    def with_trace(case):
        return Answer(case.right, trace='[{"asked": "Is it relevant?"}]', setting='{"alpha": 1.0}')

    techniques = {"acd": with_trace, "ph3(mode=context)": perfect, "regular": blind(0.5), "coiecd": blind(0.2)}
    return published(plant(tmp_path_factory.mktemp("asked"), techniques, datasets=("one", "other"), development=10, test=10))


ORDER = ["regular", "coiecd", "acd", "ph3(mode=context)"]


def test_techniques_come_in_the_order_of_the_catalogue(reader):
    assert list(reader.techniques()["key"]) == list(catalogue.techniques())
    for frame in (
        reader.technique_cells(Filter(dataset=("one",))),
        reader.rows("pareto", Filter(dataset=("one",))),
        reader.rows("feature_correlation", Filter(dataset=("one",))),
    ):
        assert sorted(frame["technique"].unique()) == sorted(ORDER)
    cells = reader.technique_cells(Filter(dataset=("one",)))
    assert list(cells["technique"].unique())[:2] == ["regular", "coiecd"]
    assert list(cells["regime"].unique()) == ["gold", "conflicting", "irrelevant", "off_topic", "total"]


def test_a_filter_takes_cells_and_always_the_total_and_pooled_datasets_only_where_all_are_shown(reader):
    cells = reader.technique_cells(Filter(dataset=("one",), technique=("acd",), regime=("gold",)))
    assert set(cells["dataset"]) == {"one"}
    assert set(cells["technique"]) == {"acd"}
    assert set(cells["regime"]) == {"gold", "total"}
    assert reader.technique_cells(Filter(model=("unknown",))).empty
    assert set(reader.rows("feature_correlation", Filter())["dataset"]) == {"one", "other", "all"}
    assert set(reader.rows("feature_correlation", Filter(dataset=("one",)))["dataset"]) == {"one"}


@pytest.mark.parametrize("technique", ["acd", "regular"])
def test_one_question_under_every_technique(reader, technique):
    asked = instance_id(Case("made-up", "one", "conflicting", technique, 17, "test"))
    found = reader.behaviour_of(asked).set_index("technique")
    assert sorted(found.index) == sorted(ORDER)
    assert list(found.index)[0] == "regular"
    assert set(found["fact_id"]) == {"question 17"}
    assert set(found["regime"]) == {"conflicting"}
    shown = found.loc["acd", ["predicted_text", "group", "bcu", "ccu", "trace", "setting", "probability"]]
    assert shown.tolist() == [" Rome", "C", 1, 0.5, '[{"asked": "Is it relevant?"}]', '{"alpha": 1.0}', 0.75]
    assert found.loc["regular", "bcu"] == 0
    assert reader.behaviour_of("unknown").empty


def test_the_instances_behind_a_difference(reader):
    # Regular follows questions 10 to 14, COIECD 10 and 11; the first is asked for under gold and conflicting documents.
    def changed(change, regime):
        return reader.instance_ids(Filter(dataset=("one",), technique=("coiecd",), regime=(regime,), changed=change))

    def of(regime, numbers):
        return [instance_id(Case("made-up", "one", regime, "coiecd", number, "test")) for number in numbers]

    assert changed("lost", "conflicting") == of("conflicting", (12, 13, 14))
    assert changed("gained", "conflicting") == []
    assert changed("gained", "irrelevant") == of("irrelevant", (12, 13, 14))
    assert len(changed("same", "irrelevant")) == 7
    # Never Regular itself, and never development questions.
    assert reader.instance_ids(Filter(technique=("regular",), changed="same")) == []
    counts = reader.changes(Filter(technique=("coiecd",), dataset=("one",))).set_index("regime")
    assert counts.loc["conflicting", ["gained", "lost", "same"]].tolist() == [0, 3, 7]
    delta = reader.technique_cells(Filter(technique=("coiecd",), dataset=("one",), regime=("conflicting",)))
    assert delta[(delta["regime"] == "conflicting") & (delta["measure"] == "bcu")]["delta"].tolist() == [pytest.approx(-0.3)]


def test_an_unknown_change_is_said_to_be_one(reader):
    with pytest.raises(HEvalError, match="gained, lost, same, counted, not 'x; DROP'"):
        reader.instance_ids(Filter(changed="x; DROP"))
    assert Filter(changed="lost").cuts_cells
    assert str(Filter(changed="lost")) == "changed: lost"


def test_results_without_techniques_have_none(small_store):
    reader = reader_of(small_store)
    assert all(reader.rows(table).empty for table in ("pareto", "technique_trial", "feature_correlation"))
    assert reader.technique_cells(Filter()).empty
    assert reader.changes(Filter()).empty
    assert reader.behaviour_of(reader.instance_ids(Filter())[0]).empty
    assert reader.instance_ids(Filter(changed="gained")) == []
