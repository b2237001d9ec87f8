"""CUB's own files, of hand-made records: the form is what public code reads, not a copy of a file."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from heval_core.datasets import cub
from heval_core.plugins.protocols import Dataset
from heval_core.records import Fact, HEvalError
from precompute.questions import open_dataset
from tests.datasets import samples

CLOZE = "<subject>, the capital city of"


def counterfact() -> list[dict[str, Any]]:
    """Two questions with three contexts each, not in order."""
    rows = []
    for subject, true, new in (("Athens", "Greece", "Peru"), ("Oslo", "Norway", "Fiji")):
        fact = {"subject": subject, "template": CLOZE, "target_true": true, "prediction": "the"}
        rows += [
            {**fact, "context_type": "gold", "target_new": true, "template_w_context": f"Fact: {CLOZE} <target>.\n{CLOZE}"},
            {**fact, "context_type": "edited", "target_new": new, "template_w_context": f"Fact: {CLOZE} {new}.\n{CLOZE}"},
            {**fact, "context_type": "irrelevant", "target_new": None, "template_w_context": f"Fact: Lima is old.\n{CLOZE}"},
        ]
    return [{"id": str(number), **row} for number, row in enumerate(rows[::2] + rows[1::2])]


def nq() -> list[dict[str, Any]]:
    asked = {"question": "when was the club founded", "target_true": ["in 1977", "1977"]}
    return [
        {"id": "1", **asked, "context_type": "gold", "target_new": "1977", "context": "<P> Founded in 1977 . </P>"},
        {"id": "2", **asked, "context_type": "edited", "target_new": "1967", "context": "<P> Founded in 1967 . </P>"},
        {"id": "3", **asked, "context_type": "irrelevant", "target_new": None, "context": "<P> It has a hall . </P>"},
    ]


def druid() -> list[dict[str, Any]]:
    claim = {"claim": "The bridge is made of glass.", "claimant": "A post", "evidence": "It is of steel.", "relevant": True}
    unrelated = {**claim, "relevant": False}
    return [
        {"id": "factly-1", **claim, "context_type": "gold", "target_true": "False", "target_new": "False"},
        {"id": "factly-2", **claim, "context_type": "edited", "target_true": "Half True", "target_new": "None"},
        {"id": "factly-3", **unrelated, "context_type": "irrelevant", "target_true": "True", "target_new": None},
    ]


ROWS = {"counterfact": counterfact, "nq": nq, "druid": druid}


def sample(data: Path) -> Dataset:
    samples.write_lines(data / "cub" / "counterfact" / cub.FILE, counterfact())
    return cub.Cub("counterfact")


def read(part: str, path: Path, rows: list[Any]) -> Any:
    return samples.sorted_out(cub.Cub(part, str(samples.write_lines(path / "f.jsonl", rows))))


def test_the_records_of_a_question_become_one_fact(tmp_path):
    facts, bad, unusable = read("counterfact", tmp_path, counterfact())
    assert (len(facts), bad, unusable) == (2, [], [])
    athens = facts[0]
    assert (athens.dataset, athens.question, athens.answer) == ("cub/counterfact", "Athens, the capital city of", "Greece")
    assert athens.own.text == "Fact: Athens, the capital city of Greece."
    ((peru),) = athens.conflicting
    assert (peru.answer, peru.text, peru.stated) == ("Peru", "Fact: Athens, the capital city of Peru.", True)
    assert (athens.irrelevant.text, athens.irrelevant.answer, athens.irrelevant.stated) == ("Fact: Lima is old.", "", False)
    assert {fact.relation for fact in facts} == {CLOZE}


@pytest.mark.parametrize(("before", "target"), [("of<target>", " Greece"), ("of <target>", "Greece")])
def test_an_answer_that_brings_its_own_space_is_not_joined_to_the_word_before(tmp_path, before, target):
    whole = f"Fact: <subject>, the capital city {before}.\n{CLOZE}"
    row = counterfact()[0] | {"target_true": target, "target_new": target, "template_w_context": whole}
    ((athens,), bad, unusable) = read("counterfact", tmp_path, [row])
    assert (bad, unusable) == ([], [])
    assert (athens.own.text, athens.answer) == ("Fact: Athens, the capital city of Greece.", "Greece")


def test_several_answers_are_accepted(tmp_path):
    ((fact,), bad, unusable) = read("nq", tmp_path, nq())
    assert (bad, unusable) == ([], [])
    assert (fact.answer, fact.accepted, fact.relation) == ("in 1977", ("1977",), "date")
    assert fact.own.text == "<P> Founded in 1977 . </P>"
    assert fact.conflicting[0].answer == "1967"


def test_a_claim_is_asked_as_in_druid(tmp_path):
    facts, bad, unusable = read("druid", tmp_path, druid())
    assert (bad, unusable) == ([], [])
    gold, edited, irrelevant = facts
    assert (gold.own.answer, gold.answer, gold.own.stated, gold.conflicting) == ("False", "False", False, ())
    assert (edited.conflicting[0].answer, edited.answer, edited.own) == ("None", "", None)
    assert (irrelevant.irrelevant.answer, irrelevant.answer) == ("", "True")
    assert gold.question == 'Claimant: A post. Claim: "The bridge is made of glass." Is the claim True, False or None?'
    assert gold.relation == "factly"


@pytest.mark.parametrize(
    ("part", "change", "said"),
    [
        ("counterfact", {"context_type": "gilded"}, "should be gold, edited or irrelevant"),
        ("counterfact", {"target_new": "Peru"}, "should not say 'Peru'"),
        ("counterfact", {"template_w_context": CLOZE}, "a context and then the cloze"),
        ("counterfact", {"template_w_context": f"<|im_start|>user\n{CLOZE}"}, "unknown placeholder '<|im_start|>'"),
        ("nq", {"question": 7}, "'question' should be a text"),
        ("druid", {"target_new": "Maybe", "context_type": "edited"}, "'target_new' should be True, False, None"),
        ("druid", {"target_true": "Perhaps"}, "the verdict should be"),
    ],
)
def test_a_bad_record_says_why_and_loses_no_other(part, change, said, tmp_path):
    rows = ROWS[part]()
    facts, bad, _ = read(part, tmp_path, [{**rows[0], **change}, *rows[1:]])
    assert [b.location for b in bad] == ["f.jsonl:1"]
    assert said in bad[0].reason
    assert facts
    assert all(isinstance(fact, Fact) for fact in facts)


def test_what_is_no_question_has_its_reason(tmp_path):
    rows = nq()
    rows[1]["context"] = "<P> Founded long ago . </P>"
    ((fact,), bad, unusable) = read("nq", tmp_path, [*rows, {**rows[0], "id": "4"}])
    assert bad == []
    assert [(u.location, u.reason) for u in unusable] == [("f.jsonl:2", "answer not in document"), ("f.jsonl:4", "duplicate")]
    assert fact.conflicting == ()


@pytest.mark.parametrize("part", cub.PARTS)
def test_a_file_with_other_fields_is_refused_with_those_it_has_and_lacks(part, tmp_path):
    row = {"id": "1", "context_type": "gold", "prompt": "x"}
    path = samples.write_lines(tmp_path / "f.jsonl", [json.dumps(row)])
    with pytest.raises(HEvalError) as error:
        list(cub.Cub(part, str(path)).facts())
    lacking = ", ".join(name for name in cub.FIELDS[part] if name not in row)
    assert str(error.value) == f"The data file {path} has the fields id, context_type, prompt; it lacks {lacking}."


def test_a_file_of_lines_is_read_by_the_dataset_that_is_named(tmp_path):
    path = samples.write_lines(tmp_path / "f.jsonl", nq())
    assert [fact.dataset for fact in open_dataset(f"cub/nq={path}").facts()] == ["cub/nq"]
    assert open_dataset(str(path)).key == "f"
    assert open_dataset(f"nobody={path}").key == "f"


def test_without_a_part_or_a_file_it_says_which(tmp_path, monkeypatch):
    with pytest.raises(HEvalError, match="Choose a part: cub/counterfact, cub/nq, cub/druid"):
        list(cub.PLUGIN.facts())
    monkeypatch.setenv("HEVAL_DATA", str(tmp_path))
    asked = []
    monkeypatch.setattr("heval_core.datasets._reading.from_hub", lambda *where: asked.append(where))
    with pytest.raises(HEvalError) as error:
        list(cub.Cub("nq", revision="abc").facts())
    assert asked == [("copenlu/cub-nq", cub.FILE, "abc")]
    assert str(tmp_path / "cub" / "nq" / cub.FILE) in str(error.value)
    assert "\n" not in str(error.value)
