"""What is wrong with a file, and what is said of it; and data of one's own."""

import pytest

from heval_core.datasets._jsonl import JsonLines
from heval_core.datasets.counterfact import CounterFact
from heval_core.plugins import catalogue
from heval_core.records import HEvalError, Passage
from tests.datasets import samples


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("{broken", "the line is not JSON, column 2"),
        ("[1, 2]", "expected a JSON object, found a list"),
        (b'{"id": "caf\xe9"}', "byte 12 of the line is not UTF-8"),
        ({"id": "x"}, "the record has no 'subject'"),
        (samples.own("Kenya", 1, question=7), "'question' should be a text, but is a number"),
        (samples.own("Kenya", 1, question="  "), "'question' is empty"),
        (samples.own("Kenya", 1, conflicting="text"), "'conflicting' should be an object, but is a text"),
        (samples.own("Kenya", 1, conflicting={"text": "a"}), "the record has no 'conflicting.answer'"),
        (samples.own("Kenya", 1, conflicting={"text": "Lisbonne.", "answer": "Lisbon"}), "not contain its answer 'Lisbon'"),
        (samples.own("Kenya", 1, irrelevant={"text": "x y", "answer": "z"}), "'irrelevant' does not contain its answer 'z'"),
        (samples.own("Kenya", 1, conflicting=None), "the record has no 'conflicting'"),
        (samples.own("Kenya", 1, offtopic={"text": "a"}), "the record has no 'off_topic', but 'offtopic'"),
        (samples.own("Kenya", 1, gold={"text": "x y", "answer": "Nairobi"}), "'gold' does not contain its answer 'Nairobi'"),
        (
            samples.own("Kenya", 1, gold={"text": "It is Oslo.", "answer": "Oslo"}),
            "has the answer 'Oslo', which is neither 'memory_answer' ('Nairobi') nor",
        ),
        (samples.own("Kenya", 1, off_topic="text"), "'off_topic' should be an object, but is a text"),
        (samples.own("Kenya", 1, off_topic={"text": "x y", "answer": "z"}), "'off_topic' does not contain its answer 'z'"),
        (samples.own("Kenya", 1, accepted=7), "'accepted' should be a list of texts, but is a number"),
        (samples.own("Kenya", 1, labels=["True"]), "'labels' should list two labels or more, but has only 'True'"),
        (samples.own("Kenya", 1, labels=["True", 7]), "'labels' should be a list of texts"),
        (samples.own("Kenya", 0), "the id 'Kenya-0' is already used at mine.jsonl:1"),
    ],
)
def test_a_bad_line_says_where_and_what_and_loses_no_good_one(line, said, tmp_path):
    path = samples.write_lines(tmp_path / "mine.jsonl", [samples.own("Kenya"), line, "", samples.own("Peru")])
    facts, bad, _ = samples.sorted_out(JsonLines(path))
    assert [fact.subject for fact in facts] == ["Kenya", "Peru"]
    assert [record.location for record in bad] == ["mine.jsonl:2"]
    assert said in bad[0].reason


def test_ones_own_documents_and_accepted_answers_are_used_where_they_are_given(tmp_path):
    gold = {"text": "Nairobi City is Kenya's capital.", "answer": "Nairobi City"}
    off = {"subject": "Fiji", "text": "People pay with the dollar in Fiji.", "answer": "dollar"}
    other = {"text": "It is Oslo.", "answer": "Oslo"}
    irrelevant = {"subject": "Fiji", "text": "Suva is in Fiji.", "answer": "Suva"}
    documents = {"conflicting_2": other, "irrelevant": irrelevant, "gold": gold, "off_topic": off}
    record = samples.own("Kenya", **documents, accepted=["Nairobi City"])
    (fact,) = JsonLines(samples.write_lines(tmp_path / "mine.jsonl", [record])).facts()
    assert [passage.answer for passage in fact.conflicting] == ["Lisbon", "Oslo"]
    assert (fact.irrelevant.subject, fact.irrelevant.answer) == ("Fiji", "Suva")
    assert fact.own == Passage("Kenya", "Nairobi City", "Nairobi City is Kenya's capital.")
    assert (fact.off_topic.subject, fact.off_topic.answer) == ("Fiji", "dollar")
    assert (fact.answer, fact.accepted, fact.dataset) == ("Nairobi", ("Nairobi City",), "mine")


def test_labels_need_not_stand_in_a_text_of_ones_own(tmp_path):
    labels = {"labels": ["True", "False", "None"], "memory_answer": None}
    record = samples.own("Kenya", **labels, gold={"text": "It rains.", "answer": "False"}, conflicting=None)
    path = samples.write_lines(tmp_path / "mine.jsonl", [record])
    (fact,) = JsonLines(path).facts()
    assert fact.own == Passage("Kenya", "False", "It rains.", stated=False)
    assert (fact.answer, fact.conflicting) == ("False", ())


@pytest.mark.parametrize(("make", "said"), [
    (lambda path: None, "does not exist"), (lambda path: path.write_text(""), "is empty"),
    (lambda path: path.write_text('[{"a": 1},\n {"b" 2}]'), "is not JSON: line 2, column 7"),
    (lambda path: path.write_text('{"a": 1}'), "should hold a JSON list"),
    (lambda path: path.write_bytes(b'["caf\xe9"]'), "is not UTF-8"),
])  # fmt: skip
def test_a_file_that_is_no_list_of_records_is_refused_by_name(make, said, tmp_path):
    path = tmp_path / "data.json"
    make(path)
    with pytest.raises(HEvalError, match=said) as error:
        list(CounterFact(str(path)).facts())
    assert str(path) in str(error.value)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize(
    "key", sorted({"fakepedia", "counterfact", "conflictqa", "nq", "druid"} & catalogue.plugins("dataset").keys())
)
def test_without_its_file_a_dataset_says_what_to_place_where(key, tmp_path, monkeypatch):
    monkeypatch.setenv("HEVAL_DATA", str(tmp_path))
    monkeypatch.setattr("heval_core.datasets._reading.from_hub", lambda *_: None)
    with pytest.raises(HEvalError) as error:
        list(catalogue.find("dataset", key).facts())
    assert str(tmp_path / key) in str(error.value)
    assert f"--datasets {key}=PATH" in str(error.value)
    assert "\n" not in str(error.value)
