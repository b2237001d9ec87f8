"""DRUID: one claim with one piece of evidence, and what it is to the claim."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from heval_core.datasets import druid
from heval_core.plugins.protocols import Dataset
from heval_core.records import HEvalError
from tests.datasets import samples

COLUMNS = ("id", "claim_id", "claim", "claimant", "evidence", "relevant", "evidence_stance", "factcheck_verdict", "is_gold")


def record(number: int, stance: str, verdict: str, relevant: str = "True", **more: Any) -> dict[str, Any]:
    return {
        "id": f"politifact-{number}-e", "claim_id": f"politifact-{number}",
        "claim": f"The bridge number {number} is made of glass.", "claimant": "A post",
        "evidence": f'Engineers\tsay:\n"bridge {number}" is of steel.', "relevant": relevant, "evidence_stance": stance,
        "factcheck_verdict": verdict, "is_gold": "False", **more,
    }  # fmt: skip


# Stance, verdict ▶ what the evidence is, the verdict and the label of the evidence as they are read.
CASES = [
    ("supports", "True", ("gold", "True", "True")),
    ("refutes", "False", ("gold", "False", "False")),
    ("supports", "False", ("conflicting", "False", "True")),
    ("refutes", "True", ("conflicting", "True", "False")),
    ("insufficient-neutral", "False", ("conflicting", "False", "None")),
    ("insufficient-refutes", "False", ("conflicting", "False", "None")),
    ("supports", "Half True", ("conflicting", "", "True")),
    ("not_applicable", "True", ("irrelevant", "True", "")),
]
EXPECTED = [expected for *_, expected in CASES]


def records() -> list[dict[str, Any]]:
    return [
        record(number, stance, verdict, str(stance != "not_applicable"))
        for number, (stance, verdict, _) in enumerate(CASES, start=1)
    ]


def sample(data: Path) -> Dataset:
    samples.write_table(data / "druid" / "druid.tsv", records(), COLUMNS)
    return druid.PLUGIN


def kinds(path: Path) -> list[tuple[str, str, str]]:
    """(kind, verdict, label of the evidence) of each fact, which has exactly one document."""
    facts, bad, unusable = samples.sorted_out(druid.PLUGIN, path)
    assert (bad, unusable) == ([], [])
    found = []
    for fact in facts:
        slots = {"gold": fact.own, "conflicting": next(iter(fact.conflicting), None), "irrelevant": fact.irrelevant}
        ((kind, passage),) = ((kind, passage) for kind, passage in slots.items() if passage is not None)
        assert not passage.stated
        assert fact.off_topic is None
        found.append((kind, fact.answer, passage.answer))
    return found


def test_stance_and_verdict_decide_what_the_evidence_is_also_in_another_spelling_and_json_lines(tmp_path):
    assert kinds(samples.write_table(tmp_path / "druid.tsv", records(), COLUMNS)) == EXPECTED
    verdicts = {"True": True, "False": False, "Half True": "half-true"}
    spelled = [
        {
            **each,
            "relevant": each["relevant"] == "True",
            "evidence_stance": each["evidence_stance"].upper().replace("-", "_"),
            "factcheck_verdict": verdicts[each["factcheck_verdict"]],
        }
        for each in records()
    ]
    assert kinds(samples.write_lines(tmp_path / "d.jsonl", spelled)) == EXPECTED


def test_the_claim_is_asked_for_with_the_labels_and_its_text_is_kept(tmp_path):
    some = [record(1, "supports", "True"), record(2, "refutes", "False", claimant="")]
    first, second = druid.Druid(str(samples.write_table(tmp_path / "druid.tsv", some, COLUMNS))).facts()
    claim = "The bridge number 1 is made of glass."
    assert first.question == f'Claimant: A post. Claim: "{claim}" Is the claim True, False or None?'
    assert (first.subject, first.relation, first.id) == (claim, "politifact", "politifact-1-e")
    assert first.own.text == 'Engineers\tsay:\n"bridge 1" is of steel.'
    assert second.question == 'Claim: "The bridge number 2 is made of glass." Is the claim True, False or None?'


def test_a_claim_without_a_verdict_is_left_out_and_a_bad_record_says_why(tmp_path):
    some = [record(1, "insufficient-neutral", ""), record(2, "supports", "True", evidence=" "), record(3, "perhaps", "True")]
    some += [record(4, "supports", "Mostly"), record(5, "supports", "True", relevant="?"), record(6, "supports", "True")]
    path = samples.write_table(tmp_path / "druid.tsv", some, COLUMNS)
    with path.open("a", encoding="utf-8") as file:
        file.write("a\tb\n")
    facts, bad, unusable = samples.sorted_out(druid.PLUGIN, path)
    assert [fact.id for fact in facts] == ["politifact-6-e"]
    assert [(u.location, u.reason) for u in unusable] == [("druid.tsv, record 1", "no verdict")]
    assert [b.location for b in bad] == [f"druid.tsv, record {number}" for number in (2, 3, 4, 5, 7)]
    words = ("'evidence' is empty", "'perhaps'", "'Mostly'", "'?'", "the record has 2 fields, and the file 9 columns")
    assert all(word in one.reason for word, one in zip(words, bad, strict=True))


@pytest.mark.parametrize("name", ["d.tsv", "d.jsonl"])
def test_a_file_of_another_form_is_named_with_the_fields_it_has_and_lacks(name, tmp_path):
    columns = ("id", "claim_id", "claim", "evidence", "relevant")
    some = [dict.fromkeys(columns, "x")]
    path = tmp_path / name
    if name.endswith("l"):
        samples.write_lines(path, some)
    else:
        samples.write_table(path, some, columns)
    with pytest.raises(HEvalError) as error:
        list(druid.Druid(str(path)).facts())
    said = "has the fields id, claim_id, claim, evidence, relevant; it lacks evidence_stance, factcheck_verdict."
    assert str(error.value) == f"The data file {path} {said}"


def test_a_table_that_is_no_text_is_refused_by_name(tmp_path):
    path = tmp_path / "druid.tsv"
    path.write_bytes("\t".join(COLUMNS).encode() + b"\n\xff\xfe\n")
    with pytest.raises(HEvalError, match="is not UTF-8"):
        list(druid.Druid(str(path)).facts())
    path.write_bytes(b"")
    with pytest.raises(HEvalError, match="has the fields \\(none\\)"):
        list(druid.Druid(str(path)).facts())
