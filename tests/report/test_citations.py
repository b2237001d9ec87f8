"""What the report says of citations: only where these were studied, and every number that of the page Citations."""

import json
from html import unescape

import pandas as pd
import pytest

from heval_core.citations.people.annotations import AnnotationStore
from heval_core.citations.people.items import Item
from heval_core.citations.records import Passage
from heval_core.evaluation.citations.measures import of_people, resamples_of
from heval_core.present.numbers import interval
from heval_core.present.numbers import number as as_page
from heval_core.report.citation_sections import PLANS
from heval_core.report.findings import studies_of
from heval_core.report.sections import plans_of, section, sections
from heval_core.report.write import report_of, write
from precompute.citations.study import Study
from precompute.run import run
from tests.citations.batch_study import Chooser, known, line
from tests.citations.batch_study import published as published_study
from tests.citations.batch_study import write as write_claims
from tests.citations.published import ANNOTATORS, DATA, SELECTOR, WRITERS
from tests.citations.published import plant as plant_citations
from tests.pages.opening import open_page
from tests.report.conftest import rows_of, same_bytes

NUMBERS = ["value", "low", "high", "chance", "n", "claims"]
KEY = ["dataset", "writer", "selector", "annotator", "masking", "measure"]


@pytest.fixture(scope="module")
def store(tmp_path_factory):
    return plant_citations(tmp_path_factory.mktemp("citations"))


def shown_of(store, key):
    """The section's table as it is written."""
    (table,) = section(store, key).shown
    return table.frame()


@pytest.mark.parametrize("key", ["recovery", "transparent", "masking", "explainers"])
def test_every_number_is_that_of_the_page(store, told, key):
    rows = rows_of(told, f"citations_{key}").set_index(KEY)[NUMBERS].astype(float)
    page = store.rows("cell_recovery", dataset=DATA, selector=SELECTOR).set_index(KEY)[NUMBERS].astype(float)
    assert len(rows) > 10
    pd.testing.assert_frame_equal(rows, page.loc[rows.index], check_dtype=False)


def test_a_number_stands_beside_its_interval_and_its_chance(store):
    """As it is written here to three digits, the page writes it to two."""
    shown = shown_of(store, "citations_recovery").set_index(["writer", "annotator", "masking"])
    cells = store.rows("cell_recovery", dataset=DATA, selector=SELECTOR)
    wanted = (cells["measure"] == "f1") & (cells["annotator"] == "nli") & (cells["writer"] == "sloppy")
    (row,) = cells[wanted & (cells["masking"] == "full")].to_dict("records")
    written = shown.loc[("sloppy", "Entailment model", "full"), "F1 of recovered citations"]
    assert written == "{value:.3f} [{low:.3f}, {high:.3f}] chance {chance:.3f}".format(**row)
    assert interval(row["value"], row["low"], row["high"]).startswith(as_page(float(written.split()[0])))
    assert shown.loc[("sloppy", "Entailment model", "full"), "n"] == row["n"]


def test_annotators_stand_in_the_order_of_the_page_and_controls_are_named(store):
    own = shown_of(store, "citations_recovery")
    first = own[(own["writer"] == "careful") & (own["masking"] == "sample")]["annotator"].tolist()
    assert first[0] == "People"
    assert [name for name in first if name.endswith("(control)")] == first[-3:]
    assert len(first) == len(ANNOTATORS) - 1  # the two people are one annotator


def test_a_dot_for_every_annotator_and_writer_on_one_axis(store):
    ((_, drawing),) = section(store, "citations_recovery").figures
    said = [spot.title for spot in drawing.spots if spot.id and "not available" not in spot.title]
    assert len(said) == (len(ANNOTATORS) - 2) * len(WRITERS)  # people were asked about one passage of each
    assert sum(lines[0] == "Entailment model, explanations by padding" for lines in said) == 1
    assert all("chance" in lines[1] for lines in said)
    assert [gap for gap in section(store, "citations_recovery").gaps if gap.startswith("Not available for People")]


def test_agreement_is_that_of_the_page(store, told):
    rows = rows_of(told, "citations_agreement")
    key = ["writer", "masking", "first", "second"]
    page = pd.concat(
        [store.rows("agreement", dataset=DATA, selector=SELECTOR, masking=masking) for masking in ("sample", "full")]
    )
    columns = ["alpha", "low", "high", "n"]
    pd.testing.assert_frame_equal(rows.set_index(key)[columns], page.set_index(key)[columns], check_dtype=False)
    shown = shown_of(store, "citations_agreement")
    assert (shown["second"] == "among themselves").sum() == len(WRITERS) * 2


def test_helpfulness_z_scores_and_entropy_by_hand():
    """Ada gives 20, 60 (mean 40, deviation 20: -1, 1), Bo 50, 50 (0, 0). Both chose 0 of the first passage: entropy 0; of the
    second Ada chose 0 and Bo none: two labels, 1 bit."""
    answers = pd.DataFrame(
        [
            ("d", "w", "s", "a", "x", 1, "person:ada", [0], 20.0), ("d", "w", "s", "a", "x", 1, "person:bo", [0], 50.0),
            ("d", "v", "s", "b", "y", 2, "person:ada", [0], 60.0), ("d", "v", "s", "b", "y", 2, "person:bo", [], 50.0),
        ],
        columns=["dataset", "writer", "selector", "claim_id", "explanation_id", "passage", "annotator", "predicted",
                 "helpfulness"],
    )  # fmt: skip
    rows = pd.DataFrame(of_people(answers, [("d", "a"), ("d", "b")])).set_index(["writer", "measure"])
    assert rows["value"].to_dict() == {
        ("w", "helpfulness"): 35, ("w", "helpfulness_z"): -0.5, ("w", "entropy"): 0,
        ("v", "helpfulness"): 55, ("v", "helpfulness_z"): 0.5, ("v", "entropy"): 1,
    }  # fmt: skip
    assert rows.loc[("w", "entropy"), "n"] == 1
    assert set(rows["people"]) == {2}
    one = answers[answers["annotator"] == "person:ada"]
    told = pd.DataFrame(of_people(one, [("d", "a"), ("d", "b")])).set_index(["writer", "measure"])
    assert told.loc[("w", "entropy"), "unavailable"] == "No question was answered by two people."
    assert of_people(answers[:0], []) == []
    assert resamples_of([]) == {}


