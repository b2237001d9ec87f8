"""Natural Questions: gold passages, and the same ones with another answer."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import pytest

from heval_core.datasets import nq
from heval_core.plugins.protocols import Dataset
from heval_core.prompting.prompts import mentions
from heval_core.records import HEvalError
from tests.conftest import ROOT
from tests.datasets import samples

REAL = ROOT.parent / "shared" / "data" / "nq" / "nq-open-oracle-1000.jsonl.gz"


def context(title: str, text: str, gold: bool) -> dict[str, Any]:
    return {"title": title, "text": text, "isgold": gold, "hasanswer": gold}


def records() -> list[dict[str, Any]]:
    return [
        {
            "question": f"what is the capital city of {country.lower()}",
            "answers": [f"{city} City", city],
            "ctxs": [context(country, samples.passage(country, city), True)],
            "nq_annotated_gold": {"title": country},
        }
        for country, city in samples.CITIES.items()
    ]


def write_packed(path: Path, some: list[Any]) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    with gzip.open(path, "wt", encoding="utf-8") as file:
        file.writelines(json.dumps(record) + "\n" for record in some)
    return path


def sample(data: Path) -> Dataset:
    write_packed(data / "nq" / "nq-open-oracle.jsonl.gz", records())
    return nq.PLUGIN


def test_the_answer_is_the_accepted_one_that_stands_in_the_gold_passage(tmp_path):
    facts, bad, unusable = samples.sorted_out(nq.PLUGIN, write_packed(tmp_path / "q.jsonl.gz", records()))
    assert (len(facts), bad, unusable) == (6, [], [])
    kenya = facts[0]
    assert (kenya.subject, kenya.relation, kenya.answer, kenya.accepted) == ("Kenya", "place", "Nairobi", ("Nairobi City",))
    assert kenya.own.text == samples.passage("Kenya", "Nairobi")
    (false,) = kenya.conflicting
    assert false.answer in set(samples.CITIES.values()) - {"Nairobi"}
    assert false.text == samples.passage("Kenya", false.answer)
    assert kenya.irrelevant is None


def test_a_passage_of_the_same_page_without_an_answer_is_the_irrelevant_document(tmp_path):
    some = records()
    some[0]["ctxs"] = [
        context("Kenya", "Nairobi is large.", False),
        context("Peru", "Lima is large.", False),
        *some[0]["ctxs"],
        context("Kenya", "Kenya has lakes.", False),
    ]
    kenya, peru, *_ = nq.NaturalQuestions(str(samples.write_lines(tmp_path / "q.jsonl", some))).facts()
    assert (kenya.irrelevant.text, kenya.irrelevant.answer, kenya.irrelevant.stated) == ("Kenya has lakes.", "", False)
    assert kenya.own.answer == "Nairobi"
    assert peru.irrelevant is None


def test_what_cannot_be_used_says_why_and_loses_no_good_record(tmp_path):
    elsewhere = {**records()[1], "answers": ["Cusco"]}
    alone = {**records()[0], "question": "how many", "answers": ["44 laws"], "ctxs": [context("x", "It has 44 laws.", True)]}
    bad = [records()[2] | change for change in ({"ctxs": []}, {"answers": []}, {"ctxs": "text"})]
    lines = [records()[0], elsewhere, alone, *bad, b"\xff", records()[3]]
    path = samples.write_lines(tmp_path / "q.jsonl", lines)
    facts, bad, unusable = samples.sorted_out(nq.PLUGIN, path)
    assert [fact.subject for fact in facts] == ["Kenya", "Norway"]
    assert [fact.conflicting[0].answer for fact in facts] == ["Oslo", "Nairobi"]
    assert [(u.location, u.reason) for u in unusable] == [
        ("q.jsonl:2", "answer not in document"),
        ("q.jsonl:3", "no conflicting document"),
    ]
    assert [b.location for b in bad] == [f"q.jsonl:{line}" for line in (4, 5, 6, 7)]
    assert "no passage with 'isgold'" in bad[0].reason


@pytest.mark.parametrize("content", [b"no archive", gzip.compress(b"{}\n" * 500)[:-9]], ids=["no archive", "cut short"])
def test_a_broken_archive_is_refused_by_name(content, tmp_path):
    path = tmp_path / "q.jsonl.gz"
    path.write_bytes(content)
    with pytest.raises(HEvalError, match="cannot be read") as error:
        list(nq.NaturalQuestions(str(path)).facts())
    assert str(path) in str(error.value)
    assert "\n" not in str(error.value)


@pytest.mark.skipif(not REAL.is_file(), reason=f"the real data file is not at {REAL}")
class TestRealFile:
    @pytest.fixture(scope="class")
    def read(self):
        return samples.sorted_out(nq.PLUGIN, REAL)

    def test_no_accepted_answer_is_left_in_a_conflicting_passage_and_the_other_one_is_there(self, read):
        for fact in read[0]:
            (false,) = fact.conflicting
            for answer in (fact.answer, *fact.accepted):
                assert not mentions(answer, false.text)
                assert not mentions(answer.casefold(), false.text.casefold())
            assert mentions(false.answer, false.text)
            assert not mentions(false.answer, fact.own.text)
            assert mentions(fact.answer, fact.own.text)

    def test_one_by_hand(self, read):
        fact = next(fact for fact in read[0] if fact.question == "when was the lupus foundation of america founded")
        (false,) = fact.conflicting
        assert (fact.answer, fact.relation) == ("1977", "date")
        assert 1900 <= int(false.answer) < 2030
        assert false.text == fact.own.text.replace("1977", false.answer)
