"""Fakepedia: paragraphs and their natural second documents."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from heval_core.datasets import fakepedia
from heval_core.plugins.protocols import Dataset
from tests.datasets import samples


def records() -> list[dict[str, Any]]:
    """Six countries with three false capitals each, so that every question has natural second documents."""
    return [
        {
            "subject": country, "rel_lemma": "has-capital", "object": city, "rel_p_id": "P36",
            "query": f"The capital of {country} is", "fact_paragraph": samples.passage(country, city),
            "fact_parent": {"subject": country, "object": true, "fact_paragraph": None},
        }
        for country, true in samples.CITIES.items() for city in samples.FALSE
    ]  # fmt: skip


def sample(data: Path) -> Dataset:
    samples.write_json(data / "fakepedia" / "base_fakepedia.json", records())
    return fakepedia.PLUGIN


def test_fakepedia_has_natural_second_documents_with_other_answers(tmp_path):
    facts, bad, unusable = samples.sorted_out(fakepedia.PLUGIN, samples.write_json(tmp_path / "f.json", records()))
    assert (len(facts), bad, unusable) == (18, [], [])
    for fact in facts:
        assert {passage.answer for passage in fact.conflicting} == set(samples.FALSE)
        assert all(passage.subject == fact.subject for passage in fact.conflicting)
        assert fact.answer == samples.CITIES[fact.subject]


def test_bad_records_of_a_list_are_numbered(tmp_path):
    some = [*records()[:2], {"subject": "x"}, 7]
    facts, bad, _ = samples.sorted_out(fakepedia.PLUGIN, samples.write_json(tmp_path / "f.json", some))
    assert len(facts) == 2
    assert [(b.location, b.reason) for b in bad] == [
        ("f.json, record 3", "the record has no 'object'"),
        ("f.json, record 4", "expected a JSON object, found a number"),
    ]
