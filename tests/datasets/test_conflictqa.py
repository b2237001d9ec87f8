"""ConflictQA: answers found in passages that were generated for them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from heval_core.datasets import conflictqa
from heval_core.plugins.protocols import Dataset
from tests.datasets import samples


def records() -> list[dict[str, Any]]:
    said = "The capital of {} is {}."
    return [
        {
            "question": f"What is the capital of {country}?", "popularity": 1, "ground_truth": [true, true.upper()],
            "memory_answer": said.format(country, true), "parametric_memory": samples.passage(country, true),
            "counter_answer": said.format(country, false), "counter_memory": samples.passage(country, false),
            "parametric_memory_aligned_evidence": "", "counter_memory_aligned_evidence": "",
        }
        for n, (country, true) in enumerate(samples.CITIES.items()) for false in [samples.FALSE[n % 3]]
    ]  # fmt: skip


def sample(data: Path) -> Dataset:
    samples.write_lines(data / "conflictqa" / "conflictQA-popQA-chatgpt.json", records())
    return conflictqa.PLUGIN


def test_conflictqa_finds_the_words_by_which_the_answers_differ(tmp_path):
    path = samples.write_lines(tmp_path / "q.json", records())
    facts, bad, unusable = samples.sorted_out(conflictqa.PLUGIN, path)
    assert (len(facts), bad, unusable) == (6, [], [])
    assert {fact.conflicting[0].answer for fact in facts} <= set(samples.FALSE)
    assert {(fact.subject, fact.own.answer) for fact in facts} == set(samples.CITIES.items())
    assert {fact.relation for fact in facts} == {"capital"}


def test_conflictqa_takes_the_longest_alias_that_the_passage_holds_and_says_why_it_leaves_out():
    truth = ("Rome", "city of Rome", "Roma")
    speaks, opposes = "The capital of Italy is the city of Rome.", "The capital of Italy is Oslo."
    assert conflictqa.answer_in(("It is Rome, the city of Rome.",), speaks, opposes, truth)[1] == "city of Rome"
    assert conflictqa.answer_in(("It is Rome.",), speaks, opposes, truth)[1] == "Rome"
    assert conflictqa.answer_in(("It is Oslo.",), opposes, speaks, truth)[1] == "Oslo"
    assert conflictqa.answer_in(("Nothing.", "So it is Oslo."), opposes, speaks, truth) == ("So it is Oslo.", "Oslo")
    assert conflictqa.answer_in(("It is true.",), "It is so.", "It is not so.", ("True",)) is None
    assert conflictqa.difference("Wholly other.", "Nothing in common") == ""


@pytest.mark.parametrize(("question", "expected"), [
    ("What is George Rankin's occupation?", ("George Rankin", "occupation")),
    ("What is Nairobi the capital of?", ("Nairobi", "capital of")), ("What is the capital of Kenya?", ("Kenya", "capital")),
])  # fmt: skip
def test_subject_and_relation_are_read_off_the_question(question, expected):
    assert conflictqa.subject_of(question) == expected


def test_conflictqa_says_which_records_it_cannot_ask(tmp_path):
    some = records()[:3]
    some[0]["counter_memory"] = "Nothing is said here."
    some[1]["question"] = "And the capital?"
    path = samples.write_lines(tmp_path / "q.json", some)
    *_, unusable = samples.sorted_out(conflictqa.PLUGIN, path)
    assert [(r.location, r.reason) for r in unusable] == [
        ("q.json:1", "answer not in document"),
        ("q.json:2", "subject not known"),
    ]


def test_a_file_from_the_hub_is_found_in_the_hubs_own_cache(tmp_path, monkeypatch):
    """The real library on a cache laid out as it lays it out: no network is needed for a pinned revision."""
    import huggingface_hub

    from heval_core.datasets._reading import from_hub

    commit = conflictqa._ORIGIN.revision
    folder = tmp_path / "datasets--osunlp--ConflictQA" / "snapshots" / commit
    samples.write_lines(folder / conflictqa._ORIGIN.name, records())
    whole = huggingface_hub.hf_hub_download

    def with_cache(*arguments, **options):
        return whole(*arguments, cache_dir=tmp_path, **options)

    monkeypatch.setattr(huggingface_hub, "hf_hub_download", with_cache)
    assert from_hub("osunlp/ConflictQA", conflictqa._ORIGIN.name, commit).is_file()
    assert from_hub("osunlp/ConflictQA", "another.json", commit) is None