@pytest.fixture(scope="module")
def small(tmp_path_factory):
    """Four claims by two writers; ada is right on her control item, bo on none of his, so that his answers do not count."""
    folder = tmp_path_factory.mktemp("small")
    lines = [
        line(f"{number} {writer}", f"{writer} one [1].", "Two [2].", "Three.", writer=writer, sources=[[1], [3], []])
        for number in range(4) for writer in ("one", "two")
    ]  # fmt: skip
    with pytest.MonkeyPatch.context() as patch:
        reader = Chooser("llm", lambda question: {question.passage - 1}, control=False, family="reader")
        known(patch, Chooser("random", lambda question: {0}), reader)
        file = write_claims(folder / "claims", *lines, "bad")
        asked = Study((f"lines={file}",), ("shipped",), annotators=("random", "llm"), masking="full", device="cpu")
        run(asked, folder / "store")
        before = published_study(folder / "store")
        names = before.query("SELECT explanation_id FROM explanation ORDER BY rowid")["explanation_id"].tolist()
        people, _ = AnnotationStore.make(folder / "store", list(_items(names)))
        for person in ("ada", "bo"):
            people.sign_in(person)
            for place, item in enumerate(_items(names)):
                right = item.kind == "question" or person == "ada"
                people.save(person, item.item_id, sorted(item.gold) if right else [2], 80, 5, f"{person} {place}")
        yield published_study(folder / "store")


def _items(names):
    passages = (Passage(1, "x"), Passage(2, "y"), Passage(3, "z"))
    for number, name in enumerate(names):
        for kind in ("question", *(("positive",) if number == 0 else ())):
            yield Item(kind, name, "c", "v", passages, 1, ("One.", "Two.", "Three."), frozenset({0}), 2)


@pytest.mark.slow
def test_people_left_out_are_counted_and_not_averaged(small):
    people = small.rows("person", order="annotator").set_index("annotator")
    assert people.loc["person:ada"].to_dict() == {"answers": 8, "controls": 1, "correct": 1, "counts": True}
    assert people.loc["person:bo"].to_dict() == {"answers": 0, "controls": 1, "correct": 0, "counts": False}
    own = section(small, "citations_people")
    assert "Of 2 people, 1 are left out; of 2 answers to control items, 1 are right." in own.text
    shown = shown_of(small, "citations_people")
    assert shown["people"].tolist() == [1, 1]
    assert shown["helpfulness"].tolist() == ["80.000 [28.033, 99.474]"] * 2  # of four claims, all alike
    assert shown["entropy"].tolist() == ["–"] * 2


def test_claims_are_counted(small):
    own = shown_of(small, "citations_claims").set_index("writer")
    assert own.loc["one", ["claims read", "unusable", "explanations", "missing"]].tolist() == [9, 1, 4, 0]
    # One of three passages is cited by no sentence, one of three sentences cites none.
    assert (
        own.loc["one", "Passages no sentence cites"] == own.loc["one", "Sentences without citation"] == "0.333 [0.004, 0.939]"
    )


def test_the_sentences_have_a_table_of_their_own(small, tmp_path):
    found = small.findings("citations").set_index("key")
    assert found.loc["llm_as_people", "verdict"] == "not enough data"  # all chose the same: alpha is not defined
    assert found.loc["best_still_wrong", "verdict"] == "contradicted"
    told = json.loads(report_of(small).as_json())
    assert [row["key"] for row in told["citation_findings"]] == list(found.index)
    write(small.path.parent, tmp_path)
    page = (tmp_path / "report.html").read_text(encoding="utf-8")
    assert studies_of(small)[2].answer in page
    assert page.count('<span class="verdict') == len(found) == 7
    assert "Of the paper" not in page  # nothing was studied but citations


@pytest.mark.slow
def test_a_folder_has_tables_and_figures_and_the_same_bytes_again(store, tmp_path):
    folder, names = same_bytes(tmp_path, *[store.path.parent] * 2)
    assert {f"tables/citations_{name}.tex" for name in ("claims", "recovery", "transparent", "agreement", "people")} <= names
    assert {f"figures/citations_{name}-1.svg" for name in ("recovery", "transparent", "masking", "explainers")} <= names
    page = (folder / "report.html").read_text(encoding="utf-8")
    assert page.count("<script") == 1
    assert "alert(1)" not in page


def test_the_page_shows_the_sentences_and_the_sections(small, monkeypatch):
    monkeypatch.setenv("HEVAL_STORE", str(small.path.parent))
    app = open_page("about", section=plans_of(small)["citations_recovery"].heading)
    assert any(frame.value.equals(shown_of(small, "citations_recovery")) for frame in app.dataframe)
    shown = unescape("".join(own.proto.body for own in app.get("html")))
    assert all(row.finding["sentence"] in shown for row in studies_of(small)[2].rows)


def test_every_section_is_there_in_order(store):
    found = list(sections(store))
    assert [own.plan.key for own in found] == list(plans_of(store)) == [plan.key for plan in PLANS]
    assert all(own.plan.paper and own.text for own in found)
